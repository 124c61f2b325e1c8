/** What a person does in the notebook on screen: open, launch for it, run, look where it runs. */

import { newLab, openPanel } from './browser.mjs';

/** A page with this notebook on it, and the panel beside it, aimed at the notebook and ready to launch. */
export async function openFor(browser, server, notebook) {
  const lab = await newLab(browser, server);
  lab.page.setDefaultTimeout(40_000);
  await lab.open(notebook);
  await place(lab.page, 'here').waitFor();
  const panel = await openPanel(lab.page, 320);
  await panel.locator('.dra-Verdict-head', { hasText: 'Fits now' }).waitFor();
  await panel.locator('.dra-Target', { hasText: notebook }).waitFor();
  return { ...lab, panel };
}

/** Launches what the form asks for the notebook on screen; its place label then names a device. */
export async function launchHere(page, panel) {
  await panel.locator('.dra-Launch:not([aria-disabled])').click();
  await place(page, /gpu-\d/).waitFor();
}

/** The part of a selector's matches that lies in the notebook on screen. */
export function inNotebook(page, selector, options = {}) {
  return page.locator(`.jp-NotebookPanel:not(.lm-mod-hidden) ${selector}`, options);
}

/** Opens a file by its row in the file browser. */
export async function openNotebook(page, name) {
  if (!(await page.locator('#filebrowser').isVisible())) {
    await page.click('li[data-id="filebrowser"]');
  }
  await page.locator('.jp-DirListing-item', { hasText: name }).dblclick();
  await page.locator('.lm-TabBar-tab.lm-mod-current', { hasText: name }).waitFor();
}

/** The place label of the notebook on screen, where it says `text`. */
export function place(page, text) {
  return inNotebook(page, '.dra-Place', { hasText: text });
}

/** Writes `code` into the first cell and runs it, without waiting for what it says. */
export async function startCell(page, code) {
  await inNotebook(page, '.jp-CodeCell .cm-content').first().click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type(code);
  await page.keyboard.press('Control+Enter');
}

/** Writes `code` into the first cell, runs it, and waits until its output says `answer`. */
export async function runCell(page, code, answer) {
  await startCell(page, code);
  await inNotebook(page, '.jp-OutputArea-output', { hasText: answer }).waitFor();
}
