// The sort of `$sort` and of `^( … )`.

/**
 * A stable sort. `isAfter` decides whether the first item belongs after the second; any truthy result counts. The pairs that
 * it compares, and so the first error that it meets, are part of its behaviour.
 */
export function mergeSort(items: readonly unknown[], isAfter: (left: unknown, right: unknown) => unknown): readonly unknown[] {
  if (items.length <= 1) return items
  const middle = items.length >> 1
  const left = mergeSort(items.slice(0, middle), isAfter)
  const right = mergeSort(items.slice(middle), isAfter)
  const merged: unknown[] = []
  let l = 0
  let r = 0
  while (l < left.length && r < right.length) merged.push(isAfter(left[l], right[r]) ? right[r++] : left[l++])
  while (l < left.length) merged.push(left[l++])
  while (r < right.length) merged.push(right[r++])
  return merged
}
