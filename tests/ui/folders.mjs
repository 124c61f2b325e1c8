/** Temporary folders of browser tests; those of a run that was killed are taken away by the next one. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NAME = /^dra-(?:ui|hub|page|demo)-(\d+)-(\d+)-\w+$/;

/** When a process began, in ticks since boot; null where it is gone, or where this system does not tell. */
function began(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold spaces; the start is the 20th field after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return null;
  }
}

/** Processes that were started with a path below the folder: servers and clusters that outlived their test. */
function users(folder) {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${folder}/`);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Ends what still runs in a folder and removes it; a process that does not end keeps it for the next start. */
function remove(folder) {
  const running = users(folder);
  for (const pid of running) {
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      // It ended meanwhile.
    }
  }
  if (!running.length) {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes folders whose owner is gone for certain: no process has its id, or one that began at another time. */
export function sweep(place = tmpdir()) {
  const own = began(process.pid);
  if (own === null) {
    return;
  }
  for (const name of readdirSync(place)) {
    const [, pid, start] = NAME.exec(name) ?? [];
    if (pid && began(pid) !== start) {
      remove(join(place, name));
    }
  }
}

/** A new folder of this process, to be removed by it; `what` is ui, hub, page or demo. */
export function temporaryFolder(what, place = tmpdir()) {
  sweep(place);
  return mkdtempSync(join(place, `dra-${what}-${process.pid}-${began(process.pid) ?? 0}-`));
}
