/** Durations and clocks: what is left and what has passed both round down. */

import { decimal } from './numbers';
import type { Speech } from './speech';
import { fill } from './text';

/** "0.7 s", "48 s", "26 min", "1 h 58 min", "2 d 4 h". */
export function duration(speech: Speech, seconds: number): string {
  const { trans } = speech;
  const whole = Math.max(0, Math.floor(seconds));
  if (seconds < 10 && seconds !== whole) {
    const tenths = Math.floor(Math.max(0, seconds) * 10 + 1e-6) / 10;
    return fill(trans.__('{seconds} s'), { seconds: decimal(speech, tenths, 1) });
  }
  if (whole < 60) {
    return fill(trans.__('{seconds} s'), { seconds: whole });
  }
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) {
    return fill(trans.__('{minutes} min'), { minutes });
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 24) {
    return minutes % 60
      ? fill(trans.__('{hours} h {minutes} min'), { hours, minutes: minutes % 60 })
      : fill(trans.__('{hours} h'), { hours });
  }
  const days = Math.floor(hours / 24);
  return hours % 24
    ? fill(trans.__('{days} d {hours} h'), { days, hours: hours % 24 })
    : fill(trans.__('{days} d'), { days });
}

/** A running clock: "0:48", "1:02:09". */
export function runningClock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes}:${two(whole % 60)}`
    : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** Seconds from `then` to `now`; negative when `then` lies ahead. */
export function secondsSince(then: string | null | undefined, now: number): number | null {
  const at = then ? Date.parse(then) : Number.NaN;
  return Number.isFinite(at) ? (now - at) / 1000 : null;
}

/** "14:30" today, "Tue 09:12" within a week, else "30 Nov 2026". */
export function clock(speech: Speech, iso: string, now: number): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) {
    return '';
  }
  const zone = { timeZone: speech.timeZone };
  const format = (options: Intl.DateTimeFormatOptions, when: Date | number): string =>
    new Intl.DateTimeFormat(speech.locale, { ...options, ...zone }).format(when);
  const day: Intl.DateTimeFormatOptions = { year: 'numeric', month: 'short', day: 'numeric' };
  const time = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }, date);
  if (format(day, date) === format(day, now)) {
    return time;
  }
  if (Math.abs(now - date.getTime()) < 6.5 * 86400e3) {
    return `${format({ weekday: 'short' }, date)} ${time}`;
  }
  return new Intl.DateTimeFormat(speech.locale === 'en' ? 'en-GB' : speech.locale, { ...day, ...zone }).format(date);
}

/** "12:04:31": when something was checked, to the second. */
export function clockSeconds(speech: Speech, iso: string): string {
  const date = new Date(iso);
  const form = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  return Number.isNaN(date.getTime())
    ? ''
    : new Intl.DateTimeFormat(speech.locale, { ...form, timeZone: speech.timeZone }).format(date);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = {
  '': 1,
  s: 1,
  sec: 1,
  m: 60,
  min: 60,
  h: 3600,
  d: 86400
};

/** Reads "4 h", "30 min", "1h30m" or a bare number of seconds; null if it is no duration. */
export function parseDuration(text: string): number | null {
  let rest = text.trim().toLowerCase();
  let seconds = 0;
  let seen = false;
  while (rest) {
    const match = /^(\d+(?:[.,]\d+)?)\s*([a-z]*)\s*/.exec(rest);
    const unit = match ? UNIT_SECONDS[match[2] ?? ''] : undefined;
    if (!match || unit === undefined) {
      return null;
    }
    seconds += Number.parseFloat(match[1]!.replace(',', '.')) * unit;
    seen = true;
    rest = rest.slice(match[0].length);
  }
  return seen ? Math.round(seconds) : null;
}

/** As it goes into a requirement: `4h`, `30m`, `1h30m`. */
export function wireDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / 3600), 'h'],
    [Math.floor((whole % 3600) / 60), 'm'],
    [whole % 60, 's']
  ];
  return (
    parts
      .filter(([value]) => value)
      .map(([value, unit]) => `${value}${unit}`)
      .join('') || '0s'
  );
}

/** A wire duration as people write it: `4h` is "4 h", `30m` is "30 min". */
export function spacedDuration(wire: string | undefined): string {
  return (wire ?? '')
    .replace(/(\d)\s*m(?![a-z])/g, '$1 min')
    .replace(/(\d)\s*([hds])(?![a-z])\s*/g, '$1 $2 ')
    .trim();
}
