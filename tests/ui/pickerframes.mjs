/** The frames of the picker: a real kernel on a real local cluster, wide and narrow. */

import { newLab } from './browser.mjs';
import { writeNotebooks, notebook } from './notebooks.mjs';
import { startServer } from './server.mjs';

const CELLS = ['%load_ext jupyter_dra\npicker = %dra ui\npicker.compute_capability = ">=8.0"\npicker'];

/** Opens a notebook with the picker in it, and returns the picker once it shows a verdict. */
export async function openPicker(lab) {
  await lab.open('picker.ipynb');
  const { page } = lab;
  await page.locator('#jp-main-statusbar', { hasText: '| Idle' }).waitFor({ timeout: 30_000 });
  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.press('Shift+Enter');
  const picker = page.locator('.dra-picker');
  await picker.getByText('Fits now').waitFor({ timeout: 30_000 });
  await picker.locator('.dra-picker-size').first().waitFor();
  return picker;
}

/** Pictures of m1 and m2; `save(locator, name)` takes each. */
export async function pickerPictures(browser, themes, save) {
  const server = await startServer({ devices: ['default'] });
  writeNotebooks(server.folder, { picker: notebook(CELLS) });
  try {
    for (const dark of themes) {
      const lab = await newLab(browser, server, { dark, viewport: { width: 1200, height: 900 } });
      const picker = await openPicker(lab);
      await picker.getByRole('textbox', { name: 'at least' }).fill('40GB');
      await lab.page.keyboard.press('Enter');
      await picker.getByText('too small').waitFor();
      await picker.getByText('€1.10/h', { exact: true }).waitFor();
      await save(picker, 'm1', dark);
      await lab.page.setViewportSize({ width: 740, height: 1300 });
      await save(picker, 'm2', dark);
      await lab.close();
    }
  } finally {
    await server.stop();
  }
}
