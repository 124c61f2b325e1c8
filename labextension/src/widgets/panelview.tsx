/** The panel's React side: takes the models apart into what the components show. */

import {
  useDeferredValue,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement
} from 'react';

import type { Device, Requirement, Session, TierList, WaitingList } from '../api/types';
import { Bar } from '../components/bar';
import { Chips } from '../components/chips';
import { Claim } from '../components/claim';
import { Fold, Section } from '../components/controls';
import { DevicesView } from '../components/devices';
import { Dock } from '../components/dock';
import { EndedCard } from '../components/ended';
import { Memory } from '../components/memory';
import { Options } from '../components/options';
import { SessionCard } from '../components/session';
import { SpeechContext } from '../components/speech';
import { Banner, Skeleton } from '../components/states';
import { Tiers } from '../components/tiers';
import type { WaitingRow } from '../components/waiting';
import { clock, duration } from '../format/durations';
import { count } from '../format/numbers';
import { shortProducts } from '../format/products';
import { fieldWords, optionsLine, requirementLine } from '../format/requirement';
import { reasonLine } from '../format/reasons';
import { fill, initial, sentence } from '../format/text';
import { fitsDevice } from '../model/devicefit';
import { byKind, byNode } from '../model/devices';
import { chipFields, isUnreadable, patch, relax, removeChip, typeMemory, undo } from '../model/draft';
import { answerOf } from '../model/plan';
import { extendBy, idleSeconds, isOver, sortSessions, warningOf } from '../model/sessions';
import {
  anyGPU,
  anyRow,
  columns,
  columnWire,
  FEW_TIERS,
  generations,
  limitsOf,
  offeredTiers,
  thumbIndex,
  tierRow
} from '../model/tiers';
import type { Workbench } from '../model/workbench';
import type { Actions } from './actions';
import { dockProps, undoWords } from './dockprops';
import type { Menus } from './menus';
import { stateProps } from './stateprops';
import { State } from '../components/states';

export interface PanelProps {
  bench: Workbench;
  actions: Actions;
  menus: Menus;
}

type Parts = PanelProps & {
  trans: Actions['speech']['trans'];
  fresh: { id: string | null; set: (id: string | null) => void };
};

function SessionsPart({ bench, actions, menus, trans, fresh }: Parts): ReactElement {
  const now = bench.ticker.now.value;
  const { current, cluster } = bench;
  const memory = bench.remembered.state.value;
  const [stepsOf, setStepsOf] = useState<string | null>(null);
  const where = { path: current?.path ?? null, kernelId: current?.kernelId ?? null };
  const sessions = sortSessions(bench.shown, where, now);
  const live = sessions.filter(session => !isOver(session));
  const ended = sessions.length - live.length;
  const here = sessions.find(session => session.kernels.some(kernel => kernel.id === where.kernelId));
  const lost = cluster.state.value.lost;
  const subtitle = (session: Session): string => {
    const what = requirementLine(actions.speech, session.requirement ?? {}, actions.tierName);
    const notebook = (session.notebook ?? session.kernels[0]?.notebook)?.split('/').pop();
    if (session.state === 'waiting') {
      return fill(trans.__('for {request}'), { request: what });
    }
    return notebook ? fill(trans.__('{request} for {notebook}'), { request: what, notebook }) : what;
  };
  const summary = live.length
    ? null
    : ended
      ? fill(trans._n('{n} ended', '{n} ended', ended), { n: ended })
      : trans.__('you hold no device');
  return (
    <Section
      title={trans.__('Sessions')}
      count={live.length ? count(actions.speech, live.length) : null}
      summary={summary}
      open={memory.open.sessions && sessions.length > 0}
      onToggle={() => bench.remembered.toggle('sessions')}
      className="dra-Sessions"
    >
      {sessions.map(session =>
        isOver(session) ? (
          <EndedCard
            key={session.id}
            session={session}
            now={now}
            subtitle={subtitle(session)}
            onAgain={(item, change) => bench.prefill({ ...item.requirement, ...change })}
            onChooseImage={item => {
              bench.prefill(item.requirement ?? {});
              bench.remembered.toggle('options', true);
            }}
            onLog={item => actions.showLog(item)}
            onDetails={item => actions.describe(item)}
            onRemove={item => bench.sessions.forget(item.id)}
          />
        ) : (
          <SessionCard
            key={session.id}
            session={session}
            now={now}
            unfolded={
              session === here ||
              sessions.length === 1 ||
              warningOf(session, now)?.kind === 'lease' ||
              menus.unfolded.has(session.id)
            }
            canUseHere={current !== null && session !== here}
            freshlyReady={bench.isFreshlyReady(session)}
            stepsOpen={stepsOf === session.id}
            warning={warningOf(session, now)}
            idle={idleSeconds(session, now)}
            extendSeconds={extendBy(session)}
            subtitle={subtitle(session)}
            asOf={lost ? lost.since : null}
            focus={fresh.id === session.id}
            onFocused={() => fresh.set(null)}
            onOpen={(item, notebook) => actions.open(item, notebook)}
            onUseHere={item => actions.attachHere(item)}
            onExtend={item => actions.extend(item)}
            onStop={item => actions.stop(item)}
            onCancel={item => actions.cancel(item)}
            onLog={item => actions.showLog(item)}
            onChange={item => {
              bench.prefill(item.requirement ?? {});
              bench.remembered.toggle('new', true);
            }}
            onHolders={() => bench.remembered.toggle('devices', true)}
            onSteps={item => setStepsOf(stepsOf === item.id ? null : item.id)}
            onMenu={(item, event) => menus.session(item, event.currentTarget)}
          />
        )
      )}
    </Section>
  );
}

