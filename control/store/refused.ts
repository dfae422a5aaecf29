// Which failures of a store are about the values that it was given.

/** SQLite's constraint, mismatch, range and too big. */
const OF_SQLITE: ReadonlySet<number> = new Set([18, 19, 20, 25])

/**
 * Whether a store was reached and refuses a value: the same values will fail again, and others will not. True of a value that
 * no statement can be made of, too.
 */
export function isOfValue(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return true
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return OF_SQLITE.has(errcode & 0xff)
  // Postgres: data exceptions, violated constraints, and what is too long for an index.
  return typeof code === 'string' && (/^(?:2[23]|54)\w{3}$/.test(code) || code === 'ERR_INVALID_ARG_VALUE')
}
