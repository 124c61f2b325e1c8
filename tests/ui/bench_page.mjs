/** Measures the panel at 5,000 nodes × 8 devices in Chromium: `make bench-ui`. Exits 1 where a bar is missed. */

import { launchBrowser } from './browser.mjs';
import { BARS, measurePage, pageData } from './largepage.mjs';
import { startServer } from './server.mjs';

const median = values => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
let missed = 0;

function row(name, value, unit, bar = null) {
  const judged = bar === null ? '' : `of ${bar}  ${value <= bar ? 'ok' : 'MISSED'}`;
  missed += bar !== null && value > bar ? 1 : 0;
  console.log(`${name.padEnd(58)}${value.toFixed(unit === 'MB' ? 2 : 0).padStart(8)} ${unit.padEnd(4)}${judged}`);
}

const server = await startServer();
const browser = await launchBrowser();
try {
  const data = pageData();
  const side = data.figures;
  row('inventory of 40,000 devices', side.devices_bytes / 1e6, 'MB', BARS.payload / 1e6);
  row('  as it travels, compressed', side.devices_packed / 1e6, 'MB');
  row('  one device changed', side.change_bytes / 1e3, 'kB');
  row('server: the picture once', side.picture_ms, 'ms');
  row('server: its columns', side.columns_ms, 'ms');
  row('server: one device changed', side.change_ms, 'ms');
  const page = await measurePage(browser, server, data, 9);
  row('first picture after the data', page.firstPaint, 'ms', BARS.firstPaint);
  row('a change drawn, median of 9', median(page.redraws), 'ms', BARS.change);
  row('  the slowest', Math.max(...page.redraws), 'ms');
  row('a key in the memory field to its frame, median of 8', median(page.keys), 'ms', BARS.key);
  row('  the slowest', Math.max(...page.keys), 'ms');
  row('  plans asked for by 8 keys', page.plans, '');
  for (const problem of page.problems) {
    console.log(problem);
    missed += 1;
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = missed ? 1 : 0;
