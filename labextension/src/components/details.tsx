/** Everything known about one session: devices, use and lease, kernels, the claim, its steps and what happened. */

import { useId, type ReactElement, type ReactNode } from 'react';

import type { Session } from '../api/types';
import { claimDetails, deviceDetails, kernelDetails, useDetails, type NamedValue } from '../format/details';
import { clock } from '../format/durations';
import { endWords } from '../format/ends';
import { historyLines } from '../format/history';
import type { TierNames } from '../format/requirement';
import { devicesLine } from '../format/sessions';
import { stepViews } from '../format/steps';
import { fill, initial, plain } from '../format/text';
import { Button } from './controls';
import { Glyph } from './glyph';
import { Name, useSpeech } from './speech';
import { Steps } from './steps';

export interface DetailsProps {
  session: Session;
  now: number;
  tierName: TierNames;
  onLog: (session: Session) => void | Promise<unknown>;
  onCopy: (text: string) => void;
}

function Part({ title, children }: { title: string; children: ReactNode }): ReactElement {
  const id = useId();
  return (
    <section aria-labelledby={id} className="dra-Details-part">
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

function Values({ values }: { values: readonly NamedValue[] }): ReactElement {
  return (
    <dl className="dra-Details-values">
      {values.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Name text={value} limit={160} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Head({ session, onLog, onCopy }: DetailsProps): ReactElement {
  const speech = useSpeech();
  const { trans } = speech;
  const running = session.state !== 'ended';
  return (
    <header className="dra-Details-head">
      <Glyph
        kind={session.devices[0]?.device_kind ?? 'gpu'}
        state={running && session.devices.length ? 'yours' : 'none'}
        size={26}
        initial={initial(session.name)}
      />
      <div className="dra-Details-names">
        <h1>
          <Name text={session.name} limit={60} />
        </h1>
        <span className="dra-mod-quiet">{plain(devicesLine(speech, session))}</span>
      </div>
      <span className="dra-Card-buttons">
        <Button label={fill(trans.__('Log of {session}'), { session: session.name })} onClick={() => onLog(session)}>
          {trans.__('Log')}
        </Button>
        <Button icon="copy" onClick={() => onCopy(JSON.stringify(session, null, 2))}>
          {trans.__('Copy as JSON')}
        </Button>
      </span>
    </header>
  );
}

function Happened({ session, now }: DetailsProps): ReactElement | null {
  const speech = useSpeech();
  const lines = historyLines(speech, session);
  return lines.length ? (
    <Part title={speech.trans.__('What happened')}>
      <ol className="dra-Details-history">
        {lines.map((line, index) => (
          <li key={index}>
            <time dateTime={line.at} title={line.at}>
              {clock(speech, line.at, now)}
            </time>
            <span>{line.words}</span>
          </li>
        ))}
      </ol>
    </Part>
  ) : null;
}

export function SessionDetails(props: DetailsProps): ReactElement {
  const { session, now, tierName } = props;
  const speech = useSpeech();
  const { trans } = speech;
  // A session that runs has nothing to do any more, even if an older server did not tell all of its steps.
  const views = stepViews(session).filter(view => session.state !== 'running' || view.state !== 'todo');
  const end = session.ended ? endWords(speech, session) : null;
  return (
    <article className="dra-Details">
      <Head {...props} />
      {end && (
        <Part title={end.head}>
          <p>{end.body}</p>
        </Part>
      )}
      {session.devices.length > 0 && (
        <Part title={trans._n('Device', 'Devices', session.devices.length)}>
          {session.devices.map(device => (
            <Values key={`${device.request}/${device.device}`} values={deviceDetails(speech, device)} />
          ))}
        </Part>
      )}
      <Part title={trans.__('Use and lease')}>
        <Values values={useDetails(speech, session, now)} />
      </Part>
      {session.kernels.length > 0 && (
        <Part title={trans._n('Kernel', 'Kernels', session.kernels.length)}>
          {session.kernels.map(kernel => (
            <Values key={kernel.id} values={kernelDetails(speech, kernel, now)} />
          ))}
        </Part>
      )}
      <Part title={trans.__('Request and claim')}>
        <Values values={claimDetails(speech, session, tierName)} />
      </Part>
      {session.steps.length > 0 && (
        <Part title={trans.__('Steps')}>
          <Steps views={views} session={session} now={now} />
        </Part>
      )}
      <Happened {...props} />
    </article>
  );
}
