// Every write with its audit entry: the old and the new value, who made it, from where. Each entry contains the hash of the
// one before, so that no change or removal goes unnoticed.

import { createHash } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Store } from './store/store.js'
import type { AuditTable, Tables } from './store/tables.js'
import { turn } from './turns.js'

/** Who makes a request, and through which interface. */
export interface Actor {
  name: string
  via: 'socket' | 'token' | 'link'
  role: string
  /** The bounds of the role; undefined: none. */
  of?: Bound
}

/** Names of teams, and of the groups in which their keys may be put (undefined: `default` alone); or names of keys. */
export type Bound = { teams: readonly string[]; groups?: readonly string[] } | { keys: readonly string[] }

export interface Written<Result> {
  result: Result
  subject: string
  /** The recorded values: never a secret. */
  before?: unknown
  after?: unknown
  /** The cache entries that other processes have to remove. */
  changed?: { kind: 'key' | 'team'; id: number; isNow?: boolean }[]
}

const FIRST = '0'.repeat(64)

/** Writes something together with its audit entry, or neither. Writes of all instances are serialised. */
export async function write<Result>(
  store: Store,
  actor: Actor,
  operation: string,
  run: (trx: Transaction<Tables>) => Promise<Written<Result>>,
): Promise<Result> {
  return store.db.transaction().execute(async trx => {
    await store.lockWrites(trx)
    const { result, subject, before, after, changed } = await run(trx)
    const at = Date.now()
    const last = await trx.selectFrom('audit').select(['seq', 'hash']).orderBy('seq', 'desc').limit(1).executeTakeFirst()
    const entry = {
      seq: (last?.seq ?? 0) + 1,
      at,
      actor: actor.name,
      via: actor.via,
      operation,
      subject,
      before: before === undefined ? null : JSON.stringify(before),
      after: after === undefined ? null : JSON.stringify(after),
      previous_hash: last?.hash ?? FIRST,
    }
    await trx
      .insertInto('audit')
      .values({ ...entry, hash: hashOf(entry) })
      .execute()
    if (changed && changed.length > 0) {
      await trx
        .insertInto('change')
        .values(changed.map(({ kind, id, isNow }) => ({ at, kind, subject_id: id, is_now: isNow ? 1 : 0 })))
        .execute()
      await store.notifyChange(trx)
    }
    return result
  })
}

function hashOf(entry: Omit<AuditTable, 'hash'>): string {
  const { seq, at, actor, via, operation, subject, before, after, previous_hash } = entry
  return createHash('sha256')
    .update(JSON.stringify([seq, at, actor, via, operation, subject, before, after, previous_hash]))
    .digest('hex')
}

/** An entry with its values parsed. */
export type AuditEntry = Omit<AuditTable, 'before' | 'after'> & { before: unknown; after: unknown }

/** Entries, the newest first, `limit` of them before the number `before`. */
export async function listAudit(
  { db }: Store,
  { before, limit }: { before?: number; limit: number },
): Promise<{ entries: AuditEntry[]; next: number | null }> {
  let select = db
    .selectFrom('audit')
    .selectAll()
    .orderBy('seq', 'desc')
    .limit(limit + 1)
  if (before !== undefined) select = select.where('seq', '<', before)
  const rows = await select.execute()
  const page = rows.slice(0, limit)
  const json = (text: string | null): unknown => (text === null ? null : JSON.parse(text))
  return {
    entries: page.map(row => ({ ...row, before: json(row.before), after: json(row.after) })),
    next: rows.length > limit ? (page.at(-1)?.seq ?? null) : null,
  }
}

/** The number of entries, and the first one that was changed or whose predecessor is missing. */
export async function verifyAudit({ db }: Store): Promise<{ entries: number; broken: number | null }> {
  let [previous, entries] = [FIRST, 0]
  for (;;) {
    const rows = await db.selectFrom('audit').selectAll().where('seq', '>', entries).orderBy('seq').limit(1000).execute()
    if (rows.length === 0) return { entries, broken: null }
    await turn()
    for (const row of rows) {
      if (row.seq !== entries + 1 || row.previous_hash !== previous || row.hash !== hashOf(row)) return { entries, broken: entries + 1 }
      entries = row.seq
      previous = row.hash
    }
  }
}
