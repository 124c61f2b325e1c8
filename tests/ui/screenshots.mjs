/** Writes every frame in light and dark at its widths: `node tests/ui/screenshots.mjs [--out FOLDER] [--light|--dark] [--axe] [--pseudo] [FRAME…]`. */

import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { axeFindings, changeTheme, launchBrowser, newLab, openPanel } from './browser.mjs';
import { cardNotebooks } from './cardframes.mjs';
import { NOW } from './fixtures.mjs';
import { cutOff, showFrame, shownPart } from './framepage.mjs';
import { FRAMES } from './frames.mjs';
import { hubPictures } from './hubframes.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { pickerPictures } from './pickerframes.mjs';
import { pseudoCatalogue } from './pseudo.mjs';
import { cardBundles, startServer } from './server.mjs';

const words = process.argv.slice(2);
const place = words.indexOf('--out');
const out = place >= 0 ? words.splice(place, 2)[1] : 'ui-artifacts';
const themes = words.includes('--light') ? [false] : words.includes('--dark') ? [true] : [false, true];
const axe = words.includes('--axe');
const pseudo = words.includes('--pseudo');
const wanted = words.filter(word => !word.startsWith('--'));
const isWanted = name => !wanted.length || wanted.some(word => name === word || name.startsWith(`${word}-`));

/** Pages at work at once, each with a server of its own: theme and language are settings of the server. */
const LANES = Math.max(2, Math.min(4, availableParallelism()));
/** What is drawn after the answers: a first look takes longer than another width or theme of the same frame. */
const FIRST_MS = 500;
const NEXT_MS = 200;

const began = Date.now();
let taken = 0;
let bad = 0;

function tell(line) {
  bad += 1;
  console.log(line);
}

function save(shown, name, dark) {
  taken += 1;
  return shown.screenshot({ path: join(out, `${name}-${dark ? 'dark' : 'light'}.png`) });
}

/** The frame as it stands, at each of its widths. */
async function atItsWidths({ page, problems, dark }, name, frame, translated, settle) {
  for (const [index, width] of frame.widths.entries()) {
    await openPanel(page, width);
    await page.mouse.move(1000, 300);
    await page.waitForTimeout(index ? NEXT_MS : settle);
    await save(shownPart(page, frame), `${name}-${width}`, dark);
    const cut = translated ? await cutOff(page) : [];
    const findings = axe ? await axeFindings(page, frame.of ?? '#jupyter-dra-panel') : [];
    for (const line of [...problems.splice(0), ...cut, ...findings]) {
      tell(`${name} ${width} ${dark ? 'dark' : 'light'}: ${line}`);
    }
  }
}

/** A frame in all themes, the one the page has first, so that it is loaded once. */
async function pictures(lab, name, frame, translated) {
  // The steps name things in English: a translated page is looked at as it opens.
  await showFrame(lab, frame, { steps: !translated });
  const first = themes.includes(lab.dark) ? lab.dark : themes[0];
  for (const dark of [first, ...themes.filter(theme => theme !== first)]) {
    const settle = dark === first ? (frame.settle ?? FIRST_MS) : NEXT_MS;
    if (dark !== lab.dark) {
      await changeTheme(lab.page, dark ? 'Dark' : 'Light');
      lab.dark = dark;
    }
    await atItsWidths(lab, name, frame, translated, settle);
  }
}

/** Works through `frames`, which other lanes take from as well. */
async function lane(browser, server, frames, catalogue) {
  const lab = await newLab(browser, server, { dark: themes[0], catalogue, fixedTime: NOW });
  for (let next = frames.shift(); next; next = frames.shift()) {
    const [name, frame] = next;
    try {
      await pictures(lab, name, frame, catalogue !== null);
    } catch (error) {
      tell(`${name}: ${error.message.split('\n').slice(0, 4).join(' | ')}`);
    }
  }
  await lab.close();
}

async function frameServer(cards) {
  const server = await startServer();
  writeNotebooks(server.folder, cards);
  server.trust(...Object.keys(cards).map(name => `${name}.ipynb`));
  return server;
}

/** The frames of the panel and of cards; those in another language last, as it is a setting of their server. */
async function labPictures(browser) {
  const all = Object.entries(FRAMES).filter(([name]) => isWanted(name));
  const translated = all.filter(([, frame]) => pseudo || frame.translated);
  const plain = all.filter(item => !translated.includes(item));
  const cards = cardNotebooks(cardBundles);
  const servers = await Promise.all(Array.from({ length: all.length > 1 ? LANES : Math.min(1, all.length) }, () => frameServer(cards)));
  try {
    for (const [frames, catalogue] of [[plain, null], [translated, pseudoCatalogue()]]) {
      await Promise.all(servers.slice(0, frames.length).map(server => lane(browser, server, frames, catalogue)));
    }
  } finally {
    await Promise.all(servers.map(server => server.stop()));
  }
}

async function otherPictures(browser) {
  if (isWanted('l1') || isWanted('l2')) {
    for (const dark of themes) {
      await hubPictures(browser, dark, (shown, name) => save(shown, name, dark));
    }
  }
  if (!pseudo && (isWanted('m1') || isWanted('m2') || isWanted('m3'))) {
    await pickerPictures(browser, themes, save);
  }
}

mkdirSync(out, { recursive: true });
if (!wanted.length && themes.length > 1) {
  // Pictures of frames that are no more would be taken for today's.
  readdirSync(out).filter(name => name.endsWith('.png')).forEach(name => rmSync(join(out, name)));
}
const browser = await launchBrowser();
try {
  const failed = (await Promise.allSettled([labPictures(browser), otherPictures(browser)])).filter(done => done.reason);
  failed.forEach(({ reason }) => tell(reason.stack ?? String(reason)));
} finally {
  await browser.close();
}
console.log(`${taken} pictures in ${Math.round((Date.now() - began) / 1000)} s`);
process.exitCode = bad ? 1 : 0;
