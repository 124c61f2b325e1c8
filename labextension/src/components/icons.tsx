/** Icons of our own: 16 px grid, 1.5 px stroke, round ends, the colour of the text around them. */

import type { ReactElement, ReactNode } from 'react';

const stroke = {
  fill: 'none',
  stroke: 'currentColor',
  strokeWidth: 1.5,
  strokeLinecap: 'round',
  strokeLinejoin: 'round'
} as const;

const SHAPES = {
  fits: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M5.2 8.2l2 2 3.7-4.2" />
    </>
  ),
  taken: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M8 4.4V8l2.4 1.5" />
    </>
  ),
  never: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M3.7 12.3l8.6-8.6" />
    </>
  ),
  unknown: (
    <>
      <circle cx="8" cy="8" r="6.2" strokeDasharray="2.6 1.9" />
      <path d="M6.3 6.4a1.7 1.7 0 1 1 2.5 1.5c-.6.3-.8.7-.8 1.2M8 11.2v.1" />
    </>
  ),
  fix: (
    <>
      <path d="M8 2.4l6.2 10.9H1.8z" />
      <path d="M8 6.6v3M8 11.5v.1" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M8 7.4v3.5M8 5v.1" />
    </>
  ),
  bolt: <path d="M9.2 1.8L3.4 9h4l-.8 5.2L12.6 7h-4z" />,
  lock: (
    <>
      <rect x="3.2" y="7" width="9.6" height="7" rx="1.2" />
      <path d="M5.3 7V4.9a2.7 2.7 0 0 1 5.4 0V7" />
    </>
  ),
  plug: (
    <>
      <path d="M5.6 2v3M10.4 2v3M4.2 5h7.6v2.6a3.8 3.8 0 0 1-7.6 0zM8 11.4V14" />
    </>
  ),
  'plug-off': (
    <>
      <path d="M5.6 2v1.4M10.4 2v3M7.2 5h4.6v2.6c0 .8-.2 1.5-.6 2.1M4.2 6.2v1.4A3.8 3.8 0 0 0 9 11.3M8 11.4V14M2 2l12 12" />
    </>
  ),
  old: (
    <>
      <path d="M2.6 5.6A6.2 6.2 0 1 1 1.8 8.6M2.4 2.6v3.2h3.2" />
      <path d="M8 4.8V8l2.2 1.4" />
    </>
  ),
  glass: (
    <>
      <path d="M4 2h8M4 14h8M5 2c0 4 6 4.4 6 12M11 2c0 4-6 4.4-6 12" />
    </>
  ),
  done: <path d="M3 8.6l3.2 3.2L13 4.6" />,
  now: (
    <>
      <circle cx="8" cy="8" r="6" opacity="0.3" />
      <path d="M8 2a6 6 0 0 1 6 6" />
    </>
  ),
  todo: <circle cx="8" cy="8" r="2.8" />,
  share: (
    <>
      <rect x="2" y="2" width="8.5" height="8.5" rx="1" />
      <path d="M5.5 10.5v2.5a1 1 0 0 0 1 1H13a1 1 0 0 0 1-1V6.5a1 1 0 0 0-1-1h-2.5" />
    </>
  ),
  less: <path d="M3 8h10" />,
  swap: <path d="M2.5 5.5h10M10 3l2.5 2.5L10 8M13.5 10.5h-10M6 8l-2.5 2.5L6 13" />,
  plus: <path d="M8 3v10M3 8h10" />,
  copy: (
    <>
      <rect x="5.2" y="5.2" width="8.6" height="8.6" rx="1" />
      <path d="M3.4 10.8H3a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1h6.8a1 1 0 0 1 1 1v.4" />
    </>
  ),
  save: (
    <>
      <path d="M2.4 2.4h9l2.2 2.2v9H2.4z" />
      <path d="M4.8 2.6v3.6h5.4V2.6M4.6 13.4V9.2h6.8v4.2" />
    </>
  ),
  edit: <path d="M10.8 2.6l2.6 2.6-7.6 7.6-3.3.7.7-3.3zM9 4.4L11.6 7" />,
  caret: <path d="M6 4.5l4 3.5-4 3.5z" fill="currentColor" stroke="none" />,
  down: <path d="M4 6.2l4 4 4-4" />,
  close: <path d="M4 4l8 8M12 4l-8 8" />,
  book: (
    <>
      <rect x="2.6" y="1.8" width="10.8" height="12.4" rx="1" />
      <path d="M5.2 2v12M7.8 5h3.2M7.8 7.6h3.2" />
    </>
  ),
  restart: <path d="M12.8 9.6A5.2 5.2 0 1 1 13 6.4M13.4 3v3.6H9.8" />,
  stop: <rect x="4" y="4" width="8" height="8" fill="currentColor" stroke="none" />,
  run: <path d="M4.5 3l8 5-8 5z" fill="currentColor" stroke="none" />,
  board: <rect x="1.8" y="3.8" width="12.4" height="8.4" rx="1" strokeDasharray="2.4 1.8" />
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES | 'more';

export interface IconProps {
  name: IconName;
  size?: number;
  className?: string;
  /** Spoken name; without it the icon is decoration beside its words. */
  label?: string;
}

export function Icon({ name, size = 16, className, label }: IconProps): ReactElement {
  const shape =
    name === 'more' ? (
      <>
        {[3, 8, 13].map(y => (
          <circle key={y} cx="8" cy={y} r="1.3" fill="currentColor" stroke="none" />
        ))}
      </>
    ) : (
      SHAPES[name]
    );
  return (
    <svg
      className={`dra-Icon dra-Icon-${name}${className ? ` ${className}` : ''}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      focusable="false"
      {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })}
      {...stroke}
    >
      {shape}
    </svg>
  );
}
