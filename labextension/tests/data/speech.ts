/** English as written, and a language that is longer, accented and easy to spot where it is missing. */

import { nullTranslator, type TranslationBundle } from '@jupyterlab/translation';

import type { Speech } from '../../src/format/speech';

export const ENGLISH: Speech = { trans: nullTranslator.load('jupyter_dra'), locale: 'en', timeZone: 'UTC' };

const ACCENTS: Readonly<Record<string, string>> = { a: 'á', e: 'ë', i: 'ï', o: 'ô', u: 'ü', n: 'ñ', s: 'š', c: 'ç' };

/** Accented, 40 % longer, in brackets; placeholders and emphasis marks stay. */
export function pseudo(text: string): string {
  const body = text.replace(/\{\w+\}|%\d|./gsu, part => (part.length > 1 ? part : (ACCENTS[part] ?? part)));
  return `⟦${body}${'~'.repeat(Math.ceil(text.length * 0.4))}⟧`;
}

export function pseudoSpeech(): Speech {
  const base = nullTranslator.load('jupyter_dra');
  const fill = (text: string, args: unknown[]): string =>
    text.replace(/%(\d+)/g, (_, n: string) => String(args[Number(n) - 1]));
  const trans = {
    ...base,
    locale: 'en',
    __: (text: string, ...args: unknown[]) => fill(pseudo(text), args),
    _n: (one: string, many: string, n: number, ...args: unknown[]) => fill(pseudo(n === 1 ? one : many), args),
    _p: (_context: string, text: string, ...args: unknown[]) => fill(pseudo(text), args)
  } as unknown as TranslationBundle;
  return { trans, locale: 'en', timeZone: 'UTC' };
}
