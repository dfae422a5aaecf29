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
  | 'currency'

export interface Names {
  /** The ids of texts in order, created if missing; null for undefined. The kinds repeat: a text's is that at its place in them. */
  idsOf(kinds: readonly NameKind[], texts: readonly (string | undefined)[]): Promise<(number | null)[]>
  /** The text with an id. */
  textOf(id: number): Promise<string | undefined>
  /** The id of an existing text. */
  find(kind: NameKind, text: string): Promise<number | undefined>
}

/** @param most how many names are cached */
export function createNames(engine: Engine, most = 100_000): Names {
  const known = new Map<NameKind, Map<string, number>>()
  let count = 0
  const remember = (kind: NameKind, text: string, id: number): void => {
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
  /** The ids of names that are not cached, in the order of the list. */
  const load = async (missing: readonly (readonly [NameKind, string])[]): Promise<number[]> => {
    // Every instance locks in the same order, which prevents deadlocks.
    const at = ([kind, text]: readonly [NameKind, string]): string => `${kind}\n${text}`
    const unique = new Map(missing.map(one => [at(one), one]))
    const list = JSON.stringify([...unique].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, one]) => one))
    const [kind, text] = [sql<NameKind>`value->>0`, sql<string>`value->>1`]
    const { db } = engine
    await sql`insert into name (kind, text) select ${kind}, ${text} from ${engine.elementsOf(list)} as list where true on conflict do nothing`.execute(
      db,
    )
    const { rows } = await sql<{ id: number; kind: NameKind; text: string }>`
      select name.id, name.kind, name.text from ${engine.elementsOf(list)} as list join name on name.kind = ${kind} and name.text = ${text}`.execute(
      db,
    )
    const ids = new Map(rows.map(row => [at([row.kind, row.text]), row.id]))
    for (const row of rows) remember(row.kind, row.text, row.id)
    return missing.map(one => ids.get(at(one)) as number)
  }
  return {
    async idsOf(kinds, texts) {
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
      const row = await engine.db.selectFrom('name').select('text').where('id', '=', id).executeTakeFirst()
      return row?.text
    },
    async find(kind, text) {
      const id = known.get(kind)?.get(text)
      if (id !== undefined) return id
      const row = await engine.db.selectFrom('name').select('id').where('kind', '=', kind).where('text', '=', text).executeTakeFirst()
      return row?.id
    },
  }
}
