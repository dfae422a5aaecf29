/** Sets an entry of a map that holds `most` entries: the one that was set longest ago goes. */
export function setLatest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  // A Map keeps insertion order, so re-inserting makes the first entry the least recently set.
  map.delete(key)
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value as Key)
}
