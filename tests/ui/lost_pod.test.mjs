/** What a notebook sees when its kernel is taken away: the reason in the cell, and a kernel that works again. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, picture } from './browser.mjs';
import { askCluster } from './cluster.mjs';
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

const saysInCell = (page, text) => inNotebook(page, '.jp-OutputArea-output', { hasText: text });

test('a pod deleted from outside: the cell says so within five seconds, and the same notebook goes on', async () => {
  const { page, panel, problems, close } = await openFor(browser, server, 'train.ipynb');
  await launchHere(page, panel);
  await runCell(page, 'x = 41; print("before", x)', 'before 41');
  await startCell(page, 'import time; print("begun"); time.sleep(120)');
  await saysInCell(page, 'begun').waitFor();
  const [before] = server.sessions();

  const since = Date.now();
  // What `kubectl delete pod` does.
  const pod = `/api/v1/namespaces/${before.namespace}/pods/${before.kernels[0].pod}`;
  assert.equal(await askCluster(server, 'DELETE', pod), 200);
  await saysInCell(page, "The kernel's pod was deleted from outside.").waitFor();
  assert.ok(Date.now() - since < 5000, 'within five seconds');
  await picture(page, 'lost-pod');
  await page.locator('.jp-Dialog').getByRole('button').last().click({ timeout: 10_000 }).catch(() => undefined);

  await panel.locator('.dra-Card', { hasText: /idle/ }).waitFor();
  await runCell(page, 'print("after", "x" in globals())', 'after False');
  const [now] = server.sessions();
  assert.equal(now.id, before.id);
  assert.equal(now.kernels[0].id, before.kernels[0].id);
  assert.notEqual(now.kernels[0].pod, before.kernels[0].pod);
  assert.deepEqual(now.devices, before.devices, 'the same device');
  assert.deepEqual(problems, []);
  await close();
});

test('a kernel that crashes says how in its cell', async () => {
  const { page, panel, problems, close } = await openFor(browser, server, 'eval.ipynb');
  await launchHere(page, panel);
  await startCell(page, 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)');
  await saysInCell(page, 'The kernel crashed (signal SIGSEGV).').waitFor();
  assert.deepEqual(problems, []);
  await close();
});
