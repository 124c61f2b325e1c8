/** Every idea of a device, launched from the sidebar: companions, parts, TPUs, shares, alternatives. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel } from './browser.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['default', 'shared'] });
  browser = await launchBrowser();
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
    const [session] = JSON.parse(server.dra('sessions', '-o', 'json').out).sessions;
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
