// The treasury: grants money to workers in slices. The store holds each grant and its booked spending; this process
// remembers nothing about money, so nothing is lost with it.

import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { MoneyAsked, MoneyGranted } from '../../engine/budgets/account.js'
import type { Keeper } from '../store/keeper.js'
import type { Store } from '../store/store.js'
import type { AccountTable, ShareTable, Tables } from '../store/tables.js'

type Trx = Transaction<Tables>

/** A worker gets at most this part of the rest in advance, divided by the number of holders. */
const FRACTION = 4
/** Milliseconds to wait for others to return unused money, and between two checks. */
const PATIENCE = 120
const CHECK_INTERVAL = 15

export interface TreasuryOptions {
  keeper: Keeper
  instance(): number
  /** Asks the holders of an account for their unused money. */
  recall(account: string, except: string): void
}

/** One question of a worker; `n` grows with each. */
export interface Question {
  holder: string
  n: number
  money: MoneyAsked
}

export class Treasury {
  /** When the holders of an account were last asked for unused money. */
  private readonly recalled = new Map<string, number>()

  constructor(private readonly options: TreasuryOptions) {}

  /** Grants as much as possible; rejects if the store is unreachable. */
  async grant(question: Question): Promise<MoneyGranted> {
    const { keeper } = this.options
    await keeper.tried
    try {
      const store = keeper.get()
      const instance = this.options.instance()
      let granted = await grantNow(store, instance, question)
      const least = question.money.least + granted.before
      const useful = question.money.useful + granted.before
      const isWaiting = (): boolean =>
        granted.granted < least && granted.held > 0 && granted.granted + granted.left + granted.held >= useful
      const until = Date.now() + PATIENCE
      if (isWaiting()) {
        const { account } = question.money
        const mayRecall = this.mayRecall(account)
        if (mayRecall) this.options.recall(account, question.holder)
        let isRecalled = !mayRecall || (await recallElsewhere(store, account))
        while (isWaiting() && Date.now() < until) {
          await new Promise(done => setTimeout(done, CHECK_INTERVAL))
          if (!isRecalled) isRecalled = await recallElsewhere(store, account)
          granted = await grantNow(store, instance, question)
        }
      }
      keeper.succeeded()
      return granted
    } catch (error) {
      keeper.failed(error)
      throw error
    }
  }

  private mayRecall(account: string): boolean {
    const now = Date.now()
    for (const [id, time] of this.recalled) if (time < now - PATIENCE) this.recalled.delete(id)
    if (this.recalled.has(account)) return false
    this.recalled.set(account, now)
    return true
  }
}

/** Other instances receive this like changed keys. False if it has to be tried again. */
async function recallElsewhere(store: Store, account: string): Promise<boolean> {
  if (store.kind !== 'postgres') return true
  const [id] = await store.names.idsOf(['account'], [account])
  return store.recall(id as number)
}

/** One transaction. A question that was answered before gets the same answer and changes nothing. */
export async function grantNow(store: Store, instance: number, { holder, n, money }: Question): Promise<MoneyGranted> {
  const { account: id, limit, until, isFresh } = money
  return store.db.transaction().execute(async trx => {
    const account = await openAccount(store, trx, id, limit, Number.isFinite(until) ? until : null)
    const known = await shareOf(trx, id, holder)
    const before = isFresh ? (known?.spent ?? 0) : 0
    const [have, spent] = [known?.granted ?? 0, known?.spent ?? 0]
    const others = account.out - account.spent - (have - spent)
    // A repeated question that was answered gets the current state.
    if (known !== undefined && n < known.version) return { granted: have, before, left: limit - account.out, held: others }
    const [wanted, least, useful] = [money.wanted + before, money.least + before, money.useful + before]
    const left = limit - account.out
    const granted =
      wanted <= have
        ? Math.max(wanted, spent)
        : newGrant({ have, wanted, least, useful, left, held: others, holders: await holdersOf(trx, id) })
    await putShare(trx, { account: id, holder, instance, granted, spent, version: n })
    await trx
      .updateTable('account')
      .set({ out: account.out + granted - have, most: limit, at: Date.now() })
      .where('id', '=', id)
      .execute()
    return { granted, before, left: left - (granted - have), held: others }
  })
}

interface Raise {
  have: number
  wanted: number
  least: number
  useful: number
  left: number
  held: number
  holders: number
}

/**
 * The new grant: everything that is needed, if it is there; of what is wanted beyond that, a part of the rest. Nothing if it could not
 * be enough even with what others hold: they would lack it meanwhile.
 */
export function newGrant({ have, wanted, least, useful, left, held, holders }: Raise): number {
  const available = Math.max(0, left)
  if (useful - have > available + Math.max(0, held)) return have
  const needed = Math.min(available, Math.max(0, least - have))
  const more = Math.max(0, wanted - Math.max(least, have))
  return have + needed + Math.min(more, Math.floor((available - needed) / (FRACTION * Math.max(1, holders))))
}

