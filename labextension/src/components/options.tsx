/** More options: how many, which generation and product, what close by, how shared, and what runs on it. */

import { useId, useState, type KeyboardEvent, type ReactElement, type ReactNode } from 'react';

import type { Requirement, Tier } from '../api/types';
import type { GenerationChoice } from '../model/tiers';
import { capabilityWords } from '../format/capabilities';
import { partnerName } from '../format/requirement';
import { parseDuration, spacedDuration, wireDuration } from '../format/durations';
import { parseSize, sizeLabel } from '../format/sizes';
import { fill, plain } from '../format/text';
import { Icon } from './icons';
import { useSpeech } from './speech';

export interface OptionsProps {
  requirement: Requirement;
  /** What the tier would set where the requirement says nothing. */
  defaults: Requirement;
  generations: readonly GenerationChoice[];
  products: readonly string[];
  partners: readonly Tier[];
  profiles: readonly string[];
  others: readonly Tier[];
  images: readonly string[];
  mostOnOneNode: number | null;
  /** How many devices are meant where nobody says. */
  usualCount: number | 'all';
  /** What is wrong with the conditions, from the plan. */
  problems: readonly ConditionProblem[];
  tierName: (name: string) => string;
  onChange: (change: Partial<Requirement>) => void;
}

/** What is wrong with a condition; `rewrite` is the whole condition as it was meant, where that can be told. */
export interface ConditionProblem {
  readonly message: string;
  readonly fix: string | null;
  readonly rewrite: string | null;
}

function Problem(props: { problem: ConditionProblem; onRewrite: (text: string) => void }): ReactElement {
  const { trans } = useSpeech();
  const { message, fix, rewrite } = props.problem;
  const memory = trans.__('Memory is a capacity, not an attribute. Use the memory field above, or {link}.');
  const [before, after] = memory.split('{link}');
  return (
    <p className="dra-Problem">
      <Icon name="fix" className="dra-mod-error" />
      {rewrite ? (
        <span>
          {before}
          <button type="button" className="dra-Link" title={rewrite} onClick={() => props.onRewrite(rewrite)}>
            {trans.__('write it as a capacity')}
          </button>
          {after}
        </span>
      ) : (
        <span>
          {plain(message)} {fix ? plain(fix) : ''}
        </span>
      )}
    </p>
  );
}

function Row({ label, children, htmlFor }: { label: string; children: ReactNode; htmlFor?: string }): ReactElement {
  return (
    <div className="dra-Option">
      {htmlFor ? (
        <label className="dra-Option-label" htmlFor={htmlFor}>
          {label}
        </label>
      ) : (
        <span className="dra-Option-label">{label}</span>
      )}
      <div className="dra-Option-value">{children}</div>
    </div>
  );
}

/** A text field that reports when it is left or Enter is pressed, and follows changes from outside. */
function Text(props: {
  value: string;
  label?: string;
  id?: string;
  placeholder?: string;
  list?: string;
  className?: string;
  invalid?: boolean;
  /** One long line, shown whole. */
  wraps?: boolean;
  onCommit: (text: string) => void;
}): ReactElement {
  const [text, setText] = useState<string | null>(null);
  const commit = (): void => {
    if (text !== null && text !== props.value) {
      props.onCommit(text.trim());
    }
    setText(null);
  };
  const common = {
    id: props.id,
    className: `dra-Field${props.className ? ` ${props.className}` : ''}`,
    'aria-label': props.label,
    value: text ?? props.value,
    placeholder: props.placeholder,
    'aria-invalid': props.invalid || undefined,
    spellCheck: false,
    onBlur: commit
  };
  const isCommit = (event: KeyboardEvent): boolean => event.key === 'Enter' && !event.ctrlKey && !event.metaKey;
  return props.wraps ? (
    <textarea
      {...common}
      rows={1}
      onChange={event => setText(event.target.value.replace(/\s*\n\s*/g, ' '))}
      onKeyDown={event => {
        if (isCommit(event)) {
          event.preventDefault();
          commit();
        }
      }}
    />
  ) : (
    <input
      {...common}
      list={props.list}
      onChange={event => setText(event.target.value)}
      onKeyDown={event => isCommit(event) && commit()}
    />
  );
}

