/** Notebook files for frames and stories. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KERNEL = { name: 'python3', display_name: 'Python 3', language: 'python' };

/** A notebook of code cells; each cell a source, or `{source, outputs}`. */
export function notebook(cells = [''], metadata = {}) {
  return {
    cells: cells.map((cell, index) => ({
      cell_type: 'code',
      execution_count: cell.outputs ? index + 1 : null,
      id: `cell-${index}`,
      metadata: {},
      outputs: cell.outputs ?? [],
      source: cell.source ?? cell
    })),
    metadata: { kernelspec: KERNEL, ...metadata },
    nbformat: 4,
    nbformat_minor: 5
  };
}

/** An output that carries these MIME types. */
export function output(bundle) {
  return { output_type: 'display_data', data: bundle, metadata: {} };
}

/** Writes the notebooks that frames open, and any others by name. */
export function writeNotebooks(folder, others = {}) {
  const wish = { version: 1, required: { vram: '40GB' }, preferred: { vram: '80GB' } };
  const all = {
    analysis: notebook(),
    train: notebook(),
    eval: notebook(),
    wish: notebook([''], { 'jupyter-dra': wish }),
    ...others
  };
  for (const [name, content] of Object.entries(all)) {
    writeFileSync(join(folder, `${name}.ipynb`), JSON.stringify(content));
  }
}
