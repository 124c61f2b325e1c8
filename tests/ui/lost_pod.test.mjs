/** What a notebook sees when its kernel is taken away: the reason in the cell, and a kernel that works again. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel, picture } from './browser.mjs';
import { inNotebook, openNotebook, place, runCell, startCell } from './notebookpage.mjs';
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

const sessions = () => JSON.parse(server.dra('sessions', '-o', 'json').out).sessions;

/** What `kubectl delete pod` does, with the cluster's own kubeconfig (the local cluster's is JSON). */
function deletePod({ namespace, kernels }) {
  const { kubeconfig } = JSON.parse(server.dra('local', 'status', '-o', 'json').out);
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'));
  const { cluster } = clusters[0];
  const options = {
    method: 'DELETE',
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64'),
    headers: { Authorization: `Bearer ${users[0].user.token}` }
  };
  return new Promise((done, failed) => {
    const url = `${cluster.server}/api/v1/namespaces/${namespace}/pods/${kernels[0].pod}`;
    request(url, options, answer => answer.resume().on('end', () => done(answer.statusCode))).on('error', failed).end();
  });
}

/** Launches for the notebook on screen; its place label then names a device. */
async function launchHere(page) {
  const panel = await openPanel(page, 320);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await place(page, /gpu-\d/).waitFor();
  return panel;
}

const saysInCell = (page, text) => inNotebook(page, '.jp-OutputArea-output', { hasText: text });

test('a pod deleted from outside: the cell says so within five seconds, and the same notebook goes on', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  await openNotebook(page, 'train.ipynb');
  await place(page, 'here').waitFor();
  const panel = await launchHere(page);
  await runCell(page, 'x = 41; print("before", x)', 'before 41');
  await startCell(page, 'import time; print("begun"); time.sleep(120)');
  await saysInCell(page, 'begun').waitFor();
  const [before] = sessions();

  const since = Date.now();
  assert.equal(await deletePod(before), 200);
  await saysInCell(page, "The kernel's pod was deleted from outside.").waitFor();
  assert.ok(Date.now() - since < 5000, 'within five seconds');
  await picture(page, 'lost-pod');
  await page.locator('.jp-Dialog').getByRole('button').last().click({ timeout: 10_000 }).catch(() => undefined);

  await panel.locator('.dra-Card', { hasText: /idle/ }).waitFor();
  await runCell(page, 'print("after", "x" in globals())', 'after False');
  const [now] = sessions();
  assert.equal(now.id, before.id);
  assert.equal(now.kernels[0].id, before.kernels[0].id);
  assert.notEqual(now.kernels[0].pod, before.kernels[0].pod);
  assert.deepEqual(now.devices, before.devices, 'the same device');
  assert.deepEqual(problems, []);
  await close();
});

test('a kernel that crashes says how in its cell', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  await openNotebook(page, 'eval.ipynb');
  await place(page, 'here').waitFor();
  await launchHere(page);
  await startCell(page, 'import os, signal; os.kill(os.getpid(), signal.SIGSEGV)');
  await saysInCell(page, 'The kernel crashed (signal SIGSEGV).').waitFor();
  assert.deepEqual(problems, []);
  await close();
});
