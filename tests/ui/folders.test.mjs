/** Folders of killed test runs: gone for certain is gone, everything else stays. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { sweep, temporaryFolder } from './folders.mjs';

let place;

before(() => {
  place = mkdtempSync(join(tmpdir(), 'sweeping-'));
});

after(() => rmSync(place, { recursive: true, force: true }));

test('a folder of a process that is gone is removed, that of a living one and those of others stay', () => {
  const mine = temporaryFolder('ui', place);
  const living = mine.split('/').pop().split('-')[2];
  const reused = join(place, `dra-ui-${living}-1-abc`);
  const dead = join(place, 'dra-demo-4194305-1-abc');
  const others = ['dra-ui-abcdef', 'dra-4194305-x', 'else'].map(name => join(place, name));
  [reused, dead, ...others].forEach(folder => mkdirSync(folder));
  sweep(place);
  assert.deepEqual(readdirSync(place).sort(), [mine, ...others].map(folder => folder.split('/').pop()).sort());
});

test('what still runs in the folder of a dead run is ended first', async () => {
  const dead = join(place, 'dra-ui-4194305-2-abc');
  mkdirSync(dead);
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => undefined, 60_000)', `${dead}/work`]);
  const ended = once(child, 'exit');
  await once(child, 'spawn');
  sweep(place);
  const [, signal] = await ended;
  assert.equal(signal, 'SIGTERM');
  sweep(place);
  assert.equal(existsSync(dead), false);
});
