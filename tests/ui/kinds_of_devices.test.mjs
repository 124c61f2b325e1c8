/** Every idea of a device, launched from the sidebar: companions, parts, TPUs, shares, alternatives; and from the picker. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, newLab, openLab, openPanel } from './browser.mjs';
import { place, runCell } from './notebookpage.mjs';
import { notebook, writeNotebooks } from './notebooks.mjs';
import { openPicker, PICKER_CELLS } from './pickerframes.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['default', 'shared'] });
  browser = await launchBrowser();
  writeNotebooks(server.folder, { picker: notebook(PICKER_CELLS) });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const tier = (panel, name) => panel.getByRole('radio', { name: new RegExp(`^${name}`) }).check();
const options = panel => panel.getByRole('button', { name: /^More options/ }).click();

const KINDS = [
  {
    name: 'a GPU and a network card on one NUMA node',
    async choose(panel) {
      await tier(panel, 'High-memory GPU');
      await options(panel);
      await panel.getByRole('button', { name: /same PCIe root/ }).first().click();
      await panel.getByLabel('What they must share').selectOption('numaNode');
    },
    drivers: ['dra.net', 'gpu.nvidia.com']
  },
  {
    name: 'a fixed part of a card',
    choose: panel => tier(panel, 'GPU slice'),
    drivers: ['gpu.nvidia.com'],
    device: /mig/
  },
  {
    name: 'a TPU',
    choose: panel => tier(panel, 'TPU v6e node'),
    drivers: ['tpu.google.com']
  },
  {
    name: 'an amount of a shared device',
    async choose(panel) {
      await options(panel);
      await panel.getByRole('radio', { name: 'An amount of memory' }).check();
    },
    share: true
  },
  {
    name: 'a second choice',
    async choose(panel) {
      await tier(panel, 'High-memory GPU');
      await options(panel);
      await panel.getByLabel('How many').fill('9');
      await panel.getByLabel('Add a second choice').selectOption({ label: 'Small GPU' });
      await panel.getByLabel('How many').fill('1');
    },
    drivers: ['gpu.nvidia.com'],
    request: /^gpu\/[12]$/
  }
];

for (const kind of KINDS) {
  test(`${kind.name} is launched from the sidebar and given back`, async () => {
    const { page, close } = await openLab(browser, server);
    page.setDefaultTimeout(30_000);
    const panel = await openPanel(page, 420);
    await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
    await kind.choose(panel);
    await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
    await panel.locator('.dra-Launch:not([aria-disabled])').click();
    await page.waitForSelector('.jp-NotebookPanel');
    const [session] = server.sessions();
    assert.equal(session.state, 'running');
    const { devices } = session;
    if (kind.drivers) {
      assert.deepEqual([...new Set(devices.map(device => device.driver))].sort(), kind.drivers);
    }
    if (kind.device) {
      assert.match(devices[0].device, kind.device);
    }
    if (kind.request) {
      assert.match(devices[0].request, kind.request);
    }
    if (kind.share) {
      assert.ok(devices[0].share);
    }
    await close();
    assert.equal(server.dra('stop', '--all').status, 0);
  });
}

test('the picker copies its code, and launches for the notebook it stands in after one question', async () => {
  const lab = await newLab(browser, server, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  const { page, problems, close } = lab;
  page.setDefaultTimeout(30_000);
  const picker = await openPicker(lab);
  await picker.getByRole('button', { name: 'Copy the code' }).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'Requirement(compute_capability=">=8.0")');

  const launch = picker.getByRole('button', { name: 'Launch for this notebook …' });
  const dialog = page.locator('.jp-Dialog');
  await launch.click();
  await dialog.getByText('Replace the kernel of picker.ipynb?').waitFor();
  await dialog.getByText(/Its variables are lost\. It asks for Ampere or newer and holds the device/).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  const live = () => server.sessions().filter(one => one.state !== 'ended');
  assert.deepEqual(live(), [], 'Cancel starts nothing');

  await launch.click();
  await dialog.getByRole('button', { name: 'Replace and launch' }).click();
  await place(page, /gpu-\d/).waitFor();
  await runCell(page, 'import os; print("picker" in dir())', 'False');
  const [session] = live();
  assert.equal(session.kernels[0].notebook, 'picker.ipynb');
  assert.equal(session.requirement.compute_capability, '>=8.0');
  assert.deepEqual(problems, []);
  await close();
  assert.equal(server.dra('stop', '--all').status, 0);
});
