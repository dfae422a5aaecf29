// What the failures of a store are about.

/** SQLite's constraint, mismatch, range and too big. */
const OF_SQLITE: ReadonlySet<number> = new Set([18, 19, 20, 25])

/**
 * Whether a store was reached and refuses a value: the same values will fail again, and others will not. True of a value that
 * no statement can be made of, or whose text cannot be parsed, too.
 */
export function isOfValue(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return true
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  if (typeof errcode === 'number') return OF_SQLITE.has(errcode & 0xff)
  // Postgres: data exceptions, violated constraints, and what is too long for an index.
  return typeof code === 'string' && (/^(?:2[23]|54)\w{3}$/.test(code) || code === 'ERR_INVALID_ARG_VALUE')
}

/** SQLite's words for busy, locked, read-only, disk error, full and cannot be opened: a statement that returns rows gives no number. */
const UNWRITABLE_OF_SQLITE = /is locked|readonly database|disk I\/O error|disk is full|unable to open database/

/**
 * Whether a store was reached and cannot be written for now: its disk is full, it may only be read, as a server after a failover, or
 * another process holds it.
 */
export function isUnwritable(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code === 'ERR_SQLITE_ERROR') return UNWRITABLE_OF_SQLITE.test(String(message))
  // Postgres: a transaction that may only read, and insufficient resources.
  return typeof code === 'string' && /^(?:25006|53\w{3})$/.test(code)
}
