/** Measures the panel at 5,000 nodes × 8 devices in Chromium: `node tests/ui/large.mjs`. Prints figures, judges none. */

import { launchBrowser, openLab, openPanel } from './browser.mjs';
import { context, FIVE_THOUSAND, manyDevices, NOW, plan, tiers } from './fixtures.mjs';
import { routesOf } from './frames.mjs';
import { startServer } from './server.mjs';

const COLUMNS = ['node', 'driver', 'pool', 'name', 'device_kind', 'label', 'memory_bytes', 'state', 'tiers', 'who', 'simulated'];
const TABLED = new Set(['node', 'driver', 'pool', 'device_kind', 'label', 'state', 'tiers', 'who']);

/** Columns as the server writes them. */
function compact(devices, revision) {
  const tables = Object.fromEntries([...TABLED].map(name => [name, new Map()]));
  const cell = (name, value) => {
    if (!TABLED.has(name)) {
      return value;
    }
    const key = JSON.stringify(value);
    const table = tables[name];
    if (!table.has(key)) {
      table.set(key, table.size);
    }
    return table.get(key);
  };
  const rows = devices.map(device =>
    COLUMNS.map(name => {
      const value = { ...device, node: device.nodes[0], who: device.holders[0]?.who ?? null, simulated: 0 }[name];
      return cell(name, value);
    })
  );
  const values = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, [...table.keys()].map(key => JSON.parse(key))]));
  return { kind: 'CompactDeviceList', version: 1, context, revision, visible: { slices: true, claims: 'namespace' }, columns: COLUMNS, values, rows };
}

const devices = manyDevices(FIVE_THOUSAND);
const first = compact(devices, 1);
const changed = compact(devices.map((device, index) => (index === 4242 ? { ...device, state: 'free' } : device)), 2);
const list = { ...tiers(), devices: devices.length, nodes: 5000 };

const server = await startServer();
const browser = await launchBrowser();
try {
  let asked = 0;
  const routes = routesOf({
    tiers: list,
    plan: plan({ counts: { ...plan().counts, devices: devices.length, nodes: 5000 } }),
    devices: () => (asked++ ? changed : first)
  });
  const { page } = await openLab(browser, server, { routes, fixedTime: NOW, viewport: { width: 1100, height: 1000 } });
  await page.evaluate(() => {
    window.paints = [];
    window.arrivals = [];
    const { text } = Response.prototype;
    Response.prototype.text = async function () {
      const body = await text.call(this);
      if (/\/jupyter-dra\/devices/.test(this.url)) {
        window.arrivals.push(performance.now());
      }
      return body;
    };
    const proto = CanvasRenderingContext2D.prototype;
    const { stroke, fillRect } = proto;
    const note = () => {
      if (!window.noted) {
        window.noted = true;
        requestAnimationFrame(() => {
          window.paints.push(performance.now());
          window.noted = false;
        });
      }
    };
    proto.fillRect = function (...args) {
      note();
      return fillRect.apply(this, args);
    };
    proto.stroke = function (...args) {
      note();
      return stroke.apply(this, args);
    };
  });
  const panel = await openPanel(page, 300);
  await panel.locator('.dra-Launch:not([aria-disabled])').waitFor();
  await panel.getByRole('button', { name: /^Devices/ }).click();
  await panel.locator('canvas').first().waitFor();
  await page.waitForTimeout(1500);
  const answered = () => page.evaluate(() => window.arrivals.at(-1));
  const paints = () => page.evaluate(() => window.paints.slice());
  const opened = await answered();
  const painted = (await paints()).filter(time => time >= opened);
  console.log(`inventory of ${devices.length} devices: ${(JSON.stringify(first).length / 1e6).toFixed(2)} MB before compression`);
  console.log(`first paint after the data: ${(painted[0] - opened).toFixed(0)} ms, last of its canvases ${(painted.at(-1) - opened).toFixed(0)} ms`);

  await page.evaluate(() => (window.paints = []));
  await panel.getByRole('button', { name: /^Devices/ }).click();
  await panel.getByRole('button', { name: /^Devices/ }).click();
  await page.waitForTimeout(1500);
  const again = await answered();
  const redrawn = (await paints()).filter(time => time >= again);
  console.log(`a change drawn: ${redrawn.length ? (redrawn[0] - again).toFixed(0) : 'nothing to draw'} ms after its data`);

  const typed = await page.evaluate(async () => {
    const field = document.querySelector('.dra-Memory-fields input');
    const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
    const times = [];
    for (const text of ['8', '80', '80 ', '80 G', '80 GB']) {
      const start = performance.now();
      setter.call(field, text);
      field.dispatchEvent(new Event('input', { bubbles: true }));
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(`a key in the memory field to the next frame: median ${typed[2].toFixed(0)} ms, worst ${typed.at(-1).toFixed(0)} ms`);
} finally {
  await browser.close();
  await server.stop();
}
