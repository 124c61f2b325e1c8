/** `jupyter dra demo` as a newcomer meets it: one command, one address, nothing in the way, nothing left behind. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launchBrowser, openPanel } from './browser.mjs';
import { temporaryFolder } from './folders.mjs';
import { draCommand, surroundings } from './server.mjs';

let browser;
let folder;

before(async () => {
  folder = temporaryFolder('demo');
  for (const name of ['run', 'cache', 'data', 'runtime', 'config']) {
    mkdirSync(join(folder, name), { mode: 0o700 });
  }
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The demo's process once it prints its address. */
async function startDemo() {
  const [program, ...words] = draCommand('demo', '--no-browser', '--dir', join(folder, 'notebooks'));
  const child = spawn(program, words, { env: surroundings(folder), stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise(done => child.on('exit', done));
  let said = '';
  const address = await new Promise((done, failed) => {
    const take = data => {
      said += data;
      const found = /http:\/\/\S+token=\S+/.exec(said);
      if (found) {
        done(found[0]);
      }
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    ended.then(() => failed(new Error(said)));
  });
  return { address, ended, interrupt: () => child.kill('SIGINT') };
}

test('the demo: notebooks, kernels of the tiers, devices to launch on, no question first; Ctrl-C ends it all', async () => {
  const demo = await startDemo();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(demo.address);
    await page.locator('.jp-LauncherCard', { hasText: 'Python (High-memory GPU)' }).first().waitFor();
    await page.locator('.jp-DirListing-item', { hasText: '.ipynb' }).first().waitFor();
    const panel = await openPanel(page, 300);
    await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
    assert.deepEqual(await page.locator('.jp-Dialog, .Toastify__toast').allInnerTexts(), []);
    const settings = new URL(demo.address);
    settings.pathname = '/lab/api/settings/@jupyterlab/apputils-extension:notification';
    const { schema } = await (await page.request.get(settings.href)).json();
    assert.equal(schema.properties.fetchNews.default, 'false');
  } finally {
    demo.interrupt();
    assert.equal(await demo.ended, 130);
  }
  const [program, ...words] = draCommand('local', 'status');
  const status = spawn(program, words, { env: surroundings(folder), stdio: 'ignore' });
  assert.equal(await new Promise(done => status.on('exit', done)), 1, 'the local cluster has ended too');
});
