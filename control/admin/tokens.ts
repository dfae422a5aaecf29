// Tokens of the admin API.

import { type Actor, write } from '../audit.js'
import { newToken, sha256Of } from '../keys/secret.js'
import { Problem } from '../problem.js'
import type { Store } from '../store/store.js'

export interface TokenView {
  name: string
  role: string
  last4: string
  created_at: number
  expires_at: number | null
  state: string
}

const SHOWN = ['name', 'role', 'last4', 'created_at', 'expires_at', 'state'] as const

/** Who has a token; nothing where it is none, or has ended. */
export async function actorOf({ db }: Store, token: string): Promise<Actor | undefined> {
  const row = await db.selectFrom('token').selectAll().where('sha256', '=', sha256Of(token)).executeTakeFirst()
  if (row === undefined || row.state !== 'active' || (row.expires_at !== null && row.expires_at <= Date.now())) return undefined
  return { name: row.name, via: 'token', role: row.role }
}

export async function createToken(
  store: Store,
  actor: Actor,
  given: { name: string; role: string; expires_at?: number | null },
): Promise<{ token: TokenView; secret: string }> {
  const secret = newToken()
  const token = await write(store, actor, 'tokens.create', async trx => {
    const known = await trx.selectFrom('token').select('id').where('name', '=', given.name).executeTakeFirst()
    if (known) throw new Problem(409, 'token_exists', `There is a token named ${given.name}.`, 'name')
    const after: TokenView = {
      name: given.name,
      role: given.role,
      last4: secret.slice(-4),
      created_at: Date.now(),
      expires_at: given.expires_at ?? null,
      state: 'active',
    }
    await trx
      .insertInto('token')
      .values({ ...after, state: 'active', sha256: sha256Of(secret) })
      .execute()
    return { result: after, subject: given.name, after }
  })
  return { token, secret }
}

export async function listTokens({ db }: Store): Promise<TokenView[]> {
  return db.selectFrom('token').select(SHOWN).orderBy('name').execute()
}

export async function revokeToken(store: Store, actor: Actor, name: string): Promise<void> {
  await write(store, actor, 'tokens.revoke', async trx => {
    const before = await trx.selectFrom('token').select(SHOWN).where('name', '=', name).executeTakeFirst()
    if (before === undefined) throw new Problem(404, 'token_unknown', `There is no token named ${name}.`)
    await trx.updateTable('token').set({ state: 'revoked' }).where('name', '=', name).execute()
    return { result: undefined, subject: name, before, after: { ...before, state: 'revoked' } }
  })
}
