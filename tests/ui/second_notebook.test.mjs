/** A second notebook on the same device, on a real server and local cluster (journey B). */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel, runCommand } from './browser.mjs';
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

const openNotebook = async (page, name) => {
  if (!(await page.locator('#filebrowser').isVisible())) {
    await page.click('li[data-id="filebrowser"]');
  }
  await page.locator('.jp-DirListing-item', { hasText: name }).dblclick();
  await page.locator('.lm-TabBar-tab.lm-mod-current', { hasText: name }).waitFor();
};

const place = (page, text) =>
  page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .dra-Place', { hasText: text });

test('all taken: join the own session, both notebooks on one device, the last one out gives it back', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(40_000);
  await openNotebook(page, 'train.ipynb');
  await place(page, 'here').waitFor();
  let panel = await openPanel(page, 320);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.locator('.dra-Target', { hasText: 'train.ipynb' }).waitFor();
  await panel.getByRole('button', { name: /^More options/ }).click();
  await panel.getByLabel('How many').fill('8');
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await place(page, '8 devices').waitFor();

  await openNotebook(page, 'eval.ipynb');
  await place(page, 'here').waitFor();
  panel = await openPanel(page, 320);
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
  assert.equal(await panel.locator('.dra-Kernels > li').count(), 2);

  const code = page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell .cm-content').first();
  const run = async (text, answer) => {
    await code.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
    await page.keyboard.press('Control+Enter');
    await page
      .locator('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-OutputArea-output', { hasText: answer })
      .waitFor();
  };
  await run('kept = 6 * 7; kept', '42');

  // The first notebook goes: the session stays for the second, on the same devices.
  await page.locator('.lm-TabBar-tab', { hasText: 'train.ipynb' }).click();
  await runCommand(page, 'notebook:shutdown-kernel');
  await panel.locator('.dra-Kernels > li').nth(1).waitFor({ state: 'detached' });
  assert.equal(JSON.parse(server.dra('sessions', '-o', 'json').out).sessions.filter(one => one.state === 'running').length, 1);
  await page.locator('.lm-TabBar-tab', { hasText: 'eval.ipynb' }).click();
  await place(page, '8 devices').waitFor();
  await run('kept + 1', '43');
  const held = () => JSON.parse(server.dra('sessions', '-o', 'json').out).sessions[0].devices.map(one => one.device);
  const before = held();
  const restarted = runCommand(page, 'notebook:restart-kernel');
  await page.locator('.jp-Dialog .jp-mod-accept').click();
  await restarted;
  await run("'kept' in dir()", 'False');
  assert.deepEqual(held(), before);

  await panel.getByRole('button', { name: /^Stop train/ }).click();
  await dialog.getByText(/Stop train\?/).waitFor();
  await dialog.getByRole('button', { name: 'Stop and give back' }).click();
  await panel.getByText(/stopped \d\d:\d\d/).waitFor();
  assert.deepEqual(problems, []);
  await close();
});
