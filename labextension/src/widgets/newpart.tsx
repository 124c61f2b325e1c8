/** The section New session: the notebook's wish, the request as chips, tiers and memory, options, the claim. */

import { useMemo, type ReactElement } from 'react';

import type { Relaxation, Requirement, TierList } from '../api/types';
import { Chips } from '../components/chips';
import { Claim, WrittenClaim } from '../components/claim';
import { Fold, Section } from '../components/controls';
import { Memory } from '../components/memory';
import { Options } from '../components/options';
import { Banner, Skeleton } from '../components/states';
import { Tiers } from '../components/tiers';
import { shortProducts } from '../format/products';
import { fieldWords, optionsLine, requirementLine } from '../format/requirement';
import { fill } from '../format/text';
import { goneWords, nearestWords, wishWords } from '../format/wishes';
import {
  asForm,
  chipFields,
  isUnreadable,
  patch,
  relax,
  removeChip,
  sameRequirement,
  typeMemory,
  undo,
  written
} from '../model/draft';
import { answerOf, conditionProblems, sortChanges } from '../model/plan';
import {
  anyRow,
  choiceOf,
  columns,
  columnWire,
  FEW_TIERS,
  generations,
  limitsOf,
  offeredTiers,
  thumbIndex,
  tierRow,
  usualCount
} from '../model/tiers';
import { undoWords } from './dockprops';
import type { Parts } from './parts';

function TierPart({ bench, tiers, actions }: Parts & { tiers: TierList }): ReactElement {
  const draft = bench.draft.value;
  const { requirement } = draft;
  const { rows, other, cols } = useMemo(() => {
    const any = tiers.any_gpu;
    const offered = offeredTiers(tiers);
    return {
      rows: [...(any ? [anyRow(any, requirement)] : []), ...offered.main.map(tier => tierRow(tier, requirement))],
      other: offered.other.map(tier => tierRow(tier, requirement)),
      cols: columns(tiers, requirement)
    };
  }, [tiers, requirement]);
  const most = limitsOf(requirement).most;
  const upper = requirement.max_vram ? cols.filter(column => column.bytes <= most).length - 1 : null;
  const fitting = cols.filter(column => column.fits);
  const sum = (pick: (column: (typeof cols)[number]) => number): number =>
    fitting.reduce((total, c) => total + pick(c), 0);
  const gone = requirement.tier && !tiers.tiers.some(tier => tier.name === requirement.tier);
  return (
    <>
      {gone && (
        <Banner icon="info" color="info" text={goneWords(actions.speech, requirement.tier ?? '')} actions={[]} />
      )}
      <Tiers
        rows={rows}
        other={other}
        selected={requirement.tier ?? null}
        limit={FEW_TIERS}
        onSelect={tier => bench.edit(item => patch(item, choiceOf(tiers, item.requirement, tier)))}
      />
      <Memory
        atLeast={draft.atLeast}
        atMost={draft.atMost}
        unreadable={{ atLeast: isUnreadable(draft.atLeast), atMost: isUnreadable(draft.atMost) }}
        columns={cols}
        thumb={thumbIndex(cols, requirement)}
        upper={upper}
        free={sum(column => column.free ?? column.freeAtMost ?? 0)}
        matching={sum(column => column.devices)}
        onType={(field, text) => bench.edit(item => typeMemory(item, field, text), true)}
        onPick={(field, column) => {
          const key = field === 'atLeast' ? 'vram' : 'max_vram';
          bench.edit(item => patch(item, { [key]: column ? columnWire(column) : undefined }));
        }}
      />
    </>
  );
}

function OptionsPart({ bench, actions, trans, tiers }: Parts & { tiers: TierList }): ReactElement {
  const { requirement } = bench.draft.value;
  const memory = bench.remembered.state.value;
  const offers = bench.cluster.state.value.status?.offers;
  const chosen = tiers.tiers.find(tier => tier.name === requirement.tier);
  const defaults: Requirement = { ...offers?.defaults, ...chosen?.defaults };
  const problems = requirement.where ? conditionProblems(bench.plan.state.value.plan) : [];
  const gpus = tiers.tiers.filter(tier => !tier.hidden);
  const products = shortProducts(
    (chosen ? [chosen] : gpus.filter(tier => tier.device_kind === 'gpu')).flatMap(t => t.products)
  );
  return (
    <Fold
      title={trans.__('More options')}
      summary={memory.open.options ? null : optionsLine(actions.speech, { ...defaults, ...requirement })}
      open={memory.open.options}
      onToggle={() => bench.remembered.toggle('options')}
    >
      <Options
        requirement={requirement}
        defaults={defaults}
        generations={generations(tiers, requirement.tier ?? null)}
        products={products}
        partners={gpus.filter(tier => tier.device_kind === 'nic')}
        profiles={[...new Set(gpus.flatMap(tier => tier.profiles ?? []))]}
        others={gpus.filter(tier => tier.device_kind !== 'nic' && tier.device_kind !== 'cpu')}
        images={offers?.images ?? []}
        mostOnOneNode={(chosen ?? (requirement.tier ? null : tiers.any_gpu))?.most_on_one_node ?? null}
        usualCount={usualCount(chosen)}
        problems={problems}
        tierName={actions.tierName}
        onChange={change => bench.edit(item => patch(item, change))}
      />
    </Fold>
  );
}

