// Reads the spending of budgets: the accounts of current windows, and whether they agree with the rows.

import type { Kysely } from 'kysely'
import type { Spent } from '../../engine/snapshot/model.js'
import { pageOf } from '../store/pages.js'
import type { Store } from '../store/store.js'
import type { Tables } from '../store/tables.js'

export interface AccountView {
  /** `key:demo/day`, and the beginning of its window. */
  budget: string
  window: string
  /** Nano-units of the currency. `out` is the total grant of workers, including what they have spent of it. */
  limit: number
  out: number
  spent: number
  /** Milliseconds since 1970; null for never. */
  resets_at: number | null
}

/** Accounts by name, `limit` of them after `after`. */
export async function listAccounts(
  { db }: Store,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<{ budgets: AccountView[]; next: string | null }> {
  let query = db
    .selectFrom('account')
    .selectAll()
    .where(where => where.or([where('until', 'is', null), where('until', '>', Date.now())]))
    .orderBy('id')
    .limit(limit + 1)
  if (after !== undefined) query = query.where('id', '>', after)
  const { page, next } = pageOf(await query.execute(), limit, row => row.id)
  return {
    budgets: page.map(({ id, most, out, spent, until }) => {
      const at = id.lastIndexOf('@')
      return { budget: id.slice(0, at), window: id.slice(at + 1), limit: most, out, spent, resets_at: until }
    }),
    next,
  }
}

/** The spending of accounts; unused ones are left out. */
export async function spentOf({ db }: Store, accounts: readonly string[]): Promise<Spent[]> {
  if (accounts.length === 0) return []
  return db.selectFrom('account').select(['id', 'spent']).where('id', 'in', accounts).execute()
}

/** The difference between accounts and their rows, if there is one, for windows from a time on. */
export async function verifyAccounts(db: Kysely<Tables>, from: number): Promise<Record<string, { spent?: number; out?: number }>> {
  const sums = new Map<string, number>()
  const charges = await db
    .selectFrom('ledger')
    .innerJoin('name', 'name.id', 'ledger.purse')
    .select(expression => ['name.text', expression.fn.sum<number | null>('ledger.charge').as('charge')])
    .groupBy('name.text')
    .execute()
  for (const { text, charge } of charges)
    for (const account of JSON.parse(text) as string[]) sums.set(account, (sums.get(account) ?? 0) + Number(charge ?? 0))
  const shares = await db
    .selectFrom('share')
    .select(expression => ['account', expression.fn.sum<number>('granted').as('granted'), expression.fn.sum<number>('spent').as('spent')])
    .groupBy('account')
    .execute()
  const bySharing = new Map(shares.map(one => [one.account, one]))
  const differences: Record<string, { spent?: number; out?: number }> = {}
  for (const { id, out, spent } of await db.selectFrom('account').selectAll().execute()) {
    const began = id.endsWith('@ever') ? 0 : Date.parse(id.slice(id.lastIndexOf('@') + 1))
    const share = bySharing.get(id)
    const more: { spent?: number; out?: number } = {}
    if (began >= from && spent !== (sums.get(id) ?? 0)) more.spent = spent - (sums.get(id) ?? 0)
    if (spent !== Number(share?.spent ?? 0)) more.spent = spent - Number(share?.spent ?? 0)
    if (out !== Number(share?.granted ?? 0)) more.out = out - Number(share?.granted ?? 0)
    if (Object.keys(more).length > 0) differences[id] = more
  }
  return differences
}
