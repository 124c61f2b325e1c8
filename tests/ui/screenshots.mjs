/** Writes every frame in light and dark at its widths: `node tests/ui/screenshots.mjs [--out FOLDER] [--light|--dark] [--axe] [--pseudo] [FRAME…]`. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { axeFindings, launchBrowser, openLab, openPanel } from './browser.mjs';
import { NOW } from './fixtures.mjs';
import { FRAMES, routesOf } from './frames.mjs';
import { pseudoCatalogue } from './pseudo.mjs';
import { startServer } from './server.mjs';

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

async function take(browser, server, name, frame, width, dark) {
  const { page, problems, close } = await openLab(browser, server, {
    routes: routesOf(frame.documents),
    dark,
    catalogue,
    fixedTime: NOW,
    viewport: { width: 1100, height: frame.height ?? 900 }
  });
  try {
    const panel = await openPanel(page, width);
    await page.waitForTimeout(400);
    // The steps name things in English: a translated page is looked at as it opens.
    await (catalogue ? null : frame.steps?.(panel, page));
    await page.mouse.move(1000, 300);
    await page.waitForTimeout(frame.settle ?? 700);
    await panel.screenshot({ path: join(out, `${name}-${width}-${dark ? 'dark' : 'light'}.png`) });
    problems.push(...(catalogue ? await cutOff(page) : []));
    const findings = axe ? await axeFindings(page, '#jupyter-dra-panel') : [];
    for (const line of [...problems, ...findings]) {
      console.log(`${name} ${width} ${dark ? 'dark' : 'light'}: ${line}`);
    }
    return problems.length + findings.length;
  } finally {
    await close();
  }
}

const server = await startServer();
const browser = await launchBrowser();
let bad = 0;
try {
  for (const [name, frame] of Object.entries(FRAMES)) {
    if (wanted.length && !wanted.includes(name)) {
      continue;
    }
    for (const width of frame.widths) {
      for (const dark of themes) {
        try {
          bad += await take(browser, server, name, frame, width, dark);
        } catch (error) {
          bad += 1;
          console.log(`${name} ${width}: ${error.message.split('\n').slice(0, 4).join(' | ')}`);
        }
      }
    }
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = bad ? 1 : 0;
