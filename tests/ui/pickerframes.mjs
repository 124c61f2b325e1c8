/** The frames of our widgets: the picker on a real local cluster, wide and narrow, and the device card of told facts. */

import { changeTheme, newLab } from './browser.mjs';
import { writeNotebooks, notebook } from './notebooks.mjs';
import { startServer } from './server.mjs';

/** The cells of a notebook with the picker in it. */
export const PICKER_CELLS = ['%load_ext jupyter_dra\npicker = %dra ui\npicker.compute_capability = ">=8.0"\npicker'];

const FACTS = `{
    "as_of": "2026-11-30T12:03:04Z",
    "session": {"id": "bert-train-9d3fk", "name": "bert-train", "node": "dgx-h100-0"},
    "usage": {"memory_used_bytes": 40158167859, "memory_total_bytes": 85469849190, "utilisation_percent": 87},
    "comparison": {"sees": 2, "given": 1, "extra": ["GPU-9c41aaaa-0e"], "missing": []},
    "devices": [{"name": "gpu-3", "driver": "gpu.nvidia.com", "pool": "dgx-h100-0", "product": "NVIDIA H100 80GB HBM3",
                 "attributes": {"gpu.nvidia.com/architecture": {"string": "Hopper"},
                                "gpu.nvidia.com/driverVersion": {"version": "580.126.20"}},
                 "capacity": {"gpu.nvidia.com/memory": {"value": "81559Mi"}}, "sources": {}, "found_in": ["session"]}],
}`;
const CARD_CELLS = [`from jupyter_dra.widgets import DeviceCard\nDeviceCard(lambda: ${FACTS})`];

async function runFirstCell(lab, name) {
  await lab.open(`${name}.ipynb`);
  const { page } = lab;
  await page.locator('#jp-main-statusbar', { hasText: '| Idle' }).waitFor({ timeout: 30_000 });
  await page.locator('.jp-Notebook .jp-CodeCell .cm-content').first().click();
  await page.keyboard.press('Shift+Enter');
}

/** Opens a notebook with the picker in it, and returns the picker once it shows a verdict. */
export async function openPicker(lab) {
  await runFirstCell(lab, 'picker');
  const picker = lab.page.locator('.dra-picker');
  await picker.getByText('Fits now').waitFor({ timeout: 30_000 });
  await picker.locator('.dra-picker-size').first().waitFor();
  return picker;
}

const WIDE = { width: 1200, height: 900 };
const NARROW = { width: 740, height: 1300 };

/** Pictures of m1, m2 and the device card; `save(locator, name, dark)` takes each. */
export async function pickerPictures(browser, themes, save) {
  const server = await startServer({ devices: ['default'] });
  writeNotebooks(server.folder, { picker: notebook(PICKER_CELLS), devicecard: notebook(CARD_CELLS) });
  try {
    const lab = await newLab(browser, server, { dark: themes[0], viewport: WIDE });
    const inThemes = async take => {
      for (const dark of themes) {
        await changeTheme(lab.page, dark ? 'Dark' : 'Light');
        lab.dark = dark;
        await take(dark);
      }
    };
    const picker = await openPicker(lab);
    await picker.getByRole('textbox', { name: 'at least' }).fill('40GB');
    await lab.page.keyboard.press('Enter');
    await picker.getByText('too small').waitFor();
    await picker.getByText('€1.10/h', { exact: true }).waitFor();
    await inThemes(async dark => {
      await lab.page.setViewportSize(WIDE);
      await save(picker, 'm1', dark);
      await lab.page.setViewportSize(NARROW);
      await save(picker, 'm2', dark);
    });
    await runFirstCell(lab, 'devicecard');
    const card = lab.page.locator('.dra-device-card');
    await card.getByText('87 %').waitFor({ timeout: 30_000 });
    await inThemes(dark => save(card, 'm3-devicecard', dark));
    await lab.close();
  } finally {
    await server.stop();
  }
}
