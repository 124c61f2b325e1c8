/** All devices taken: who holds them, waiting, and the start that follows by itself, on a real local cluster. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel } from './browser.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['dgx-h100'] });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('a waiting session says who holds the devices and starts when they are given back', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(40_000);
  const panel = await openPanel(page, 320);
  const launch = panel.locator('.dra-Launch:not([aria-disabled])');
  await panel.getByRole('button', { name: /^More options/ }).click();
  await panel.getByLabel('How many').fill('8');
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await launch.click();
  await page.locator('.dra-Place', { hasText: '8 devices' }).waitFor();

  await panel.getByRole('button', { name: /^New session/, expanded: false }).click();
  await panel.getByLabel('How many').fill('1');
  await panel.locator('.dra-Verdict-head', { hasText: 'All taken for now' }).waitFor();
  await launch.filter({ hasText: 'Wait for a device' }).waitFor();
  await launch.click();
  const waiting = panel.locator('.dra-state-waiting');
  await waiting.getByText(/It starts by itself; you can close this page\./).waitFor();
  await waiting.getByText(/Waiting for \d+:\d\d, at most 2 h/).waitFor();

  const first = panel.locator('.dra-Card', { hasText: '8 ×' });
  await first.locator('.dra-IconButton').click();
  await page.locator('.dra-Menu .lm-Menu-item', { hasText: 'Stop' }).click();
  // Its notebook has run nothing, so nothing is lost and nothing is asked.
  await panel.locator('.dra-state-running').getByText(/^Ready after/).first().waitFor();
  assert.equal(await page.locator('.jp-Dialog').count(), 0);
  await page.locator('.dra-Place', { hasText: /gpu-\d/ }).waitFor();
  assert.deepEqual(problems, []);
  await close();
});
