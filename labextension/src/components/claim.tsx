/** The claim that will be made, in each face's words. */

import { useId, useState, type KeyboardEvent, type ReactElement } from 'react';

import type { ClaimPreview, KeptPart } from '../api/types';
import type { Editing } from '../model/claimeditor';
import { keptWords } from '../format/claims';
import { Code, type Language } from './code';
import { Button, IconButton } from './controls';
import { Icon } from './icons';
import { useSpeech } from './speech';

export interface ClaimProps {
  preview: ClaimPreview | null;
  failed: string | null;
  onCopy: (text: string) => void;
  onSave: (text: string, extension: string) => void;
  editing: Editing | null;
  onEdit: (text: string) => void;
  onType: (text: string) => void;
  onUse: () => void;
  onCancel: () => void;
}

const TABS = ['yaml', 'python', 'magic', 'shell'] as const satisfies readonly Language[];
type Tab = (typeof TABS)[number];

export function Claim(props: ClaimProps): ReactElement {
  return props.editing ? <Editor {...props} editing={props.editing} /> : <Shown {...props} />;
}

/** The claim under the pen: what the server reads in it stands below. */
function Editor({ editing, onType, onUse, onCancel }: ClaimProps & { editing: Editing }): ReactElement {
  const { trans } = useSpeech();
  const id = useId();
  const { read, problem } = editing;
  return (
    <div className="dra-Claim">
      <textarea
        className="dra-Field dra-mod-wide dra-mod-code dra-Claim-text"
        aria-label={trans.__('The claim as YAML')}
        aria-describedby={id}
        aria-invalid={problem !== null || undefined}
        spellCheck={false}
        autoFocus
        dir="ltr"
        rows={Math.min(24, editing.text.split('\n').length + 1)}
        value={editing.text}
        onChange={event => onType(event.target.value)}
      />
      <div id={id} role="status">
        {problem !== null && (
          <p className="dra-Problem">
            <Icon name="fix" className="dra-mod-error" />
            <bdi>{problem}</bdi>
          </p>
        )}
        <Findings preview={read} />
        {read && <Kept parts={read.kept ?? []} />}
      </div>
      <div className="dra-Card-actions">
        <Button disabled={read === null} describedBy={id} onClick={onUse}>
          {trans.__('Use this claim')}
        </Button>
        <Button onClick={onCancel}>{trans.__('Cancel')}</Button>
      </div>
    </div>
  );
}

function Findings({ preview }: { preview: ClaimPreview | null }): ReactElement {
  return (
    <>
      {(preview?.findings ?? []).map((finding, index) => (
        <p key={index} className="dra-Hint">
          {finding.message}
        </p>
      ))}
    </>
  );
}

/** What has no field in the form, by name; nothing where the form says all. */
function Kept({ parts }: { parts: readonly KeptPart[] }): ReactElement | null {
  const speech = useSpeech();
  if (!parts.length) {
    return null;
  }
  return (
    <>
      <p className="dra-Hint">{speech.trans.__('The form has no field for this; it is kept as written:')}</p>
      <ul className="dra-Kept">
        {parts.map((part, index) => (
          <li key={index}>
            {keptWords(speech, part)} <code>{part.path}</code>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Stands where tier and memory are chosen, while a claim written by hand says which device. */
export function WrittenClaim(props: {
  /** Null for a manifest. */
  name: string | null;
  kept: readonly KeptPart[];
  onEdit: () => void;
  onForm: () => void;
}): ReactElement {
  const { trans } = useSpeech();
  return (
    <div className="dra-Written">
      <div className="dra-Label">
        <strong>{trans.__('Claim as written')}</strong>{' '}
        <span className="dra-mod-quiet">{trans.__('says which device')}</span>
      </div>
      {props.name !== null && (
        <p>
          <bdi>{props.name}</bdi>
        </p>
      )}
      <Kept parts={props.kept} />
      <div className="dra-Card-actions">
        {props.name === null && <Button onClick={props.onEdit}>{trans.__('Edit the claim')}</Button>}
        <Button onClick={props.onForm}>{trans.__('Back to the form')}</Button>
      </div>
    </div>
  );
}

function Shown({ preview, failed, onCopy, onSave, onEdit }: ClaimProps): ReactElement {
  const { trans } = useSpeech();
  const [tab, setTab] = useState<Tab>('yaml');
  const id = useId();
  const names: Record<Tab, string> = {
    yaml: trans.__('YAML'),
    python: trans.__('Python'),
    magic: '%dra',
    shell: trans.__('Shell')
  };
  const text = preview?.[tab] ?? '';
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step) {
      event.preventDefault();
      const next = TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length]!;
      setTab(next);
      document.getElementById(`${id}-${next}`)?.focus();
    }
  };
  const extension: Record<Tab, string> = { yaml: 'yaml', python: 'py', magic: 'txt', shell: 'sh' };
  return (
    <div className="dra-Claim">
      <div className="dra-Claim-head">
        <div role="tablist" aria-label={trans.__('The request as')} className="dra-Tabs" onKeyDown={move}>
          {TABS.map(name => (
            <button
              key={name}
              id={`${id}-${name}`}
              type="button"
              role="tab"
              className="dra-Tab"
              aria-selected={tab === name}
              aria-controls={`${id}-panel`}
              tabIndex={tab === name ? 0 : -1}
              onClick={() => setTab(name)}
            >
              {names[name]}
            </button>
          ))}
        </div>
        {tab === 'yaml' && (
          <IconButton icon="edit" label={trans.__('Edit the claim')} onClick={() => onEdit(preview?.yaml ?? '')} />
        )}
        <IconButton icon="copy" label={trans.__('Copy the request')} onClick={() => onCopy(text)} />
        <IconButton
          icon="save"
          label={trans.__('Save the request as a file')}
          onClick={() => onSave(text, extension[tab])}
        />
      </div>
      {failed ? <p className="dra-Hint dra-mod-error">{failed}</p> : null}
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${tab}`} tabIndex={0} className="dra-Code">
        <Code text={text} language={tab} />
      </div>
      <Findings preview={preview} />
    </div>
  );
}
