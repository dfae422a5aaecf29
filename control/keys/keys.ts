// Keys in the store: creates, changes, rotates and revokes them. A key is shown once; the store keeps its SHA-256.

import type { Selectable, Transaction } from 'kysely'
import { type Actor, type Bound, write } from '../audit.js'
import { type StoredBudget, writtenBudgets } from '../budgets/written.js'
import { limitsColumn, type WrittenLimits, writtenLimits } from '../limits.js'
import { Problem } from '../problem.js'
import { pageOf } from '../store/pages.js'
import type { Store } from '../store/store.js'
import type { KeyTable, Tables } from '../store/tables.js'
import { listOf } from './lookup.js'
import { checkFree, checkVersion, rowNamed } from './named.js'
import { newKey, newPublicId, sha256Of } from './secret.js'

/** The permissions of a key. Times are milliseconds since 1970; null means no limit. */
export interface KeyFields {
  name: string
  team: string | null
  groups: string[]
  models: string[] | null
  routes: string[] | null
  ips: string[] | null
  tags: string[]
  expires_at: number | null
  /** Null: no limits of its own. */
  limits: WrittenLimits | null
  /** Null: no budgets of its own. */
  budgets: StoredBudget[] | null
}

export interface KeyView extends KeyFields {
  id: string
  state: KeyTable['state']
  version: number
  created_by: string
  created_at: number
  last_used_at: number | null
  secrets: { last4: string; created_at: number; expires_at: number | null }[]
}

/** An imported key: only its hash may be known. */
export interface ImportedKey extends Partial<KeyFields> {
  name: string
  sha256: string
  last4?: string
  disabled?: boolean
}

type Row = Selectable<KeyTable>
type Trx = Transaction<Tables>

/** The groups of a key that names none. */
export const USUAL_GROUPS: readonly string[] = ['default']

const DEFAULTS: Omit<KeyFields, 'name'> = {
  team: null,
  groups: [...USUAL_GROUPS],
  models: null,
  routes: null,
  ips: null,
  tags: [],
  expires_at: null,
  limits: null,
  budgets: null,
}

export async function createKey(
  store: Store,
  actor: Actor,
  given: Partial<KeyFields> & { name: string },
): Promise<{ key: KeyView; secret: string }> {
  const secret = newKey()
  const key = await write(store, actor, 'keys.create', async trx => {
    const id = await insert(trx, actor, given, 'active')
    await addSecret(trx, id, given.name, sha256Of(secret), secret.slice(-4))
    const after = await view(trx, await rowNamed(trx, 'key', given.name))
    // A worker may have looked it up before it existed, and cached it as unknown.
    return { result: after, subject: after.id, after, changed: [{ kind: 'key', id }] }
  })
  return { key, secret }
}

