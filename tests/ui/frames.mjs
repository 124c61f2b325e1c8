/** The frames of the panel: what the server part answers, at which widths it is looked at, and what is pressed before. */

import { CARD_FRAMES } from './cardframes.mjs';
import { runCommand } from './browser.mjs';
import * as data from './fixtures.mjs';

const ok = json => ({ status: 200, json });

/** Routes that answer with the given documents; a function is called with the request's body. */
export function routesOf(documents) {
  const answer = (value, body) => (typeof value === 'function' ? value(body) : value);
  return (method, path, body) => {
    const [head] = path.split('/');
    if (documents.missing) {
      return { status: 404, json: { message: 'Not Found' } };
    }
    if (path === 'status') {
      return documents.never ? new Promise(() => {}) : ok(answer(documents.status ?? data.status()));
    }
    if (path === 'tiers') {
      return documents.noInventory ? new Promise(() => {}) : ok(answer(documents.tiers ?? data.tiers()));
    }
    if (path === 'plan') {
      return ok(answer(documents.plan ?? data.plan(), body));
    }
    if (path === 'claims/preview') {
      return ok(answer(documents.preview ?? data.preview, body));
    }
    if (path === 'devices') {
      return ok(answer(documents.devices ?? data.deviceList(data.fewDevices())));
    }
    if (path === 'waiting') {
      return ok(documents.waiting ?? data.waitingList);
    }
    if (path === 'sessions' && method === 'GET') {
      return ok({ kind: 'SessionList', version: 1, context: data.context, sessions: documents.sessions ?? [] });
    }
    if (path === 'sessions' && documents.launched) {
      return { status: 202, json: documents.launched };
    }
    if (head === 'sessions') {
      const found = (documents.sessions ?? []).find(item => path.startsWith(`sessions/${item.id}`));
      return found ? ok(found) : { status: 404, json: { message: 'gone' } };
    }
    return { status: 404, json: { message: 'Not Found' } };
  };
}

const openSection = name => async panel => {
  const head = panel.getByRole('button', { name, expanded: false });
  if (await head.count()) {
    await head.first().click();
  }
};
const shut = name => async panel => {
  const head = panel.getByRole('button', { name, expanded: true });
  if (await head.count()) {
    await head.first().click();
  }
};
const chain =
  (...steps) =>
  async (panel, page) => {
    for (const step of steps) {
      await step(panel, page);
    }
  };
const press = name => panel => panel.getByRole('button', { name }).first().click();
const scrolled = selector => panel => panel.locator(selector).first().scrollIntoViewIfNeeded();

/** The kernel of the answer is none that JupyterLab could move the notebook to; it says so in a dialog. */
const dismissDialog = (_panel, page) => page.locator('.jp-Dialog button').last().click();

const onlySessions = shut(/^New session/);
const onlyDevices = chain(shut(/^Sessions/), shut(/^New session/), openSection(/^Devices/));
const FORTY = { vram: '40GB' };
const ANALYSIS = 'analysis.ipynb';
const TRAIN = 'train.ipynb';

/**
 * Each frame: `documents` for `routesOf`, `widths` of the panel, and where they matter `height` of the window, `notebook`
 * that is open, `request` in the form, `steps` to take, `settle` in ms, and `of`, the selector of what is pictured.
 */
