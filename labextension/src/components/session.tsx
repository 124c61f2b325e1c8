/** One session: its device, what runs on it, what it uses, what is left, and what can be done. */

import { useEffect, useId, useRef, type MouseEvent, type ReactElement } from 'react';

import type { Session } from '../api/types';
import type { Warning } from '../model/sessions';
import { clock, duration, runningClock } from '../format/durations';
import { moveWords } from '../format/moves';
import { percent } from '../format/numbers';
import { costWords, devicesLine, givingBackWords, kernelState, missingWords } from '../format/sessions';
import { withSimulated } from '../format/simulated';
import { used, usedOf } from '../format/sizes';
import type { Speech } from '../format/speech';
import { warningWords } from '../format/endings';
import { allTaken, waitHint, waitWords } from '../format/waiting';
import { readyWords, stepViews } from '../format/steps';
import { fill, initial } from '../format/text';
import { Button, IconButton, Spinner } from './controls';
import { Glyph } from './glyph';
import { Icon, type IconName } from './icons';
import { LeaseMeter, memoryPieces, Meter, patternOf } from './meters';
import { Name, Said, useSpeech } from './speech';
import { Steps } from './steps';

export interface SessionCallbacks {
  onOpen: (session: Session, notebook: string | null) => void | Promise<unknown>;
  onUseHere: (session: Session) => void | Promise<unknown>;
  onExtend: (session: Session) => void | Promise<unknown>;
  onKeep: (session: Session) => void | Promise<unknown>;
  onStop: (session: Session) => void | Promise<unknown>;
  onCancel: (session: Session) => void | Promise<unknown>;
  onLog: (session: Session) => void | Promise<unknown>;
  onChange: (session: Session) => void;
  onHolders: (session: Session) => void;
  onSteps: (session: Session) => void;
  onMenu: (session: Session, event: MouseEvent<HTMLButtonElement>) => void;
}

export interface SessionProps extends SessionCallbacks {
  session: Session;
  now: number;
  unfolded: boolean;
  /** Runs, but not for the current notebook, which could join. */
  canUseHere: boolean;
  freshlyReady: boolean;
  stepsOpen: boolean;
  warning: Warning | null;
  idle: number | null;
  extendSeconds: number;
  subtitle: string;
  /** When the numbers are from, while the connection is lost. */
  asOf: number | null;
  /** The card that was just made takes the focus. */
  focus: boolean;
  onFocused: () => void;
}

interface Badge {
  icon: IconName | 'spinner';
  color: string;
  text: string;
}

function badge(speech: Speech, props: SessionProps): Badge {
  const { trans } = speech;
  const { session, idle, freshlyReady, now, warning } = props;
  if (props.asOf !== null) {
    const time = clock(speech, new Date(props.asOf).toISOString(), now);
    return { icon: 'unknown', color: 'info', text: fill(trans.__('as of {time}'), { time }) };
  }
  switch (session.state) {
    case 'waiting':
      return { icon: 'taken', color: 'warn', text: trans.__('waiting') };
    case 'starting':
      return { icon: 'spinner', color: 'info', text: trans.__('starting') };
    case 'releasing':
      return { icon: 'spinner', color: 'quiet', text: trans.__('giving back') };
    default:
  }
  if (freshlyReady) {
    return { icon: 'fits', color: 'fits', text: trans.__('ready') };
  }
  if (idle !== null && idle >= 60) {
    const color = warning ? 'warn' : 'quiet';
    return { icon: 'taken', color, text: fill(trans.__('idle {time}'), { time: duration(speech, idle) }) };
  }
  return session.activity === 'busy'
    ? { icon: 'run', color: 'fits', text: trans.__('busy') }
    : { icon: 'todo', color: 'quiet', text: trans.__('idle') };
}

export function CardHead(props: {
  session: Session;
  badge: Badge;
  subtitle: string | null;
  onMenu?: ((event: MouseEvent<HTMLButtonElement>) => void) | undefined;
  titleId: string;
  titleRef?: React.RefObject<HTMLElement>;
}): ReactElement {
  const { session, badge: state, subtitle } = props;
  const speech = useSpeech();
  const { trans } = speech;
  const device = session.devices[0];
  const kind = device?.profile ? 'part' : (device?.device_kind ?? 'gpu');
  const drawn =
    session.state === 'waiting'
      ? 'hidden'
      : session.state === 'releasing'
        ? 'taken'
        : session.state === 'ended'
          ? 'none'
          : 'yours';
  return (
    <div className="dra-Card-head">
      <Glyph kind={kind} state={drawn} size={18} initial={initial(session.name)} />
      <div className="dra-Card-names">
        <div className="dra-Card-line">
          <strong className="dra-Card-title" id={props.titleId} ref={props.titleRef} tabIndex={-1}>
            <Name text={session.name} />
          </strong>
          <span className="dra-Badge">
            {state.icon === 'spinner' ? <Spinner /> : <Icon name={state.icon} className={`dra-mod-${state.color}`} />}
            {state.text}
          </span>
        </div>
        {subtitle ? (
          <div className="dra-mod-quiet dra-Card-sub">
            {withSimulated(speech, subtitle, session.simulated && session.state !== 'ended')}
          </div>
        ) : null}
      </div>
      {props.onMenu && (
        <IconButton
          icon="more"
          label={fill(trans.__('More about {session}'), { session: session.name })}
          hasMenu
          onClick={props.onMenu}
        />
      )}
    </div>
  );
}

