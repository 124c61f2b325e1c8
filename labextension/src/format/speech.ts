/** What every sentence needs: the translations and the place they are read in. */

import type { TranslationBundle } from '@jupyterlab/translation';

export interface Speech {
  readonly trans: TranslationBundle;
  /** BCP 47 tag for numbers, money and dates. */
  readonly locale: string;
  /** IANA zone; undefined is the browser's own. */
  readonly timeZone?: string;
}

/** JupyterLab writes `de_DE`, and `default` when it follows the browser. */
export function localeTag(locale: string | undefined, browser: string): string {
  const tag = (locale ?? '').replace('_', '-');
  if (!tag || tag === 'default') {
    return browser || 'en';
  }
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? 'en';
  } catch {
    return 'en';
  }
}
