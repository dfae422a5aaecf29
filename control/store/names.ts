// Texts that rows refer to by number, so that lists of filter values never scan the ledger. Those that callers bring, or that
// contain what they bring, are deleted when no row is left that they may stand in: there may be as many as rows.

import { sql } from 'kysely'
import { storable } from '../../engine/core/text.js'
import { DAY } from './columns.js'
import type { Engine } from './engine.js'
import { inSteps, STEP } from './steps.js'

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
  | 'currency'

export interface Names {
  /** The ids of texts in order, created if missing; null for undefined. The kinds repeat: a text's is that at its place in them. */
  idsOf(kinds: readonly NameKind[], texts: readonly (string | undefined)[]): Promise<(number | null)[]>
  /** The text with an id. */
  textOf(id: number): Promise<string | undefined>
  /** The id of an existing text. */
  find(kind: NameKind, text: string): Promise<number | undefined>
  /** Deletes the names of callers that were not used on a day (days since 1970) or later. */
  drop(before: number): Promise<void>
}

/** The kinds that are deleted; an index has them, too. A purse contains the accounts of end users. */
const OF_CALLERS: readonly NameKind[] = ['end_user', 'session', 'purse', 'account']

type Row = { id: number; kind: NameKind; text: string; last: number }

/**
 * @param most how many names are cached
 * @param clock milliseconds since 1970
 */
export function createNames(engine: Engine, most = 100_000, clock: () => number = Date.now): Names {
  const { db } = engine
  const known = new Map<NameKind, Map<string, number>>()
  let count = 0
  let today = 0
  const remember = ({ kind, text, id }: Row): void => {
    let ids = known.get(kind)
    if (ids === undefined) known.set(kind, (ids = new Map()))
    if (count >= most) {
      // The oldest of the kind with the most names: there are always a few models, and ever more sessions.
      const [largest] = [...known.values()].sort((left, right) => right.size - left.size) as [Map<string, number>]
      largest.delete(largest.keys().next().value as string)
      count--
    }
    if (!ids.has(text)) count++
    ids.set(text, id)
  }
  /** Each day the first use of a caller's name is noted in the store, so it is forgotten here. */
  const turnDay = (): void => {
    const day = Math.floor(clock() / DAY)
    if (day === today) return
    today = day
    for (const kind of OF_CALLERS) {
      count -= known.get(kind)?.size ?? 0
      known.delete(kind)
    }
  }
  const isCurrent = ({ kind, last }: Row): boolean => last >= today || !OF_CALLERS.includes(kind)
  const read = async (list: string): Promise<Row[]> => {
    const { rows } = await sql<Row>`
      select name.id, name.kind, name.text, name.last from ${engine.elementsOf(list)} as list
      join name on name.kind = value->>0 and name.text = value->>1`.execute(db)
    return rows
  }
  /** Notes that names are used today; one that has been deleted meanwhile is not returned. */
  const use = async (old: readonly Row[]): Promise<Row[]> =>
    db.transaction().execute(async trx => {
      // Two instances that change the same rows in another order would wait for each other.
      await engine.lockWrites(trx)
      const list = JSON.stringify(old.map(row => [row.id]))
      const { rows } = await sql<Row>`
        update name set last = ${today} where id in (select cast(value->>0 as bigint) from ${engine.elementsOf(list)} as list)
        returning id, kind, text, last`.execute(trx)
      return rows
    })
  const add = async (list: string): Promise<Row[]> => {
    const { rows } = await sql<Row>`
      insert into name (kind, text, last) select value->>0, value->>1, cast(${today} as integer) from ${engine.elementsOf(list)} as list where true
      on conflict do nothing returning id, kind, text, last`.execute(db)
    return rows
  }
  /** The ids of names that are not cached, in the order of the list. */
  const load = async (texts: readonly (readonly [NameKind, string])[]): Promise<number[]> => {
    // A text that no store holds would be looked up for ever, since it comes back as another one.
    const missing = texts.map(([kind, text]) => [kind, storable(text)] as const)
    const at = (kind: NameKind, text: string): string => `${kind}\n${text}`
    const ids = new Map<string, number>()
    // Every instance adds in the same order, which prevents deadlocks.
    let rest = [...new Map(missing.map(one => [at(...one), one]))].sort(([left], [right]) => (left < right ? -1 : 1))
    const take = (rows: readonly Row[]): void => {
      for (const row of rows) {
        remember(row)
        ids.set(at(row.kind, row.text), row.id)
      }
      rest = rest.filter(([place]) => !ids.has(place))
    }
    const listOf = (names: typeof rest): string => JSON.stringify(names.map(([, one]) => one))
    // A name that another instance adds or deletes meanwhile is looked up again.
    while (rest.length > 0) {
      const rows = await read(listOf(rest))
      const old = rows.filter(row => !isCurrent(row))
      const there = new Set(rows.map(row => at(row.kind, row.text)))
      const absent = rest.filter(([place]) => !there.has(place))
      take(rows.filter(isCurrent))
      if (old.length > 0) take(await use(old))
      // What exists is not inserted: Postgres would use up an id for each conflict.
      if (absent.length > 0) take(await add(listOf(absent)))
    }
    return missing.map(one => ids.get(at(...one)) as number)
  }
  return {
    async idsOf(kinds, texts) {
      turnDay()
      const caches = kinds.map(kind => known.get(kind))
      const ids: (number | null)[] = new Array(texts.length).fill(null)
      const missing: [NameKind, string][] = []
      const places: number[] = []
      for (let index = 0, column = 0; index < texts.length; index++) {
        const text = texts[index]
        if (text !== undefined) {
          const id = caches[column]?.get(text)
          if (id !== undefined) ids[index] = id
          else {
            missing.push([kinds[column] as NameKind, text])
            places.push(index)
          }
        }
        if (++column === kinds.length) column = 0
      }
      if (missing.length > 0) for (const [index, id] of (await load(missing)).entries()) ids[places[index] as number] = id
      return ids
    },
    async textOf(id) {
      const row = await db.selectFrom('name').select('text').where('id', '=', id).executeTakeFirst()
      return row?.text
    },
    async find(kind, text) {
      const id = known.get(kind)?.get(text)
      if (id !== undefined) return id
      const row = await db.selectFrom('name').select('id').where('kind', '=', kind).where('text', '=', text).executeTakeFirst()
      return row?.id
    },
    async drop(before) {
      await inSteps(async () => {
        const { numDeletedRows } = await db.transaction().execute(async trx => {
          await engine.lockWrites(trx)
          const old = trx.selectFrom('name').select('id').where('kind', 'in', OF_CALLERS).where('last', '<', before).limit(STEP)
          return trx.deleteFrom('name').where('id', 'in', old).executeTakeFirst()
        })
        return Number(numDeletedRows)
      })
    },
  }
}