function TierPart({ bench, tiers, trans }: Parts & { tiers: TierList }): ReactElement {
  const draft = bench.draft.value;
  const { requirement } = draft;
  const { rows, other, cols } = useMemo(() => {
    const any = anyGPU(tiers);
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
        <Banner
          icon="info"
          color="info"
          text={sentence(trans.__('Your last choice, {tier}, is no longer offered. Choose again.'), {
            tier: requirement.tier ?? ''
          })}
          actions={[]}
        />
      )}
      <Tiers
        rows={rows}
        other={other}
        selected={requirement.tier ?? null}
        limit={FEW_TIERS}
        onSelect={tier => bench.edit(item => patch(item, { tier: tier ?? undefined }))}
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
  const findings = bench.plan.state.value.plan?.findings ?? [];
  const problems = requirement.where
    ? findings
        .filter(finding => finding.severity === 'error' && finding.code.startsWith('cel'))
        .filter((finding, index, all) => all.findIndex(other => other.message === finding.message) === index)
        .map(finding => ({ message: finding.message, fix: finding.fix ?? null }))
    : [];
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
        mostOnOneNode={chosen?.most_on_one_node ?? null}
        problems={problems}
        tierName={actions.tierName}
        onChange={change => bench.edit(item => patch(item, change))}
      />
    </Fold>
  );
}

function ClaimPart({ bench, actions, trans }: Parts): ReactElement {
  const { preview, failed } = bench.preview.state.value;
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
      />
    </Fold>
  );
}

function WishBanner({ bench, actions, trans }: Parts): ReactElement | null {
  const { wish, current } = bench;
  if (!wish || !current) {
    return null;
  }
  const say = (requirement: Requirement): string => requirementLine(actions.speech, requirement, actions.tierName);
  const values = { notebook: current.name, required: say(wish.required), preferred: say(wish.preferred) };
  const text = Object.keys(wish.preferred).length
    ? trans.__('{notebook} asks for **{required}**; {preferred} is better.')
    : trans.__('{notebook} asks for **{required}**.');
  return (
    <Banner
      icon="book"
      text={sentence(text, values)}
      actions={[
        {
          text: trans.__('Use this'),
          link: true,
          onPress: () => bench.prefill({ ...wish.required, ...wish.preferred })
        }
      ]}
    />
  );
}

