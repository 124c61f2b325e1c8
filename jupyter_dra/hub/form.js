// Keeps the verdict below the tiers true while people choose: looked up, never made up. Everything foreign stays text.
(() => {
  const form = document.querySelector('.dra-form');
  const note = form?.querySelector('.dra-verdict');
  if (!note) {
    return;
  }
  const words = note.querySelector('p');
  const facts = JSON.parse(form.dataset.facts);
  const memory = form.querySelector('#dra-vram');
  const value = name => [...form.querySelectorAll('select')].find(one => one.name === name)?.value;
  const verdict = chosen => {
    const tier = chosen && Object.hasOwn(facts.tiers, chosen) ? facts.tiers[chosen] : null;
    if (memory) {
      memory.disabled = !tier || tier.settled;
    }
    if (!tier) {
      return chosen ? facts.none : facts.choose;
    }
    const floor = tier.settled ? '' : (memory?.value ?? '');
    return tier.verdicts[floor][value('dra-count--' + chosen) ?? tier.least];
  };
  const update = () => {
    const chosen = form.querySelector('input[name="dra-tier"]:checked')?.value;
    const [code, lead, rest] = facts.words[verdict(chosen)];
    if (words.textContent !== lead + rest) {
      const strong = document.createElement('strong');
      strong.textContent = lead;
      note.dataset.verdict = code;
      words.replaceChildren(strong, rest);
    }
  };
  form.addEventListener('change', update);
  update();
})();
