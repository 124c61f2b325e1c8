/** Short names of products, for places where "H100, A100" must do. */

import type { Speech } from './speech';
import { fill } from './text';

/** "NVIDIA A100-SXM4-80GB" → "A100"; a name without such a model word stays whole. */
export function shortProduct(name: string): string {
  const words = name.split(/[\s\-_/]+/).filter(word => !/^\d+\s*(GB|GIB|G)$/i.test(word));
  const model = words.find(word => /^(?=.*[A-Z])(?=.*\d)[A-Za-z]{1,4}\d+[A-Za-z]*$/.test(word));
  return model ?? name;
}

/** Distinct short names in the order given. */
export function shortProducts(products: readonly { name: string }[]): string[] {
  return [...new Set(products.map(product => shortProduct(product.name)))];
}

/** "an A100 40 GB", "a T4": the article English needs; other languages translate the phrase. */
export function withArticle(speech: Speech, label: string): string {
  const first = label.trim().split(/\s/)[0] ?? '';
  const spelled = /^[A-Z]{1,3}(\d|$)/.test(first) || /^[A-Z]{2,}/.test(first);
  const vowel = spelled ? /^[AEFHILMNORSX8]/.test(first) : /^[aeiou8]/i.test(first);
  const template = vowel ? speech.trans.__('an {device}') : speech.trans.__('a {device}');
  return fill(template, { device: label });
}
