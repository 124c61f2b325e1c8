/** What a person does in the notebook on screen: open, run, look where it runs. */

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
