/** Generated text in its language, with keys and strings set apart for reading. */

import type { ReactElement } from 'react';

export type Language = 'yaml' | 'python' | 'magic' | 'shell';

interface Token {
  text: string;
  kind: 'key' | 'string' | null;
}

/** Keys and strings set apart, for reading; the text itself is untouched. */
export function highlight(text: string, language: Language): Token[] {
  const pattern =
    language === 'yaml'
      ? /(^[ -]*[\w./-]+(?=:(?:\s|$)))|("(?:[^"\\]|\\.)*")/gm
      : /(\b\w+(?==))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/gm;
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const start = match.index;
    if (start > at) {
      tokens.push({ text: text.slice(at, start), kind: null });
    }
    tokens.push({ text: match[0], kind: match[1] ? 'key' : 'string' });
    at = start + match[0].length;
  }
  tokens.push({ text: text.slice(at), kind: null });
  return tokens;
}

export function Code({ text, language }: { text: string; language: Language }): ReactElement {
  return (
    <pre dir="ltr">
      <code>
        {highlight(text, language).map((token, index) =>
          token.kind ? (
            <span key={index} className={`dra-Code-${token.kind}`}>
              {token.text}
            </span>
          ) : (
            token.text
          )
        )}
      </code>
    </pre>
  );
}
