/** Renders a card output. It asks nothing of the server: it shows what the page knows anyway, in trusted outputs. */

import { Clipboard } from '@jupyterlab/apputils';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { ISignal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import type { ReactElement } from 'react';
import { createRoot, type Root } from 'react-dom/client';

import { CardView, type CardActions, type RunningFacts } from '../components/card';
import { SpeechContext } from '../components/speech';
import type { Session } from '../api/types';
import type { Speech } from '../format/speech';
import { plainLines } from '../format/text';
import { readCard, type Card } from '../model/card';
import { noNews, type CardNews } from '../model/cardnews';

export const MIME_TYPE = 'application/vnd.jupyter-dra.card+json';

/** What a card is given by the page around it. */
export interface CardHost {
  readonly speech: Speech;
  /** Something that a card may show has changed. */
  readonly changed: ISignal<unknown, void>;
  readonly actions: CardActions;
  news(session: string | null): CardNews;
  running(session: Session): RunningFacts;
}

/** What is no card of ours is shown as the text that came with it. */
function Fallback({ model, speech }: { model: IRenderMime.IMimeModel; speech: Speech }): ReactElement {
  const text = model.data['text/plain'];
  const whole = Array.isArray(text) ? text.join('') : text;
  return typeof whole === 'string' && whole ? (
    <pre className="dra-Out-text">{plainLines(whole.slice(0, 100_000))}</pre>
  ) : (
    <p className="dra-mod-quiet">{speech.trans.__('This card cannot be shown.')}</p>
  );
}

export class CardRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(private readonly _host: CardHost) {
    super();
    this.addClass('dra-CardOutput');
    _host.changed.connect(this._follow, this);
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._model = model;
    this._card = readCard(model.data[MIME_TYPE]);
    this._render();
    return Promise.resolve();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._host.changed.disconnect(this._follow, this);
      // React may be rendering this very output.
      const root = this._root;
      setTimeout(() => root?.unmount(), 0);
      this._root = null;
      super.dispose();
    }
  }

  /** Only what somebody can see is kept current; the rest follows when it is shown. */
  private _follow(): void {
    if (this._card && this.isVisible) {
      this._render();
    }
  }

  protected override onAfterShow(): void {
    this._follow();
  }

  private _render(): void {
    const { _host: host, _model: model, _card: card } = this;
    if (!model || this.isDisposed) {
      return;
    }
    this._root ??= createRoot(this.node);
    this._root.render(
      <SpeechContext.Provider value={host.speech}>
        {card ? this._view(card, model.trusted) : <Fallback model={model} speech={host.speech} />}
      </SpeechContext.Provider>
    );
  }

  private _view(card: Card, trusted: boolean): ReactElement {
    const host = this._host;
    const news = (id: string | null): CardNews => (trusted ? host.news(id) : noNews(Date.now()));
    return (
      <CardView
        card={card}
        news={news(card.session?.id ?? null)}
        newsOf={news}
        running={session => host.running(session)}
        actions={trusted ? host.actions : null}
        onCopy={text => Clipboard.copyToSystem(text)}
      />
    );
  }

  private _model: IRenderMime.IMimeModel | null = null;
  private _card: Card | null = null;
  private _root: Root | null = null;
}
