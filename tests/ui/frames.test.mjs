/** One story per group of frames: each opens, says what it should, and axe finds nothing in light and dark. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { axeFindings, changeTheme, launchBrowser, newLab } from './browser.mjs';
import { cardNotebooks } from './cardframes.mjs';
import { NOW } from './fixtures.mjs';
import { cutOff, showFrame, shownPart } from './framepage.mjs';
import { FRAMES } from './frames.mjs';
import { writeNotebooks } from './notebooks.mjs';
import { pseudoCatalogue } from './pseudo.mjs';
import { cardBundles, startServer } from './server.mjs';

let server;
let browser;
let lab;

before(async () => {
  const cards = cardNotebooks(cardBundles);
  server = await startServer();
  writeNotebooks(server.folder, cards);
  server.trust(...Object.keys(cards).map(name => `${name}.ipynb`));
  browser = await launchBrowser();
  lab = await newLab(browser, server, { fixedTime: NOW });
  lab.page.setDefaultTimeout(20_000);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** What each frame of a group must say, in the order people read it. */
const GROUPS = {
  'the form: options, the claim, a claim written by hand': {
    a4: ['asks for at least 40 GB; 80 GB is better.', 'Medium GPU', 'Whole device', 'apiVersion: resource.k8s.io/v1', 'Fits now'],
    'a5-written': ['claim as written', 'Claim as written', 'configuration for the driver spec.devices.config[0]', 'Back to the form']
  },
  'nothing fits: chips, five lines, three changes': {
    b: ['You ask for', '4 devices', 'Not possible here', 'Why: 40,000 devices on 5,000 nodes', 'less than 141 GB', 'Without the network card', '232 free', 'Copy for your admin']
  },
  'taken, waiting, unsure, wrong': {
    c1: ['All taken for now', 'You · bert-train', 'mira · 2 devices', 'you may not see the holder', 'Join your session bert-train', 'Wait for a device'],
    c2: ['waiting', 'Waiting for 12:04, at most 2 h.', '8 of 8 taken', 'It starts by itself; you can close this page.'],
    c5: ['Memory is a capacity, not an attribute.', 'write it as a capacity', 'Needs a correction', 'Go to it']
  },
  'launching: steps with clocks, ended early, ready': {
    d1: ['starting', 'Request checked', 'Device reserved', 'Getting the image', '0:48', 'Connecting', '0:49 of at most 10:00'],
    d4: ['ready', 'Ready after 3.4 s, as predicted: gpu-4.', 'Steps', 'Open analysis.ipynb', 'Stop'],
    d3: ['not started', 'There is no image cuda-notebok:2026.10. Check its name.', 'Everything was given back.', 'Choose an image']
  },
  'sessions: holders, warnings, giving back': {
    e: ['bert-train', '37.4 of 79.6 GiB', '87 %', '1 h 58 min left', 'train.ipynb', '31.0 GiB · busy', 'nothing keeps them apart', 'slice-demo', 'Given back in 4 min.', 'Keep it', 'giving back'],
    'e4-details': ['bert-train', 'Device', 'gpu-3 · H100 80 GB', 'Use and lease', 'train.ipynb', 'Request and claim', 'What happened', 'moved to pod bert-train-9d3fk-1']
  },
  'devices: picture, one in focus, list, who waits': {
    f1: ['dgx-h100-0', '8 × H100 80 GB · 3 free', 'out of service', 'not visible to you'],
    f6: ['gpu-0 · A100 80 GB · out of service', 'Marked by the driver', 'Not offered unless you accept marked devices.'],
    f7: ['all kinds', 'Held by', 'team-c / eval', 'no pod'],
    f8: ['6 wait', '2 cannot ever start', '1 taken', '2 limit', 'mira / ft-large', 'Not possible here: no RDMA card on the same PCIe root', 'Waits in the queue team-a', 'Limit of team-a: 8 of 8 High-memory GPU.']
  },
  'loading, empty, forbidden, absent, too old': {
    g1: ['Reading the inventory …'],
    g3: ['You may not see the devices', 'list, watch: resourceslices', 'Launch anyway'],
    g4: ['No cluster yet', 'Start a local cluster']
  },
  'offline, server part missing, from zero, limit': {
    g6: ['Connection lost at 12:03.', 'Try now', 'as of 12:03'],
    g7: ['The server part is missing', 'jupyter server extension enable jupyter_dra'],
    g8: ['0 now', 'Starts a node first'],
    g9: ['Your limit is reached', 'Stop slice-demo …', 'Show sessions']
  },
  'cards: full, lists, parts, shares, mismatch, none, requests': {
    h1: ['NVIDIA H100 80GB HBM3', '37.4 of 79.6 GiB · 47 %', 'this notebook 31.0 · eval.ipynb 6.1 · driver 0.3', 'whole device, your 2 notebooks', 'sees 1 device, the same one'],
    h3: ['0.8 of 9.6 GiB', 'idle 26 min', '12:03 · over'],
    h4: ['Part 2g.10gb of an A100 40 GB', 'slots 4–5', 'not available on a part', 'Share of', '7 GiB, got 8 GiB', '8 × TPU v6e, one node', 'tpu-0 to tpu-7'],
    h5: ['H100 80 GB + network card', 'This kernel sees 2 devices but was given 1.', 'This notebook has no device', 'Get a device …'],
    h6: ['This needs the cluster', 'From a terminal', 'jupyter dra launch --vram 40GB', 'Launch for this notebook …', 'You are asked first.']
  },
  'status bar: running, ends soon, ended': {
    'i1-running': ['H100 80 GB · gpu-3', '47 %'],
    'i1-ended': ['Ended: out of host memory']
  },
  'ends and leases: in the notebook, in the panel, as a notification': {
    j1: ['out of host memory', 'Start again with 32 GiB', 'not used for 30 min', 'Keep longer next time …', 'Start on another device'],
    j2: ['ended 11:35', 'stopped 11:02', 'a 24 GB device would do'],
    k1: ['It has reached the longest time allowed, 12 h.', 'bert-train ends in 10 min', 'Save what you need.', 'Extend by 2 h'],
    k2: ['9 min left', 'Ends at 12:12, even if a cell runs.']
  }
};

