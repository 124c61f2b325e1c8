/** The client against a small fixture HTTP layer: what goes over the wire, and what errors become. */

import { ServerConnection } from '@jupyterlab/services';

import { DRAClient, Problem, Unreachable } from '../../src/api/client';

interface Sent {
  url: string;
  method: string;
  body: unknown;
}

function clientWith(answer: (sent: Sent) => { status: number; body: string } | Error): {
  client: DRAClient;
  sent: Sent[];
} {
  const sent: Sent[] = [];
  class FakeRequest {
    readonly headers = new Map<string, string>();
    constructor(
      readonly url: string,
      readonly init: { method?: string; body?: string }
    ) {
      Object.assign(this.headers, { append: () => undefined });
    }
  }
  const fetch = (request: FakeRequest): Promise<unknown> => {
    const entry = {
      url: request.url,
      method: request.init.method ?? 'GET',
      body: request.init.body ? (JSON.parse(request.init.body) as unknown) : undefined
    };
    sent.push(entry);
    const found = answer(entry);
    if (found instanceof Error) {
      return Promise.reject(found);
    }
    return Promise.resolve({
      ok: found.status < 400,
      status: found.status,
      statusText: 'text',
      headers: { get: () => null },
      text: () => Promise.resolve(found.body),
      json: () => Promise.resolve(JSON.parse(found.body))
    });
  };
  const settings = ServerConnection.makeSettings({
    baseUrl: 'http://host/a%40b/',
    fetch: fetch as unknown as ServerConnection.ISettings['fetch'],
    Request: FakeRequest as unknown as typeof Request,
    Headers: class {
      set(): void {}
      append(): void {}
      has(): boolean {
        return false;
      }
    } as unknown as typeof Headers
  });
  return { client: new DRAClient(settings), sent };
}

test('every route lies below the server’s base URL', async () => {
  const { client, sent } = clientWith(() => ({ status: 200, body: '{}' }));
  await client.fetchStatus();
  await client.fetchSession('a/b?c');
  await client.plan({ requirement: { vram: '80GB' } }, 'full');
  await client.extend('s', 7200);
  await client.stop('s');
  expect(sent.map(item => [item.method, item.url.replace(/\?\d+$/, '')])).toEqual([
    ['GET', 'http://host/a%40b/jupyter-dra/status'],
    ['GET', 'http://host/a%40b/jupyter-dra/sessions/a%2Fb%3Fc'],
    ['POST', 'http://host/a%40b/jupyter-dra/plan'],
    ['PATCH', 'http://host/a%40b/jupyter-dra/sessions/s'],
    ['DELETE', 'http://host/a%40b/jupyter-dra/sessions/s']
  ]);
  expect(sent[2]?.body).toEqual({ requirement: { vram: '80GB' }, detail: 'full' });
  expect(sent[3]?.body).toEqual({ lease: { extend_seconds: 7200 } });
});

test('a problem document becomes a Problem with its code and sentence', async () => {
  const body = JSON.stringify({ code: 'limit', detail: 'You may hold 2 devices.', status: 403 });
  const { client } = clientWith(() => ({ status: 403, body }));
  const error = await client.launch({ requirement: {} }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(Problem);
  expect(error).toMatchObject({ status: 403, code: 'limit', message: 'You may hold 2 devices.' });
});

test('an error page that is no JSON is still a Problem', async () => {
  const { client } = clientWith(() => ({ status: 502, body: '<html>' }));
  await expect(client.fetchTiers()).rejects.toMatchObject({ status: 502, message: 'text' });
});

test('no answer at all is Unreachable', async () => {
  const { client } = clientWith(() => new TypeError('failed to fetch'));
  await expect(client.fetchTiers()).rejects.toBeInstanceOf(Unreachable);
});

test('a cancelled question is an abort, not a lost connection', async () => {
  const abort = new AbortController();
  const { client } = clientWith(() => {
    abort.abort();
    return new TypeError('aborted');
  });
  await expect(client.fetchTiers({ signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
});