function Meters({ session, now, warning, unfolded }: SessionProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { usage } = session;
  return (
    <div className="dra-Meters">
      {usage &&
        (usage.memory_used_bytes !== null && usage.memory_total_bytes ? (
          <Meter
            label={trans.__('Memory')}
            pieces={memoryPieces(session)}
            text={usedOf(speech, usage.memory_used_bytes, usage.memory_total_bytes)}
          />
        ) : (
          <Meter label={trans.__('Memory')} pieces={null} text={missingWords(speech, usage.why_missing)} />
        ))}
      {usage &&
        unfolded &&
        (usage.utilisation_percent !== null ? (
          <Meter
            label={trans.__('Compute')}
            pieces={[{ share: usage.utilisation_percent / 100, pattern: 'solid' }]}
            text={percent(speech, usage.utilisation_percent)}
          />
        ) : (
          <Meter label={trans.__('Compute')} pieces={null} text={missingWords(speech, usage.why_missing)} />
        ))}
      {(unfolded || warning?.kind === 'lease') && (
        <LeaseMeter session={session} now={now} soon={warning?.kind === 'lease'} />
      )}
    </div>
  );
}

function Kernels({ session, now, onOpen }: SessionProps): ReactElement | null {
  const speech = useSpeech();
  const { trans } = speech;
  if (!session.kernels.length) {
    return null;
  }
  const many = session.kernels.length > 1;
  return (
    <>
      <ul className="dra-Kernels">
        {session.kernels.map((kernel, index) => {
          const name = kernel.notebook?.split('/').pop() ?? kernel.name;
          const bytes = session.usage?.by_kernel.find(item => item.kernel === kernel.id)?.memory_used_bytes ?? null;
          const idle = kernel.last_activity ? (now - Date.parse(kernel.last_activity)) / 1000 : null;
          const facts = [bytes !== null && many ? used(speech, bytes) : null, kernelState(speech, kernel.state, idle)];
          return (
            <li key={kernel.id}>
              {many ? (
                <span className={`dra-Pattern dra-mod-${patternOf(index)}`} aria-hidden="true" />
              ) : (
                <Icon name="book" />
              )}
              <button
                type="button"
                className="dra-Kernels-name"
                title={kernel.notebook ?? kernel.name}
                aria-label={fill(trans.__('Open {notebook}'), { notebook: name })}
                onClick={() => void onOpen(session, kernel.notebook)}
              >
                <Name text={name} />
              </button>
              <span className="dra-Kernels-facts">{facts.filter(Boolean).join(' · ')}</span>
            </li>
          );
        })}
      </ul>
      {(many || costWords(speech, session, now)) && (
        <p className="dra-Hint">
          {many ? trans.__('They share all of its memory; nothing keeps them apart.') : ''}{' '}
          {costWords(speech, session, now) ?? ''}
        </p>
      )}
    </>
  );
}

function WarningLine(props: SessionProps): ReactElement | null {
  const speech = useSpeech();
  const { trans } = speech;
  const { warning, session } = props;
  if (!warning) {
    return null;
  }
  return (
    <div className="dra-Warning">
      <Icon name="glass" className={warning.kind === 'idle-kept' ? '' : 'dra-mod-warn'} />
      <span>
        <Said text={warningWords(speech, session, warning, props.now)} />
      </span>
      {warning.kind === 'idle' && (
        <Button
          label={fill(trans.__('Keep {session}'), { session: session.name })}
          onClick={() => props.onKeep(session)}
        >
          {trans.__('Keep it')}
        </Button>
      )}
    </div>
  );
}

function MoveLine({ session, now }: SessionProps): ReactElement | null {
  const words = moveWords(useSpeech(), session, now);
  return words === null ? null : (
    <p className="dra-Hint">
      <Spinner /> {words}
    </p>
  );
}

