/** Notebook 7: the panel at the right, opened from its menu; no status bar, so the place label also says what ends soon. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeFindings, launchBrowser } from './browser.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['dgx-h100'], settings: { lease: 540 } });
  browser = await launchBrowser();
  writeNotebooks(server.folder);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('Notebook 7: open the panel, launch for this notebook, run a cell, see the lease in the label, give back', async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US' });
  const page = await context.newPage();
  page.setDefaultTimeout(25_000);
  const [problems, others] = [[], []];
  // Only what our own code throws: the page of Notebook 7 misses some plugins that its others ask for.
  page.on('pageerror', error => (/\/extensions\/jupyter-dra\//.test(error.stack) ? problems : others).push(error.stack));
  await page.goto(`${server.url}/notebooks/analysis.ipynb?token=${server.token}`);
  const place = page.locator('.dra-Place');
  await place.filter({ hasText: 'here' }).waitFor();

  await page.locator('.lm-MenuBar-item', { hasText: 'View' }).click();
  await page.locator('.lm-Menu-item', { hasText: 'Right Sidebar' }).hover();
  await page.locator('.lm-Menu-item', { hasText: 'GPU sessions' }).click();
  const panel = page.locator('#jupyter-dra-panel');
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  const [box, view] = [await panel.boundingBox(), page.viewportSize()];
  assert.ok(box.x > view.width / 2, 'the panel is at the right');
  await panel.locator('.dra-Target', { hasText: 'analysis.ipynb' }).waitFor();
  // The page of Notebook 7 has no headings that ours could stand under.
  const findings = await axeFindings(page, '#jupyter-dra-panel');
  assert.deepEqual(findings.filter(line => !line.startsWith('heading-order')), []);

  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await place.filter({ hasText: /gpu-\d.* · \d+ min left/ }).waitFor();
  assert.equal(await page.locator('.dra-StatusItem').count(), 0);

  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.type('6 * 7');
  await page.keyboard.press('Shift+Enter');
  await page.locator('.jp-OutputArea-output', { hasText: '42' }).waitFor();

  await panel.getByRole('button', { name: /^Stop / }).first().click();
  await page.locator('.jp-Dialog').getByRole('button', { name: 'Stop and give back' }).click();
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  assert.deepEqual(problems, [], others.join('\n'));
  await context.close();
});
