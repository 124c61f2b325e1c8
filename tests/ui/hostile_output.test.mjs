/** Outputs that try to spend or stop: each link opens our own question, and Cancel sends nothing (threat T05). */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel } from './browser.mjs';
import { bertTrain } from './fixtures.mjs';
import { routesOf } from './frames.mjs';
import { notebook, output, writeNotebooks } from './notebooks.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

const LINKS = [
  ['launch', { requirement: { count: 64, image: 'evil' } }],
  ['stop', { session: bertTrain.id }],
  ['extend', { session: bertTrain.id }],
  ['attach-here', { session: bertTrain.id }],
  ['change-cluster', { name: 'research' }],
  ['start-local', {}]
];

before(async () => {
  server = await startServer();
  browser = await launchBrowser();
  const html = LINKS.map(
    ([command, args]) =>
      `<button data-commandlinker-command="jupyter-dra:${command}" data-commandlinker-args='${JSON.stringify(args)}'>go ${command}</button>`
  ).join('');
  const tricky = `<button data-commandlinker-command="jupyter-dra:stop" data-commandlinker-args='{"session":"${bertTrain.id}","confirmed":true}'>go tricky</button>`;
  const foreign = notebook([{ source: '', outputs: [output({ 'text/html': html + tricky })] }]);
  writeNotebooks(server.folder, { foreign });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('no link in an output spends, stops, shares or switches without our question', async () => {
  const writes = [];
  const answers = routesOf({ sessions: [bertTrain] });
  const routes = (method, path, body) => {
    if (method !== 'GET' && path !== 'plan' && path !== 'claims/preview') {
      writes.push(`${method} ${path}`);
    }
    return answers(method, path, body);
  };
  const { page, close } = await openLab(browser, server, { routes });
  page.setDefaultTimeout(30_000);
  await openPanel(page, 300);
  if (!(await page.locator('#filebrowser').isVisible())) {
    await page.click('li[data-id="filebrowser"]');
  }
  await page.locator('.jp-DirListing-item', { hasText: 'foreign.ipynb' }).dblclick();
  const output = page.locator('.jp-OutputArea-output');
  await output.getByText('go stop').waitFor();
  const own = page.locator('.jp-Dialog', { hasNotText: 'Run Command?' });
  // JupyterLab asks before it runs a command of an untrusted document; the question after that is ours.
  const press = async text => {
    await output.getByText(text, { exact: true }).click();
    await page.locator('.jp-Dialog', { hasText: 'Run Command?' }).getByRole('button', { name: 'Run Once' }).click();
    await page.locator('.jp-Dialog', { hasText: 'Run Command?' }).waitFor({ state: 'detached' });
  };
  for (const [command] of LINKS) {
    await press(`go ${command}`);
    await own.waitFor();
    await own.getByRole('button', { name: 'Cancel', exact: true }).click();
    await own.waitFor({ state: 'detached' });
  }
  await press('go tricky');
  await page.waitForTimeout(500);
  assert.equal(await own.filter({ hasText: 'Stop bert-train?' }).count(), 0);
  assert.deepEqual(writes, []);
  await close();
});
