// Every write with its audit entry: the old and the new value, who made it, from where. Each entry contains the hash of the
// one before, so that a change or a removal between others is noticed. Whoever can write to the store can remove the last
// entries, or make the whole chain anew, and no key that is kept beside the store would prevent that: the log has the head of
// each write, and the check compares with one of them.

import { createHash } from 'node:crypto'
import type { Transaction } from 'kysely'
import { pageOf } from './store/pages.js'
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
  const { result, head } = await store.db.transaction().execute(async trx => {
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
    const hash = hashOf(entry)
    await trx
      .insertInto('audit')
      .values({ ...entry, hash })
      .execute()
    if (changed && changed.length > 0) {
      await trx
        .insertInto('change')
        .values(changed.map(({ kind, id, isNow }) => ({ at, kind, subject_id: id, is_now: isNow ? 1 : 0 })))
        .execute()
      await store.notifyChange(trx)
    }
    return { result, head: headOf({ seq: entry.seq, hash }) }
  })
  store.audited(head)
  return result
}

/** An entry as the end of the chain that leads to it. */
const headOf = ({ seq, hash }: Pick<AuditTable, 'seq' | 'hash'>): string => `${seq}:${hash}`

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
  const { page, next } = pageOf(await select.execute(), limit, row => row.seq)
  const json = (text: string | null): unknown => (text === null ? null : JSON.parse(text))
  return { entries: page.map(row => ({ ...row, before: json(row.before), after: json(row.after) })), next }
}

/** The number of entries that are what was written, the first one that is not, and the last of a whole chain. */
export interface Checked {
  entries: number
  broken: number | null
  head: string | null
}

/** Checks that no entry was changed, and that none is missing before another, or before a head that was told at its time. */
export async function verifyAudit({ db }: Store, known?: string): Promise<Checked> {
  const least = known === undefined ? 0 : Number.parseInt(known, 10)
  let [previous, entries] = [FIRST, 0]
  for (;;) {
    const rows = await db.selectFrom('audit').selectAll().where('seq', '>', entries).orderBy('seq').limit(1000).execute()
    if (rows.length === 0)
      return {
        entries,
        broken: entries < least ? entries + 1 : null,
        head: entries === 0 ? null : headOf({ seq: entries, hash: previous }),
      }
    await turn()
    for (const row of rows) {
      const isWhole = row.seq === entries + 1 && row.previous_hash === previous && row.hash === hashOf(row)
      if (!isWhole || (row.seq === least && headOf(row) !== known)) return { entries, broken: entries + 1, head: null }
      entries = row.seq
      previous = row.hash
    }
  }
}
