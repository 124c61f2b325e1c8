/** Foreign text made safe to show, and sentences with named placeholders. */

/** Controls, formats (direction, zero width, tags), surrogates, private use, line and paragraph separators. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Control, bidi and invisible characters written out (`\u202e`), so that a name cannot pose as another. */
export function plain(text: string): string {
  return text.replace(HIDDEN, writtenOut);
}

/** The same for text of several lines: line ends and tabs stay. */
export function plainLines(text: string): string {
  return text.replace(/\r/g, '').replace(HIDDEN, char => (char === '\n' || char === '\t' ? char : writtenOut(char)));
}

function writtenOut(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
}

/** A name cut in the middle beyond `limit` characters; the tooltip shows the whole. */
export function cutMiddle(text: string, limit = 40): string {
  const chars = [...text];
  if (chars.length <= limit) {
    return text;
  }
  const head = Math.ceil((limit - 1) / 2);
  return `${chars.slice(0, head).join('')}…${chars.slice(chars.length - (limit - 1 - head)).join('')}`;
}

/** The name in a session's id: that without the five characters at its end. */
export function sessionName(id: string): string {
  return id.replace(/-[a-z0-9]{5}$/, '');
}

export type Values = Readonly<Record<string, string | number>>;

/** Puts values into `{name}` places. Values are never read as templates or markup. */
export function fill(template: string, values: Values): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    name in values ? plain(String(values[name])) : whole
  );
}

export interface Span {
  text: string;
  strong: boolean;
  /** True for a filled-in value, which the view isolates against its neighbours' direction. */
  value: boolean;
}

/** The same as spans: `**…**` in the template is emphasis, asterisks in values stay asterisks. */
export function spans(template: string, values: Values): Span[] {
  const result: Span[] = [];
  template.split('**').forEach((part, index) => {
    const strong = index % 2 === 1;
    for (const piece of part.split(/(\{\w+\})/)) {
      const name = /^\{(\w+)\}$/.exec(piece)?.[1];
      if (name !== undefined && name in values) {
        result.push({ text: plain(String(values[name])), strong, value: true });
      } else if (piece) {
        result.push({ text: piece, strong, value: false });
      }
    }
  });
  return result;
}

/** A template and its values, not yet joined: what the view needs to set emphasis and isolation. */
export interface Sentence {
  template: string;
  values: Values;
}

export function sentence(template: string, values: Values = {}): Sentence {
  return { template, values };
}

export function sentenceText(value: Sentence): string {
  return spans(value.template, value.values)
    .map(span => span.text)
    .join('');
}

/** First grapheme of a name, lower case kept: what stands on a device of yours. */
export function initial(name: string): string {
  const trimmed = plain(name).trim();
  if (typeof Intl.Segmenter === 'function') {
    const first = new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(trimmed)[Symbol.iterator]().next();
    return first.done ? '' : first.value.segment;
  }
  return [...trimmed][0] ?? '';
}
