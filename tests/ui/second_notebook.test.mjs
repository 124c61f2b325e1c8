/** A second notebook on the same device, on a real server and local cluster (journey B). */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openPanel, picture, runCommand } from './browser.mjs';
import { openFor, openNotebook, place, runCell } from './notebookpage.mjs';
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

test('all taken: join the own session, both notebooks on one device, the last one out gives it back', async () => {
  const { page, problems, close, ...opened } = await openFor(browser, server, 'train.ipynb');
  let { panel } = opened;
  await panel.getByRole('button', { name: /^More options/ }).click();
  await panel.getByLabel('How many').fill('8');
  // Six seconds of idleness after the warning's five minutes before the end.
  await panel.getByLabel('Idle at most').fill('306 s');
  await panel.getByLabel('Idle at most').press('Enter');
  await panel.locator('.dra-Verdict:not([aria-busy])', { hasText: 'Fits now' }).waitFor();
  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await place(page, '8 devices').waitFor();

  await openNotebook(page, 'eval.ipynb');
  await place(page, 'here').waitFor();
  panel = await openPanel(page, 320);
  await panel.getByRole('button', { name: /^New session/, expanded: false }).click();
  await panel.getByLabel('How many').fill('1');
  await panel.locator('.dra-Verdict-head', { hasText: 'All taken for now' }).waitFor();
  const first = panel.locator('.dra-Holders > li').first();
  assert.match(await first.innerText(), /You · train/);
  await panel.getByRole('button', { name: /^Join your session train/ }).click();
  const dialog = page.locator('.jp-Dialog');
  await dialog.getByText(/nothing keeps them apart/).waitFor();
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await place(page, '8 devices').waitFor();
  await panel.getByText('They share all of its memory; nothing keeps them apart.').waitFor();
  await panel.locator('.dra-Kernels > li').nth(1).waitFor();
  await panel.getByRole('button', { name: /^Join your session train/ }).waitFor({ state: 'detached' });
  // Both have memory in the one bar, each in its own pattern.
  await panel.locator('.dra-Meter-piece.dra-mod-solid + .dra-Meter-piece.dra-mod-stripes').waitFor({ state: 'attached' });
  await picture(page, 'two-notebooks');

  await runCell(page, 'kept = 6 * 7; kept', '42');

  // A third one joins from the session's card, and leaves again.
  await openNotebook(page, 'analysis.ipynb');
  await place(page, 'here').waitFor();
  panel = await openPanel(page, 320);
  await panel.getByRole('button', { name: 'More about train' }).click();
  await page.locator('.dra-Menu .lm-Menu-item', { hasText: 'Show more' }).click();
  await panel.getByRole('button', { name: 'Use here: train' }).click();
  await dialog.getByText('Run analysis.ipynb on train?').waitFor();
  await dialog.getByRole('button', { name: 'Use it' }).click();
  await place(page, '8 devices').waitFor();
  await panel.locator('.dra-Kernels > li').nth(2).waitFor();
  await runCommand(page, 'notebook:shutdown-kernel');
  await panel.locator('.dra-Kernels > li').nth(2).waitFor({ state: 'detached' });

  // The first notebook goes: the session stays for the second, on the same devices.
  await page.locator('.lm-TabBar-tab', { hasText: 'train.ipynb' }).click();
  await runCommand(page, 'notebook:shutdown-kernel');
  await panel.locator('.dra-Kernels > li').nth(1).waitFor({ state: 'detached' });
  assert.equal(server.sessions().filter(one => one.state === 'running').length, 1);
  await page.locator('.lm-TabBar-tab', { hasText: 'eval.ipynb' }).click();
  await place(page, '8 devices').waitFor();
  await runCell(page, 'kept + 1', '43');
  const held = () => server.sessions()[0].devices.map(one => one.device);
  const before = held();
  const restarted = runCommand(page, 'notebook:restart-kernel');
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await restarted;
  await runCell(page, "'kept' in dir()", 'False');
  assert.deepEqual(held(), before);

  // Left alone, it warns where people look, and one press keeps it.
  await panel.getByText(/^Given back in \d min\./).waitFor();
  await page.locator('.dra-StatusItem', { hasText: /· \d min left/ }).waitFor();
  await picture(page, 'idle-warning');
  await panel.getByRole('button', { name: 'Keep train' }).click();
  await panel.getByText(/^Given back in/).waitFor({ state: 'detached' });
  await page.locator('.dra-StatusItem', { hasText: /· \d min left/ }).waitFor({ state: 'detached' });

  // The last one out gives the devices back.
  await runCommand(page, 'notebook:shutdown-kernel');
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  assert.deepEqual(problems, []);
  await close();
});