function ClaimPart({ bench, actions, trans }: Parts): ReactElement {
  const { preview, failed } = bench.preview.state.value;
  const editor = bench.claimEditor;
  const editing = editor.state.value;
  const errors = preview?.findings.filter(finding => finding.severity === 'error').length ?? 0;
  const lines = preview?.lines ?? 0;
  const summary = failed
    ? trans.__('cannot be shown')
    : !preview
      ? null
      : errors
        ? fill(trans._n('{n} problem', '{n} problems', errors), { n: errors })
        : fill(trans._n('valid, {n} line', 'valid, {n} lines', lines), { n: lines });
  return (
    <Fold
      title={trans.__('Claim')}
      summary={summary}
      open={bench.remembered.state.value.open.claim}
      onToggle={() => bench.remembered.toggle('claim')}
    >
      <Claim
        preview={preview}
        failed={failed}
        onCopy={text => actions.copy(text)}
        onSave={(text, extension) => actions.saveText(text, extension)}
        editing={editing}
        onEdit={text => editor.open(text)}
        onType={text => editor.type(text)}
        onUse={() => {
          const claim = editing?.read?.claim;
          if (claim) {
            bench.edit(item => written(item, claim));
            editor.close();
          }
        }}
        onCancel={() => editor.close()}
      />
    </Fold>
  );
}

/** Instead of tiers and memory, while a claim says which device. */
function WrittenPart({ bench }: Parts): ReactElement {
  const { claim } = bench.draft.value.requirement;
  const { preview } = bench.preview.state.value;
  return (
    <WrittenClaim
      name={typeof claim === 'string' ? claim : null}
      kept={preview?.kept ?? []}
      onEdit={() => {
        bench.remembered.toggle('claim', true);
        bench.claimEditor.open(preview?.yaml ?? '');
      }}
      onForm={() => bench.edit(item => asForm(item, preview?.form ?? null))}
    />
  );
}

/** The first change that would make the notebook's own wish possible, while the form holds it and it is not. */
function nearest(bench: Parts['bench']): Relaxation | null {
  const { plan, asked } = bench.plan.state.value;
  const required = bench.wish?.required;
  return plan?.verdict === 'impossible' && required && asked && sameRequirement(asked, required)
    ? (sortChanges(plan.relaxations)[0] ?? null)
    : null;
}

function WishBanner({ bench, actions, trans }: Parts): ReactElement | null {
  const { wish, current } = bench;
  if (!wish || !current) {
    return null;
  }
  const near = nearest(bench);
  const text = near
    ? nearestWords(actions.speech, near, wish.required, actions.tierName)
    : wishWords(actions.speech, current.name, wish, actions.tierName);
  const use = (): void =>
    near ? bench.edit(item => relax(item, near)) : bench.prefill({ ...wish.required, ...wish.preferred });
  return <Banner icon="book" text={text} actions={[{ text: trans.__('Use this'), link: true, onPress: use }]} />;
}

export function NewPart(props: Parts): ReactElement {
  const { bench, actions, menus, trans } = props;
  const { tiers, loading } = bench.cluster.state.value;
  const { plan } = bench.plan.state.value;
  const draft = bench.draft.value;
  const memory = bench.remembered.state.value;
  const face = plan ? answerOf(plan).face : 'fits';
  const asked = chipFields(draft.requirement);
  const before = undoWords(actions.speech, draft.undo, draft.requirement, actions.tierName);
  const showChips = (face !== 'fits' && face !== 'bolt' && asked.length > 0) || before !== null;
  return (
    <Section
      title={trans.__('New session')}
      summary={memory.open.new ? null : requirementLine(actions.speech, draft.requirement, actions.tierName)}
      extra={
        memory.open.new && memory.recent.length ? (
          <button
            type="button"
            className="dra-Recent"
            aria-haspopup="menu"
            onClick={event => menus.recent(event.currentTarget)}
          >
            {trans.__('Recent')} ▾
          </button>
        ) : null
      }
      open={memory.open.new}
      onToggle={() => bench.remembered.toggle('new')}
      className="dra-New"
    >
      {tiers ? (
        <>
          <WishBanner {...props} />
          {showChips && (
            <Chips
              chips={asked.map(field => ({
                field,
                text: fieldWords(actions.speech, draft.requirement, field, actions.tierName)
              }))}
              undo={before}
              onRemove={field => bench.edit(item => removeChip(item, field))}
              onUndo={() => bench.edit(undo)}
            />
          )}
          {draft.requirement.claim === undefined ? <TierPart {...props} tiers={tiers} /> : <WrittenPart {...props} />}
          <OptionsPart {...props} tiers={tiers} />
          <ClaimPart {...props} />
        </>
      ) : (
        <Skeleton
          stage={loading}
          onRetry={() => void bench.cluster.refresh()}
          onCheck={() => void actions.checkCluster()}
        />
      )}
    </Section>
  );
}
