// Keeps the verdict below the tiers true while people choose. Text only: everything foreign stays text.
(() => {
  const form = document.querySelector('.dra-form');
  const note = form?.querySelector('.dra-verdict');
  if (!note) {
    return;
  }
  const words = note.querySelector('p');
  const facts = JSON.parse(form.dataset.facts);
  const value = name => {
    const field = [...form.querySelectorAll('select')].find(one => one.name === name);
    return field ? field.value : '';
  };
  const judge = () => {
    const chosen = form.querySelector('input[name="dra-tier"]:checked');
    const tier = chosen && facts.tiers[chosen.value];
    const memory = form.querySelector('#dra-vram');
    if (memory) {
      memory.disabled = !tier || tier.settled;
    }
    if (!chosen) {
      return ['none', facts.words.choose];
    }
    if (!tier) {
      return ['none', facts.words.cpu];
    }
    const least = Number(memory?.selectedOptions[0]?.dataset.bytes ?? 0);
    const count = Number(value('dra-count--' + chosen.value) || tier.count);
    const sizes = tier.sizes.filter(one => one.bytes >= least);
    const total = least ? sizes.reduce((sum, one) => sum + one.devices, 0) : tier.devices;
    const free = least ? sizes.reduce((sum, one) => sum + one.free, 0) : tier.free;
    return verdict(tier, total, free, count);
  };
  const verdict = (tier, total, free, count) => {
    const fill = (text, values) =>
      text.replace(/%(\w+)%/g, (_, name) => String(values[name]).replaceAll('|', '¦'));
    const values = { free, total, count, tier: tier.title, most: tier.most };
    if (tier.unknown) {
      return ['none', fill(facts.words.unknown, values)];
    }
    if (total === 0) {
      return ['impossible', fill(facts.words.never, values)];
    }
    if (count > tier.most) {
      return ['impossible', fill(facts.words.many, values)];
    }
    if (free < count) {
      return ['busy', fill(free ? facts.words.few : facts.words.taken, values)];
    }
    return ['fits', fill(tier.sure ? facts.words.fits : facts.words.perhaps, values)];
  };
  const update = () => {
    const [code, text] = judge();
    if (words.textContent !== text.replace('|', '')) {
      const [lead, rest = ''] = text.split('|');
      const strong = document.createElement('strong');
      strong.textContent = lead;
      note.dataset.verdict = code;
      words.replaceChildren(strong, rest);
    }
  };
  form.addEventListener('change', update);
  update();
})();
