/** A session's time and its end on a real local cluster: warnings, one click to stay, and the reason when it is gone. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel, picture } from './browser.mjs';
import { startServer } from './server.mjs';

const WISH = { tier: 'gpu.nvidia.com', cpu: '1', host_memory: '1Gi' };

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['dgx-h100'] });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Starts a session over REST, as another page would; its card in the panel. */
async function begin(page, panel, name, wish = {}) {
  const answer = await page.request.post(`${server.url}/jupyter-dra/sessions`, {
    headers: { Authorization: `token ${server.token}` },
    data: { requirement: { ...WISH, ...wish }, name }
  });
  assert.equal(answer.status(), 202, await answer.text());
  const { id } = await answer.json();
  return { id, card: panel.locator('.dra-Card', { hasText: name }) };
}

const session = id => JSON.parse(server.dra('describe', id, '-o', 'json').out);

test('a lease that ends soon is extended by one click, an idle device is kept by one', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(40_000);
  const panel = await openPanel(page, 320);

  const soon = await begin(page, panel, 'soon', { lease: '9m' });
  await soon.card.getByText(/^Ends at \d\d:\d\d, even if a cell runs\.$/).waitFor();
  const before = session(soon.id).lease.ends_at;
  await soon.card.getByRole('button', { name: 'Extend soon' }).click();
  await soon.card.getByText(/even if a cell runs/).waitFor({ state: 'detached' });
  assert.ok(Date.parse(session(soon.id).lease.ends_at) - Date.parse(before) > 3600e3);

  const unused = await begin(page, panel, 'unused', { idle_timeout: '306s' });
  await unused.card.getByText(/^Given back in/).waitFor();
  const lease = session(unused.id).lease.ends_at;
  await unused.card.getByRole('button', { name: 'Keep unused' }).click();
  await unused.card.getByText(/^Given back in/).waitFor({ state: 'detached' });
  assert.equal(session(unused.id).lease.ends_at, lease, 'the lease stays as it is');

  assert.deepEqual(problems, []);
  await close();
});

test('the reason of an end is on the page within five seconds, with one next step', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(40_000);
  const panel = await openPanel(page, 320);
  const { id, card } = await begin(page, panel, 'shared');
  await card.getByText('idle').first().waitFor();

  const stopped = server.dra('stop', id, '--as-admin', '--because', 'maintenance at noon');
  assert.equal(stopped.status, 0, stopped.error);
  const known = Date.now();
  await card.getByText(/stopped it: maintenance at noon\./).waitFor();
  assert.ok(Date.now() - known < 5000, `it took ${Date.now() - known} ms`);
  await card.getByText('Start again …').waitFor();
  await picture(page, 'stopped-by-admin');

  assert.deepEqual(problems, []);
  await close();
});