export const FRAMES = {
  a1: { widths: [300], documents: {}, notebook: ANALYSIS, request: FORTY },
  a2: { widths: [250], documents: {}, notebook: ANALYSIS, request: FORTY },
  // A language of its own, 40 % longer: what German needs, without a word of it hard-wired.
  a3: { widths: [250], height: 1100, documents: {}, notebook: ANALYSIS, request: FORTY, translated: true },
  a4: {
    widths: [420],
    height: 1700,
    documents: {},
    notebook: 'wish.ipynb',
    request: { ...FORTY, compute_capability: '>=8.0' },
    steps: chain(openSection(/^More options/), openSection(/^Claim/))
  },
  'a5-written': {
    widths: [300, 420],
    height: 1300,
    documents: { preview: data.writtenPreview },
    notebook: ANALYSIS,
    request: FORTY,
    steps: chain(openSection(/^Claim/), press('Edit the claim'), async panel => {
      await panel.getByRole('textbox', { name: 'The claim as YAML' }).fill(data.WRITTEN);
      await panel.getByRole('button', { name: 'Use this claim' }).click();
    })
  },
  b: { widths: [300, 250, 420], height: 1500, documents: { plan: data.impossible }, request: data.impossible.requirement },
  c1: {
    widths: [300, 250],
    height: 1400,
    documents: { plan: data.busy, sessions: [data.bertTrain] },
    notebook: ANALYSIS,
    request: data.busy.requirement,
    steps: shut(/^Sessions/)
  },
  c2: { widths: [300, 250], documents: { plan: data.busy, sessions: [data.waiting] }, steps: onlySessions },
  c4: { widths: [300], height: 1000, documents: { plan: data.unknown }, request: data.unknown.requirement },
  c5: {
    widths: [300],
    height: 1300,
    documents: { plan: data.invalid },
    request: data.invalid.requirement,
    steps: chain(openSection(/^More options/), scrolled('.dra-Problem'))
  },
  d1: { widths: [300, 250], documents: { sessions: [data.starting] }, steps: onlySessions },
  d3: { widths: [300], documents: { sessions: [data.notStarted] }, steps: onlySessions },
  d4: {
    widths: [300],
    documents: { sessions: [data.justReady], launched: data.justReady },
    notebook: ANALYSIS,
    steps: chain(press('Launch'), dismissDialog, async panel => panel.getByText('Ready after').waitFor(), onlySessions)
  },
  e: {
    widths: [300, 250, 420],
    documents: { sessions: [data.bertTrain, data.sliceDemo, data.ocrTest] },
    notebook: TRAIN,
    steps: onlySessions
  },
  'e4-details': {
    widths: [300],
    height: 1300,
    documents: { sessions: [data.withHistory] },
    notebook: TRAIN,
    of: '.dra-DetailsPane',
    steps: async (_panel, page) => runCommand(page, 'jupyter-dra:describe', { session: data.withHistory.id })
  },
  f1: { widths: [300], documents: {}, request: FORTY, steps: onlyDevices },
  f2: {
    widths: [300, 250, 420],
    height: 1200,
    documents: { devices: () => data.deviceList(data.manyDevices(data.FIVE_HUNDRED)), tiers: data.countedTiers(2440, 500) },
    request: FORTY,
    steps: onlyDevices,
    settle: 800
  },
  f4: {
    widths: [300],
    height: 1200,
    documents: {
      devices: () => data.deviceList(data.manyDevices(data.FIVE_THOUSAND)),
      tiers: data.countedTiers(40_000, 5000)
    },
    request: FORTY,
    steps: onlyDevices,
    settle: 2500
  },
  f6: {
    widths: [420],
    documents: {},
    request: FORTY,
    steps: chain(onlyDevices, async (panel, page) => {
      await panel.getByRole('gridcell').first().focus();
      await page.keyboard.press('Home');
      await page.keyboard.press('Enter');
    })
  },
  f7: {
    widths: [420],
    documents: {},
    request: FORTY,
    steps: chain(onlyDevices, press('List'), press('Idle'))
  },
  f8: {
    widths: [420],
    height: 1000,
    documents: { devices: data.deviceList(data.fewDevices(), 'all'), tiers: data.countedTiers(2440, 500) },
    request: FORTY,
    steps: chain(onlyDevices, async panel => panel.getByRole('button', { name: /^Waiting/ }).click())
  },
  g1: { widths: [300], documents: { status: data.status({ state: 'loading' }), noInventory: true }, settle: 1300 },
  g2: { widths: [300], documents: { status: data.status({ state: 'no-devices', params: { driver: 'gpu.nvidia.com', nodes: 2 } }) } },
  g3: { widths: [300, 250], documents: { status: data.status({ state: 'forbidden' }) } },
  g4: { widths: [300], documents: { status: data.status({ state: 'no-cluster', cluster: null, namespace: null }) } },
  g5: { widths: [300], documents: { status: data.status({ state: 'too-old', cluster: 'old-cluster', namespace: 'default', params: { server_version: 'v1.33.4', served: ['v1beta1'] } }) } },
  g6: { widths: [300], documents: { status: data.status({ state: 'unreachable', as_of: data.NOW }), sessions: [data.bertTrain] } },
  g7: { widths: [300], documents: { missing: true } },
  g8: {
    widths: [300],
    documents: {
      plan: data.fromZero,
      tiers: () => {
        const list = data.tiers();
        const empty = { devices: 0, free: 0, free_at_most: 0, out_of_service: 0, scales_from_zero: true };
        const sizes = list.tiers[2].sizes.map(size => ({ ...size, ...empty }));
        return { ...list, any_gpu: null, tiers: [{ ...list.tiers[2], ...empty, sizes }] };
      }
    },
    request: { tier: 'high-memory-gpu' }
  },
  g9: {
    widths: [300],
    documents: { plan: data.limit, sessions: [data.bertTrain, data.sliceDemo] },
    request: FORTY,
    steps: shut(/^Sessions/)
  },
  ...cards(),
  ...statusBars(),
  j2: { widths: [300], documents: { sessions: [data.endedMemory, data.endedStopped] }, steps: onlySessions },
  k1: {
    widths: [300],
    documents: { sessions: [data.leaseSoon, data.leaseLast] },
    of: '.Toastify__toast-container',
    steps: async (_panel, page) => page.locator('.Toastify__toast').nth(1).waitFor()
  },
  k3: { widths: [300], documents: { sessions: [data.leaseSoon] }, steps: onlySessions }
};

/** The eight states of the status bar, each with train.ipynb in front. */
function statusBars() {
  const own = data.bertTrain;
  const states = {
    running: { sessions: [own] },
    idle: { sessions: [data.idle] },
    starting: { sessions: [{ ...data.starting, notebook: TRAIN }] },
    waiting: { sessions: [{ ...data.waiting, notebook: TRAIN }] },
    soon: { sessions: [data.leaseSoon] },
    elsewhere: { sessions: [data.sliceDemo, { ...own, id: 'other-1', kernels: [] }] },
    ended: { sessions: [{ ...data.endedMemory, notebook: TRAIN, ended: { ...data.endedMemory.ended, at: data.NOW } }] },
    offline: { sessions: [own], status: data.status({ state: 'unreachable', as_of: data.NOW }) }
  };
  return Object.fromEntries(
    Object.entries(states).map(([name, documents]) => [
      `i1-${name}`,
      { widths: [300], documents, notebook: TRAIN, of: '#jp-main-statusbar' }
    ])
  );
}

/** Cards in a wide notebook, the first also in a narrow one. */
function cards() {
  const frame = (name, change = {}) => ({
    widths: [300],
    documents: { sessions: CARD_FRAMES[name].sessions },
    notebook: `card-${name}.ipynb`,
    of: '.jp-NotebookPanel',
    ...change
  });
  return {
    ...Object.fromEntries(
      Object.entries(CARD_FRAMES).map(([name, { cells }]) => [name, frame(name, cells.length > 2 ? { height: 1500 } : {})])
    ),
    h2: frame('h1', { window: 760 })
  };
}
