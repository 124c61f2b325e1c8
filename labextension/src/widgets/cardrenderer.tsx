/** Renders a card output. It asks nothing of the server; its buttons are commands, which ask the user. */

import { Clipboard } from '@jupyterlab/apputils';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { nullTranslator } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { ReactElement } from 'react';
import { createRoot, type Root } from 'react-dom/client';

import { CardView, type CardAction } from '../components/card';
import { SpeechContext } from '../components/speech';
import { localeTag, type Speech } from '../format/speech';
import { readCard } from '../model/card';
import { safeText } from './textpane';

export const MIME_TYPE = 'application/vnd.jupyter-dra.card+json';

/** What a card's buttons say upward; the cards plugin turns it into commands. */
export const CARD_EVENT = 'jupyter-dra-card';

export interface CardEventDetail {
  action: CardAction;
  session: string | null;
}

/** A card older than this no longer shows use and lease: they are of another time. */
const LIVE_MS = 15 * 60_000;

/** What is no card of ours is shown as the text that came with it. */
function Fallback({ model, speech }: { model: IRenderMime.IMimeModel; speech: Speech }): ReactElement {
  const text = model.data['text/plain'];
  const whole = Array.isArray(text) ? text.join('') : text;
  return typeof whole === 'string' && whole ? (
    <pre className="dra-Out-text">{safeText(whole.slice(0, 100_000))}</pre>
  ) : (
    <p className="dra-mod-quiet">{speech.trans.__('This card cannot be shown.')}</p>
  );
}

export class CardRenderer extends Widget implements IRenderMime.IRenderer {
  constructor(options: IRenderMime.IRendererOptions) {
    super();
    this.addClass('dra-CardOutput');
    const translator = options.translator ?? nullTranslator;
    const language = (translator as { languageCode?: string }).languageCode;
    this._speech = { trans: translator.load('jupyter_dra'), locale: localeTag(language, navigator.language) };
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const card = readCard(model.data[MIME_TYPE]);
    this._root ??= createRoot(this.node);
    const now = Date.now();
    const at = Date.parse(card?.asOf ?? '');
    const live = Number.isFinite(at) && now - at < LIVE_MS;
    this._root.render(
      <SpeechContext.Provider value={this._speech}>
        {card ? (
          <CardView
            card={card}
            now={now}
            live={live}
            onAction={(action, session) => this._say({ action, session })}
            onCopy={text => Clipboard.copyToSystem(text)}
          />
        ) : (
          <Fallback model={model} speech={this._speech} />
        )}
      </SpeechContext.Provider>
    );
    return Promise.resolve();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      // React may be rendering this very output.
      const root = this._root;
      setTimeout(() => root?.unmount(), 0);
      this._root = null;
      super.dispose();
    }
  }

  private _say(detail: CardEventDetail): void {
    this.node.dispatchEvent(new CustomEvent<CardEventDetail>(CARD_EVENT, { bubbles: true, detail }));
  }

  private readonly _speech: Speech;
  private _root: Root | null = null;
}
