/** What a kernel asks of the page: to launch for this notebook, or something it has no login for. */

import { useId, type ReactElement } from 'react';

import { asksWords } from '../format/asks';
import type { Card, CardRequest } from '../model/card';
import { Code, type Language } from './code';
import { Button, IconButton } from './controls';
import { Glyph } from './glyph';
import { useSpeech } from './speech';

/** What the page can be asked for; anything else only shows the panel. */
export const ASKED = ['launch', 'wait', 'attach', 'extend', 'stop', 'open'] as const;
export type AskedAction = (typeof ASKED)[number];

export interface RequestCardProps {
  card: Card;
  /** Null where nothing can be pressed. It opens our own question. */
  onAsk: ((action: AskedAction, request: CardRequest, session: string | null) => void) | null;
  onCopy: (text: string) => void;
}

function actionOf({ action, verdict }: CardRequest): AskedAction {
  const found = ASKED.find(item => item === action) ?? 'open';
  return found === 'launch' && verdict === 'busy' ? 'wait' : found;
}

function Copied(props: {
  title: string;
  name: string;
  text: string;
  language: Language;
  onCopy: RequestCardProps['onCopy'];
}): ReactElement {
  const { trans } = useSpeech();
  const { title, name, text, language, onCopy } = props;
  return (
    <>
      <div className="dra-Ask-head">
        <strong>{title}</strong>
        <IconButton icon="copy" label={trans.__('Copy the code')} onClick={() => onCopy(text)} />
      </div>
      <div className="dra-Code" tabIndex={0} role="group" aria-label={name}>
        <Code text={text} language={language} />
      </div>
    </>
  );
}

/** The button and what happens after a press; in the picker the verdict stands above it already. */
function Asked({ card, onAsk }: Pick<RequestCardProps, 'card' | 'onAsk'>): ReactElement | null {
  const speech = useSpeech();
  const id = useId();
  const { request, session } = card;
  if (!request || !onAsk) {
    return null;
  }
  const action = actionOf(request);
  const words = asksWords(speech, action, request.verdict);
  return (
    <>
      <Button
        kind="main"
        className="dra-mod-wide"
        disabled={!words.can}
        describedBy={words.after ? id : undefined}
        onClick={() => onAsk(action, request, session?.id ?? null)}
      >
        {words.button}
      </Button>
      {words.after && (
        <p id={id} className="dra-mod-quiet">
          {words.after}
        </p>
      )}
    </>
  );
}

export function RequestCard(props: RequestCardProps): ReactElement {
  const { trans } = useSpeech();
  const { card, onCopy } = props;
  const { code, shell } = card.request ?? { code: null, shell: null };
  if (card.compact) {
    return (
      <div className="dra-Ask">
        {code && (
          <Copied
            title={trans.__('As code')}
            name={trans.__('The same as Python')}
            text={code}
            language="python"
            onCopy={onCopy}
          />
        )}
        <Asked {...props} />
      </div>
    );
  }
  return (
    <section className="dra-Out" aria-label={trans.__('This needs the cluster')}>
      <div className="dra-Out-head">
        <Glyph kind="gpu" state="none" size={22} />
        <div className="dra-Out-names">
          <strong className="dra-Out-title">{trans.__('This needs the cluster')}</strong>
          <div className="dra-mod-quiet">
            {trans.__('The kernel runs without a login to it; this page can do it for you.')}
          </div>
        </div>
      </div>
      <div className="dra-Ask dra-mod-padded">
        {shell && (
          <Copied
            title={trans.__('From a terminal')}
            name={trans.__('The same for a terminal')}
            text={shell}
            language="shell"
            onCopy={onCopy}
          />
        )}
        <Asked {...props} />
      </div>
    </section>
  );
}
