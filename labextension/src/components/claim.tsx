/** The claim that will be made, in each face's words. */

import { useId, useState, type KeyboardEvent, type ReactElement } from 'react';

import type { ClaimPreview } from '../api/types';
import { IconButton } from './controls';
import { useSpeech } from './speech';

export interface ClaimProps {
  preview: ClaimPreview | null;
  failed: string | null;
  onCopy: (text: string) => void;
  onSave: (text: string, extension: string) => void;
}

const TABS = ['yaml', 'python', 'magic', 'shell'] as const;
type Tab = (typeof TABS)[number];

interface Token {
  text: string;
  kind: 'key' | 'string' | null;
}

/** Keys and strings set apart, for reading; the text itself is untouched. */
export function highlight(text: string, tab: Tab): Token[] {
  const pattern =
    tab === 'yaml'
      ? /(^[ -]*[\w./-]+(?=:(?:\s|$)))|("(?:[^"\\]|\\.)*")/gm
      : /(\b\w+(?==))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/gm;
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const start = match.index;
    if (start > at) {
      tokens.push({ text: text.slice(at, start), kind: null });
    }
    tokens.push({ text: match[0], kind: match[1] ? 'key' : 'string' });
    at = start + match[0].length;
  }
  tokens.push({ text: text.slice(at), kind: null });
  return tokens;
}

export function Claim({ preview, failed, onCopy, onSave }: ClaimProps): ReactElement {
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
        <IconButton icon="copy" label={trans.__('Copy the request')} onClick={() => onCopy(text)} />
        <IconButton
          icon="save"
          label={trans.__('Save the request as a file')}
          onClick={() => onSave(text, extension[tab])}
        />
      </div>
      {failed ? <p className="dra-Hint dra-mod-error">{failed}</p> : null}
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${tab}`} tabIndex={0} className="dra-Code">
        <pre dir="ltr">
          <code>
            {highlight(text, tab).map((token, index) =>
              token.kind ? (
                <span key={index} className={`dra-Code-${token.kind}`}>
                  {token.text}
                </span>
              ) : (
                token.text
              )
            )}
          </code>
        </pre>
      </div>
      {(preview?.findings ?? []).map((finding, index) => (
        <p key={index} className="dra-Hint">
          {finding.message}
        </p>
      ))}
    </div>
  );
}
