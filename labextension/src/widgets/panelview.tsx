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

import type { Device, WaitingList } from '../api/types';
import { Bar } from '../components/bar';
import { Section } from '../components/controls';
import { DevicesView } from '../components/devices';
import { Dock } from '../components/dock';
import { SpeechContext } from '../components/speech';
import { Banner, State } from '../components/states';
import type { WaitingRow } from '../components/waiting';
import { clock, duration } from '../format/durations';
import { count } from '../format/numbers';
import { requirementLine } from '../format/requirement';
import { reasonLine } from '../format/reasons';
import { fill, initial, sentence } from '../format/text';
import { fitsDevice } from '../model/devicefit';
import { byKind, byNode } from '../model/devices';
import { patch, relax } from '../model/draft';
import { answerOf } from '../model/plan';
import type { Actions } from './actions';
import { dockProps } from './dockprops';
import { NewPart } from './newpart';
import type { PanelProps, Parts } from './parts';
import { SessionsPart } from './sessionspart';
import { stateProps } from './stateprops';

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
