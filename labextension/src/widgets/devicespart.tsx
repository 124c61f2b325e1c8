/** The section "Devices" of the panel: what the models hold, as the picture, the list and the waiting show it. */

import { useDeferredValue, useMemo, useRef, type ReactElement } from 'react';

import type { Device, WaitingList } from '../api/types';
import { Section } from '../components/controls';
import { DevicesView, ROW_NODES } from '../components/devices';
import type { FullQuota, WaitingRow } from '../components/waiting';
import { count } from '../format/numbers';
import { fullQuotaWords } from '../format/permission';
import { reasonLine, type Line } from '../format/reasons';
import { requirementLine } from '../format/requirement';
import { fill, initial } from '../format/text';
import { fitsDevice } from '../model/devicefit';
import { KindGroups, sumOf } from '../model/grouping';
import type { Actions } from './actions';
import type { Parts } from './parts';

function deviceInitial(device: Device): string {
  const [holder] = device.holders;
  return holder?.who === 'you' ? initial(holder.session ?? holder.claim ?? '') : '';
}

/** Where the server gives no reason: what its group means. */
function waitingWhy(actions: Actions, group: string, queue: string | null): string {
  const { trans } = actions.speech;
  switch (group) {
    case 'taken':
      return trans.__('All that fit are taken.');
    case 'starting':
      return trans.__('A device is free; it is about to start.');
    case 'limit':
      return queue
        ? fill(trans.__('Waits in the queue {queue}, which decides when it starts.'), { queue })
        : trans.__('Held back by a limit.');
    case 'never':
      return trans.__('Not possible here.');
    default:
      return trans.__('Not known why.');
  }
}

/** "Not possible here: no RDMA card on the same PCIe root · H200 on 40 nodes". */
function waitingLine(actions: Actions, group: string, line: Line): string {
  const why = [line.main, line.sub].filter(Boolean).join(' · ');
  return group === 'never' ? fill(actions.speech.trans.__('Not possible here: {why}'), { why }) : why;
}

/** Quotas that refuse more now, in words. */
function fullQuotas(actions: Actions, list: WaitingList | null): FullQuota[] {
  return (list?.quotas ?? []).flatMap(use => {
    const text = fullQuotaWords(actions.speech, use, actions.tierName);
    return text === null ? [] : [{ key: `${use.namespace}/${use.quota}/${use.tier}`, text }];
  });
}

/** Who waits, each with the reason line a plan would show. */
function waitingRows(actions: Actions, list: WaitingList): WaitingRow[] {
  return list.waiting.map((item, index) => {
    const [first] = item.reasons;
    // What a queue holds back is not judged by what is free.
    const line = first && item.group !== 'limit' ? reasonLine(actions.speech, first) : null;
    return {
      key: item.claim ? `${item.namespace}/${item.claim}` : `hidden ${index}`,
      who: item.user ?? item.namespace ?? actions.speech.trans.__('not visible to you'),
      claim: item.claim ?? '',
      request: item.requirement ? requirementLine(actions.speech, item.requirement, actions.tierName) : '',
      group: item.group,
      why: line ? waitingLine(actions, item.group, line) : waitingWhy(actions, item.group, item.queue),
      since: item.since,
      requirement: item.requirement ?? null
    };
  });
}

export function DevicesPart({ bench, actions, trans }: Parts): ReactElement {
  const { inventory, waiting, failed } = bench.devices.state.value;
  const { tiers } = bench.cluster.state.value;
  const memory = bench.remembered.state.value;
  const counts = bench.plan.state.value.plan?.counts;
  const devices = tiers?.devices ?? counts?.devices ?? 0;
  const nodes = tiers?.nodes ?? counts?.nodes ?? 0;
  // Typing comes first; the picture follows when there is time.
  const requirement = useDeferredValue(bench.draft.value.requirement);
  const fits = useMemo(() => fitsDevice(requirement), [requirement]);
  const kinds = useRef(new KindGroups());
  const many = (inventory?.rows.length ?? 0) > ROW_NODES;
  const grouping = memory.grouping ?? (many ? 'kind' : 'node');
  const groups = useMemo(
    () => (inventory && (many || grouping === 'kind') ? kinds.current.of(inventory.rows, fits) : []),
    [inventory, many, grouping, fits]
  );
  const sums = useMemo(() => sumOf(groups.map(group => group.counts)), [groups]);
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
        inventory={inventory}
        failed={failed}
        groups={groups}
        counts={sums}
        waiting={waiting ? waitingRows(actions, waiting) : null}
        fullQuotas={fullQuotas(actions, waiting)}
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
