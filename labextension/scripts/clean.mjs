// Removes what a build leaves behind, so that a production build starts from nothing.
import { rmSync } from 'node:fs';

for (const path of ['lib', 'tsconfig.tsbuildinfo', '../jupyter_dra/labextension']) {
  rmSync(new URL(`../${path}`, import.meta.url), { recursive: true, force: true });
}
