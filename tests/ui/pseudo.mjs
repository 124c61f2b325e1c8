/** A catalogue of a language nobody speaks: accented, 40 % longer, in brackets, made from the sources' own sentences. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCES = fileURLToPath(new URL('../../labextension/src', import.meta.url));
const ACCENTS = { a: 'á', e: 'ë', i: 'ï', o: 'ô', u: 'ü', n: 'ñ', s: 'š', c: 'ç' };

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield* files(path);
    } else if (/\.tsx?$/.test(entry.name)) {
      yield path;
    }
  }
}

const LITERAL = String.raw`'((?:[^'\\]|\\.)*)'`;
const ONE = new RegExp(String.raw`trans\.__\(\s*${LITERAL}`, 'g');
const MANY = new RegExp(String.raw`trans\._n\(\s*${LITERAL},\s*${LITERAL}`, 'g');

export function pseudo(text) {
  const body = text.replace(/\{\w+\}|%\d|\*\*|./gsu, part => (part.length > 1 ? part : (ACCENTS[part] ?? part)));
  return `[${body}${' ~~~'.repeat(Math.ceil(text.length / 10))}]`;
}

const unescape = text => text.replace(/\\(.)/g, '$1');

/** As JupyterLab's server hands out a language pack. */
export function pseudoCatalogue() {
  const catalogue = { '': { domain: 'jupyter_dra', language: 'eo', plural_forms: 'nplurals=2; plural=(n != 1);' } };
  for (const path of files(SOURCES)) {
    const source = readFileSync(path, 'utf8');
    for (const [, text] of source.matchAll(ONE)) {
      catalogue[unescape(text)] = [pseudo(unescape(text))];
    }
    for (const [, one, many] of source.matchAll(MANY)) {
      catalogue[unescape(one)] = [pseudo(unescape(one)), pseudo(unescape(many))];
    }
  }
  return catalogue;
}
