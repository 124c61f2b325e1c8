/** An admin asks why people wait (journey C), by keyboard alone: 500 nodes, rights to see all claims; the last part on a real local cluster. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeFindings, launchBrowser, newLab, openLab } from './browser.mjs';
import * as data from './fixtures.mjs';
import { routesOf } from './frames.mjs';
import { openPanelByKeys, press, tabTo, watchKeys } from './keys.mjs';
import { startServer } from './server.mjs';

let server;
let browser;

before(async () => {
  server = await startServer({ devices: ['default'] });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Claims that wait, in four groups, thirty in all. */
function thirtyWaiting() {
  const [mira, , jon, tpu, kim] = data.waitingList.waiting;
  const some = (row, n) => Array.from({ length: n }, (_, index) => ({ ...row, claim: `${row.claim}-${index}` }));
  const taken = { ...data.waitingList.waiting[1] };
  return { ...data.waitingList, waiting: [mira, ...some(tpu, 10), ...some(taken, 14), ...some(jon, 3), ...some(kim, 2)] };
}

/** The device that its driver marked. */
const MARKED = { pool: 'h200-141-gb-7', name: 'gpu-3' };

/** 500 nodes; one holder uses nothing, one device is marked. */
function inventory() {
  const devices = data.manyDevices(data.FIVE_HUNDRED);
  const marked = devices.find(device => device.pool === MARKED.pool && device.name === MARKED.name);
  Object.assign(marked, { state: 'out-of-service', ...data.broken });
  const idle = devices.find(device => device.state === 'taken');
  idle.holders = [{ who: 'namespace', namespace: 'team-c', claim: 'eval', session: null, user: null, since: '2026-11-24T12:00:00Z', idle_seconds: null, note: 'no-pod' }];
  return data.deviceList(devices, 'all');
}

const impossible = data.plan({
  ...data.impossible,
  counts: { ...data.impossible.counts, devices: 2440, nodes: 500 },
  reasons: [
    { code: 'memory', devices: 2120, params: { asked_bytes: 141e9, nearest: { label: 'H100 80 GB' } }, message: '' },
    { code: 'partner', devices: 320, params: { partner: 'RDMA card', align: 'pcieRoot', label: 'H200', nodes: 40 }, message: '' }
  ]
});

