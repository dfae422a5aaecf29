// Tokens of the admin API.

import type { Kysely } from 'kysely'
import { type Actor, type Bound, write } from '../audit.js'
import { newToken, sha256Of } from '../keys/secret.js'
import { Problem } from '../problem.js'
import type { Store } from '../store/store.js'
import type { Tables, TokenTable } from '../store/tables.js'

export interface TokenView {
  name: string
  role: string
  last4: string
  created_at: number
  expires_at: number | null
  state: string
  /** The teams or keys that its role is bound to. */
  of: Bound | null
}

const SHOWN = ['name', 'role', 'last4', 'created_at', 'expires_at', 'state', 'bound'] as const

type Shown = Pick<TokenTable, (typeof SHOWN)[number]>

const viewOf = ({ bound, ...row }: Shown): TokenView => ({ ...row, of: bound === null ? null : (JSON.parse(bound) as Bound) })

/** The owner of a token; undefined if it is invalid, or has expired. */
export async function actorOf({ db }: Store, token: string): Promise<Actor | undefined> {
  const row = await db.selectFrom('token').selectAll().where('sha256', '=', sha256Of(token)).executeTakeFirst()
  if (row === undefined || row.state !== 'active' || (row.expires_at !== null && row.expires_at <= Date.now())) return undefined
  return { name: row.name, via: 'token', role: row.role, ...(row.bound !== null && { of: JSON.parse(row.bound) as Bound }) }
}

/** Whether there is a token, revoked and expired ones included. */
export async function hasTokens(db: Kysely<Tables>): Promise<boolean> {
  return (await db.selectFrom('token').select('id').limit(1).executeTakeFirst()) !== undefined
}

interface NewToken {
  name: string
  role: string
  expires_at?: number | null
  of?: Bound
}

/** Creates a token; with `isFirst`, only if there is none yet. */
export async function createToken(
  store: Store,
  actor: Actor,
  given: NewToken,
  isFirst = false,
): Promise<{ token: TokenView; secret: string }> {
  const secret = newToken()
  const token = await write(store, actor, 'tokens.create', async trx => {
    if (isFirst && (await hasTokens(trx))) throw new Problem(404, 'code', 'This link has expired, because there is a token by now.')
    const known = await trx.selectFrom('token').select('id').where('name', '=', given.name).executeTakeFirst()
    if (known) throw new Problem(409, 'token_exists', `There is a token named ${given.name}.`, 'name')
    const after: TokenView = {
      name: given.name,
      role: given.role,
      last4: secret.slice(-4),
      created_at: Date.now(),
      expires_at: given.expires_at ?? null,
      state: 'active',
      of: given.of ?? null,
    }
    const { of, ...row } = after
    await trx
      .insertInto('token')
      .values({ ...row, state: 'active', sha256: sha256Of(secret), bound: of && JSON.stringify(of) })
      .execute()
    return { result: after, subject: given.name, after }
  })
  return { token, secret }
}

export async function listTokens({ db }: Store): Promise<TokenView[]> {
  return (await db.selectFrom('token').select(SHOWN).orderBy('name').execute()).map(viewOf)
}

export async function revokeToken(store: Store, actor: Actor, name: string): Promise<void> {
  await write(store, actor, 'tokens.revoke', async trx => {
    const row = await trx.selectFrom('token').select(SHOWN).where('name', '=', name).executeTakeFirst()
    if (row === undefined) throw new Problem(404, 'token_unknown', `There is no token named ${name}.`)
    const before = viewOf(row)
    await trx.updateTable('token').set({ state: 'revoked' }).where('name', '=', name).execute()
    return { result: undefined, subject: name, before, after: { ...before, state: 'revoked' } }
  })
}
