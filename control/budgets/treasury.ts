// The treasury: grants money to workers in slices. The store holds each grant and its booked spending; this process
// remembers nothing about money, so nothing is lost with it.

import type { Transaction } from 'kysely'
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
    try {
      const store = keeper.get()
      const instance = this.options.instance()
      let granted = await grantNow(store, instance, question)
      const least = question.money.least + granted.before
      const until = Date.now() + PATIENCE
      if (granted.granted < least && granted.held > 0) {
        if (this.mayRecall(question.money.account)) {
          this.options.recall(question.money.account, question.holder)
          await this.recallElsewhere(store, question.money.account)
        }
        while (granted.granted < least && granted.held > 0 && Date.now() < until) {
          await new Promise(done => setTimeout(done, CHECK_INTERVAL))
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

  /** Other instances receive this like changed keys. */
  private async recallElsewhere(store: Store, account: string): Promise<void> {
    if (store.kind !== 'postgres') return
    const [id] = await store.names.idsOf([['account', account]])
    await store.db.transaction().execute(async trx => {
      await trx
        .insertInto('change')
        .values({ at: Date.now(), kind: 'recall', subject_id: id as number, is_now: 0 })
        .execute()
      await store.notifyChange(trx)
    })
  }
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
    const [wanted, least] = [money.wanted + before, money.least + before]
    const left = limit - account.out
    const granted = wanted <= have ? Math.max(wanted, spent) : newGrant({ have, wanted, least, left, holders: await holdersOf(trx, id) })
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
  left: number
  holders: number
}

/** The new grant: everything that is needed, if it is there; of what is wanted beyond that, a part of the rest. */
export function newGrant({ have, wanted, least, left, holders }: Raise): number {
  const available = Math.max(0, left)
  const needed = Math.min(available, Math.max(0, least - have))
  const more = Math.max(0, wanted - Math.max(least, have))
  return have + needed + Math.min(more, Math.floor((available - needed) / (FRACTION * Math.max(1, holders))))
}

async function openAccount(store: Store, trx: Trx, id: string, limit: number, until: number | null): Promise<AccountTable> {
  const known = await store.lockAccount(trx, id)
  if (known) return known
  await trx
    .insertInto('account')
    .values({ id, most: limit, out: 0, spent: 0, until, at: Date.now() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  return (await store.lockAccount(trx, id)) as AccountTable
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

/**
 * Books the charges of new rows in their transaction. Spending beyond the grant is granted by booking it: it is the
 * overspend, and cannot be granted again.
 */
export async function bookSpending(store: Store, trx: Trx, instance: number, list: readonly Spending[]): Promise<void> {
  const sums = new Map<string, Map<string, number>>()
  for (const { accounts, holder, charge } of list) {
    for (const account of accounts) {
      const holders = sums.get(account) ?? new Map<string, number>()
      sums.set(account, holders.set(holder, (holders.get(holder) ?? 0) + charge))
    }
  }
  // Every instance locks in the same order, which prevents deadlocks.
  for (const id of [...sums.keys()].sort()) {
    const account = await openAccount(store, trx, id, 0, null)
    let { out, spent: total } = account
    for (const [holder, charge] of sums.get(id) as Map<string, number>) {
      const known = await shareOf(trx, id, holder)
      const spent = (known?.spent ?? 0) + charge
      const had = known?.granted ?? 0
      const granted = Math.max(had, spent)
      out += granted - had
      total += charge
      await putShare(trx, { account: id, holder, instance: known?.instance ?? instance, granted, spent, version: known?.version ?? 0 })
    }
    await trx.updateTable('account').set({ out, spent: total }).where('id', '=', id).execute()
  }
}

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
        const account = await store.lockAccount(trx, id)
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
