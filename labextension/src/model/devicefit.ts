/** Whether a device is of the kind the form asks for: what the picture lights up. The verdict stays the planner's. */

import type { Device, Requirement } from '../api/types';
import { limitsOf } from './tiers';

function words(value: string | readonly string[] | undefined): string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : [...value];
}

function hasWord(text: string, word: string): boolean {
  const plainWord = word.toLowerCase();
  const at = text.toLowerCase().indexOf(plainWord);
  const edge = (char: string | undefined): boolean => char === undefined || !/[a-z0-9]/i.test(char);
  return at >= 0 && edge(text[at - 1]) && edge(text[at + plainWord.length]);
}

function stringAttribute(device: Device, id: string): string | null {
  const attributes = device.attributes ?? {};
  const key = Object.keys(attributes).find(name => name.split('/').pop() === id);
  const value = key ? attributes[key]?.['string'] : null;
  return typeof value === 'string' ? value : null;
}

/** By tier, memory, product and generation, as far as the list says them. */
export function fitsDevice(requirement: Requirement): (device: Device) => boolean {
  const { least, most } = limitsOf(requirement);
  const products = words(requirement.product);
  const generations = words(requirement.architecture);
  return device => {
    if (requirement.tier ? !device.tiers.includes(requirement.tier) : device.device_kind !== 'gpu') {
      return false;
    }
    if (least || Number.isFinite(most)) {
      const bytes = device.memory_bytes;
      if (bytes === null || bytes < least || bytes > most) {
        return false;
      }
    }
    const product = products.length ? (device.product ?? device.label ?? '') : '';
    if (products.length && !products.some(name => hasWord(product, name))) {
      return false;
    }
    if (!generations.length) {
      return true;
    }
    const generation = stringAttribute(device, 'architecture');
    return generation === null || generations.some(name => hasWord(generation, name));
  };
}
