// What the rows of keys and of teams have in common: a name, a public id, and a version.

import type { Selectable, Transaction } from 'kysely'
import { Problem } from '../problem.js'
import type { Store } from '../store/store.js'
import type { Tables } from '../store/tables.js'
import { isPublicId } from './secret.js'

type Kind = 'key' | 'team'
type Db = Store['db'] | Transaction<Tables>

/** The row with a name or a public id. Throws 404 if there is none. */
export async function rowNamed<K extends Kind>(db: Db, kind: K, name: string): Promise<Selectable<Tables[K]>> {
  // The types of a query know one table, and these columns are the same in both.
  const row = await db
    .selectFrom(kind as 'team')
    .selectAll()
    .where(where => where.or([where('name', '=', name), where('public_id', '=', name)]))
    // An older row may have the id of another one as its name.
    .orderBy(order => order.case().when('public_id', '=', name).then(0).else(1).end())
    .executeTakeFirst()
  if (row === undefined) throw new Problem(404, `${kind}_unknown`, `There is no ${kind} named ${name}.`)
  return row as Selectable<Tables[K]>
}

/** Throws if no row may be created with a name: 422 if it looks like an id, 409 if it is taken. */
export async function checkFree(db: Db, kind: Kind, name: string): Promise<void> {
  if (isPublicId(name, kind)) throw new Problem(422, 'invalid', `${name} has the form of an id: choose another name.`, 'name')
  const known = await db
    .selectFrom(kind as 'team')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirst()
  if (known) throw new Problem(409, `${kind}_exists`, `There is a ${kind} named ${name}.`, 'name')
}

/** Throws 412 if a row is no longer the version that the caller has seen. */
export function checkVersion(kind: Kind, row: { name: string; version: number }, seen: number | undefined): void {
  if (seen !== undefined && seen !== row.version)
    throw new Problem(412, 'version', `The ${kind} ${row.name} has been changed since: its version is ${row.version}.`)
}
