/** Rows stay where they are while somebody points at them or works in them; new ones come first. */

/** Sorted items in the order that was held; `held` null sorts freely. */
export function inHeldOrder<T>(sorted: readonly T[], key: (item: T) => string, held: readonly string[] | null): T[] {
  if (!held) {
    return [...sorted];
  }
  const known = new Map(sorted.map(item => [key(item), item]));
  const fresh = sorted.filter(item => !held.includes(key(item)));
  const kept = held.flatMap(name => known.get(name) ?? []);
  return [...fresh, ...kept];
}