test('from the picture to those who wait, to the request of one of them, to the holder that uses nothing', async () => {
  const devices = inventory();
  const routes = routesOf({
    devices: () => devices,
    tiers: data.countedTiers(2440, 500),
    waiting: thirtyWaiting(),
    plan: body => (body.requirement.count === 4 ? impossible : data.plan())
  });
  const lab = await newLab(browser, server, { routes, fixedTime: data.NOW });
  const { page } = lab;
  page.setDefaultTimeout(20_000);
  await lab.open();
  const panel = await openPanelByKeys(page);
  const keyTimes = await watchKeys(page);
  await panel.locator('button, input').first().focus();
  await tabTo(page, /^at least/);
  await page.keyboard.type('40 GB');
  await press(page, /^New session/, 'Shift+Tab');
  await press(page, /^Devices/);
  await panel.locator('.dra-Devices-summary', { hasText: /\d+ fit · [\d,]+ free/ }).waitFor();

  await panel.getByRole('button', { name: 'Waiting 30' }).waitFor();
  await press(page, /^Waiting 30$/);
  await panel.getByText('30 wait · 11 cannot ever start · 14 taken · 3 starting · 2 limit').waitFor();
  await press(page, /^Show all 30$/);
  const row = panel.locator('.dra-Waiting li', { hasText: 'ft-large' });
  assert.match(await row.innerText(), /mira.*ft-large.*4 devices.*1 h 12 min/s);
  assert.match(await row.innerText(), /no RDMA card on the same PCIe root/);
  await press(page, /^mira \/ ft-large/, 'Shift+Tab');
  await press(page, /^Try this request$/);
  await panel.locator('.dra-Verdict-head', { hasText: 'Not possible here' }).waitFor();
  await panel.locator('.dra-Why', { hasText: 'H200 on 40 nodes' }).waitFor();
  await panel.getByRole('button', { name: /Without the network card.*232 free/s }).waitFor();
  await press(page, /^New session/, 'Shift+Tab');
  assert.deepEqual(
    (await panel.locator('.dra-Chip').allInnerTexts()).map(text => text.trim()),
    ['4 devices', 'H200', 'network card (RDMA), same PCIe root']
  );

  await press(page, /^New session/);
  await press(page, /^List$/);
  await press(page, /^Idle/);
  const rows = panel.locator('.dra-List tbody tr:not([aria-hidden])');
  const first = rows.first();
  await first.getByText('no pod').waitFor();
  assert.match(await first.innerText(), /team-c \/ eval/);
  await tabTo(page, /^Filter/, 'Shift+Tab');
  await page.keyboard.type('team-c');
  await rows.nth(1).waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 1);

  // The picture: to the node with a marked device, into its row, to the cell, and what the tip says.
  await press(page, /^Picture$/, 'Shift+Tab');
  await tabTo(page, /^H200 141 GB\. 40 nodes/);
  await page.keyboard.press('Home');
  const under = panel.locator('.dra-Group').first().getByRole('status').locator('strong');
  for (let turn = 0; (await under.innerText()) !== MARKED.pool; turn += 1) {
    assert.ok(turn < 40, 'no node of that name');
    await page.keyboard.press('ArrowRight');
  }
  await page.keyboard.press('Enter');
  await tabTo(page, /^gpu-0, H200 141 GB/);
  await tabTo(page, new RegExp(`^${MARKED.name}, H200 141 GB, out of service`), 'ArrowRight');
  await page.keyboard.press('Enter');
  await panel.getByRole('tooltip').filter({ hasText: 'Marked by the driver: the card cannot be reached (Xid 79), since Sat 09:12.' }).waitFor();
  await page.keyboard.press('Escape');
  await panel.getByRole('tooltip').waitFor({ state: 'detached' });

  assert.deepEqual(await axeFindings(page, '#jupyter-dra-panel'), []);
  // A busy machine makes single answers late; a slow page makes many so.
  const times = (await keyTimes()).sort((a, b) => a - b);
  assert.ok((times[Math.floor(times.length * 0.9)] ?? 0) <= 200, `keys answered after ${times} ms`);
  assert.deepEqual(lab.problems, []);
  await lab.close();
});

test('what is copied for the admin reads alone and has the numbers of the command line; the check names fixes', async () => {
  const { page, problems, close } = await openLab(browser, server, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  page.setDefaultTimeout(30_000);
  const panel = await openPanelByKeys(page);
  await panel.locator('button, input').first().focus();
  await tabTo(page, /^at least/);
  await page.keyboard.type('500 GB');
  await panel.locator('.dra-Verdict-head', { hasText: 'Not possible here' }).waitFor();
  await press(page, /^Copy for your admin$/);
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const said = JSON.parse(server.dra('plan', '--vram', '500GB', '-o', 'json').out);
  assert.equal(said.verdict, 'impossible');
  assert.match(text, /^Cluster: .+\nAsked for: at least 500 GB\nVerdict: Not possible here\n/);
  assert.match(text, new RegExp(`Of ${said.counts.devices} devices:`));
  for (const reason of said.reasons) {
    assert.match(text, new RegExp(`^  ${reason.devices} `, 'm'), reason.message);
  }

  await press(page, /^More about GPU sessions$/, 'Shift+Tab');
  await page.locator('.dra-Menu').waitFor();
  const check = page.locator('.dra-Menu .lm-Menu-item.lm-mod-active', { hasText: 'Check the cluster' });
  for (let turn = 0; !(await check.count()); turn += 1) {
    assert.ok(turn < 30, 'no such item');
    await page.keyboard.press('ArrowDown');
  }
  await page.keyboard.press('Enter');
  const report = page.locator('.dra-TextPane');
  await report.waitFor();
  const findings = JSON.parse(server.dra('doctor', '-o', 'json').out).findings;
  for (const finding of findings) {
    await report.getByText(finding.message, { exact: false }).first().waitFor();
  }
  assert.deepEqual(problems, []);
  await close();
});
