/** The panel's React side: takes the models apart into what the components show. */

import { useRef, useState, type KeyboardEvent, type MouseEvent, type ReactElement } from 'react';

import { Bar } from '../components/bar';
import { Dock } from '../components/dock';
import { SpeechContext } from '../components/speech';
import { Banner, State } from '../components/states';
import { clock, duration } from '../format/durations';
import { sentence } from '../format/text';
import { patch, relax } from '../model/draft';
import { answerOf } from '../model/plan';
import { DevicesPart } from './devicespart';
import { dockProps } from './dockprops';
import { NewPart } from './newpart';
import type { PanelProps, Parts } from './parts';
import { SessionsPart } from './sessionspart';
import { stateProps } from './stateprops';

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
