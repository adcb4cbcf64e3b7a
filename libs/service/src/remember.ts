// Bounded maps that keep the latest entries.

/** Sets an entry as the latest; beyond `max` entries, the ones set longest ago are dropped. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key); // a map iterates in the order of insertion
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
