/** One frame in a page: its answers, its notebook, its request, its steps. */

import { openPanel, runCommand } from './browser.mjs';
import { routesOf } from './frames.mjs';

/** Shows a frame in a page made by `newLab`, the panel `width` wide; `steps: false` leaves it as it opens. */
export async function showFrame(lab, frame, { width = frame.widths[0], steps = true } = {}) {
  const { page } = lab;
  lab.routes = routesOf(frame.documents);
  await page.setViewportSize({ width: frame.window ?? 1100, height: frame.height ?? 900 });
  await lab.open(frame.notebook);
  const panel = await openPanel(page, width);
  if (frame.request) {
    await runCommand(page, 'jupyter-dra:open', { requirement: frame.request });
    await panel.locator('.dra-Verdict:not([aria-busy])').waitFor();
  }
  if (steps) {
    await frame.steps?.(panel, page);
  }
  return panel;
}

/** What of a frame is looked at. */
export function shownPart(page, frame) {
  return page.locator(frame.of ?? '#jupyter-dra-panel').first();
}

/** Texts wider than their place, but for those that may be cut: file names, folded values, place labels. */
export function cutOff(page) {
  return page.evaluate(() => {
    const may = '.dra-Bar-name, .dra-Section-summary, .dra-Fold-summary, .dra-Target-name, .dra-Kernels-name, .dra-Field, .dra-Spoken';
    const panel = document.querySelector('.dra-Panel').getBoundingClientRect();
    return [...document.querySelectorAll('.dra-Panel *')]
      .filter(node => node.childElementCount === 0 && node.textContent.trim() && !node.closest(may) && !node.closest('svg'))
      .filter(node => {
        const box = node.getBoundingClientRect();
        const wide = box.right > panel.right + 1 || node.scrollWidth > node.clientWidth + 1;
        return box.width > 0 && wide && getComputedStyle(node).display !== 'inline';
      })
      .map(node => `cut: ${node.className} ${node.textContent.slice(0, 60)}`);
  });
}
