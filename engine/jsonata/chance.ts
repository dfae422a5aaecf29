// The built-ins whose answer is not decided by their arguments: time and chance. In a file of their own, so that what
// imports nothing from here is known to be deterministic.

let instant: number | undefined

/**
 * Fixes the time that one evaluation sees, however often it asks. An evaluation that asks calls this first: evaluations are
 * synchronous, so no other can come between.
 */
export function stamp(): void {
  instant = Date.now()
}

export function millis(): number {
  return (instant ??= Date.now())
}

/** The time in ISO 8601. With a picture it is codegen/jsonata/pictures.ts that formats it. */
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
