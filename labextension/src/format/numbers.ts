/** Counts, percent and money, as the reader's language writes them. */

import type { Price } from '../api/types';
import { fill } from './text';
import type { Speech } from './speech';

export function count(speech: Speech, value: number): string {
  return new Intl.NumberFormat(speech.locale).format(value);
}

export function decimal(speech: Speech, value: number, digits: number): string {
  return new Intl.NumberFormat(speech.locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits
  }).format(value);
}

export function percent(speech: Speech, value: number): string {
  // A thin gap before the sign, as the design writes it.
  return `${new Intl.NumberFormat(speech.locale, { maximumFractionDigits: 0 }).format(value)} %`;
}

/** "€2.90"; an unknown currency code is shown as the admin wrote it. */
export function money(speech: Speech, amount: number, currency: string): string {
  try {
    return new Intl.NumberFormat(speech.locale, {
      style: 'currency',
      currency,
      minimumFractionDigits: 2,
      maximumFractionDigits: 2
    }).format(amount);
  } catch {
    return `${decimal(speech, amount, 2)} ${currency}`;
  }
}

/** "€2.90/h", or null where the admin set no readable price. */
export function price(speech: Speech, value: Price | null | undefined): string | null {
  const amount = Number.parseFloat(value?.amount ?? '');
  if (!value || !Number.isFinite(amount)) {
    return null;
  }
  return fill(speech.trans.__('{money}/h'), { money: money(speech, amount, value.currency) });
}

/** Money spent so far: rounded down to the hundredth. */
export function soFar(speech: Speech, value: Price, hours: number): string | null {
  const amount = Number.parseFloat(value.amount) * hours;
  return Number.isFinite(amount) ? money(speech, Math.floor(amount * 100 + 1e-6) / 100, value.currency) : null;
}

/** "H100, A100": names as one list in the reader's language. */
export function nameList(speech: Speech, names: readonly string[]): string {
  return new Intl.ListFormat(speech.locale, { type: 'unit', style: 'short' }).format(names);
}
