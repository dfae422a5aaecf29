// Texts that rows refer to by number, so that lists of filter values never scan the ledger.

import { sql } from 'kysely'
import type { Engine } from './engine.js'

export type NameKind =
  | 'key'
  | 'team'
  | 'group'
  | 'model'
  | 'target'
  | 'route'
  | 'dialect'
  | 'error'
  | 'end_user'
  | 'session'
  | 'tags'
  | 'price_set'
  | 'purse'
  | 'account'
  | 'region'
  | 'facts'

export interface Names {
  /** The ids of texts in order, created if missing; null for undefined. */
  idsOf(asked: readonly (readonly [NameKind, string] | undefined)[]): Promise<(number | null)[]>
  /** The text with an id. */
  textOf(id: number): Promise<string | undefined>
  /** The id of an existing text. */
  find(kind: NameKind, text: string): Promise<number | undefined>
}

/** Cached names. */
const MOST = 100_000

export function createNames(engine: Engine): Names {
  const known = new Map<string, number>()
  const at = (kind: NameKind, text: string): string => `${kind}\n${text}`
  const remember = (key: string, id: number): void => {
    if (known.size >= MOST) known.delete(known.keys().next().value as string)
    known.set(key, id)
  }
  const load = async (missing: ReadonlyMap<string, readonly [NameKind, string]>): Promise<void> => {
    // Every instance locks in the same order, which prevents deadlocks.
    const list = JSON.stringify([...missing].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, one]) => one))
    const [kind, text] = [sql<NameKind>`value->>0`, sql<string>`value->>1`]
    const { db } = engine
    await sql`insert into name (kind, text) select ${kind}, ${text} from ${engine.elementsOf(list)} as list where true on conflict do nothing`.execute(
      db,
    )
    const { rows } = await sql<{ id: number; kind: NameKind; text: string }>`
      select name.id, name.kind, name.text from ${engine.elementsOf(list)} as list join name on name.kind = ${kind} and name.text = ${text}`.execute(
      db,
    )
    for (const row of rows) remember(at(row.kind, row.text), row.id)
  }
  return {
    async idsOf(asked) {
      const missing = new Map<string, readonly [NameKind, string]>()
      for (const one of asked) if (one && !known.has(at(...one))) missing.set(at(...one), one)
      if (missing.size > 0) await load(missing)
      return asked.map(one => (one ? (known.get(at(...one)) ?? null) : null))
    },
    async textOf(id) {
      const row = await engine.db.selectFrom('name').select('text').where('id', '=', id).executeTakeFirst()
      return row?.text
    },
    async find(kind, text) {
      const id = known.get(at(kind, text))
      if (id !== undefined) return id
      const row = await engine.db.selectFrom('name').select('id').where('kind', '=', kind).where('text', '=', text).executeTakeFirst()
      return row?.id
    },
  }
}
