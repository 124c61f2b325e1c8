/** Writes every frame in light and dark at its widths: `node tests/ui/screenshots.mjs [--out FOLDER] [--light|--dark] [--axe] [--pseudo] [FRAME…]`. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { cardNotebooks } from './cardframes.mjs';
import { axeFindings, launchBrowser, newLab, openPanel, runCommand } from './browser.mjs';
import { NOW } from './fixtures.mjs';
import { FRAMES, routesOf } from './frames.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { pseudoCatalogue } from './pseudo.mjs';
import { cardBundles, startServer } from './server.mjs';

const words = process.argv.slice(2);
const place = words.indexOf('--out');
const out = place >= 0 ? words.splice(place, 2)[1] : 'ui-artifacts';
const themes = words.includes('--light') ? [false] : words.includes('--dark') ? [true] : [false, true];
const axe = words.includes('--axe');
const catalogue = words.includes('--pseudo') ? pseudoCatalogue() : null;
const wanted = words.filter(word => !word.startsWith('--'));
mkdirSync(out, { recursive: true });

/** Texts wider than their place, but for those that may be cut: file names, folded values, place labels. */
function cutOff(page) {
  return page.evaluate(() => {
    const may = '.dra-Bar-name, .dra-Section-summary, .dra-Fold-summary, .dra-Target-name, .dra-Kernels-name, .dra-Field, .dra-Spoken';
    return [...document.querySelectorAll('.dra-Panel *')]
      .filter(node => node.childElementCount === 0 && node.textContent.trim() && !node.closest(may) && !node.closest('svg'))
      .filter(node => {
        const panel = document.querySelector('.dra-Panel').getBoundingClientRect();
        const box = node.getBoundingClientRect();
        return box.width > 0 && (box.right > panel.right + 1 || node.scrollWidth > node.clientWidth + 1) && getComputedStyle(node).display !== 'inline';
      })
      .map(node => `cut: ${node.className} ${node.textContent.slice(0, 60)}`);
  });
}

async function pictures(lab, server, name, frame, dark) {
  const { page, problems } = lab;
  lab.routes = routesOf(frame.documents);
  await page.setViewportSize({ width: frame.window ?? 1100, height: frame.height ?? 900 });
  await lab.open(frame.notebook);
  let bad = 0;
  for (const [turn, width] of frame.widths.entries()) {
    const panel = await openPanel(page, width);
    if (!turn) {
      await prepare(page, panel, frame);
    }
    await page.mouse.move(1000, 300);
    await page.waitForTimeout(frame.settle ?? 500);
    const shown = frame.of ? page.locator(frame.of).first() : panel;
    await shown.screenshot({ path: join(out, `${name}-${width}-${dark ? 'dark' : 'light'}.png`) });
    const cut = catalogue ? await cutOff(page) : [];
    const findings = axe ? await axeFindings(page, frame.of ?? '#jupyter-dra-panel') : [];
    const lines = [...problems.splice(0), ...cut, ...findings];
    lines.forEach(line => console.log(`${name} ${width} ${dark ? 'dark' : 'light'}: ${line}`));
    bad += lines.length;
  }
  return bad;
}

async function prepare(page, panel, frame) {
  if (frame.request) {
    await runCommand(page, 'jupyter-dra:open', { requirement: frame.request });
    await panel.locator('.dra-Verdict:not([aria-busy])').waitFor();
  }
  // The steps name things in English: a translated page is looked at as it opens.
  await (catalogue ? null : frame.steps?.(panel, page));
}

const server = await startServer();
const cards = cardNotebooks(cardBundles);
writeNotebooks(server.folder, cards);
server.trust(...Object.keys(cards).map(name => `${name}.ipynb`));
const browser = await launchBrowser();
let bad = 0;
try {
  for (const dark of themes) {
    const lab = await newLab(browser, server, { dark, catalogue, fixedTime: NOW });
    for (const [name, frame] of Object.entries(FRAMES)) {
      if (wanted.length && !wanted.some(word => name === word || name.startsWith(`${word}-`))) {
        continue;
      }
      try {
        bad += await pictures(lab, server, name, frame, dark);
      } catch (error) {
        bad += 1;
        console.log(`${name} ${dark ? 'dark' : 'light'}: ${error.message.split('\n').slice(0, 4).join(' | ')}`);
      }
    }
    await lab.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = bad ? 1 : 0;
