// The built-ins whose answer is not decided by their arguments: time and chance. In a file of their own, so that what
// imports nothing from here is known to be deterministic.

let instant: number | undefined

/**
 * The time that one evaluation sees, however often it asks. Evaluations are synchronous: what runs before the next
 * microtask sees one time, what comes later another.
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

/** The time in ISO 8601. With a picture it is codegen/jsonata/number-and-date-formats.ts that formats it. */
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
