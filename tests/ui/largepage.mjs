/**
 * The panel of a cluster of 5,000 nodes with 8 devices each, measured in Chromium: the server part is answered with what
 * our own code makes of such a cluster (`tests/perf/page_data.py`), events come from the real server.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { openLab, openPanel } from './browser.mjs';
import { temporaryFolder } from './folders.mjs';
import { status } from './fixtures.mjs';
import { python, ROOT } from './server.mjs';

/** What the page is held to, in milliseconds and bytes. */
export const BARS = { firstPaint: 200, change: 50, key: 100, payload: 1_500_000 };

/** The documents as texts, and the figures of the server's side. */
export function pageData() {
  const folder = temporaryFolder('page');
  try {
    const done = spawnSync(python(), ['-m', 'tests.perf.page_data', folder], { cwd: ROOT, encoding: 'utf8' });
    if (done.status !== 0) {
      throw new Error(done.stderr);
    }
    const text = name => readFileSync(join(folder, `${name}.json`), 'utf8');
    return { tiers: text('tiers'), plan: text('plan'), devices: text('devices'), change: text('change'), figures: JSON.parse(done.stdout) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Notes when devices arrive, and the frames in which something was drawn on a canvas. */
function watch() {
  window.seen = { arrivals: [], paints: [], noted: false };
  const { text } = Response.prototype;
  Response.prototype.text = async function () {
    const body = await text.call(this);
    if (/\/jupyter-dra\/devices/.test(this.url)) {
      window.seen.arrivals.push(performance.now());
    }
    return body;
  };
  const proto = CanvasRenderingContext2D.prototype;
  for (const name of ['fillRect', 'clearRect', 'stroke']) {
    const draw = proto[name];
    proto[name] = function (...args) {
      if (!window.seen.noted) {
        window.seen.noted = true;
        requestAnimationFrame(() => {
          window.seen.paints.push(performance.now());
          window.seen.noted = false;
        });
      }
      return draw.apply(this, args);
    };
  }
}

/** Milliseconds from the arrival of the `nth` list of devices to the last frame that its drawing took. */
async function drawnAfter(page, nth) {
  await page.waitForFunction(
    n => window.seen.arrivals.length > n && window.seen.paints.at(-1) > window.seen.arrivals[n] && !window.seen.noted,
    nth
  );
  return page.evaluate(n => {
    const [from, until] = [window.seen.arrivals[n], window.seen.arrivals[n + 1] ?? Infinity];
    return window.seen.paints.filter(at => at > from && at < until).at(-1) - from;
  }, nth);
}

/** Types into the memory field key by key; milliseconds from each key to the frame that answers it. */
async function typeKeys(texts) {
  const field = document.querySelector('.dra-Memory-fields input');
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const times = [];
  for (const text of texts) {
    const start = performance.now();
    setter.call(field, text);
    field.dispatchEvent(new Event('input', { bubbles: true }));
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - start);
  }
  return times;
}

/** Opens the panel and its Devices, lets devices change, types; the figures. `changes` is how many changes are told. */
export async function measurePage(browser, server, data, changes = 5) {
  let [lists, plans] = [0, 0];
  const routes = (method, path) => {
    const json = text => ({ status: 200, text, type: 'application/json' });
    if (path === 'tiers') {
      return json(data.tiers);
    }
    if (path === 'plan') {
      plans += 1;
      return json(data.plan);
    }
    if (path === 'devices') {
      lists += 1;
      return json(lists === 1 ? data.devices : changed(data.change, lists));
    }
    return path === 'status' ? { status: 200, json: status({ cluster: 'large', revision: 1 }) } : sessionsOnly(path);
  };
  const { page, problems, close } = await openLab(browser, server, { routes, viewport: { width: 1100, height: 1000 } });
  try {
    await page.evaluate(watch);
    const panel = await openPanel(page, 300);
    await panel.locator('.dra-Launch:not([aria-disabled])').waitFor();
    await panel.getByRole('button', { name: /^Devices/ }).click();
    const firstPaint = await drawnAfter(page, 0);
    const redraws = [];
    for (let turn = 1; turn <= changes; turn += 1) {
      await tellChange(page, server, turn + 1);
      redraws.push(await drawnAfter(page, turn));
    }
    await panel.getByRole('textbox', { name: 'at least' }).waitFor();
    const before = plans;
    const verdict = page.waitForResponse(/\/jupyter-dra\/plan/);
    const keys = await page.evaluate(typeKeys, ['8', '80', '80 ', '80 G', '80 GB', '8', '80', '80 GB']);
    await verdict;
    await panel.locator('.dra-Verdict:not([aria-busy="true"])').waitFor();
    return { firstPaint, redraws, keys, plans: plans - before, problems };
  } finally {
    await close();
  }
}

/** The same device taken and freed by turns, each time a change of the list before. */
function changed(text, turn) {
  const document = JSON.parse(text);
  const state = turn % 2 ? 'free' : 'taken';
  document.columns.state = { values: [state] };
  const { since } = document;
  return JSON.stringify({ ...document, since: since + turn - 2, revision: since + turn - 1 });
}

function sessionsOnly(path) {
  return path === 'sessions'
    ? { status: 200, json: { kind: 'SessionList', version: 1, context: {}, sessions: [] } }
    : { status: 404, json: { message: 'Not Found' } };
}

/** An event as the server part would tell it, over Jupyter's own event bus. */
async function tellChange(page, server, revision) {
  const answer = await page.request.post(`${server.url}/api/events`, {
    headers: { Authorization: `token ${server.token}` },
    data: {
      schema_id: 'https://events.jupyter-dra.dev/inventory/v1',
      version: '1',
      data: { revision, changed: ['claims'], reset: false }
    }
  });
  if (!answer.ok()) {
    throw new Error(`the event was refused: ${answer.status()} ${await answer.text()}`);
  }
}
