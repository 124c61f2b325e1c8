/** Reading the loosely typed `params` that come with codes; what is missing or of another type reads as nothing. */

import type { Params } from '../api/types';

export function text(params: Params, key: string): string {
  const value = params[key];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

export function number(params: Params, key: string): number | null {
  const value = params[key];
  return typeof value === 'number' ? value : null;
}

export function list(params: Params, key: string): unknown[] {
  const value = params[key];
  return Array.isArray(value) ? value : [];
}

export function texts(params: Params, key: string): string[] {
  return list(params, key).map(String);
}

export function record(params: Params, key: string): Params {
  const value = params[key];
  return typeof value === 'object' && value !== null ? (value as Params) : {};
}