function first(value: string | readonly string[] | undefined): string {
  return value === undefined ? '' : typeof value === 'string' ? value : (value[0] ?? '');
}

function Generation({ requirement, generations, onChange, id }: OptionsProps & { id: string }): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const capability = requirement.compute_capability ?? '';
  const value = capability
    ? `cc:${capability}`
    : first(requirement.architecture)
      ? `a:${first(requirement.architecture)}`
      : '';
  const choices = generations.flatMap(item => [
    ...(item.capability
      ? [{ key: `cc:>=${item.capability}`, text: fill(trans.__('{generation} or newer'), { generation: item.name }) }]
      : []),
    { key: `a:${item.name}`, text: item.name }
  ]);
  const known = !value || choices.some(choice => choice.key === value);
  return (
    <select
      id={id}
      className="dra-Field dra-mod-wide"
      value={value}
      onChange={event => {
        const [kind, ...rest] = event.target.value.split(':');
        const text = rest.join(':');
        onChange(
          kind === 'cc'
            ? { compute_capability: text, architecture: undefined }
            : { architecture: kind === 'a' ? [text] : undefined, compute_capability: undefined }
        );
      }}
    >
      <option value="">{trans.__('any')}</option>
      {!known && <option value={value}>{capability ? capabilityWords(speech, capability) : value.slice(2)}</option>}
      {choices.map(choice => (
        <option key={choice.key} value={choice.key}>
          {choice.text}
        </option>
      ))}
    </select>
  );
}

type Sharing = 'whole' | 'part' | 'memory';

function SharingChoice({ requirement, profiles, onChange }: OptionsProps): ReactElement {
  const { trans } = useSpeech();
  const name = useId();
  const { share } = requirement;
  const kind: Sharing = share?.profile ? 'part' : share?.memory ? 'memory' : 'whole';
  const choices: { kind: Sharing; title: string; words: string; share: Requirement['share'] }[] = [
    { kind: 'whole', title: trans.__('Whole device'), words: trans.__('Nobody else is on it.'), share: undefined },
    {
      kind: 'part',
      title: trans.__('A fixed part (MIG)'),
      words: trans.__('Own memory and own compute, kept apart by the card.'),
      share: { profile: profiles[0] ?? '1g.10gb' }
    },
    {
      kind: 'memory',
      title: trans.__('An amount of memory'),
      words: trans.__('Counted but not enforced. No amount asked: takes the whole device.'),
      share: { memory: '8Gi' }
    }
  ];
  return (
    <div role="radiogroup" aria-label={trans.__('Sharing')}>
      {choices.map(choice => (
        <div key={choice.kind} className="dra-Choice">
          <label>
            <input
              type="radio"
              className="dra-Radio"
              name={name}
              checked={kind === choice.kind}
              aria-describedby={`${name}-${choice.kind}`}
              onChange={() => onChange({ share: choice.share })}
            />
            <span>{choice.title}</span>
          </label>
          <div id={`${name}-${choice.kind}`} className="dra-mod-quiet">
            {choice.words}
          </div>
          {kind === 'part' && choice.kind === 'part' && (
            <>
              <Text
                value={share?.profile ?? ''}
                list={`${name}-profiles`}
                label={trans.__('Profile of the part')}
                onCommit={text => onChange({ share: text ? { profile: text } : undefined })}
              />
              <datalist id={`${name}-profiles`}>
                {profiles.map(profile => (
                  <option key={profile} value={profile} />
                ))}
              </datalist>
            </>
          )}
          {kind === 'memory' && choice.kind === 'memory' && (
            <Text
              value={share?.memory ?? ''}
              label={trans.__('Amount of memory')}
              onCommit={text => onChange({ share: text ? { memory: text.replace(/\s+|B$/gi, '') } : undefined })}
            />
          )}
        </div>
      ))}
    </div>
  );
}

