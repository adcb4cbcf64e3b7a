// Maps that remember the latest entries: bounded, so that what is asked once is forgotten again.

/** Sets an entry as the latest one; beyond `max` entries those that were set longest ago go. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.delete(key); // a map goes by the order in which its keys came
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}
