/** Writes every frame in light and dark at its widths: `node tests/ui/screenshots.mjs [--out FOLDER] [--light|--dark] [--axe] [--pseudo] [FRAME…]`. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { axeFindings, launchBrowser, newLab, openPanel } from './browser.mjs';
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
const catalogue = words.includes('--pseudo') ? pseudoCatalogue() : null;
const wanted = words.filter(word => !word.startsWith('--'));
const isWanted = name => !wanted.length || wanted.some(word => name === word || name.startsWith(`${word}-`));
mkdirSync(out, { recursive: true });

function save(shown, name, dark) {
  return shown.screenshot({ path: join(out, `${name}-${dark ? 'dark' : 'light'}.png`) });
}

/** Takes a frame at its widths; returns the number of lines it had to print about it. */
async function pictures(lab, name, frame, dark) {
  const { page, problems } = lab;
  // The steps name things in English: a translated page is looked at as it opens.
  const translated = Boolean(catalogue || frame.translated);
  await showFrame(lab, frame, { steps: !translated });
  let bad = 0;
  for (const width of frame.widths) {
    await openPanel(page, width);
    await page.mouse.move(1000, 300);
    await page.waitForTimeout(frame.settle ?? 500);
    await save(shownPart(page, frame), `${name}-${width}`, dark);
    const cut = translated ? await cutOff(page) : [];
    const findings = axe ? await axeFindings(page, frame.of ?? '#jupyter-dra-panel') : [];
    const lines = [...problems.splice(0), ...cut, ...findings];
    lines.forEach(line => console.log(`${name} ${width} ${dark ? 'dark' : 'light'}: ${line}`));
    bad += lines.length;
  }
  return bad;
}

/** Takes frames in one page; returns the number of lines it had to print about them. */
async function allPictures(frames, dark, words) {
  const lab = await newLab(browser, server, { dark, catalogue: words, fixedTime: NOW });
  let lines = 0;
  for (const [name, frame] of frames) {
    try {
      lines += await pictures(lab, name, frame, dark);
    } catch (error) {
      lines += 1;
      console.log(`${name} ${dark ? 'dark' : 'light'}: ${error.message.split('\n').slice(0, 4).join(' | ')}`);
    }
  }
  await lab.close();
  return lines;
}

const cards = cardNotebooks(cardBundles);
const server = await startServer();
writeNotebooks(server.folder, cards);
server.trust(...Object.keys(cards).map(name => `${name}.ipynb`));
const browser = await launchBrowser();
let bad = 0;
try {
  for (const dark of themes) {
    const frames = Object.entries(FRAMES).filter(([name]) => isWanted(name));
    // The language is a setting of the server: translated frames come last, in a page of their own.
    for (const words of catalogue ? [catalogue] : [null, pseudoCatalogue()]) {
      const now = frames.filter(([, frame]) => catalogue || Boolean(frame.translated) === (words !== null));
      if (now.length) {
        bad += await allPictures(now, dark, words);
      }
    }
    if (isWanted('l1') || isWanted('l2')) {
      await hubPictures(browser, dark, (shown, name) => save(shown, name, dark));
    }
  }
  if (!catalogue && (isWanted('m1') || isWanted('m2'))) {
    await pickerPictures(browser, themes, save);
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = bad ? 1 : 0;