/** Companions that share a PCIe root or NUMA node with the device. */
function Partners({ requirement, partners, tierName, onChange }: OptionsProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const near = requirement.near ?? [];
  return (
    <>
      {near.length > 0 && (
        <select
          className="dra-Field"
          aria-label={trans.__('What they must share')}
          value={requirement.align ?? 'pcieRoot'}
          onChange={event => onChange({ align: event.target.value })}
        >
          <option value="pcieRoot">{trans.__('same PCIe root')}</option>
          <option value="numaNode">{trans.__('same NUMA node')}</option>
          {requirement.align && !['pcieRoot', 'numaNode'].includes(requirement.align) && (
            <option value={requirement.align}>{requirement.align}</option>
          )}
        </select>
      )}
      {near.map((item, index) => (
        <button
          key={index}
          type="button"
          className="dra-Chip"
          aria-label={fill(trans.__('Remove: {condition}'), { condition: partnerName(speech, item, tierName) })}
          onClick={() => {
            const rest = near.filter((_, place) => place !== index);
            onChange({ near: rest, align: rest.length ? requirement.align : undefined });
          }}
        >
          {partnerName(speech, item, tierName)} <Icon name="close" size={12} />
        </button>
      ))}
      {partners
        .filter(tier => !near.some(item => item.tier === tier.name))
        .map(tier => (
          <button
            key={tier.name}
            type="button"
            className="dra-Chip"
            onClick={() => onChange({ near: [...near, { tier: tier.name }], align: requirement.align ?? 'pcieRoot' })}
          >
            <Icon name="plus" size={12} />{' '}
            {fill(trans.__('{partner}, same PCIe root'), { partner: tierName(tier.name) })}
          </button>
        ))}
      {!near.length && !partners.length && <span className="dra-mod-quiet">{trans.__('nothing offered')}</span>}
    </>
  );
}

