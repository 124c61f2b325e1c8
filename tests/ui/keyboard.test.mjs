/** A session by keyboard alone: found, asked for, launched, looked at, given back; the mouse is never used. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab } from './browser.mjs';
import { openPanelByKeys, tabTo } from './keys.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['default'] });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('palette, tiers, memory, launch, stop: every step by key, the focus never lost', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  const panel = await openPanelByKeys(page);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.locator('button, input').first().focus();

  // The order of the design: cluster, menu, Sessions, New session, tiers, memory, slider, options, claim, Devices, Launch.
  const order = await tabTo(page, /^Launch$/);
  const places = [/^Sessions/, /^New session/, /^Any GPU$/, /^at least/, /^at most/, /^More options/, /^Claim/, /^Devices/].map(name =>
    order.findIndex(text => name.test(text))
  );
  assert.ok(places.every(place => place >= 0), `missing among ${order.join(' | ')}`);
  assert.deepEqual(places, [...places].sort((a, b) => a - b), order.join(' | '));

  await tabTo(page, /^Any GPU$/, 'Shift+Tab');
  await page.keyboard.type('high');
  await panel.getByRole('radio', { name: /^High-memory GPU/ }).and(page.locator(':checked')).waitFor();
  await tabTo(page, /^at least/);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  const slider = panel.getByRole('slider').first();
  assert.ok(await slider.evaluate(node => node === document.activeElement));
  await page.keyboard.press('End');
  await page.waitForFunction(() => /at least 80 GB/.test(document.activeElement?.getAttribute('aria-valuetext') ?? ''));
  await panel.locator('.dra-Verdict:not([aria-busy])', { hasText: 'Fits now' }).waitFor();
  await page.keyboard.press('Control+Enter');

  const card = panel.locator('.dra-Card').first();
  await card.waitFor();
  await page.waitForFunction(() => document.activeElement?.classList.contains('dra-Card-title'));
  await page.waitForSelector('.jp-NotebookPanel .dra-Place');
  await panel.getByRole('button', { name: /^Stop (?!and)/ }).first().waitFor();
  await panel.locator('.dra-Card-title').first().focus();
  await tabTo(page, /^Stop /);
  await page.keyboard.press('Enter');
  const dialog = page.locator('.jp-Dialog');
  await dialog.or(panel.getByText(/stopped \d\d:\d\d/)).first().waitFor();
  if (await dialog.count()) {
    await tabTo(page, /Stop and give back/);
    await page.keyboard.press('Enter');
  }
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  assert.deepEqual(problems, []);
  await close();
});
