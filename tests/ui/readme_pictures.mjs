/** Takes the README's pictures on a local cluster: `node tests/ui/readme_pictures.mjs [FOLDER]`, default `docs`. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { animated } from './apng.mjs';
import { launchBrowser, newLab, openPanel } from './browser.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { ROOT, startServer } from './server.mjs';

const folder = process.argv[2] ?? join(ROOT, 'docs');
mkdirSync(folder, { recursive: true });

/** The main journey: `shoot(ms)` takes one picture that is shown so long. */
async function journey(lab, shoot) {
  const { page } = lab;
  const panel = await openPanel(page, 320);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await shoot(1600);
  await panel.getByRole('textbox', { name: 'at least' }).fill('80 GB');
  await panel.locator('.dra-Verdict:not([aria-busy])', { hasText: '80 GB' }).waitFor();
  await shoot(2200);
  await panel.getByRole('button', { name: /^Claim/ }).click();
  await panel.getByRole('tab', { name: 'Python' }).click();
  await panel.getByRole('tabpanel').filter({ hasText: 'Requirement(vram="80GB")' }).scrollIntoViewIfNeeded();
  await shoot(2200);
  await panel.getByRole('button', { name: /^Claim/ }).click();
  await panel.locator('.dra-Launch').click();
  await panel.getByText('Device reserved').waitFor();
  await shoot(1200);
  await page.locator('.dra-Place', { hasText: '80 GB' }).waitFor({ state: 'attached' });
  await panel.locator('.dra-Sessions').scrollIntoViewIfNeeded();
  await shoot(2200);
  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.type('%load_ext jupyter_dra\n%dra');
  await shoot(900);
  await page.keyboard.press('Shift+Enter');
  await page.locator('.dra-Out-title').first().waitFor();
  await page.locator('.dra-Out .dra-Meters').first().waitFor();
  await shoot(3500);
  await panel.getByRole('button', { name: /^Stop (?!and)/ }).first().click();
  await page.locator('.jp-Dialog').getByText('Stop and give back').waitFor();
  await shoot(1800);
  await page.locator('.jp-Dialog').getByRole('button', { name: 'Stop and give back' }).click();
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  await shoot(2200);

}

const server = await startServer({ devices: ['default'] });
writeNotebooks(server.folder);
const browser = await launchBrowser();
try {
  const lab = await newLab(browser, server, { viewport: { width: 1180, height: 720 } });
  lab.page.setDefaultTimeout(60_000);
  await lab.open('analysis.ipynb');
  const frames = [];
  await journey(lab, async ms => {
    await lab.page.mouse.move(1170, 710);
    frames.push({ png: await lab.page.screenshot({ animations: 'disabled', caret: 'hide' }), ms });
  });
  const film = animated(frames);
  writeFileSync(join(folder, 'journey.png'), film);
  writeFileSync(join(folder, 'sidebar-light.png'), frames[1].png);
  console.log(`${frames.length} pictures, ${(film.length / 1e6).toFixed(2)} MB`);
} finally {
  await browser.close();
  await server.stop();
}