/** Second choices, tried in order when the first is not free. */
function Alternatives({ requirement, others, tierName, onChange }: OptionsProps): ReactElement {
  const { trans } = useSpeech();
  const list = requirement.or_else ?? [];
  const left = others.filter(tier => tier.name !== requirement.tier && !list.some(item => item.tier === tier.name));
  return (
    <>
      {list.map((item, index) => (
        <button
          key={index}
          type="button"
          className="dra-Chip"
          aria-label={fill(trans.__('Remove: {condition}'), {
            condition: item.tier ? tierName(item.tier) : String(index + 1)
          })}
          onClick={() => onChange({ or_else: list.filter((_, place) => place !== index) })}
        >
          {item.tier ? tierName(item.tier) : JSON.stringify(item)} <Icon name="close" size={12} />
        </button>
      ))}
      {left.length > 0 && list.length < 7 && (
        <select
          className="dra-Field dra-mod-add"
          value=""
          aria-label={trans.__('Add a second choice')}
          onChange={event => onChange({ or_else: [...list, { tier: event.target.value }] })}
        >
          <option value="">{trans.__('+ second choice')}</option>
          {left.map(tier => (
            <option key={tier.name} value={tier.name}>
              {tierName(tier.name)}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

/** As the requirement writes a duration; what is none goes as typed, for the server to refuse in words. */
function wired(text: string): string | undefined {
  const seconds = parseDuration(text);
  return seconds === null ? text || undefined : wireDuration(seconds);
}

/** What says more about the device; a claim written by hand says all of it. */
function DeviceOptions(props: OptionsProps & { id: string }): ReactElement {
  const { requirement, products, mostOnOneNode, usualCount, problems, onChange, id } = props;
  const { trans } = useSpeech();
  const shown = requirement.count ?? usualCount;
  const withoutTier = requirement.tier === undefined;
  return (
    <>
      <Row label={trans.__('How many')} htmlFor={`${id}-count`}>
        <input
          id={`${id}-count`}
          className="dra-Field dra-mod-short"
          type="number"
          min={1}
          max={1024}
          value={shown === 'all' ? '' : shown}
          onChange={event => {
            const n = Number.parseInt(event.target.value, 10);
            onChange({ count: n > 0 && n !== usualCount ? n : undefined });
          }}
        />
        {mostOnOneNode !== null && (
          <span className="dra-mod-quiet">{fill(trans.__('up to {n} on one node'), { n: mostOnOneNode })}</span>
        )}
      </Row>
      <Row label={trans.__('Generation')} htmlFor={`${id}-generation`}>
        <Generation {...props} id={`${id}-generation`} />
      </Row>
      <Row label={trans.__('Product')} htmlFor={`${id}-product`}>
        <select
          id={`${id}-product`}
          className="dra-Field dra-mod-wide"
          value={first(requirement.product)}
          onChange={event => onChange({ product: event.target.value || undefined })}
        >
          <option value="">{trans.__('any')}</option>
          {[...new Set([...products, first(requirement.product)])].filter(Boolean).map(name => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </Row>
      <Row label={trans.__('Close to')}>
        <Partners {...props} />
      </Row>
      <Row label={trans.__('Sharing')}>
        <SharingChoice {...props} />
      </Row>
      {!withoutTier && (
        <Row label={trans.__('If not free')}>
          <Alternatives {...props} />
        </Row>
      )}
      <Row label={trans.__('More conditions')} htmlFor={`${id}-where`}>
        <Text
          id={`${id}-where`}
          className="dra-mod-wide dra-mod-code"
          wraps
          value={first(requirement.where)}
          placeholder={trans.__('CEL, if you need it')}
          invalid={problems.length > 0}
          onCommit={text => onChange({ where: text ? [text] : undefined })}
        />
        {problems.map((problem, index) => (
          <Problem key={index} problem={problem} onRewrite={text => onChange({ where: [text] })} />
        ))}
      </Row>
    </>
  );
}

export function Options(props: OptionsProps): ReactElement {
  const { requirement, defaults, images, onChange } = props;
  const { trans } = useSpeech();
  const id = useId();
  const own = { ...defaults, ...requirement };
  return (
    <div className="dra-Options">
      {requirement.claim === undefined && <DeviceOptions {...props} id={id} />}
      <Row label={trans.__('Image')} htmlFor={`${id}-image`}>
        <Text
          id={`${id}-image`}
          className="dra-mod-wide"
          value={requirement.image ?? ''}
          placeholder={defaults.image ?? trans.__('your admin’s choice')}
          list={`${id}-images`}
          onCommit={text => onChange({ image: text || undefined })}
        />
        <datalist id={`${id}-images`}>
          {images.map(image => (
            <option key={image} value={image} />
          ))}
        </datalist>
      </Row>
      <Row label={trans.__('CPU, memory')}>
        <Text
          className="dra-mod-short"
          label={trans.__('CPUs')}
          value={own.cpu === undefined ? '' : String(own.cpu)}
          placeholder="4"
          onCommit={text => onChange({ cpu: text || undefined })}
        />
        <Text
          className="dra-mod-short"
          label={trans.__('Memory of the node')}
          value={sizeLabel(own.host_memory)}
          placeholder="16 GiB"
          onCommit={text => onChange({ host_memory: parseSize(text)?.wire ?? (text || undefined) })}
        />
      </Row>
      <Row label={trans.__('Keep for')}>
        <Text
          className="dra-mod-short"
          label={trans.__('Keep the session for')}
          value={spacedDuration(own.lease)}
          placeholder="4 h"
          onCommit={text => onChange({ lease: wired(text) })}
        />
        <span className="dra-mod-quiet">{trans.__('idle at most')}</span>
        <Text
          className="dra-mod-short"
          label={trans.__('Idle at most')}
          value={spacedDuration(own.idle_timeout)}
          placeholder="30 min"
          onCommit={text => onChange({ idle_timeout: wired(text) })}
        />
      </Row>
    </div>
  );
}