/** What of a frame is made by us; notebooks and notifications around it are JupyterLab's. */
function ours(frame) {
  return { '.jp-NotebookPanel': '.dra-CardOutput', '#jp-main-statusbar': '.dra-StatusItem', '.dra-DetailsPane': '.dra-Details' }[frame.of] ?? '#jupyter-dra-panel';
}

/** Findings of axe in both themes; the frame stays as it is. */
async function findings(page, frame) {
  const found = [];
  for (const name of ['Dark', 'Light']) {
    await changeTheme(page, name);
    found.push(...(await axeFindings(page, ours(frame))).map(line => `${name}: ${line}`));
  }
  return found;
}

for (const [group, frames] of Object.entries(GROUPS)) {
  test(group, async () => {
    for (const [name, texts] of Object.entries(frames)) {
      const frame = FRAMES[name];
      await showFrame(lab, frame);
      const shown = shownPart(lab.page, frame);
      let at = 0;
      for (const text of texts) {
        await lab.page.waitForFunction(
          ([selector, wanted]) => document.querySelector(selector)?.textContent.includes(wanted),
          [frame.of ?? '#jupyter-dra-panel', text]
        );
        const found = (await shown.textContent()).indexOf(text, at);
        assert.ok(found >= at, `${name}: "${text}" does not follow what stands before it`);
        at = found;
      }
      assert.deepEqual(await findings(lab.page, frame), [], name);
      assert.deepEqual(lab.problems.splice(0), [], name);
    }
  });
}

test('in a longer, accented language nothing is cut at 250 px', async () => {
  const translated = await newLab(browser, server, { fixedTime: NOW, catalogue: pseudoCatalogue() });
  for (const name of ['a2', 'b', 'c1', 'd1', 'e', 'g3', 'j2']) {
    await showFrame(translated, FRAMES[name], { width: 250, steps: false });
    await translated.page.locator('.dra-Panel').getByText(/\[.*~~~.*\]/).first().waitFor();
    assert.deepEqual(await cutOff(translated.page), [], name);
  }
  await translated.close();
});

test('with forced colours the choice is a system colour, with reduced motion nothing turns', async () => {
  const { page } = lab;
  await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' });
  try {
    await showFrame(lab, FRAMES.a1);
    const chosen = page.locator('.dra-Tier.dra-mod-selected');
    const system = await page.evaluate(() => {
      const probe = document.body.appendChild(document.createElement('i'));
      probe.style.cssText = 'background: Highlight; forced-color-adjust: none';
      const color = getComputedStyle(probe).backgroundColor;
      probe.remove();
      return color;
    });
    assert.equal(await chosen.evaluate(node => getComputedStyle(node).backgroundColor), system);
    await showFrame(lab, FRAMES.d1);
    const moving = await page.evaluate(() =>
      [...document.querySelectorAll('.dra-Panel *')].filter(node => getComputedStyle(node).animationName !== 'none').map(node => node.className)
    );
    assert.deepEqual(moving, []);
  } finally {
    await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' });
  }
});
