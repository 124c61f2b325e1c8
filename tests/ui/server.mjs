/** A Jupyter server for tests, in folders of its own; with a local cluster where a story needs one. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { temporaryFolder } from './folders.mjs';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export function python() {
  return process.env.PYTHON ?? join(ROOT, '.venv/bin/python');
}

/** An environment in which Jupyter and we find nothing of this machine's, only what lies in `folder`. */
export function surroundings(folder) {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (name.startsWith('JUPYTER') || name === 'KUBECONFIG') {
      delete env[name];
    }
  }
  return {
    ...env,
    PATH: `${dirname(python())}:${env.PATH}`,
    PYTHONPATH: ROOT,
    XDG_RUNTIME_DIR: join(folder, 'run'),
    XDG_CACHE_HOME: join(folder, 'cache'),
    XDG_DATA_HOME: join(folder, 'data'),
    KUBECONFIG: join(folder, 'none'),
    JUPYTER_PATH: join(folder, 'share/jupyter'),
    JUPYTER_CONFIG_DIR: join(folder, 'config'),
    JUPYTER_DATA_DIR: join(folder, 'data'),
    JUPYTER_RUNTIME_DIR: join(folder, 'runtime')
  };
}

/** The displayed cards of kernels that were told these facts. */
export function cardBundles(told) {
  const script = join(ROOT, 'tests/ui/card_bundles.py');
  const done = spawnSync(python(), [script], { input: JSON.stringify(told), cwd: ROOT, encoding: 'utf8', env: { ...process.env, PYTHONPATH: ROOT } });
  if (done.status !== 0) {
    throw new Error(done.stderr);
  }
  return JSON.parse(done.stdout);
}

/** The kubeconfig of a cluster that runs already; stories use it instead of a local cluster of their own. */
const GIVEN = process.env.JUPYTER_DRA_STORY_KUBECONFIG;

/** Program and arguments of our command in this checkout. */
export function draCommand(...words) {
  return [python(), '-c', 'import sys; from jupyter_dra.cli.main import main; sys.exit(main())', ...words];
}

function dra(folder, ...words) {
  const [program, ...rest] = draCommand(...words, ...(GIVEN ? ['--kubeconfig', GIVEN] : []));
  const done = spawnSync(program, rest, {
    cwd: join(folder, 'work'),
    env: surroundings(folder),
    encoding: 'utf8'
  });
  return { status: done.status, out: done.stdout, error: done.stderr };
}

async function until(what, look, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = look();
    if (found) {
      return found;
    }
    if (Date.now() > end) {
      throw new Error(`waited too long for ${what}`);
    }
    await new Promise(done => setTimeout(done, 100));
  }
}

/**
 * Starts the server; `devices` are inventories of a local cluster, null for none; `extension: false` leaves the server
 * part out; `settings` are those of the extension. `dra(...)` runs our command against the same cluster. `crash()` ends
 * the server as a power cut would, `again()` starts it anew under the same address. `stop()` ends everything and removes
 * the folder.
 */
export async function startServer({ devices = null, extension = true, settings = {} } = {}) {
  const folder = temporaryFolder('ui');
  prepare(folder, extension, { ...(devices && GIVEN ? { kubeconfig: GIVEN } : {}), ...settings });
  const root = process.getuid?.() === 0;
  if (devices && !GIVEN) {
    const up = dra(folder, 'local', 'up', ...(root ? ['--allow-root'] : []), ...(devices.length ? ['--devices', ...devices] : []));
    if (up.status !== 0) {
      rmSync(folder, { recursive: true, force: true });
      throw new Error(`the local cluster did not start: ${up.error || up.out}`);
    }
  }
  let running = await startJupyter(folder, 0);
  const { port } = running;
  return {
    url: `http://127.0.0.1:${port}`,
    token: TOKEN,
    folder: join(folder, 'work'),
    /** Whether there is a local cluster that lives and ends with this server. */
    ownCluster: Boolean(devices) && !GIVEN,
    dra: (...words) => dra(folder, ...words),
    /** What `jupyter dra sessions` lists; none where no cluster answers. */
    sessions: () => JSON.parse(dra(folder, 'sessions', '-o', 'json').out || '{"sessions": []}').sessions,
    /** Signs notebooks as this server's user, so that their outputs are trusted. */
    trust(...names) {
      const done = spawnSync(python(), ['-m', 'jupyter', 'trust', ...names], {
        cwd: join(folder, 'work'),
        env: surroundings(folder),
        encoding: 'utf8'
      });
      if (done.status !== 0) {
        throw new Error(done.stderr);
      }
    },
    log: () => running.log(),
    crash: () => running.end('SIGKILL'),
    async again() {
      running = await startJupyter(folder, port);
    },
    async stop() {
      await running.end('SIGTERM');
      if (devices && !GIVEN) {
        dra(folder, 'local', 'down');
      }
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

const TOKEN = 'story';

/** The folder of one server: our extension linked in, its settings written. */
function prepare(folder, extension, settings) {
  for (const name of ['run', 'cache', 'work', 'data', 'runtime', 'share/jupyter/labextensions', 'config/jupyter_server_config.d']) {
    mkdirSync(join(folder, name), { recursive: true, mode: 0o700 });
  }
  const built = join(ROOT, 'jupyter_dra/labextension');
  if (!existsSync(join(built, 'package.json'))) {
    throw new Error('the extension is not built: run jlpm build in labextension');
  }
  symlinkSync(built, join(folder, 'share/jupyter/labextensions/jupyter-dra'));
  writeFileSync(
    join(folder, 'config/jupyter_server_config.d/jupyter_dra.json'),
    JSON.stringify({ ServerApp: { jpserver_extensions: { jupyter_dra: extension } } })
  );
  writeFileSync(join(folder, 'config/jupyter_server_config.json'), JSON.stringify({ DRAExtension: settings }));
}

/** One process of the Jupyter server; `port` 0 takes a free one. */
async function startJupyter(folder, port) {
  const root = process.getuid?.() === 0;
  const child = spawn(
    python(),
    [
      '-m',
      'jupyter',
      'lab',
      ...(root ? ['--allow-root'] : []),
      '--no-browser',
      `--port=${port}`,
      '--ServerApp.port_retries=0',
      '--LabApp.expose_app_in_browser=True',
      '--ServerApp.ip=127.0.0.1',
      `--IdentityProvider.token=${TOKEN}`,
      `--ServerApp.root_dir=${join(folder, 'work')}`
    ],
    { cwd: join(folder, 'work'), env: surroundings(folder), stdio: ['ignore', 'pipe', 'pipe'] }
  );
  let log = '';
  child.stdout.on('data', data => (log += data));
  child.stderr.on('data', data => (log += data));
  const ended = new Promise(done => child.on('exit', done));
  const runtime = join(folder, 'runtime');
  const info = await until('the Jupyter server', () => {
    const path = join(runtime, `jpserver-${child.pid}.json`);
    return log.includes('is running at') && existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;
  }).catch(error => {
    child.kill('SIGKILL');
    throw new Error(`${error.message}\n${log}`);
  });
  return {
    port: info.port,
    log: () => log,
    async end(signal) {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await ended;
      clearTimeout(timer);
    }
  };
}
