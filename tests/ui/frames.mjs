/** Every frame: what the server part answers, at which widths it is looked at, and what is pressed before. */

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
      return ok(answer(documents.tiers ?? data.tiers()));
    }
    if (path === 'plan') {
      return ok(answer(documents.plan ?? data.plan(), body));
    }
    if (path === 'claims/preview') {
      return ok(data.preview);
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
    if (head === 'sessions') {
      const found = (documents.sessions ?? []).find(item => path.startsWith(`sessions/${item.id}`));
      return found ? ok(found) : { status: 404, json: { message: 'gone' } };
    }
    return { status: 404, json: { message: 'Not Found' } };
  };
}

const type40 = async panel => {
  await panel.getByRole('textbox', { name: 'at least' }).fill('40 GB');
};
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
const chain = (...steps) => async (panel, page) => {
  for (const step of steps) {
    await step(panel, page);
  }
};
/** Puts a request into the form through the palette's command, as a card would. */
const onlyDevices = chain(shut(/^New session/), openSection(/^Devices/));

export const FRAMES = {
  a1: { widths: [300], documents: {}, steps: type40 },
  a2: { widths: [250], documents: {}, steps: type40 },
  a4: { widths: [420], height: 1400, documents: {}, steps: chain(type40, openSection(/^More options/), openSection(/^Claim/)) },
  b: { widths: [300, 250, 420], height: 1300, documents: { plan: data.impossible }, steps: type40 },
  c1: { widths: [300, 250], height: 1300, documents: { plan: data.busy, sessions: [data.bertTrain] }, steps: chain(shut(/^Sessions/), type40) },
  c2: { widths: [300], documents: { plan: data.busy, sessions: [data.waiting] }, steps: shut(/^New session/) },
  c4: { widths: [300], documents: { plan: data.unknown }, steps: type40 },
  c5: { widths: [300], height: 1200, documents: { plan: data.invalid }, steps: chain(type40, openSection(/^More options/)) },
  d1: { widths: [300, 250], documents: { sessions: [data.starting] }, steps: shut(/^New session/) },
  d3: { widths: [300], documents: { sessions: [data.notStarted] }, steps: shut(/^New session/) },
  e: { widths: [300, 250, 420], documents: { sessions: [data.bertTrain, data.sliceDemo, data.ocrTest] }, steps: shut(/^New session/), unfold: 'bert-train' },
  f1: { widths: [300, 420], documents: { sessions: [] }, steps: chain(type40, onlyDevices) },
  f2: { widths: [300, 250, 420], height: 1100, documents: { devices: () => data.deviceList(data.manyDevices(data.FIVE_HUNDRED)) }, steps: chain(type40, onlyDevices), settle: 800 },
  f4: { widths: [300], height: 1100, documents: { devices: () => data.deviceList(data.manyDevices(data.FIVE_THOUSAND)) }, steps: chain(type40, onlyDevices), settle: 2500 },
  f7: { widths: [420], documents: {}, steps: chain(onlyDevices, async panel => panel.getByRole('button', { name: 'List' }).click()) },
  f8: {
    widths: [420],
    documents: { devices: data.deviceList(data.fewDevices(), 'all') },
    steps: chain(onlyDevices, async panel => panel.getByRole('button', { name: /^Waiting/ }).click())
  },
  g1: { widths: [300], documents: { never: true }, settle: 1300 },
  g2: { widths: [300], documents: { status: data.status({ state: 'no-devices', params: { driver: 'gpu.nvidia.com', nodes: 2 } }) } },
  g3: { widths: [300, 250], documents: { status: data.status({ state: 'forbidden' }) } },
  g4: { widths: [300], documents: { status: data.status({ state: 'no-cluster', cluster: null, namespace: null }) } },
  g5: { widths: [300], documents: { status: data.status({ state: 'too-old', cluster: 'old-cluster', namespace: 'default' }) } },
  g6: { widths: [300], documents: { status: data.status({ state: 'unreachable', as_of: data.NOW }), sessions: [data.bertTrain] } },
  g7: { widths: [300], documents: { missing: true } },
  g8: {
    widths: [300],
    documents: {
      plan: data.fromZero,
      tiers: () => {
        const list = data.tiers();
        return { ...list, any_gpu: null, tiers: [{ ...list.tiers[2], devices: 0, free: 0, free_at_most: 0, out_of_service: 0, scales_from_zero: true }] };
      }
    },
    steps: async panel => panel.getByRole('radio', { name: 'High-memory GPU' }).click()
  },
  g9: { widths: [300], documents: { plan: data.limit, sessions: [data.bertTrain, data.sliceDemo] }, steps: chain(shut(/^Sessions/), type40) },
  j2: { widths: [300], documents: { sessions: [data.endedMemory, data.endedStopped] }, steps: shut(/^New session/) },
  k3: { widths: [300], documents: { sessions: [data.leaseSoon] }, steps: shut(/^New session/) }
};
