// The built-ins that depend on time and chance. They have a file of their own, so that a module without an import of it is
// known to be deterministic.

let instant: number | undefined

/**
 * The time of one evaluation, however often it is read. Evaluations are synchronous: until the next microtask the time
 * stands still.
 */
export function millis(): number {
  if (instant === undefined) {
    instant = Date.now()
    queueMicrotask(() => {
      instant = undefined
    })
  }
  return instant
}

/** The time in ISO 8601. With a picture, codegen/jsonata/number-and-date-formats.ts formats it. */
export function now(): string {
  return new Date(millis()).toISOString()
}

export function random(): number {
  return Math.random()
}

export function shuffle(items: readonly unknown[] | undefined): readonly unknown[] | undefined {
  if (items === undefined || items.length <= 1) return items
  const result = Array.from(items)
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const item = result[last]
    result[last] = result[other]
    result[other] = item
  }
  return result
}
