/** The browser, a JupyterLab page in it, and the panel on that page. */

import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';

const require = createRequire(new URL('../../labextension/package.json', import.meta.url));
const { chromium } = require('playwright-core');

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
];

export function axePath() {
  return require.resolve('axe-core/axe.min.js');
}

export async function launchBrowser() {
  const path = process.env.CHROMIUM ?? '/usr/bin/chromium';
  if (!existsSync(path)) {
    throw new Error(`no Chromium at ${path}: set CHROMIUM`);
  }
  return chromium.launch({ executablePath: path, args: ARGS });
}

/**
 * Answers requests below `jupyter-dra/` from `lab.routes`, from when it is first set: a page with routes has no cache, so
 * one whose requests all go to the server is left alone.
 */
async function serveRoutes(page, lab, first) {
  let routes = first;
  let serving = null;
  const answer = async route => {
    const request = route.request();
    const url = new URL(request.url());
    const path = url.pathname.split('/jupyter-dra/')[1] ?? '';
    const body = request.postData() ? JSON.parse(request.postData()) : null;
    const found = routes ? await routes(request.method(), path, body) : null;
    if (found === null) {
      await route.continue();
    } else if (found === 'abort') {
      await route.abort();
    } else {
      await route.fulfill({
        status: found.status ?? 200,
        contentType: found.type ?? (found.text === undefined ? 'application/json' : 'text/plain'),
        body: found.text ?? JSON.stringify(found.json)
      });
    }
  };
  const serve = () => (serving ??= page.route(/^https?:\/\/[^/]+\/jupyter-dra\//, answer));
  lab.served = () => serving;
  Object.defineProperty(lab, 'routes', {
    get: () => routes,
    set: value => {
      routes = value;
      void serve();
    }
  });
  if (first) {
    await serve();
  }
}

async function saveSettings(page, server, settings) {
  for (const [plugin, value] of Object.entries(settings)) {
    await page.request.put(`${server.url}/lab/api/settings/${plugin}`, {
      headers: { Authorization: `token ${server.token}` },
      data: { raw: JSON.stringify(value) }
    });
  }
}

/** Whether JupyterLab's own debugger asked a kernel whose death it had not heard of yet: it does not catch the refusal. */
function debuggerAsksTheDead(error) {
  return error.message === 'Kernel is dead' && /\.requestDebug /.test(error.stack);
}

/**
 * A page for JupyterLab, not loaded yet: `open()` loads it anew with nothing restored, with a notebook where one is named.
 *
 * `routes` answers requests below `jupyter-dra/` instead of the server: a function of method, path and body that
 * returns `{status, json | text}`, or null to let the request go on. It may be replaced at any time, and set for the
 * first time before an `open()`. `dark` is the theme the page has; whoever changes it says so there.
 */
export async function newLab(browser, server, options = {}) {
  const { routes = null, dark = false, fixedTime = null, catalogue = null, viewport = { width: 1280, height: 900 } } = options;
  const context = await browser.newContext({ viewport, timezoneId: 'UTC', locale: 'en-US', ...options.context });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const problems = [];
  page.on('pageerror', error => {
    if (!debuggerAsksTheDead(error)) {
      problems.push(error.stack || String(error));
    }
  });
  if (fixedTime) {
    await page.clock.setFixedTime(new Date(fixedTime));
  }
  const lab = { page, problems, dark, close: () => context.close() };
  await serveRoutes(page, lab, routes);
  if (catalogue) {
    await page.route(/\/api\/translations\//, route =>
      route.fulfill({ json: { data: { jupyter_dra: catalogue }, message: '' } })
    );
  }
  await saveSettings(page, server, {
    '@jupyterlab/translation-extension:plugin': { locale: catalogue ? 'eo' : 'default' },
    '@jupyterlab/apputils-extension:themes': { theme: dark ? 'JupyterLab Dark' : 'JupyterLab Light' },
    '@jupyterlab/apputils-extension:notification': { fetchNews: 'false', checkForUpdates: false }
  });
  lab.open = async (notebook = null) => {
    await lab.served();
    const place = notebook ? `lab/tree/${notebook}` : 'lab';
    await page.goto(`${server.url}/${place}?token=${server.token}&reset`);
    await page.waitForSelector(notebook ? '.jp-NotebookPanel .jp-Cell' : '.jp-Launcher', { timeout: 60_000 });
    // Restoring the layout shows and shuts side panels: whoever opens one before would see it go again.
    await page.evaluate(() => window.jupyterapp.restored.then(() => undefined));
    await page.waitForFunction(
      expected => document.body.dataset.jpThemeLight === expected,
      lab.dark ? 'false' : 'true',
      { timeout: 20_000 }
    );
  };
  return lab;
}

/** A page with JupyterLab loaded and nothing restored; options as for `newLab`. */
export async function openLab(browser, server, options = {}) {
  const lab = await newLab(browser, server, options);
  await lab.open();
  return lab;
}

/** Runs a command of JupyterLab, as palette, menus and cards do. */
export function runCommand(page, id, args = {}) {
  return page.evaluate(([name, values]) => window.jupyterapp.commands.execute(name, values), [id, args]);
}

/** Opens the panel and makes it `width` wide. */
export async function openPanel(page, width = 300) {
  // Asked of the layout, not of what is drawn: while styles are exchanged nothing is, and a click would shut the panel.
  if (!(await page.locator('#jp-left-stack:not(.lm-mod-hidden) > #jupyter-dra-panel:not(.lm-mod-hidden)').count())) {
    await page.click('li[data-id="jupyter-dra-panel"]');
  }
  await page.waitForSelector('.dra-Panel');
  const panel = page.locator('#jupyter-dra-panel');
  for (let turn = 0; turn < 3; turn += 1) {
    const box = await panel.boundingBox();
    if (Math.abs(box.width - width) <= 1) {
      break;
    }
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width + 2, y);
    await page.mouse.down();
    await page.mouse.move(box.x + width + 2, y, { steps: 4 });
    await page.mouse.up();
  }
  // Where the handle was missed, the mouse marked text.
  await page.evaluate(() => getSelection().removeAllRanges());
  return panel;
}

/** Changes the theme of the page: 'Light' or 'Dark'. */
export async function changeTheme(page, name) {
  await runCommand(page, 'apputils:change-theme', { theme: `JupyterLab ${name}` });
  await page.waitForFunction(light => document.body.dataset.jpThemeLight === light, String(name === 'Light'));
  await page.locator('#jupyterlab-splash').waitFor({ state: 'detached' });
}

/** Where the folder PICTURES is named: the page as it stands, in dark and light. */
export async function picture(page, name) {
  const folder = process.env.PICTURES;
  for (const theme of folder ? ['Dark', 'Light'] : []) {
    await changeTheme(page, theme);
    await page.screenshot({ path: `${folder}/${name}-${theme.toLowerCase()}.png` });
  }
}

/** Findings of axe below a selector, as lines. */
export async function axeFindings(page, selector) {
  await page.addScriptTag({ path: axePath() });
  return page.evaluate(async root => {
    const result = await window.axe.run(root, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      rules: { region: { enabled: false } }
    });
    return result.violations.flatMap(item =>
      item.nodes.map(node => `${item.id}: ${node.target.join(' ')} ${node.failureSummary ?? ''}`)
    );
  }, selector);
}
