/** 40,000 devices: the page stays usable. Times with room for a busy machine; `make bench-ui` judges the bars themselves. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launchBrowser } from './browser.mjs';
import { BARS, measurePage, pageData } from './largepage.mjs';
import { startServer } from './server.mjs';

const ROOM = 4;
let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

test('5,000 nodes: the first picture, a change and typing are answered without a pause', async () => {
  const data = pageData();
  assert.ok(data.figures.devices_bytes <= BARS.payload, `${data.figures.devices_bytes} bytes`);
  assert.ok(data.figures.change_bytes <= 4000, `${data.figures.change_bytes} bytes for one changed device`);
  const page = await measurePage(browser, server, data, 3);
  const least = values => Math.min(...values);
  assert.ok(page.firstPaint <= ROOM * BARS.firstPaint, `first picture after ${page.firstPaint} ms`);
  assert.ok(least(page.redraws) <= ROOM * BARS.change, `changes drawn in ${page.redraws} ms`);
  assert.ok(least(page.keys) <= ROOM * BARS.key, `keys answered in ${page.keys} ms`);
  assert.ok(page.plans < 8, `${page.plans} plans for eight keys`);
  assert.deepEqual(page.problems, []);
});
