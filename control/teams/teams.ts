// Teams in the store: the common budgets and limits of their keys. A key belongs to the team that it names, whether or not
// the team has a row: without one, nothing is limited.

import type { Selectable, Transaction } from 'kysely'
import { type Actor, write } from '../audit.js'
import { type StoredBudget, writtenBudgets } from '../budgets/written.js'
import { checkFree, checkVersion, rowNamed } from '../keys/named.js'
import { newPublicId } from '../keys/secret.js'
import { limitsColumn, type WrittenLimits, writtenLimits } from '../limits.js'
import { pageOf } from '../store/pages.js'
import type { Store } from '../store/store.js'
import type { Tables, TeamTable } from '../store/tables.js'

/** The limits and budgets of a team. Null means no limit. */
export interface TeamFields {
  name: string
  note: string | null
  limits: WrittenLimits | null
  budgets: StoredBudget[] | null
}

export interface TeamView extends TeamFields {
  id: string
  state: TeamTable['state']
  version: number
  created_by: string
  created_at: number
  /** The number of its keys that are not revoked. */
  keys: number
}

export interface TeamPatch extends Partial<Omit<TeamFields, 'name'>> {
  state?: TeamTable['state']
}

type Row = Selectable<TeamTable>
type Db = Store['db'] | Transaction<Tables>

const DEFAULTS: Omit<TeamFields, 'name'> = { note: null, limits: null, budgets: null }

/** Creates a team; existing keys that name it belong to it from then on. Throws 409 if the name is taken. */
export async function createTeam(store: Store, actor: Actor, given: Partial<TeamFields> & { name: string }): Promise<TeamView> {
  return write(store, actor, 'teams.create', async trx => {
    await checkFree(trx, 'team', given.name)
    const { id } = await trx
      .insertInto('team')
      .values({
        public_id: newPublicId('team'),
        ...columnsOf({ ...DEFAULTS, ...given }),
        state: 'active',
        created_by: actor.name,
        created_at: Date.now(),
        version: 1,
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const after = await view(trx, await rowNamed(trx, 'team', given.name))
    return { result: after, subject: after.id, after, changed: [{ kind: 'team', id }] }
  })
}

/** Changes a team. Throws 412 if another change came first. */
export async function setTeam(store: Store, actor: Actor, name: string, patch: TeamPatch, version: number | undefined): Promise<TeamView> {
  return write(store, actor, 'teams.set', async trx => {
    const row = await rowNamed(trx, 'team', name)
    checkVersion('team', row, version)
    const before = await view(trx, row)
    const { state = row.state, ...fields } = patch
    await trx
      .updateTable('team')
      .set({ ...columnsOf({ ...before, ...fields }), state, version: row.version + 1 })
      .where('id', '=', row.id)
      .execute()
    const after = await view(trx, await rowNamed(trx, 'team', row.public_id))
    return { result: after, subject: after.id, before, after, changed: [{ kind: 'team', id: row.id }] }
  })
}

/** A team by its name or public id. */
export async function showTeam(store: Store, name: string): Promise<TeamView> {
  return view(store.db, await rowNamed(store.db, 'team', name))
}

/** Teams by name, `limit` of them after `after`; `only` some, if the actor is bound to them. */
export async function listTeams(
  { db }: Store,
  { after, limit, only }: { after: string | undefined; limit: number; only: readonly string[] | undefined },
): Promise<{ teams: TeamView[]; next: string | null }> {
  let query = db
    .selectFrom('team')
    .selectAll()
    .orderBy('name')
    .limit(limit + 1)
  if (after !== undefined) query = query.where('name', '>', after)
  if (only !== undefined) query = query.where('name', 'in', [...only, ''])
  const { page, next } = pageOf(await query.execute(), limit, row => row.name)
  const counts = await keysOf(
    db,
    page.map(row => row.name),
  )
  return { teams: page.map(row => viewOf(row, counts.get(row.name) ?? 0)), next }
}

async function keysOf(db: Db, names: readonly string[]): Promise<Map<string | null, number>> {
  if (names.length === 0) return new Map()
  const rows = await db
    .selectFrom('key')
    .select(expression => ['team', expression.fn.countAll<number>().as('count')])
    .where('team', 'in', names)
    .where('state', '!=', 'revoked')
    .groupBy('team')
    .execute()
  return new Map(rows.map(({ team, count }) => [team, Number(count)]))
}

const view = async (db: Db, row: Row): Promise<TeamView> => viewOf(row, (await keysOf(db, [row.name])).get(row.name) ?? 0)

function viewOf(row: Row, keys: number): TeamView {
  return {
    id: row.public_id,
    name: row.name,
    note: row.note,
    limits: writtenLimits(row.limits),
    budgets: writtenBudgets(row.budgets),
    state: row.state,
    keys,
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at,
  }
}

function columnsOf({ name, note, limits, budgets }: TeamFields): Pick<TeamTable, keyof TeamFields> {
  return {
    name,
    note,
    limits: limitsColumn(limits),
    budgets: budgets === null || budgets.length === 0 ? null : JSON.stringify(budgets),
  }
}
