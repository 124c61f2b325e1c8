/** The section Sessions: the notebook's own first, ended ones last. */

import { useState, type ReactElement } from 'react';

import type { Session } from '../api/types';
import { Section } from '../components/controls';
import { EndedCard } from '../components/ended';
import { SessionCard } from '../components/session';
import { count } from '../format/numbers';
import { requirementLine } from '../format/requirement';
import { fill } from '../format/text';
import { inHeldOrder } from '../model/heldorder';
import { extendBy, idleSeconds, isOf, isOver, isUnfolded, sortSessions, warningOf } from '../model/sessions';
import { isTierFree } from '../model/tiers';
import type { Parts } from './parts';

/** Ended sessions shown before "Show all". */
const FEW_ENDED = 3;

export function SessionsPart({ bench, actions, menus, trans, fresh }: Parts): ReactElement {
  const now = bench.ticker.now.value;
  const { current, cluster } = bench;
  const memory = bench.remembered.state.value;
  const [stepsOf, setStepsOf] = useState<string | null>(null);
  const where = { path: current?.path ?? null, kernelId: current?.kernelId ?? null };
  // Rows wait with changing places until pointer and focus have left them.
  const [held, setHeld] = useState<readonly string[] | null>(null);
  const sessions = inHeldOrder(sortSessions(bench.shown, where, now), session => session.id, held);
  const hold = (): void => setHeld(before => before ?? sessions.map(session => session.id));
  const live = sessions.filter(session => !isOver(session));
  const [allEnded, setAllEnded] = useState(false);
  const over = sessions.filter(isOver);
  const ended = over.length;
  const few = allEnded ? sessions : [...live, ...over.slice(0, FEW_ENDED)];
  const here = sessions.find(session => session.state === 'running' && isOf(session, where));
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
      <div
        onPointerEnter={hold}
        onFocus={hold}
        onPointerLeave={event => event.currentTarget.contains(document.activeElement) || setHeld(null)}
        onBlur={event => event.currentTarget.contains(event.relatedTarget) || setHeld(null)}
      >
        {few.map(session =>
          isOver(session) ? (
            <EndedCard
              key={session.id}
              session={session}
              now={now}
              subtitle={subtitle(session)}
              freeNow={isTierFree(cluster.state.value.tiers, session.requirement)}
              onAgain={(item, way) => actions.again(item, way)}
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
                isUnfolded(warningOf(session, now), session === here, sessions.length === 1) ||
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
              onKeep={item => actions.keep(item)}
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
        {few.length < sessions.length && (
          <button type="button" className="dra-Link dra-Pad" onClick={() => setAllEnded(true)}>
            {fill(trans._n('Show all {n} ended', 'Show all {n} ended', ended), { n: count(actions.speech, ended) })}
          </button>
        )}
      </div>
    </Section>
  );
}
