/** The main journey in a real JupyterLab on a real local cluster: pick, claim, launch, see the device, give it back. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeFindings, changeTheme, launchBrowser, newLab, openLab, openPanel } from './browser.mjs';
import { holdNextPod } from './cluster.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['default'] });
  writeNotebooks(server.folder);
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Waits until the cluster shows no session of ours; the page may say so a moment before the last object is gone. */
async function nothingLeft() {
  const deadline = Date.now() + 15_000;
  while (server.sessions().some(session => session.state !== 'ended')) {
    assert.ok(Date.now() < deadline, 'a session is left');
    await new Promise(resolve => setTimeout(resolve, 100));
  }
}

test('80 GB from the sidebar: verdict, claim, launch, card of the very device, stop, nothing left', async () => {
  const lab = await newLab(browser, server);
  const { page, problems, close } = lab;
  page.setDefaultTimeout(30_000);
  await lab.open('analysis.ipynb');
  await page.locator('.dra-Place', { hasText: 'here' }).waitFor();
  const panel = await openPanel(page, 300);
  await panel.getByText('you hold no device').waitFor();
  await panel.locator('.dra-Target', { hasText: 'analysis.ipynb' }).waitFor();
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();

  await panel.getByRole('textbox', { name: 'at least' }).fill('80 GB');
  await panel.locator('.dra-Verdict-body', { hasText: /devices on \d node.*Likely an? [AH]100 80 GB/ }).waitFor();
  await panel.locator('.dra-Tier', { hasText: 'Small GPU' }).getByText('too small').waitFor();
  assert.equal(await panel.locator('.dra-Cell.dra-mod-fits').first().isVisible(), true);
  await panel.getByRole('button', { name: /^Claim valid, \d+ lines/ }).click();
  await panel.getByText('compareTo').first().waitFor();
  const yaml = await panel.getByRole('tabpanel').innerText();
  assert.match(yaml, /80G/);
  await panel.getByRole('tab', { name: 'Python' }).click();
  await panel.getByRole('tabpanel').filter({ hasText: 'Requirement(vram="80GB")' }).waitFor();
  await panel.getByRole('button', { name: /^Claim/ }).click();

  await holdNextPod(server, 2);
  await panel.getByRole('textbox', { name: 'at least' }).press('Control+Enter');
  await panel.getByText('Device reserved').waitFor();
  await page.waitForFunction(() => document.activeElement?.classList.contains('dra-Card-title'));

  const place = page.getByRole('button', { name: /^Runs: .*gpu-\d.*[AH]100 80 GB/ });
  await place.waitFor();
  const [, device, label] = /(gpu-\d+) · ([AH]100 80 GB)/.exec(await place.innerText());
  await page.locator('.dra-StatusItem', { hasText: `${label} · ${device}` }).waitFor();
  // The form folds back to its summary.
  await panel.getByRole('button', { name: /^New session.*at least 80 GB/, expanded: false }).waitFor();
  assert.equal(await page.locator('.Toastify__toast').count(), 0, 'its notebook is in view: nothing to tell');

  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.type('%load_ext jupyter_dra\n%dra');
  await page.keyboard.press('Shift+Enter');
  const card = page.locator('.dra-Out').first();
  await card.locator('.dra-Out-title', { hasText: /NVIDIA [AH]100/ }).waitFor();
  assert.match(await card.innerText(), new RegExp(device));
  await card.getByText(/^All \d+ attributes$/).waitFor();
  await card.getByRole('button', { name: /^Stop analysis/ }).waitFor();
  for (const theme of ['Dark', 'Light']) {
    await changeTheme(page, theme);
    assert.deepEqual(await axeFindings(page, '#jupyter-dra-panel'), [], theme);
    assert.deepEqual(await axeFindings(page, '.dra-Out'), [], theme);
  }

  await panel.getByRole('button', { name: /^Stop (?!and)/ }).first().click();
  const dialog = page.locator('.jp-Dialog');
  await dialog.getByText(/Variables of 1 notebook are lost; files are kept\./).waitFor();
  await dialog.getByRole('button', { name: 'Stop and give back' }).click();
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  await card.getByText('The session was stopped').waitFor();
  await page.waitForFunction(() => !document.querySelector('.dra-StatusItem')?.textContent?.includes('gpu-'));
  await nothingLeft();
  assert.deepEqual(problems, []);
  await close();
});

test('cancel while starting never asks and leaves nothing', async () => {
  const { page, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  const panel = await openPanel(page, 300);
  await holdNextPod(server, 3);
  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await panel.getByRole('button', { name: /^Cancel / }).click();
  await panel.getByText('not started').waitFor();
  assert.equal(await page.locator('.jp-Dialog').count(), 0);
  await nothingLeft();
  await close();
});
