// Looks up keys for workers.

import { rateLimitsIn } from '../../engine/limits/rate-text.js'
import type { KeyConfig } from '../../engine/snapshot/config.js'
import { configOf as budgetOf, writtenBudgets } from '../budgets/written.js'
import { writtenLimits } from '../limits.js'
import type { Spool } from '../spool.js'
import type { Keeper } from '../store/keeper.js'
import type { Store } from '../store/store.js'
import type { KeyTable, TeamTable } from '../store/tables.js'

export interface LookupOptions {
  keeper: Keeper
  spool: Spool
  /** Milliseconds for which keys stay valid while the store is unreachable. */
  stale: number
  /** The position of the last reported change. */
  seq(): number
}

/** Looks up a key by its SHA-256: in the store, or its last known state if the store is unreachable. */
export type Lookup = (sha256: string) => Promise<{ key: KeyConfig | undefined; seq: number }>

export function createLookup({ keeper, spool, stale, seq: lastChange }: LookupOptions): Lookup {
  let isTried = false
  void keeper.tried.then(() => {
    isTried = true
  })
  const lookUp: Lookup = async sha256 => {
    // From before the query: a change after it is reported to the worker.
    const seq = lastChange()
    try {
      const key = await keyOf(keeper.get(), sha256)
      keeper.succeeded()
      if (key) spool.rememberKey(sha256, key)
      return { key, seq }
    } catch (error) {
      keeper.failed(error)
      const key = Date.now() - spool.certainAt < stale ? spool.keyOf(sha256) : undefined
      if (key !== undefined) return { key, seq }
      if (isTried) throw error
      await keeper.tried
      return lookUp(sha256)
    }
  }
  return lookUp
}

/** A list in a column; undefined if there is none. */
export function listOf(text: string | null): string[] | undefined {
  return text === null ? undefined : (JSON.parse(text) as string[])
}

/** The key with a SHA-256 in its present state; also an expired one. */
async function keyOf({ db }: Store, sha256: string): Promise<KeyConfig | undefined> {
  const row = await db
    .selectFrom('key_secret')
    .innerJoin('key', 'key.id', 'key_secret.key_id')
    .selectAll('key')
    .leftJoin('team', 'team.name', 'key.team')
    .select([
      'key_secret.expires_at as secret_expires_at',
      'team.state as team_state',
      'team.limits as team_limits',
      'team.budgets as team_budgets',
    ])
    .where('key_secret.sha256', '=', sha256)
    .executeTakeFirst()
  // A revoked key is distinguished from an unknown one, so that its owner gets the reason.
  return row && configOf(row, sha256)
}

interface Found extends Omit<KeyTable, 'id'>, Record<'team_limits' | 'team_budgets', string | null> {
  id: number
  secret_expires_at: number | null
  team_state: TeamTable['state'] | null
}

function configOf(row: Found, sha256: string): KeyConfig {
  const expiries = [row.expires_at, row.secret_expires_at].filter(time => time !== null)
  const [limits, budgets] = [writtenLimits(row.limits), writtenBudgets(row.budgets)]
  const [teamLimits, teamBudgets] = [writtenLimits(row.team_limits), writtenBudgets(row.team_budgets)]
  const [models, routes, ips] = [listOf(row.models), listOf(row.routes), listOf(row.ips)]
  return {
    id: row.id,
    name: row.name,
    sha256,
    groups: listOf(row.groups) ?? [],
    enabled: row.state === 'active' && row.team_state !== 'disabled',
    ...(expiries.length > 0 && { expires: Math.min(...expiries) }),
    ...(row.team !== null && { team: row.team }),
    ...(models && { models }),
    ...(routes && { routes }),
    ...(ips && { ips }),
    ...(limits && { rateLimits: rateLimitsIn(limits) }),
    ...(budgets && { budgets: budgets.map(budgetOf) }),
    ...(teamLimits && { teamLimits: rateLimitsIn(teamLimits) }),
    ...(teamBudgets && { teamBudgets: teamBudgets.map(budgetOf) }),
    tags: listOf(row.tags) ?? [],
  }
}