function Running(props: SessionProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { session, freshlyReady, unfolded, warning } = props;
  const notebook = session.kernels[0]?.notebook ?? null;
  if (freshlyReady) {
    return (
      <>
        <p>
          <Said text={readyWords(speech, session)} />{' '}
          <button type="button" className="dra-Link" onClick={() => props.onSteps(session)}>
            {trans.__('Steps')}
          </button>
        </p>
        {props.stepsOpen && <Steps views={stepViews(session)} session={session} now={props.now} />}
        <div className="dra-Card-actions">
          {notebook && (
            <Button kind="main" onClick={() => props.onOpen(session, notebook)}>
              {fill(trans.__('Open {notebook}'), { notebook: notebook.split('/').pop() ?? notebook })}
            </Button>
          )}
          <Button
            label={fill(trans.__('Stop {session}'), { session: session.name })}
            onClick={() => props.onStop(session)}
          >
            {trans.__('Stop')}
          </Button>
        </div>
      </>
    );
  }
  return (
    <>
      {(unfolded || session.usage || warning?.kind === 'lease') && <Meters {...props} />}
      {unfolded && <Kernels {...props} />}
      <MoveLine {...props} />
      <WarningLine {...props} />
      {props.stepsOpen && <Steps views={stepViews(session)} session={session} now={props.now} />}
      {(unfolded || warning?.kind === 'lease') && (
        <div className="dra-Card-actions">
          {props.canUseHere && (
            <Button
              label={fill(trans.__('Use here: {session}'), { session: session.name })}
              onClick={() => props.onUseHere(session)}
            >
              {trans.__('Use here')}
            </Button>
          )}
          {props.extendSeconds > 0 && (
            <Button
              kind={warning?.kind === 'lease' ? 'main' : 'plain'}
              label={fill(trans.__('Extend {session}'), { session: session.name })}
              onClick={() => props.onExtend(session)}
            >
              {warning?.kind === 'lease'
                ? fill(trans.__('Extend by {time}'), { time: duration(speech, props.extendSeconds) })
                : trans.__('Extend')}
            </Button>
          )}
          <Button
            label={fill(trans.__('Stop {session}'), { session: session.name })}
            onClick={() => props.onStop(session)}
          >
            {trans.__('Stop …')}
          </Button>
        </div>
      )}
    </>
  );
}

function Starting(props: SessionProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { session, now } = props;
  const passed = runningClock((now - Date.parse(session.created_at)) / 1000);
  const most = session.launch_until
    ? runningClock((Date.parse(session.launch_until) - Date.parse(session.created_at)) / 1000)
    : null;
  return (
    <>
      <Steps views={stepViews(session)} session={session} now={now} />
      <div className="dra-Card-actions dra-mod-between">
        <span className="dra-Clock" aria-hidden="true">
          {most ? fill(trans.__('{clock} of at most {most}'), { clock: passed, most }) : passed}
        </span>
        <span className="dra-Card-buttons">
          <Button
            label={fill(trans.__('Log of {session}'), { session: session.name })}
            onClick={() => props.onLog(session)}
          >
            {trans.__('Log')}
          </Button>
          <Button
            label={fill(trans.__('Cancel {session}'), { session: session.name })}
            onClick={() => props.onCancel(session)}
          >
            {trans.__('Cancel')}
          </Button>
        </span>
      </div>
    </>
  );
}

function Waiting(props: SessionProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const { session, now } = props;
  const taken = allTaken(speech, session);
  return (
    <>
      <p>
        <Said text={waitWords(speech, session, now)} />{' '}
        {taken ? (
          <button type="button" className="dra-Link" onClick={() => props.onHolders(session)}>
            {taken}
          </button>
        ) : null}
      </p>
      <p className="dra-Hint">{waitHint(speech, session, now)}</p>
      <div className="dra-Card-actions">
        <Button
          label={fill(trans.__('Change {session}'), { session: session.name })}
          onClick={() => props.onChange(session)}
        >
          {trans.__('Change …')}
        </Button>
        <Button
          label={fill(trans.__('Stop waiting for {session}'), { session: session.name })}
          onClick={() => props.onCancel(session)}
        >
          {trans.__('Stop waiting')}
        </Button>
      </div>
    </>
  );
}

/** A session that has not ended. */
export function SessionCard(props: SessionProps): ReactElement {
  const speech = useSpeech();
  const { session, focus, onFocused } = props;
  const id = useId();
  const title = useRef<HTMLElement>(null);
  useEffect(() => {
    if (focus) {
      title.current?.focus();
      onFocused();
    }
  }, [focus, onFocused]);
  const line = devicesLine(speech, session);
  const node = session.devices[0]?.node ?? null;
  const releasing = session.state === 'releasing';
  const back = releasing ? givingBackWords(speech, session.ended?.at ?? null, props.now, node) : null;
  const subtitle =
    session.state === 'waiting' || session.state === 'starting'
      ? props.subtitle
      : back
        ? [line, back].filter(Boolean).join(' · ')
        : line;
  return (
    <article className={`dra-Card dra-state-${session.state}`} aria-labelledby={id}>
      <CardHead
        session={session}
        badge={badge(speech, props)}
        subtitle={subtitle}
        titleId={id}
        titleRef={title}
        onMenu={session.state === 'running' && props.asOf === null ? event => props.onMenu(session, event) : undefined}
      />
      {session.state === 'starting' && <Starting {...props} />}
      {session.state === 'waiting' && <Waiting {...props} />}
      {session.state === 'running' && props.asOf === null && <Running {...props} />}
    </article>
  );
}
