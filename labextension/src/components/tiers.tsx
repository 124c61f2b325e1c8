/** The list of tiers: one radio each, with what is free, what it costs, and why it would not do. */

import { useId, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';

import type { TierRow } from '../model/tiers';
import { count, nameList, price } from '../format/numbers';
import { shortProducts, withArticle } from '../format/products';
import type { Speech } from '../format/speech';
import { fill } from '../format/text';
import { Name, useSpeech } from './speech';

export interface TiersProps {
  rows: readonly TierRow[];
  other: readonly TierRow[];
  selected: string | null;
  limit: number;
  onSelect: (tier: string | null) => void;
}

/** "9 of 18 free", "up to 6 free", "at most 5 free", "0 now". */
export function freeWords(speech: Speech, row: TierRow): string {
  const { trans } = speech;
  const values = { free: count(speech, row.free ?? row.freeAtMost ?? 0), total: count(speech, row.devices) };
  if (row.note === 'scales-from-zero') {
    return fill(trans.__('{free} now'), values);
  }
  if (row.exclusive) {
    return fill(trans.__('up to {free} free'), values);
  }
  if (row.free === null && row.freeAtMost === null) {
    return trans.__('free count not known');
  }
  return row.free === null
    ? fill(trans.__('at most {free} of {total} free'), values)
    : fill(trans.__('{free} of {total} free'), values);
}

function sizeRange(row: TierRow): string | null {
  const labels = row.sizes.map(size => size.label);
  if (labels.length < 2) {
    return labels[0] ?? null;
  }
  const [first, last] = [labels[0]!, labels[labels.length - 1]!];
  return `${first.replace(/\s*GB$/, '')}–${last}`;
}

function subFacts(speech: Speech, row: TierRow): string[] {
  const { trans } = speech;
  const { tier } = row;
  if (!tier) {
    return [trans.__('smallest first')];
  }
  const names = shortProducts(tier.products).slice(0, 3);
  const products = nameList(speech, names);
  const cost = price(speech, tier.price);
  const facts: string[] = [];
  const range = sizeRange(row);
  if (range) {
    facts.push(range);
  }
  if (row.note === 'scales-from-zero') {
    facts.push(trans.__('starts nodes when asked'));
  } else if (!row.sizes.length && row.devices) {
    const template =
      tier.device_kind === 'tpu'
        ? trans._n('{n} chip, memory not stated', '{n} chips, memory not stated', row.devices)
        : trans._n('{n} device, memory not stated', '{n} devices, memory not stated', row.devices);
    facts.push(fill(template, { n: count(speech, row.devices) }));
  } else if (products) {
    const device = names.length === 1 ? withArticle(speech, products) : products;
    facts.push(tier.device_kind === 'part' ? fill(trans.__('part of {device}'), { device }) : products);
  }
  if (cost) {
    facts.push(cost);
  }
  return facts;
}

function noteWords(speech: Speech, row: TierRow): string | null {
  const { trans } = speech;
  switch (row.note) {
    case 'too-small':
      return trans.__('too small');
    case 'too-large':
      return trans.__('too large');
    case 'not-offered':
      return trans.__('not offered');
    default:
      return null;
  }
}

/** One cell per device up to twenty, beyond that one bar in proportion. */
function Cells({ row }: { row: TierRow }): ReactElement | null {
  const { fits, free, taken, out } = row.cells;
  const total = fits + free + taken + out;
  if (!total || row.exclusive) {
    return null;
  }
  if (total > 20) {
    return (
      <span className="dra-Cells dra-mod-bar" aria-hidden="true">
        {Object.entries(row.cells).map(([kind, n]) => (
          <span key={kind} className={`dra-Cell dra-mod-${kind}`} style={{ flexGrow: n }} hidden={!n} />
        ))}
      </span>
    );
  }
  const kinds = Object.entries({ fits, free, taken, out }).flatMap(([kind, n]) => Array<string>(n).fill(kind));
  return (
    <span className="dra-Cells" aria-hidden="true">
      {kinds.map((kind, index) => (
        <span key={index} className={`dra-Cell dra-mod-${kind}`} />
      ))}
    </span>
  );
}

export function tierTitle(speech: Speech, row: TierRow): string {
  return row.tier ? (row.tier.display_name ?? row.tier.name) : speech.trans.__('Any GPU');
}

interface RowProps {
  row: TierRow;
  group: string;
  checked: boolean;
  onSelect: () => void;
}

function TierOption({ row, group, checked, onSelect }: RowProps): ReactElement {
  const speech = useSpeech();
  const id = useId();
  const note = noteWords(speech, row);
  const dim = note !== null;
  const cells = <Cells row={row} />;
  return (
    <label
      className={`dra-Tier${checked ? ' dra-mod-selected' : ''}${dim ? ' dra-mod-dim' : ''}`}
      title={row.tier?.description ?? undefined}
    >
      <input
        type="radio"
        className="dra-Radio"
        name={group}
        value={row.name ?? ''}
        checked={checked}
        aria-labelledby={`${id}-name`}
        aria-describedby={id}
        onChange={onSelect}
      />
      <span className="dra-Tier-title" id={`${id}-name`}>
        <Name text={tierTitle(speech, row)} />
      </span>
      <span className="dra-Tier-rest" id={id}>
        <span className="dra-Tier-free">{freeWords(speech, row)}</span>
        <span className="dra-Tier-sub">
          {subFacts(speech, row).map((fact, index) => (
            <span key={index}>
              {index ? ' · ' : ''}
              {fact}
            </span>
          ))}
          {note ? (
            <span>
              {' · '}
              <strong>{note}</strong>
            </span>
          ) : null}
        </span>
      </span>
      {cells}
    </label>
  );
}

export function Tiers(props: TiersProps): ReactElement {
  const { rows, other, selected, limit, onSelect } = props;
  const speech = useSpeech();
  const { trans } = speech;
  const [all, setAll] = useState(false);
  const [others, setOthers] = useState(false);
  const [filter, setFilter] = useState('');
  const id = useId();
  const typed = useRef({ text: '', at: 0 });
  const many = rows.length > limit + 1;
  const few = many && !all ? rows.filter((row, index) => index < limit || row.name === selected) : rows;
  const matching = filter
    ? few.filter(row => tierTitle(speech, row).toLowerCase().includes(filter.toLowerCase()))
    : few;
  const shown = others ? [...matching, ...other] : [...matching, ...other.filter(row => row.name === selected)];
  const jump = (event: KeyboardEvent): void => {
    if (event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const now = Date.now();
    const text = (now - typed.current.at < 800 ? typed.current.text : '') + event.key.toLowerCase();
    typed.current = { text, at: now };
    const found = shown.find(row => tierTitle(speech, row).toLowerCase().startsWith(text));
    if (found) {
      onSelect(found.name);
      const radios = event.currentTarget.querySelectorAll<HTMLInputElement>('input[type=radio]');
      [...radios].find(radio => radio.value === (found.name ?? ''))?.focus();
    }
  };
  return (
    <div className="dra-Tiers">
      <div className="dra-Label" id={id}>
        <strong>{trans.__('Tier')}</strong> <span className="dra-mod-quiet">{trans.__('what the cluster offers')}</span>
      </div>
      {all && many && (
        <input
          className="dra-Field dra-Tiers-filter"
          type="search"
          placeholder={trans.__('Filter by name')}
          aria-label={trans.__('Filter tiers by name')}
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      )}
      <div role="radiogroup" aria-labelledby={id} onKeyDown={jump}>
        {shown.map(row => (
          <TierOption
            key={row.name ?? ''}
            row={row}
            group={id}
            checked={row.name === selected}
            onSelect={() => onSelect(row.name)}
          />
        ))}
      </div>
      {many && !all && (
        <button type="button" className="dra-Link dra-Tiers-all" onClick={() => setAll(true)}>
          {fill(trans._n('All {n} tiers', 'All {n} tiers', rows.length), { n: count(speech, rows.length) })}
        </button>
      )}
      {other.length > 0 && !others && (
        <button type="button" className="dra-Link dra-Tiers-all" aria-expanded={false} onClick={() => setOthers(true)}>
          {fill(trans.__('Other classes ({n})'), { n: count(speech, other.length) })}
        </button>
      )}
    </div>
  );
}
