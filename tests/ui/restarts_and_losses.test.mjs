/** What a kernel goes through on its device, on a real local cluster: another size, a kill, and an end by its own fault. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, picture } from './browser.mjs';
import { inNotebook, launchHere, openFor, runCell, startCell } from './notebookpage.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['dgx-h100'] });
  browser = await launchBrowser();
  writeNotebooks(server.folder);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** The session that runs, as the command line tells it. */
function running() {
  const { sessions } = JSON.parse(server.dra('sessions', '-o', 'json').out);
  const { id } = sessions.find(session => session.state === 'running');
  return JSON.parse(server.dra('describe', id, '-o', 'json').out);
}

const events = session => session.history.map(entry => entry.event);

/** Opens "Change image or size" from the session's menu. */
async function openChange(page, panel) {
  await panel.getByRole('button', { name: 'More about analysis' }).click();
  await page.locator('.dra-Menu .lm-Menu-item', { hasText: 'Change image or size' }).click();
  const dialog = page.locator('.jp-Dialog', { hasText: 'Change the pod of analysis' });
  await dialog.waitFor();
  return dialog;
}

/** JupyterLab says of any restart it did not ask for itself that the kernel died and comes back. */
async function dismissRestart(page) {
  const told = page.locator('.jp-Dialog', { hasText: 'Kernel Restarting' });
  await told.waitFor();
  await told.getByRole('button').last().click();
  await told.waitFor({ state: 'detached' });
}

test('another size from the menu: the next pod is placed first, the device stays, the notebook goes on', async () => {
  const { page, panel, problems, close } = await openFor(browser, server, 'analysis.ipynb');
  await launchHere(page, panel);
  await page.evaluate(() => (window.samePage = true));
  await runCell(page, 'kept = 6 * 7; kept', '42');
  const before = running();

  let dialog = await openChange(page, panel);
  await dialog.getByLabel('Image').fill('registry.invalid/nothing:1');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await page.locator('.Toastify__toast', { hasText: 'The kernel of analysis stays in its pod: There is no image registry.invalid/nothing:1.' }).waitFor();
  await runCell(page, 'kept + 1', '43');

  dialog = await openChange(page, panel);
  await picture(page, 'change-size');
  await dialog.getByLabel('CPUs').fill('2');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await dismissRestart(page);
  await runCell(page, "'kept' in dir()", 'False');
  const after = running();
  assert.deepEqual(events(after), ['moving', 'not-moved', 'moving', 'moved']);
  assert.deepEqual(after.devices, before.devices);
  assert.equal(after.kernels[0].id, before.kernels[0].id);
  assert.notEqual(after.kernels[0].pod, before.kernels[0].pod);
  assert.equal(after.kernels[0].cpu, '2');
  assert.ok(await page.evaluate(() => window.samePage), 'the page was not loaded anew');
  await picture(page, 'changed');

  // A kill from inside: the same pod starts the kernel again, and the history says so.
  await startCell(page, 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)');
  await dismissRestart(page);
  await runCell(page, '6 * 8', '48');
  const again = running();
  assert.equal(again.kernels[0].pod, after.kernels[0].pod);
  assert.deepEqual(again.devices, before.devices);
  assert.equal(events(again).pop(), 'restarted');

  await panel.getByRole('button', { name: 'Stop analysis' }).first().click();
  await page.locator('.jp-Dialog').getByRole('button', { name: 'Stop and give back' }).click();
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  assert.deepEqual(problems, []);
  await close();
});

test('out of host memory: the reason in panel, notebook, status bar and a notification, and one press to start with more', async () => {
  const { page, panel, problems, close } = await openFor(browser, server, 'train.ipynb');
  await panel.getByRole('button', { name: /^More options/ }).click();
  await panel.getByLabel('Memory of the node').fill('400Mi');
  await panel.getByLabel('Memory of the node').press('Enter');
  await panel.locator('.dra-Verdict:not([aria-busy])', { hasText: 'Fits now' }).waitFor();
  await launchHere(page, panel);
  await runCell(page, '%load_ext jupyter_dra\n%dra', 'NVIDIA H100');

  await page.keyboard.press('b');
  await page.keyboard.press('Enter');
  await page.keyboard.type("hold = b'x' * (700 << 20)");
  const began = Date.now();
  await page.keyboard.press('Control+Enter');
  const card = panel.locator('.dra-state-ended', { hasText: 'train' });
  await card.getByText(/It used more than its 400 MiB of the node’s memory/).waitFor();
  assert.ok(Date.now() - began < 10_000, `it took ${Date.now() - began} ms`);
  await inNotebook(page, '.dra-Out', { hasText: 'The kernel was ended: out of host memory' }).waitFor();
  await page.locator('.dra-StatusItem', { hasText: 'Ended: out of host memory' }).waitFor();
  await page.locator('.Toastify__toast', { hasText: 'out of host memory' }).waitFor();
  await picture(page, 'out-of-memory');

  await card.getByRole('button', { name: /^Start again with 1 GiB/ }).click();
  await panel.locator('.dra-Verdict:not([aria-busy])', { hasText: 'Fits now' }).waitFor();
  assert.equal(await panel.getByLabel('Memory of the node').inputValue(), '1 GiB');
  await launchHere(page, panel);
  await runCell(page, '6 * 7', '42');
  assert.equal(running().kernels[0].host_memory, '1Gi');
  assert.deepEqual(problems, []);
  await close();
});
