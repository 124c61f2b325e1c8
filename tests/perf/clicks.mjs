/**
 * From a click to the first result, in Chromium: a session from the panel, and a plain local kernel from the launcher,
 * in turns, each on a fresh page. Prints one line of JSON with seconds.
 *
 * node tests/perf/clicks.mjs [TIMES]
 */

import { launchBrowser, openLab, openPanel } from '../ui/browser.mjs';
import { startServer } from '../ui/server.mjs';

const times = Number(process.argv[2] ?? 3);

/** Types into the first cell of the notebook that opens, runs it once the kernel is there, waits for the answer. */
async function firstResult(page) {
  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.type('6*7');
  await page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').first().waitFor({ state: 'attached' });
  await page.keyboard.press('Shift+Enter');
  await page.locator('.jp-OutputArea-output', { hasText: '42' }).first().waitFor();
}

async function plain(browser, server) {
  const { page, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  const began = performance.now();
  await page.locator('.jp-LauncherCard[data-category="Notebook"]', { hasText: 'Python 3' }).first().click();
  await firstResult(page);
  const took = (performance.now() - began) / 1000;
  await close();
  return took;
}

async function session(browser, server) {
  const { page, close } = await openLab(browser, server);
  page.setDefaultTimeout(30_000);
  const panel = await openPanel(page, 300);
  await panel.getByText('Fits now', { exact: true }).waitFor();
  const button = panel.locator('.dra-Launch:not([aria-disabled="true"])');
  await button.waitFor();
  const began = performance.now();
  await button.click();
  await firstResult(page);
  const took = (performance.now() - began) / 1000;
  await close();
  return took;
}

/** Ends every kernel and session, so that each turn starts from the same. */
async function clear(server) {
  const headers = { Authorization: `token ${server.token}` };
  const { sessions } = await (await fetch(`${server.url}/jupyter-dra/sessions`, { headers })).json();
  for (const { id } of sessions) {
    await fetch(`${server.url}/jupyter-dra/sessions/${id}`, { method: 'DELETE', headers });
  }
  for (;;) {
    const answer = await (await fetch(`${server.url}/jupyter-dra/sessions`, { headers })).json();
    if (answer.sessions.every(one => one.state === 'ended')) {
      break;
    }
    await new Promise(done => setTimeout(done, 50));
  }
  for (const { id } of await (await fetch(`${server.url}/api/sessions`, { headers })).json()) {
    await fetch(`${server.url}/api/sessions/${id}`, { method: 'DELETE', headers });
  }
}

const server = await startServer({ devices: ['dgx-h100'] });
let browser;
try {
  browser = await launchBrowser();
  const found = { plain: [], session: [] };
  for (let turn = 0; turn <= times; turn += 1) {
    const bare = await plain(browser, server);
    await clear(server);
    const ours = await session(browser, server);
    await clear(server);
    if (turn > 0) {
      found.plain.push(bare);
      found.session.push(ours);
    }
  }
  console.log(JSON.stringify(found));
} finally {
  await browser?.close();
  await server.stop();
}
