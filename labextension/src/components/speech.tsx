/** Translations for the views, and the few elements that set sentences. */

import { createContext, Fragment, useContext, type ReactElement } from 'react';

import { nullTranslator } from '@jupyterlab/translation';

import type { Speech } from '../format/speech';
import { cutMiddle, plain, spans, type Sentence } from '../format/text';

export const SpeechContext = createContext<Speech>({ trans: nullTranslator.load('jupyter_dra'), locale: 'en' });

export function useSpeech(): Speech {
  return useContext(SpeechContext);
}

/** A sentence with its emphasis; values are isolated, so that their direction cannot turn the text around them. */
export function Said({ text }: { text: Sentence }): ReactElement {
  return (
    <>
      {spans(text.template, text.values).map((span, index) => {
        const inner = span.value ? <bdi>{span.text}</bdi> : span.text;
        return span.strong ? <strong key={index}>{inner}</strong> : <Fragment key={index}>{inner}</Fragment>;
      })}
    </>
  );
}

/** A foreign name as text, cut in the middle when long, whole in the tooltip. */
export function Name({ text, limit = 40 }: { text: string; limit?: number }): ReactElement {
  const safe = plain(text);
  const cut = cutMiddle(safe, limit);
  return <bdi {...(cut === safe ? {} : { title: safe })}>{cut}</bdi>;
}
