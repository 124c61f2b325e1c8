/** The frames of the hub: its own pages with our form and our words in them. */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join, normalize } from 'node:path';

import { temporaryFolder } from './folders.mjs';
import { tiers } from './fixtures.mjs';
import { python, ROOT } from './server.mjs';

const ORIGIN = 'http://hub.test/';
const TYPES = { html: 'text/html', css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml', png: 'image/png', ico: 'image/x-icon' };

/** Makes the pages; `open(page, name)` shows one, `remove()` takes them away. */
export function hubPages() {
  const folder = temporaryFolder('hub');
  const done = spawnSync(python(), [join(ROOT, 'tests/ui/hub_pages.py'), folder], {
    input: JSON.stringify(tiers().tiers),
    cwd: ROOT,
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: ROOT }
  });
  if (done.status !== 0) {
    throw new Error(done.stderr);
  }
  return {
    async open(page, name) {
      await page.route(`${ORIGIN}**`, route => {
        const path = normalize(new URL(route.request().url()).pathname).slice(1);
        try {
          const body = readFileSync(join(folder, path));
          return route.fulfill({ body, contentType: TYPES[path.split('.').pop()] ?? 'application/octet-stream' });
        } catch {
          return route.fulfill({ status: 404, body: '' });
        }
      });
      await page.goto(`${ORIGIN}${name}.html`);
      if (name === 'progress') {
        // The hub hands our words to its page over an event stream; here they are put where its script puts them.
        await page.evaluate(words => {
          document.getElementById('progress-message').textContent = words;
          document.getElementById('progress-bar').style.width = '35%';
        }, readFileSync(join(folder, 'waiting.txt'), 'utf8'));
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true })
  };
}

/** Pictures of l1 and l2; `save(locator, name)` takes each. */
export async function hubPictures(browser, dark, save) {
  const pages = hubPages();
  const context = await browser.newContext({ viewport: { width: 760, height: 900 }, colorScheme: dark ? 'dark' : 'light' });
  try {
    const page = await context.newPage();
    await pages.open(page, 'spawn');
    await page.locator('.dra-form').waitFor();
    await save(page.locator('body'), 'l1');
    await pages.open(page, 'progress');
    await save(page.locator('body'), 'l2');
  } finally {
    await context.close();
    pages.remove();
  }
}