function NewPart(props: Parts): ReactElement {
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
          <TierPart {...props} tiers={tiers} />
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

function deviceInitial(device: Device): string {
  const [holder] = device.holders;
  return holder?.who === 'you' ? initial(holder.session ?? holder.claim ?? '') : '';
}

/** Where the server gives no reason: what its group means. */
function waitingWhy(actions: Actions, group: string): string {
  const { trans } = actions.speech;
  switch (group) {
    case 'taken':
      return trans.__('All that fit are taken.');
    case 'starting':
      return trans.__('A device is free; it is about to start.');
    case 'limit':
      return trans.__('A limit is reached.');
    case 'never':
      return trans.__('Not possible here.');
    default:
      return trans.__('Not known why.');
  }
}

/** Who waits, each with the reason line a plan would show. */
function waitingRows(actions: Actions, list: WaitingList): WaitingRow[] {
  return list.waiting.map(item => {
    const [first] = item.reasons;
    const line = first ? reasonLine(actions.speech, first) : null;
    return {
      key: `${item.namespace}/${item.claim}`,
      who: item.user ?? item.namespace ?? '',
      claim: item.claim,
      request: item.requirement
        ? requirementLine(actions.speech, item.requirement, actions.tierName)
        : (item.summary ?? ''),
      group: item.group,
      why: line ? [line.main, line.sub].filter(Boolean).join(' · ') : waitingWhy(actions, item.group),
      since: item.since,
      requirement: item.requirement ?? null
    };
  });
}

function DevicesPart({ bench, actions, trans }: Parts): ReactElement {
  const { list, waiting, failed } = bench.devices.state.value;
  const { tiers } = bench.cluster.state.value;
  const memory = bench.remembered.state.value;
  const counts = bench.plan.state.value.plan?.counts;
  const devices = tiers?.devices ?? counts?.devices ?? 0;
  const nodes = tiers?.nodes ?? counts?.nodes ?? 0;
  // Typing comes first; the picture follows when there is time.
  const requirement = useDeferredValue(bench.draft.value.requirement);
  const fits = useMemo(() => fitsDevice(requirement), [requirement]);
  const rows = useMemo(() => (list ? byNode(list.devices) : []), [list]);
  const grouping = memory.grouping ?? (rows.length > 24 ? 'kind' : 'node');
  const groups = useMemo(
    () => (list && (grouping === 'kind' || rows.length > 24) ? byKind(rows, fits) : []),
    [list, rows, grouping, fits]
  );
  const summary = devices
    ? fill(trans._n('{devices} on {nodes} node', '{devices} on {nodes} nodes', nodes), {
        devices: count(actions.speech, devices),
        nodes: count(actions.speech, nodes)
      })
    : null;
  return (
    <Section
      title={trans.__('Devices')}
      summary={summary}
      open={memory.open.devices}
      onToggle={() => bench.remembered.toggle('devices')}
      className="dra-Devices"
    >
      <DevicesView
        devices={list?.devices ?? null}
        visible={list?.visible ?? null}
        failed={failed}
        rows={rows}
        groups={groups}
        waiting={waiting ? waitingRows(actions, waiting) : null}
        view={memory.devicesView}
        grouping={grouping}
        fits={fits}
        initialOf={deviceInitial}
        now={bench.ticker.now.value}
        onView={view => bench.remembered.update({ devicesView: view })}
        onGrouping={next => bench.remembered.update({ grouping: next })}
        onTry={request => bench.prefill(request)}
        onRetry={() => void bench.devices.refresh()}
      />
    </Section>
  );
}

function LostBanner({ bench, actions, trans }: Parts): ReactElement | null {
  const { lost } = bench.cluster.state.value;
  if (!lost) {
    return null;
  }
  const now = bench.ticker.now.value;
  const values = {
    time: clock(actions.speech, new Date(lost.since).toISOString(), now),
    wait: lost.retryAt ? duration(actions.speech, Math.max(1, Math.ceil((lost.retryAt - now) / 1000))) : ''
  };
  const text = lost.retryAt
    ? trans.__('**Connection lost at {time}.** Numbers are from then. Running notebooks go on. Trying again in {wait}.')
    : trans.__('**Connection lost at {time}.** Numbers are from then. Running notebooks go on.');
  return (
    <Banner
      icon="plug-off"
      color="warn"
      live
      text={sentence(text, values)}
      actions={[{ text: trans.__('Try now'), onPress: () => bench.cluster.refresh() }]}
    />
  );
}

function DockPart({ bench, actions, menus, trans, fresh }: Parts): ReactElement {
  const [allChanges, setAllChanges] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const launch = async (): Promise<void> => {
    setError(null);
    const { plan } = bench.plan.state.value;
    try {
      const session = await actions.launch({ wait: plan ? answerOf(plan).button === 'wait' : false });
      fresh.set(session?.id ?? null);
    } catch (problem) {
      setError(actions.problemWords(problem));
    }
  };
  const props = dockProps(
    {
      speech: actions.speech,
      state: bench.plan.state.value,
      tiers: bench.cluster.state.value.tiers,
      tierName: actions.tierName,
      sessions: bench.sessions.state.value.sessions,
      target: bench.target.value,
      now: bench.ticker.now.value,
      allChanges,
      error
    },
    {
      onLaunch: launch,
      onWays: (event: MouseEvent<HTMLButtonElement>) => menus.ways(event.currentTarget),
      onTarget: (event: MouseEvent<HTMLButtonElement>) => menus.target(event.currentTarget),
      onChange: relaxation => {
        const id = relaxation.change['session'];
        const session = typeof id === 'string' ? bench.sessions.get(id) : undefined;
        if (relaxation.code === 'join-session' && session) {
          void actions.attachHere(session);
        } else {
          bench.edit(item => relax(item, relaxation));
        }
      },
      onMoreChanges: () => setAllChanges(true),
      onRetry: () => bench.ask(),
      onCheck: () => void actions.checkCluster(),
      onStopOne: session => actions.stop(session),
      onShowSessions: () => bench.remembered.toggle('sessions', true),
      onCopyForAdmin: () => actions.copyForAdmin(),
      onGoToFix: () => {
        bench.remembered.toggle('new', true);
        bench.remembered.toggle('options', true);
      },
      onBelow: maxVram => bench.edit(item => patch(item, { max_vram: maxVram }))
    }
  );
  return (
    <div
      className="dra-DockHolder"
      ref={node => {
        menus.launchButton = node?.querySelector<HTMLElement>('.dra-Launch') ?? null;
      }}
      aria-label={trans.__('Launch')}
    >
      <Dock {...props} />
    </div>
  );
}

/** The whole panel. */
export function PanelView(props: PanelProps): ReactElement {
  const { bench, actions, menus } = props;
  const { speech } = actions;
  const [freshId, setFreshId] = useState<string | null>(null);
  const root = useRef<HTMLDivElement>(null);
  const parts: Parts = { ...props, trans: speech.trans, fresh: { id: freshId, set: setFreshId } };
  const state = bench.cluster.state.value;
  const whole = stateProps(bench, actions, menus);
  const hasBar = !state.serverMissing && state.status?.state !== 'no-cluster';
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      root.current?.querySelector<HTMLElement>('.dra-Launch')?.click();
    }
  };
  return (
    <SpeechContext.Provider value={speech}>
      <div className="dra-Panel" ref={root} onKeyDown={onKey}>
        {hasBar && (
          <Bar
            status={state.status}
            lost={state.lost !== null}
            onContexts={event => menus.contexts(event.currentTarget)}
            onMore={event => menus.more(event.currentTarget)}
          />
        )}
        <div className="dra-Scroll">
          <LostBanner {...parts} />
          {(state.status || bench.live.length > 0) && (!whole || bench.live.length > 0) && <SessionsPart {...parts} />}
          {whole ? (
            <State {...whole} />
          ) : (
            <>
              {(state.tiers || !state.lost) && <NewPart {...parts} />}
              {state.tiers && <DevicesPart {...parts} />}
            </>
          )}
        </div>
        {!whole && state.tiers && <DockPart {...parts} />}
      </div>
    </SpeechContext.Provider>
  );
}
