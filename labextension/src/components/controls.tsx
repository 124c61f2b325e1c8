/** Buttons, disclosure heads and the like: the small parts every view is made of. */

import { useEffect, useId, useState, type MouseEvent, type ReactElement, type ReactNode } from 'react';

import { Icon, type IconName } from './icons';

export interface ButtonProps {
  children: ReactNode;
  onClick: (event: MouseEvent<HTMLButtonElement>) => void | Promise<unknown>;
  kind?: 'plain' | 'main' | 'link';
  icon?: IconName;
  disabled?: boolean;
  /** Full name when the visible words do not name the object ("Stop" → "Stop bert-train"). */
  label?: string | undefined;
  describedBy?: string | undefined;
  className?: string;
}

/** How long an action may take before its button shows that it works. */
const SPINNER_MS = 400;

/** A button whose slow action shows a spinner inside it, its width kept. */
export function Button(props: ButtonProps): ReactElement {
  const { children, onClick, kind = 'plain', icon, disabled = false, label, describedBy, className } = props;
  const [working, setWorking] = useState(false);
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!working) {
      setLate(false);
      return;
    }
    const timer = setTimeout(() => setLate(true), SPINNER_MS);
    return () => clearTimeout(timer);
  }, [working]);
  const press = (event: MouseEvent<HTMLButtonElement>): void => {
    if (disabled || working) {
      return;
    }
    const result = onClick(event);
    if (result) {
      setWorking(true);
      void Promise.resolve(result).then(
        () => setWorking(false),
        () => setWorking(false)
      );
    }
  };
  const names = ['dra-Button', `dra-mod-${kind}`, late ? 'dra-mod-working' : '', className ?? ''];
  return (
    <button
      type="button"
      className={names.filter(Boolean).join(' ')}
      aria-disabled={disabled || undefined}
      aria-label={label}
      aria-busy={late || undefined}
      aria-describedby={describedBy}
      onClick={press}
    >
      {icon && <Icon name={icon} />}
      <span className="dra-Button-text">{children}</span>
      {late && <Spinner />}
    </button>
  );
}

export function Spinner(): ReactElement {
  return <span className="dra-Spinner" aria-hidden="true" />;
}

export interface IconButtonProps {
  icon: IconName;
  /** Contains the name of its object. */
  label: string;
  onClick: (event: MouseEvent<HTMLButtonElement>) => void;
  hasMenu?: boolean;
  className?: string;
}

export function IconButton({ icon, label, onClick, hasMenu, className }: IconButtonProps): ReactElement {
  return (
    <button
      type="button"
      className={`dra-IconButton${className ? ` ${className}` : ''}`}
      aria-label={label}
      title={label}
      aria-haspopup={hasMenu ? 'menu' : undefined}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

export interface SectionProps {
  title: string;
  open: boolean;
  onToggle: () => void;
  /** In grey beside the title. */
  count?: string | null;
  /** At the right: what folding hides. */
  summary?: ReactNode;
  /** At the right, not part of the disclosure. */
  extra?: ReactNode;
  children: ReactNode;
  className?: string;
}

/** A section of the panel: its head is a disclosure button inside a heading. */
export function Section(props: SectionProps): ReactElement {
  const { title, open, onToggle, count, summary, extra, children, className } = props;
  const id = useId();
  return (
    <section className={`dra-Section${className ? ` ${className}` : ''}`} aria-labelledby={id}>
      <div className="dra-Section-head">
        <h3 className="dra-Section-heading">
          <button type="button" className="dra-Section-button" aria-expanded={open} onClick={onToggle}>
            <Icon name="caret" className="dra-Caret" />
            <span id={id} className="dra-Section-title">
              {title}
            </span>
            {count ? <span className="dra-Section-count">{count}</span> : null}
            {summary ? <span className="dra-Section-summary">{summary}</span> : null}
          </button>
        </h3>
        {extra}
      </div>
      {open && <div className="dra-Section-body">{children}</div>}
    </section>
  );
}

export interface FoldProps {
  title: string;
  summary: string | null;
  open: boolean;
  onToggle: () => void;
  children: ReactNode;
}

/** A folded row inside a section; shut, it shows its content in grey. */
export function Fold({ title, summary, open, onToggle, children }: FoldProps): ReactElement {
  return (
    <div className="dra-Fold">
      <h4 className="dra-Fold-heading">
        <button type="button" className="dra-Fold-button" aria-expanded={open} onClick={onToggle}>
          <Icon name="caret" className="dra-Caret" />
          <span className="dra-Fold-title">{title}</span>
          {summary ? (
            <span className="dra-Fold-summary" title={summary}>
              {summary}
            </span>
          ) : null}
        </button>
      </h4>
      {open && <div className="dra-Fold-body">{children}</div>}
    </div>
  );
}
