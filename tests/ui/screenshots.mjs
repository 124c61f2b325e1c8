/** Writes every frame in light and dark at its widths: `node tests/ui/screenshots.mjs [--out FOLDER] [--light|--dark] [FRAME…]`. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { axeFindings, launchBrowser, openLab, openPanel } from './browser.mjs';
import { NOW } from './fixtures.mjs';
import { FRAMES, routesOf } from './frames.mjs';
import { startServer } from './server.mjs';

const words = process.argv.slice(2);
const place = words.indexOf('--out');
const out = place >= 0 ? words.splice(place, 2)[1] : 'ui-artifacts';
const themes = words.includes('--light') ? [false] : words.includes('--dark') ? [true] : [false, true];
const axe = words.includes('--axe');
const wanted = words.filter(word => !word.startsWith('--'));
mkdirSync(out, { recursive: true });

async function take(browser, server, name, frame, width, dark) {
  const { page, problems, close } = await openLab(browser, server, {
    routes: routesOf(frame.documents),
    dark,
    fixedTime: NOW,
    viewport: { width: 1100, height: frame.height ?? 900 }
  });
  try {
    const panel = await openPanel(page, width);
    await page.waitForTimeout(400);
    await frame.steps?.(panel, page);
    await page.mouse.move(1000, 300);
    await page.waitForTimeout(frame.settle ?? 700);
    await panel.screenshot({ path: join(out, `${name}-${width}-${dark ? 'dark' : 'light'}.png`) });
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