async function insert(trx: Trx, actor: Actor, given: Partial<KeyFields> & { name: string }, state: KeyTable['state']): Promise<number> {
  await checkFree(trx, 'key', given.name)
  const { id } = await trx
    .insertInto('key')
    .values({
      public_id: newPublicId('key'),
      ...columnsOf({ ...DEFAULTS, ...given }),
      state,
      created_by: actor.name,
      created_at: Date.now(),
      last_used_at: null,
      version: 1,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

async function addSecret(trx: Trx, keyId: number, name: string, sha256: string, last4: string): Promise<void> {
  const added = await trx
    .insertInto('key_secret')
    .values({ sha256, key_id: keyId, last4, created_at: Date.now(), expires_at: null })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirst()
  if (Number(added.numInsertedOrUpdatedRows ?? 0) > 0) return
  const other = await trx
    .selectFrom('key_secret')
    .innerJoin('key', 'key.id', 'key_secret.key_id')
    .select('key.name')
    .where('sha256', '=', sha256)
    .executeTakeFirst()
  throw new Problem(409, 'secret_exists', `The key of ${name} is already that of ${other?.name ?? 'another name'}.`, 'sha256')
}

function columnsOf(fields: KeyFields): Pick<KeyTable, keyof KeyFields> {
  const text = (list: string[] | null): string | null => (list === null ? null : JSON.stringify(list))
  return {
    name: fields.name,
    team: fields.team,
    groups: JSON.stringify(fields.groups),
    models: text(fields.models),
    routes: text(fields.routes),
    ips: text(fields.ips),
    tags: JSON.stringify(fields.tags),
    expires_at: fields.expires_at,
    limits: limitsColumn(fields.limits),
    budgets: fields.budgets === null || fields.budgets.length === 0 ? null : JSON.stringify(fields.budgets),
  }
}

async function view(db: Store['db'] | Trx, row: Row): Promise<KeyView> {
  const secrets = await db
    .selectFrom('key_secret')
    .select(['last4', 'created_at', 'expires_at'])
    .where('key_id', '=', row.id)
    .orderBy('created_at', 'desc')
    .execute()
  return viewOf(row, secrets)
}

function viewOf(row: Row, secrets: KeyView['secrets']): KeyView {
  return {
    id: row.public_id,
    name: row.name,
    team: row.team,
    groups: listOf(row.groups) ?? [],
    models: listOf(row.models) ?? null,
    routes: listOf(row.routes) ?? null,
    ips: listOf(row.ips) ?? null,
    tags: listOf(row.tags) ?? [],
    expires_at: row.expires_at,
    limits: writtenLimits(row.limits),
    budgets: writtenBudgets(row.budgets),
    state: row.state,
    version: row.version,
    created_by: row.created_by,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    secrets,
  }
}

/** A key by its name or public id. */
export async function showKey(store: Store, name: string): Promise<KeyView> {
  return view(store.db, await rowNamed(store.db, 'key', name))
}

/** Keys by name, `limit` of them after `after`. */
export async function listKeys(
  store: Store,
  { after, limit, of }: { after: string | undefined; limit: number; of?: Bound | undefined },
): Promise<{ keys: KeyView[]; next: string | null }> {
  let query = store.db
    .selectFrom('key')
    .selectAll()
    .orderBy('name')
    .limit(limit + 1)
  if (after !== undefined) query = query.where('name', '>', after)
  if (of) query = 'teams' in of ? query.where('team', 'in', of.teams) : query.where('name', 'in', of.keys)
  const { page, next } = pageOf(await query.execute(), limit, row => row.name)
  const ids = page.map(row => row.id)
  const secrets =
    ids.length === 0
      ? []
      : await store.db.selectFrom('key_secret').selectAll().where('key_id', 'in', ids).orderBy('created_at', 'desc').execute()
  const secretsOf = (id: number): KeyView['secrets'] =>
    secrets.filter(one => one.key_id === id).map(({ last4, created_at, expires_at }) => ({ last4, created_at, expires_at }))
  return { keys: page.map(row => viewOf(row, secretsOf(row.id))), next }
}

interface Change {
  /** The version that the caller has seen. */
  version: number | undefined
  isNow?: boolean
}

/** Changes the row of a key and reports the change. Throws 412 if another change came first. */
async function change(
  store: Store,
  actor: Actor,
  operation: string,
  name: string,
  { version, isNow }: Change,
  run: (trx: Trx, row: Row) => Promise<Partial<KeyTable>>,
): Promise<KeyView> {
  return write(store, actor, operation, async trx => {
    const row = await rowNamed(trx, 'key', name)
    checkVersion('key', row, version)
    const before = await view(trx, row)
    const set = await run(trx, row)
    await trx
      .updateTable('key')
      .set({ ...set, version: row.version + 1 } as never)
      .where('id', '=', row.id)
      .execute()
    const after = await view(trx, await rowNamed(trx, 'key', row.public_id))
    return { result: after, subject: after.id, before, after, changed: [{ kind: 'key', id: row.id, ...(isNow && { isNow }) }] }
  })
}

export interface KeyPatch extends Partial<Omit<KeyFields, 'name'>> {
  state?: 'active' | 'disabled'
}

export function setKey(store: Store, actor: Actor, name: string, patch: KeyPatch, version: number | undefined): Promise<KeyView> {
  return change(store, actor, 'keys.set', name, { version }, async (_trx, row) => {
    if (row.state === 'revoked') throw new Problem(409, 'key_revoked', `The key ${row.name} has been revoked, which cannot be undone.`)
    const { state, ...fields } = patch
    const { secrets: _secrets, ...known } = viewOf(row, [])
    return { ...columnsOf({ ...known, ...fields }), ...(state && { state }) }
  })
}

/** Replaces the secret of a key; the old ones expire after `grace` milliseconds. */
export async function rotateKey(store: Store, actor: Actor, name: string, grace: number): Promise<{ key: KeyView; secret: string }> {
  const secret = newKey()
  const key = await change(store, actor, 'keys.rotate', name, { version: undefined }, async (trx, row) => {
    if (row.state === 'revoked') throw new Problem(409, 'key_revoked', `The key ${row.name} has been revoked, which cannot be undone.`)
    const until = Date.now() + grace
    await trx
      .updateTable('key_secret')
      .set({ expires_at: until })
      .where('key_id', '=', row.id)
      .where(where => where.or([where('expires_at', 'is', null), where('expires_at', '>', until)]))
      .execute()
    await addSecret(trx, row.id, row.name, sha256Of(secret), secret.slice(-4))
    return {}
  })
  return { key, secret }
}

/** Revokes a key for ever; with `isNow`, also ends its requests under way. */
export function revokeKey(store: Store, actor: Actor, name: string, isNow: boolean): Promise<KeyView> {
  return change(store, actor, 'keys.revoke', name, { version: undefined, isNow }, async () => ({ state: 'revoked' as const }))
}

/** Imports keys, all of them or none. Returns their number. */
export async function importKeys(store: Store, actor: Actor, keys: readonly ImportedKey[]): Promise<number> {
  return write(store, actor, 'keys.import', async trx => {
    const ids: number[] = []
    for (const { sha256, last4, disabled, ...fields } of keys) {
      const id = await insert(trx, actor, fields, disabled ? 'disabled' : 'active')
      await addSecret(trx, id, fields.name, sha256, last4 ?? '')
      ids.push(id)
    }
    return {
      result: keys.length,
      subject: `${keys.length} keys`,
      after: keys.map(({ sha256: _sha256, ...rest }) => rest),
      changed: ids.map(id => ({ kind: 'key' as const, id })),
    }
  })
}
