/** A page in ordinary trouble: slow and failing answers, looked away from, open twice, its server gone and back. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser, openLab, openPanel } from './browser.mjs';
import { plan } from './fixtures.mjs';
import { routesOf } from './frames.mjs';
import { startServer } from './server.mjs';

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

const headers = () => ({ Authorization: `token ${server.token}`, 'Content-Type': 'application/json' });

async function rest(method, path, body) {
  const answer = await fetch(`${server.url}/jupyter-dra/${path}`, {
    method,
    headers: headers(),
    ...(body ? { body: JSON.stringify(body) } : {})
  });
  return answer.json();
}

/** Begins a session from outside the page and waits until it runs. */
async function launched(name) {
  const { id } = await rest('POST', 'sessions', { requirement: { tier: 'high-memory-gpu' }, name });
  const deadline = Date.now() + 30_000;
  for (;;) {
    const session = await rest('GET', `sessions/${id}`);
    if (session.state === 'running') {
      return session;
    }
    assert.ok(Date.now() < deadline && session.state !== 'ended', JSON.stringify(session.ended));
    await new Promise(done => setTimeout(done, 100));
  }
}

/** Requests of the page to the server part, as "GET tiers". */
function requestsOf(page) {
  const seen = [];
  page.on('request', request => {
    const path = new URL(request.url()).pathname.split('/jupyter-dra/')[1];
    if (path !== undefined) {
      seen.push(`${request.method()} ${path}`);
    }
  });
  return seen;
}

function look(page, hidden) {
  return page.evaluate(value => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (value ? 'hidden' : 'visible') });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

test('answers that take two seconds: the old verdict stays, marked as being asked again; nothing is asked twice', async () => {
  const quick = routesOf({});
  const seen = [];
  // However slow the machine, the first inventory comes only after the page was seen without it.
  let [sawNothing, sawOld] = [() => undefined, () => undefined];
  const first = new Promise(done => (sawNothing = done));
  const second = new Promise(done => (sawOld = done));
  const { page, problems, close } = await openLab(browser, server, {
    routes: async (method, path, body) => {
      seen.push(`${method} ${path}`);
      await new Promise(done => setTimeout(done, 2000));
      await (path === 'tiers' ? first : path === 'plan' && body.requirement.vram ? second : null);
      return quick(method, path, body);
    }
  });
  const panel = await openPanel(page, 300);
  await panel.getByText('Reading the inventory …').waitFor();
  sawNothing();
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  const field = panel.getByRole('textbox', { name: 'at least' });
  await field.pressSequentially('80', { delay: 30 });
  await panel.locator('.dra-Verdict[aria-busy="true"] .dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  sawOld();
  await panel.locator('.dra-Verdict:not([aria-busy="true"])').waitFor();
  assert.equal(seen.filter(line => line === 'GET status').length, 1);
  assert.ok(seen.filter(line => line === 'POST plan').length <= 3, seen.join());
  assert.deepEqual(problems, []);
  await close();
});

test('an answer that fails says so in its place, and the next one is taken', async () => {
  const working = routesOf({ plan: plan() });
  let broken = true;
  const { page, problems, close } = await openLab(browser, server, {
    routes: (method, path, body) =>
      broken && path === 'plan'
        ? { status: 500, json: { title: 'Internal Server Error', detail: 'The planner stumbled.', code: 'internal' } }
        : working(method, path, body)
  });
  const panel = await openPanel(page, 300);
  const verdict = panel.locator('.dra-Verdict');
  await verdict.getByText('No answer from the server').waitFor();
  await verdict.getByText('The planner stumbled.').waitFor();
  broken = false;
  await panel.getByRole('button', { name: 'Try again' }).click();
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  assert.equal(await verdict.getByText('The planner stumbled.').count(), 0);
  assert.deepEqual(problems, []);
  await close();
});

test('looked away from, the page asks nothing; looked at again, it shows what happened meanwhile', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(20_000);
  const panel = await openPanel(page, 300);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.getByRole('button', { name: /^Devices/ }).click();
  await panel.getByRole('gridcell').first().waitFor();
  await look(page, true);
  const seen = requestsOf(page);
  const session = await launched('meanwhile');
  assert.deepEqual(seen.filter(line => !line.startsWith('GET sessions')), []);
  await look(page, false);
  await panel.getByRole('gridcell', { name: /yours, meanwhile/ }).waitFor();
  await panel.locator('.dra-Card', { hasText: 'meanwhile' }).waitFor();
  await rest('DELETE', `sessions/${session.id}`);
  await panel.getByRole('gridcell', { name: /yours/ }).waitFor({ state: 'detached' });
  assert.deepEqual(problems, []);
  await close();
});

test('two windows show one truth: what one launches and stops, the other sees', async () => {
  const first = await openLab(browser, server);
  const second = await openLab(browser, server);
  first.page.setDefaultTimeout(20_000);
  second.page.setDefaultTimeout(20_000);
  const [one, other] = [await openPanel(first.page, 300), await openPanel(second.page, 300)];
  await other.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await one.locator('.dra-Launch:not([aria-disabled])').click();
  await first.page.locator('.dra-Place', { hasText: /gpu-\d/ }).waitFor();
  await first.page.waitForSelector('.jp-NotebookPanel');
  const card = other.locator('.dra-Sessions .dra-Card').first();
  await card.getByText(/gpu-\d/).waitFor();
  assert.equal(await second.page.locator('.jp-NotebookPanel').count(), 0);
  await card.locator('.dra-IconButton').click();
  await second.page.locator('.dra-Menu .lm-Menu-item', { hasText: 'Stop' }).click();
  await second.page.locator('.jp-Dialog').getByRole('button', { name: 'Stop and give back' }).click();
  await other.getByText(/stopped \d\d:\d\d/).first().waitFor();
  await one.getByText(/stopped \d\d:\d\d/).first().waitFor();
  assert.deepEqual([...first.problems, ...second.problems], []);
  await first.close();
  await second.close();
});

test('the server dies and comes back: the page says since when its numbers are old, then goes on by itself', async () => {
  const { page, problems, close } = await openLab(browser, server);
  page.setDefaultTimeout(25_000);
  const panel = await openPanel(page, 300);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  const session = await launched('survivor');
  await panel.locator('.dra-Card', { hasText: 'survivor' }).waitFor();
  await server.crash();
  await panel.getByRole('textbox', { name: 'at least' }).fill('40 GB');
  await panel.getByText(/^Connection lost at \d\d:\d\d/).waitFor();
  assert.ok(await panel.locator('.dra-Card', { hasText: 'survivor' }).isVisible());
  await server.again();
  await page.getByRole('button', { name: /Dismiss|OK/ }).click({ timeout: 1000 }).catch(() => undefined);
  await panel.getByText(/^Connection lost at/).waitFor({ state: 'detached' });
  await panel.locator('.dra-Card', { hasText: 'survivor' }).waitFor();
  const later = await launched('later');
  await panel.locator('.dra-Card', { hasText: 'later' }).waitFor();
  for (const { id } of [session, later]) {
    await rest('DELETE', `sessions/${id}`);
  }
  assert.deepEqual(problems, []);
  await close();
});
