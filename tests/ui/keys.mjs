/** A page used by keyboard alone, as people do who cannot or will not use a mouse. */

/** What has the focus: its name as a screen reader would say it, as far as that is in the page. */
export function focused(page) {
  return page.evaluate(() => {
    const node = document.activeElement;
    const by = node?.getAttribute('aria-labelledby');
    const named = by ? document.getElementById(by) : (node?.closest('label') ?? node);
    return (node?.getAttribute('aria-label') ?? named?.textContent ?? '').trim();
  });
}

/** Presses Tab (or another key) until what has the focus is called so; returns what was passed on the way. */
export async function tabTo(page, name, key = 'Tab') {
  const passed = [];
  for (let turn = 0; turn < 60; turn += 1) {
    const now = await focused(page);
    if (name.test(now)) {
      return passed;
    }
    passed.push(now);
    await page.keyboard.press(key);
  }
  throw new Error(`${key} never reached ${name}: ${passed.join(' | ')}`);
}

/** Goes to what is called so and presses Enter on it. */
export async function press(page, name, key = 'Tab') {
  await tabTo(page, name, key);
  await page.keyboard.press('Enter');
}

/** Opens the panel from the command palette; the focus stands in it. */
export async function openPanelByKeys(page) {
  await page.keyboard.press('Control+Shift+c');
  await page.locator('.lm-CommandPalette-input').waitFor();
  await page.keyboard.type('GPU Sessions');
  await page.locator('.lm-CommandPalette-item.lm-mod-active', { hasText: 'GPU Sessions' }).waitFor();
  await page.keyboard.press('Enter');
  const panel = page.locator('#jupyter-dra-panel');
  await panel.locator('.dra-Verdict-head').waitFor();
  return panel;
}

/** From now on, how long the page took for each key press until it had drawn the answer; in milliseconds. */
export async function watchKeys(page) {
  await page.evaluate(() => {
    window.slowKeys = [];
    new PerformanceObserver(list => {
      for (const entry of list.getEntries().filter(entry => entry.name === 'keydown')) {
        window.slowKeys.push(entry.duration);
      }
    }).observe({ type: 'event', durationThreshold: 16 });
  });
  return () => page.evaluate(() => window.slowKeys);
}