async function openAccount(store: Store, trx: Trx, id: string, limit: number, until: number | null): Promise<AccountTable> {
  const [known] = await store.lockAccounts(trx, [id])
  if (known) return known
  await trx
    .insertInto('account')
    .values({ id, most: limit, out: 0, spent: 0, until, at: Date.now() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  const [made] = await store.lockAccounts(trx, [id])
  return made as AccountTable
}

function shareOf(trx: Trx, account: string, holder: string): Promise<ShareTable | undefined> {
  return trx.selectFrom('share').selectAll().where('account', '=', account).where('holder', '=', holder).executeTakeFirst()
}

async function holdersOf(trx: Trx, account: string): Promise<number> {
  const { count } = await trx
    .selectFrom('share')
    .select(expression => expression.fn.countAll().as('count'))
    .where('account', '=', account)
    .whereRef('granted', '>', 'spent')
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function putShare(trx: Trx, share: ShareTable): Promise<void> {
  const { granted, spent, version } = share
  await trx
    .insertInto('share')
    .values(share)
    .onConflict(conflict => conflict.columns(['account', 'holder']).doUpdateSet({ granted, spent, version }))
    .execute()
}

/** The charge of a row, its accounts, and the worker that served it. */
export interface Spending {
  accounts: readonly string[]
  holder: string
  charge: number
}

const ACCOUNT = { id: 'text', most: 'bigint', out: 'bigint', spent: 'bigint', until: 'bigint', at: 'bigint' } as const
const SHARE = { account: 'text', holder: 'text', instance: 'bigint', granted: 'bigint', spent: 'bigint', version: 'bigint' } as const

/**
 * Books the charges of new rows in their transaction. Spending beyond the grant is granted by booking it: it is the
 * overspend, and cannot be granted again.
 */
export async function bookSpending(store: Store, trx: Trx, instance: number, list: readonly Spending[]): Promise<void> {
  const sums = new Map<string, Map<string, number>>()
  for (const { accounts, holder, charge } of list) {
    for (const account of accounts) {
      let holders = sums.get(account)
      if (holders === undefined) sums.set(account, (holders = new Map()))
      holders.set(holder, (holders.get(holder) ?? 0) + charge)
    }
  }
  // Every instance locks in the same order, which prevents deadlocks.
  const ids = [...sums.keys()].sort()
  const accounts = await openAccounts(store, trx, ids)
  const known = await sharesOf(store, trx, ids)
  const shares: ShareTable[] = []
  for (const account of accounts) {
    for (const [holder, charge] of sums.get(account.id) as Map<string, number>) {
      const share = known.get(account.id)?.get(holder) ?? { account: account.id, holder, instance, granted: 0, spent: 0, version: 0 }
      const spent = share.spent + charge
      const granted = Math.max(share.granted, spent)
      account.out += granted - share.granted
      account.spent += charge
      shares.push({ ...share, granted, spent })
    }
  }
  await store.writeRows(trx, {
    table: 'share',
    columns: SHARE,
    conflict: '(account, holder) do update set granted = excluded.granted, spent = excluded.spent',
    lists: shares.map(share => [share.account, share.holder, share.instance, share.granted, share.spent, share.version]),
  })
  await store.writeRows(trx, {
    table: 'account',
    columns: ACCOUNT,
    conflict: '(id) do update set out = excluded.out, spent = excluded.spent',
    lists: accounts.map(({ id, most, out, spent, until, at }) => [id, most, out, spent, until, at]),
  })
}

/** Locks accounts, and makes those that do not exist: first all that are missing, so that no instance makes one while it holds a lock. */
async function openAccounts(store: Store, trx: Trx, ids: readonly string[]): Promise<AccountTable[]> {
  const { rows } = await sql<{ id: string }>`select account.id from ${listed(store, ids)} join account on account.id = ${LISTED}`.execute(
    trx,
  )
  if (rows.length < ids.length) {
    const existing = new Set(rows.map(row => row.id))
    const lists = ids.filter(id => !existing.has(id)).map(id => [id, 0, 0, 0, null, Date.now()])
    await store.writeRows(trx, { table: 'account', columns: ACCOUNT, conflict: 'do nothing', lists })
  }
  return store.lockAccounts(trx, ids)
}

/** The shares of accounts, by account and holder. */
async function sharesOf(store: Store, trx: Trx, ids: readonly string[]): Promise<Map<string, Map<string, ShareTable>>> {
  const { rows } = await sql<ShareTable>`select share.* from ${listed(store, ids)} join share on share.account = ${LISTED}`.execute(trx)
  const shares = new Map<string, Map<string, ShareTable>>(ids.map(id => [id, new Map()]))
  for (const share of rows) shares.get(share.account)?.set(share.holder, share)
  return shares
}

const listed = (store: Store, ids: readonly string[]): RawBuilder<unknown> =>
  sql`${store.elementsOf(JSON.stringify(ids.map(id => [id])))} as list`
const LISTED = sql<string>`list.value->>0`

/** Releases the unspent grants of holders that have ended. */
export async function release(store: Store, holders: readonly string[]): Promise<void> {
  for (const holder of holders) {
    const shares = await store.db
      .selectFrom('share')
      .select('account')
      .where('holder', '=', holder)
      .whereRef('granted', '>', 'spent')
      .execute()
    for (const { account: id } of shares)
      await store.db.transaction().execute(async trx => {
        const [account] = await store.lockAccounts(trx, [id])
        const share = await shareOf(trx, id, holder)
        if (account === undefined || share === undefined) return
        await putShare(trx, { ...share, granted: share.spent })
        await trx
          .updateTable('account')
          .set({ out: account.out - (share.granted - share.spent) })
          .where('id', '=', id)
          .execute()
      })
  }
}

/** Holders of an instance that have ended, and those of instances that have ended. */
export async function endedHolders({ db }: Store, instance: number, present: ReadonlySet<string>, goneBefore: number): Promise<string[]> {
  const mine = await db
    .selectFrom('share')
    .select('holder')
    .distinct()
    .where('instance', '=', instance)
    .whereRef('granted', '>', 'spent')
    .execute()
  const gone = await db
    .selectFrom('share')
    .innerJoin('instance', 'instance.id', 'share.instance')
    .select('share.holder')
    .distinct()
    .where('instance.seen_at', '<', goneBefore)
    .where('instance.id', '!=', instance)
    .whereRef('share.granted', '>', 'share.spent')
    .execute()
  return [...mine.map(row => row.holder).filter(holder => !present.has(holder)), ...gone.map(row => row.holder)]
}
