/** An admin asks why people wait (journey C): 500 nodes, rights to see all claims; the last part on a real local cluster. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeFindings, launchBrowser, newLab, openLab, openPanel } from './browser.mjs';
import * as data from './fixtures.mjs';
import { routesOf } from './frames.mjs';
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

/** 500 nodes; one holder uses nothing, one device is marked. */
function inventory() {
  const devices = data.manyDevices(data.FIVE_HUNDRED);
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
  const panel = await openPanel(page, 420);
  await panel.getByRole('textbox', { name: 'at least' }).fill('40 GB');
  await panel.getByRole('button', { name: /^New session/ }).click();
  await panel.getByRole('button', { name: /^Devices/ }).click();
  await panel.locator('.dra-Devices-summary', { hasText: /\d+ fit · [\d,]+ free/ }).waitFor();

  await panel.getByRole('button', { name: 'Waiting 30' }).click();
  await panel.getByText('30 wait · 11 cannot ever start · 14 taken · 3 starting · 2 limit').waitFor();
  await panel.getByRole('button', { name: 'Show all 30' }).click();
  const row = panel.locator('.dra-Waiting li', { hasText: 'ft-large' });
  assert.match(await row.innerText(), /mira.*ft-large.*4 devices.*1 h 12 min/s);
  assert.match(await row.innerText(), /no RDMA card on the same PCIe root/);
  await row.getByRole('button').first().click();
  await row.getByRole('button', { name: 'Try this request' }).click();
  await panel.locator('.dra-Verdict-head', { hasText: 'Not possible here' }).waitFor();
  await panel.locator('.dra-Why', { hasText: 'H200 on 40 nodes' }).waitFor();
  await panel.getByRole('button', { name: /Without the network card.*232 free/s }).waitFor();
  await panel.getByRole('button', { name: /^New session/ }).click();
  assert.deepEqual(
    (await panel.locator('.dra-Chip').allInnerTexts()).map(text => text.trim()),
    ['4 devices', 'H200', 'network card (RDMA), same PCIe root']
  );
  await panel.getByRole('button', { name: /^New session/ }).click();

  await panel.getByRole('button', { name: 'List' }).click();
  await panel.getByRole('button', { name: /^Idle/ }).click();
  const rows = panel.locator('.dra-List tbody tr:not([aria-hidden])');
  const first = rows.first();
  await first.getByText('no pod').waitFor();
  assert.match(await first.innerText(), /team-c \/ eval/);
  await panel.getByRole('searchbox').fill('team-c');
  await rows.nth(1).waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 1);
  assert.deepEqual(await axeFindings(page, '#jupyter-dra-panel'), []);
  assert.deepEqual(lab.problems, []);
  await lab.close();
});

test('what is copied for the admin reads alone and has the numbers of the command line; the check names fixes', async () => {
  const { page, problems, close } = await openLab(browser, server, { context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  page.setDefaultTimeout(30_000);
  const panel = await openPanel(page, 420);
  await panel.getByRole('textbox', { name: 'at least' }).fill('500 GB');
  await panel.locator('.dra-Verdict-head', { hasText: 'Not possible here' }).waitFor();
  await panel.getByRole('button', { name: 'Copy for your admin' }).click();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  const said = JSON.parse(server.dra('plan', '--vram', '500GB', '-o', 'json').out);
  assert.equal(said.verdict, 'impossible');
  assert.match(text, /^Cluster: .+\nAsked for: at least 500 GB\nVerdict: Not possible here\n/);
  assert.match(text, new RegExp(`Of ${said.counts.devices} devices:`));
  for (const reason of said.reasons) {
    assert.match(text, new RegExp(`^  ${reason.devices} `, 'm'), reason.message);
  }

  await panel.getByRole('button', { name: 'More about GPU sessions' }).click();
  await page.locator('.dra-Menu .lm-Menu-item', { hasText: 'Check the cluster' }).click();
  const report = page.locator('.dra-TextPane');
  await report.waitFor();
  const findings = JSON.parse(server.dra('doctor', '-o', 'json').out).findings;
  for (const finding of findings) {
    await report.getByText(finding.message, { exact: false }).first().waitFor();
  }
  assert.deepEqual(problems, []);
  await close();
});
