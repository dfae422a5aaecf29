// Money moves and is neither made nor lost: every order of reserving, extending, settling, requesting, returning, lost and
// repeated messages, deaths of workers and of the control process, changed limits and new windows, with a real store. After
// each step: limit = what is not granted + what workers have free and reserved + what they have spent.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type * as TreasuryModule from '../../control/budgets/treasury.js'
import type { Keeper } from '../../control/store/keeper.js'
import type * as AccountModule from '../../engine/budgets/account.js'
import type * as BudgetsModule from '../../engine/budgets/budgets.js'
import type * as HoldModule from '../../engine/budgets/hold.js'
import type * as WindowModule from '../../engine/budgets/window.js'
import { onEachEngine, onPostgres, openStore, type Store } from './stores.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
const { Account } = (await import(built('engine/budgets/account.js'))) as typeof AccountModule
const { Budgets } = (await import(built('engine/budgets/budgets.js'))) as typeof BudgetsModule
const { Hold } = (await import(built('engine/budgets/hold.js'))) as typeof HoldModule
const { windowAt } = (await import(built('engine/budgets/window.js'))) as typeof WindowModule
const { grantNow, bookSpending, release, newGrant, Treasury } = (await import(
  built('control/budgets/treasury.js')
)) as typeof TreasuryModule
type Account = AccountModule.Account

const WORKERS = 3
const INSTANCE = 1

interface Row {
  account: string
  charge: number
}

/** A worker with what the real one has: an account for each window, rows that are not written yet, and a connection. */
class Worker {
  accounts = new Map<string, Account>()
  reservations: { account: Account; amount: number }[] = []
  rows: Row[] = []
  isAlive = true

  constructor(
    readonly id: string,
    private readonly model: Model,
  ) {}

  account(): Account {
    const { window } = this.model
    const id = `key:k/hour@${window}`
    let account = this.accounts.get(id)
    if (account === undefined) {
      account = new Account(
        id,
        this.model.limitOf(id),
        Number.POSITIVE_INFINITY,
        () => ({ grant: asked => this.model.asked(this, asked) }),
        () => this.model.time,
      )
      this.accounts.set(id, account)
    }
    account.limit = this.model.limitOf(id)
    return account
  }
}

/** How the next message between a worker and the control process fares. */
type Fate = 'arrives' | 'question lost' | 'answer lost' | 'doubled' | 'repeated late'

class Model {
  time = 0
  window = 0
  limits = new Map<string, number>()
  workers: Worker[] = []
  fates: Fate[] = []
  /** What was settled beyond what was reserved, for each account. */
  over = new Map<string, number>()
  private next = 0
  private n = 0
  /** Questions that arrive once more, after the next one of the same worker about the same account. */
  private late: TreasuryModule.Question[] = []

  constructor(
    readonly store: Store,
    readonly limit: number,
  ) {
    for (let index = 0; index < WORKERS; index++) this.begin()
  }

  limitOf(account: string): number {
    return this.limits.get(account) ?? this.limit
  }

  begin(): Worker {
    const worker = new Worker(`w${this.next++}`, this)
    this.workers.push(worker)
    return worker
  }

  async asked(worker: Worker, money: AccountModule.MoneyAsked): Promise<AccountModule.MoneyGranted> {
    const question = { holder: worker.id, n: ++this.n, money }
    const fate = this.fates.shift() ?? 'arrives'
    if (fate === 'question lost') throw new Error('lost')
    const granted = await grantNow(this.store, INSTANCE, question)
    for (const earlier of this.late.filter(one => one.holder === worker.id && one.money.account === money.account))
      await grantNow(this.store, INSTANCE, earlier)
    if (fate === 'repeated late') this.late.push(question)
    if (fate === 'answer lost') throw new Error('lost')
    return fate === 'doubled' ? grantNow(this.store, INSTANCE, question) : granted
  }

  async write(worker: Worker): Promise<void> {
    const rows = worker.rows.splice(0)
    if (rows.length === 0) return
    const list = rows.map(({ account, charge }) => ({ accounts: [account], holder: worker.id, charge }))
    await this.store.db.transaction().execute(trx => bookSpending(this.store, trx, INSTANCE, list))
  }

  /** What must hold after every step. */
  async check(): Promise<void> {
    const shares = await this.store.db.selectFrom('share').selectAll().execute()
    for (const account of await this.store.db.selectFrom('account').selectAll().execute()) {
      const own = shares.filter(share => share.account === account.id)
      expect(account.out).toBe(own.reduce((sum, share) => sum + share.granted, 0))
      expect(account.spent).toBe(own.reduce((sum, share) => sum + share.spent, 0))
      let [free, reserved, unwritten] = [0, 0, 0]
      for (const share of own) {
        expect(share.granted).toBeGreaterThanOrEqual(share.spent)
        const worker = this.workers.find(one => one.id === share.holder)
        const held = worker?.accounts.get(account.id)
        if (worker === undefined || held === undefined || held.isFresh) continue
        const rows = worker.rows.filter(row => row.account === account.id).reduce((sum, row) => sum + row.charge, 0)
        expect(held.granted).toBe(held.free + held.reserved + held.settled)
        // Nobody believes to have more than the store says; less only while a message is on its way, or was lost.
        expect(held.granted).toBeLessThanOrEqual(share.granted)
        expect(held.settled).toBe(share.spent + rows)
        expect(held.reserved).toBeGreaterThanOrEqual(0)
        free += held.free
        reserved += held.reserved
        unwritten += rows
      }
      // What is handed out and spent is never more than the limit, but for what was spent beyond what was reserved.
      const limit = this.limitOf(account.id)
      const most = Math.max(limit, this.highest.get(account.id) ?? 0)
      expect(account.out).toBeLessThanOrEqual(most + (this.over.get(account.id) ?? 0))
      expect(account.spent + unwritten + reserved + Math.max(0, free)).toBeLessThanOrEqual(most + (this.over.get(account.id) ?? 0))
    }
  }

  /** The greatest limit that an account has had: a lower one takes nothing back that is out. */
  readonly highest = new Map<string, number>()
}

type Step = (model: Model) => Promise<void>
const pick = (model: Model, index: number): Worker => model.workers[index % model.workers.length] as Worker

const step: fc.Arbitrary<Step> = fc.oneof(
  // Reserve: what is there at once, or asked for.
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(9), fc.integer({ min: 1, max: 60 })).map(
      ([who, amount]): Step =>
        async model => {
          const worker = pick(model, who)
          const account = worker.account()
          if (account.free < amount && account.denied() === undefined) await account.more(amount)
          if (account.free < amount) return
          account.reserve(amount)
          worker.reservations.push({ account, amount })
        },
    ),
  },
  // Settle: less, the same, or more than was reserved.
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(140)).map(
      ([who, which, percent]): Step =>
        async model => {
          const worker = pick(model, who)
          const [reservation] = worker.reservations.splice(which % Math.max(1, worker.reservations.length), 1)
          if (reservation === undefined) return
          const { account, amount } = reservation
          const charge = Math.round((amount * percent) / 100)
          model.over.set(account.id, (model.over.get(account.id) ?? 0) + Math.max(0, charge - amount))
          account.settle(amount, charge)
          if (charge > 0) worker.rows.push({ account: account.id, charge })
        },
    ),
  },
  // A batch of rows is written.
  {
    weight: 4,
    arbitrary: fc.nat(9).map(
      (who): Step =>
        model =>
          model.write(pick(model, who)),
    ),
  },
  // Time passes: idle money goes back, debts are paid.
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(9), fc.constantFrom(10, 300, 3_000)).map(
      ([who, time]): Step =>
        async model => {
          model.time += time
          for (const account of pick(model, who).accounts.values()) account.tick()
        },
    ),
  },
  // Another wants what is free.
  {
    weight: 2,
    arbitrary: fc.nat(9).map(
      (who): Step =>
        async model => {
          for (const account of pick(model, who).accounts.values()) account.giveBack()
        },
    ),
  },
  // The next messages are lost, doubled, or repeated late; the control process dies between a question and its answer.
  {
    weight: 3,
    arbitrary: fc
      .array(fc.constantFrom<Fate>('question lost', 'answer lost', 'doubled', 'repeated late'), { minLength: 1, maxLength: 3 })
      .map(
        (fates): Step =>
          async model => {
            model.fates = fates
          },
      ),
  },
  // The connection broke: the worker gets its state again.
  {
    weight: 2,
    arbitrary: fc.nat(9).map(
      (who): Step =>
        async model => {
          model.time += 300
          await Promise.all([...pick(model, who).accounts.values()].map(account => account.tell()))
        },
    ),
  },
  // An account that is not used for long is forgotten, and counted again by the next request.
  {
    weight: 4,
    arbitrary: fc.nat(9).map(
      (who): Step =>
        async model => {
          const worker = pick(model, who)
          await model.write(worker)
          for (const [id, account] of worker.accounts) {
            if (account.reserved > 0) continue
            account.giveBack()
            await account.more(0)
            if (account.isTold) worker.accounts.delete(id)
          }
        },
    ),
  },
  // A worker dies: rows that it had not handed over are lost with it, and what it did not spend goes back.
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat(9), fc.boolean()).map(
      ([who, isWritten]): Step =>
        async model => {
          const worker = pick(model, who)
          if (isWritten) await model.write(worker)
          model.workers.splice(model.workers.indexOf(worker), 1)
          await release(model.store, [worker.id])
          model.begin()
        },
    ),
  },
  // Its rows come after its money has gone back: they count all the same, as what was spent beyond.
  {
    weight: 1,
    arbitrary: fc.nat(9).map(
      (who): Step =>
        async model => {
          const worker = pick(model, who)
          for (const row of worker.rows) model.over.set(row.account, (model.over.get(row.account) ?? 0) + row.charge)
          model.workers.splice(model.workers.indexOf(worker), 1)
          await release(model.store, [worker.id])
          await model.write(worker)
          model.begin()
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 0, max: 400 }).map(
      (limit): Step =>
        async model => {
          const id = `key:k/hour@${model.window}`
          model.highest.set(id, Math.max(model.highest.get(id) ?? model.limit, limit))
          model.limits.set(id, limit)
        },
    ),
  },
  // The next window: another account, while exchanges of the one before are under way.
  {
    weight: 1,
    arbitrary: fc.constant<Step>(async model => {
      model.window++
    }),
  },
)

onEachEngine((make, kind) => {
  let store: Store
  beforeAll(async () => {
    store = await openStore({ at: await make(), mayMigrate: true })
  })
  afterAll(() => store?.close())

  test('money is conserved after each step, whatever messages are lost or doubled and whatever process dies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 300 }),
        fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }),
        async (limit, steps) => {
          await store.db.deleteFrom('share').execute()
          await store.db.deleteFrom('account').execute()
          const model = new Model(store, limit)
          for (const take of steps) {
            await take(model)
            await new Promise(done => setImmediate(done))
            await settled(model)
            await model.check()
          }
          // All that is under way ends, and all that is free goes back: what is out is what was spent.
          model.fates = []
          for (const worker of model.workers) {
            for (const { account, amount } of worker.reservations.splice(0)) account.settle(amount, 0)
            await model.write(worker)
          }
          model.time += 300
          for (const worker of model.workers)
            for (const account of worker.accounts.values()) {
              account.giveBack()
              await account.tell()
            }
          await model.check()
          for (const { id, out, spent } of await store.db.selectFrom('account').selectAll().execute())
            expect([id, out]).toEqual([id, spent])
        },
      ),
      // Every step is some questions of the server.
      { numRuns: kind === 'postgres' ? 20 : 300 },
    )
  })

  test('an exchange requests again if another took the granted money first', async () => {
    const grant = async ({ least }: AccountModule.MoneyAsked) => {
      await new Promise(done => setImmediate(done))
      return { granted: least, before: 0, left: 1_000 - least, held: 0 }
    }
    const account = new Account('key:k/ever', 1_000, Number.POSITIVE_INFINITY, () => ({ grant }), Date.now)
    const take = async (): Promise<void> => {
      while (account.free < 10) {
        expect(account.denied()).toBeUndefined()
        await account.more(10)
      }
      account.reserve(10)
    }
    const first = take()
    await Promise.resolve()
    // The first is being asked for: what follows is asked for together.
    await Promise.all([first, ...Array.from({ length: 29 }, take)])
    expect(account.reserved).toBe(300)
  })

  test('no request is refused while there is enough money, however many come at once', async () => {
    const amounts = fc.integer({ min: 1, max: 30 })
    const exchanges = fc.array(fc.record({ worker: fc.nat(2), after: fc.nat(6) }), { minLength: 30, maxLength: 80 })
    let run = 0
    await fc.assert(
      fc.asyncProperty(amounts, exchanges, async (amount, begun) => {
        // The workers of an earlier run may still return money: this run has an account and holders of its own.
        run++
        // Each worker may have less left over than one exchange needs.
        const limit = amount * (begun.length + 3)
        const keeper = { get: () => store, succeeded: () => undefined, failed: () => undefined } as unknown as Keeper
        const treasury = new Treasury({
          keeper,
          instance: () => INSTANCE,
          recall: (account, except) => {
            for (const [holder, budgets] of workers.entries()) if (`w${run}.${holder}` !== except) budgets.recall(account)
          },
        })
        let n = 0
        const workers = Array.from({ length: 3 }, (_, holder) => {
          const budgets = new Budgets(Date.now)
          budgets.treasury = { grant: money => treasury.grant({ holder: `w${run}.${holder}`, n: ++n, money }) }
          return budgets
        })
        const owner = { scope: `key:run-${run}`, words: 'this key', isTold: true }
        const terms = {
          input: 0,
          most: amount,
          first: amount,
          isText: true,
          partial: 'seen',
          price: (_input: number, output: number) => output,
        } as const
        const holds = await Promise.all(
          begun.map(async ({ worker, after }) => {
            for (let turn = 0; turn < after; turn++) await new Promise(done => setImmediate(done))
            const own = (workers[worker] as BudgetsModule.Budgets).of(
              owner,
              [{ limit, every: 'ever', zone: 'UTC', whenSpent: 'refuse' }],
              'USD',
            )
            const hold = new Hold(own, terms, Date.now(), () => undefined)
            return { hold, shortage: await hold.begin() }
          }),
        )
        expect(holds.filter(({ shortage }) => shortage !== undefined)).toEqual([])
        for (const { hold } of holds) hold.settle(0)
        for (const budgets of workers) budgets.close()
        await new Promise(done => setTimeout(done, 1))
      }),
      { numRuns: 20 },
    )
  })

  test('what a refusal says is left does not depend on the process that was granted it', async () => {
    const keeper = { get: () => store, succeeded: () => undefined, failed: () => undefined } as unknown as Keeper
    const treasury = new Treasury({ keeper, instance: () => INSTANCE, recall: () => undefined })
    let n = 0
    const owner = { scope: 'team:small', words: 'the team', isTold: true }
    const terms = {
      input: 0,
      most: 20,
      first: 20,
      isText: true,
      partial: 'seen',
      price: (_input: number, output: number) => output,
    } as const
    for (const holder of ['first', 'second']) {
      const budgets = new Budgets(Date.now)
      budgets.treasury = { grant: money => treasury.grant({ holder, n: ++n, money }) }
      const own = budgets.of(owner, [{ limit: 10, every: 'ever', zone: 'UTC', whenSpent: 'refuse' }], 'USD')
      const refused = [await new Hold(own, terms, Date.now(), () => undefined).begin()]
      budgets.recall('team:small/ever@ever')
      refused.push(await new Hold(own, terms, Date.now(), () => undefined).begin())
      for (const shortage of refused)
        expect([holder, shortage?.denial, shortage?.missing]).toEqual([holder, 'spent', { needed: 20, left: 10 }])
      await own[0]?.at(Date.now()).tell()
    }
  })

  test('a grant is the needed amount and a part of the rest', () => {
    fc.assert(
      fc.property(
        fc.nat(1000),
        fc.nat(1000),
        fc.nat(1000),
        fc.integer({ min: -100, max: 1000 }),
        fc.nat(1000),
        fc.nat(1000),
        fc.integer({ min: 0, max: 8 }),
        (have, least, more, left, less, held, holders) => {
          const useful = Math.max(0, least - less)
          const granted = newGrant({ have, least, useful, wanted: least + more, left, held, holders })
          expect(granted).toBeGreaterThanOrEqual(have)
          expect(granted - have).toBeLessThanOrEqual(Math.max(0, left))
          if (Math.max(0, left) >= least - have) expect(granted).toBeGreaterThanOrEqual(least)
          // What nobody could use stays for others.
          if (have + Math.max(0, left) + held < useful) expect(granted).toBe(have)
        },
      ),
    )
  })

  test('windows follow each other without a gap in every time zone', () => {
    const zones = ['UTC', 'Europe/Berlin', 'America/Havana', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia', 'America/Sao_Paulo']
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.constantFrom('day' as const, 'week' as const, 'month' as const),
        fc.integer({ min: Date.UTC(2000, 0), max: Date.UTC(2035, 0) }),
        (zone, every, time) => {
          const { start, end } = windowAt(every, zone, time)
          expect(start).toBeLessThanOrEqual(time)
          expect(end).toBeGreaterThan(time)
          expect(windowAt(every, zone, start)).toEqual({ start, end })
          expect(windowAt(every, zone, end).start).toBe(end)
          expect(windowAt(every, zone, end - 1)).toEqual({ start, end })
        },
      ),
      { numRuns: 2_000 },
    )
    expect(windowAt('day', 'Europe/Berlin', Date.UTC(2026, 2, 29, 12))).toEqual({
      start: Date.UTC(2026, 2, 28, 23),
      end: Date.UTC(2026, 2, 29, 22),
    })
    expect(windowAt('week', 'UTC', Date.UTC(2026, 10, 22))).toEqual({ start: Date.UTC(2026, 10, 16), end: Date.UTC(2026, 10, 23) })
    expect(windowAt('month', 'Asia/Kathmandu', Date.UTC(2026, 10, 30, 20)).start).toBe(Date.UTC(2026, 10, 30, 18, 15))
    expect(windowAt('hour', 'Asia/Kathmandu', Date.UTC(2026, 0, 1, 0, 20)).start).toBe(Date.UTC(2026, 0, 1, 0, 15))
    // Its clocks are changed by half an hour, at 15:00 and 15:30 of UTC.
    for (const day of [Date.UTC(2024, 3, 6), Date.UTC(2024, 9, 5)]) {
      const hours = [windowAt('hour', 'Australia/Lord_Howe', day)]
      while (hours.length < 26) hours.push(windowAt('hour', 'Australia/Lord_Howe', hours.at(-1)?.end as number))
      expect(hours.slice(1).map(({ start }) => start)).toEqual(hours.slice(0, -1).map(({ end }) => end))
      for (const { start, end } of hours) expect(windowAt('hour', 'Australia/Lord_Howe', end - 1)).toEqual({ start, end })
    }
    expect(windowAt('ever', 'UTC', 5)).toEqual({ start: 0, end: Number.POSITIVE_INFINITY })
  })
})

onPostgres('where transactions of the database do not see what others write meanwhile', postgres => {
  test('two instances that ask for money of one account at once get it', async () => {
    const at = await postgres().database()
    const made = await openStore({ at, mayMigrate: true })
    const database = sql.ref(new URL(at).pathname.slice(1))
    await sql`alter database ${database} set default_transaction_isolation = 'repeatable read'`.execute(made.db)
    await made.close()
    const stores = [await openStore({ at, mayMigrate: false }), await openStore({ at, mayMigrate: false })]
    const money = {
      account: 'all/ever@ever',
      limit: 1_000,
      wanted: 5,
      least: 5,
      useful: 5,
      until: Number.POSITIVE_INFINITY,
      isFresh: false,
    }
    const grants = await Promise.all(
      Array.from({ length: 40 }, (_, index) => grantNow(stores[index % 2] as Store, INSTANCE, { holder: `worker-${index}`, n: 1, money })),
    )
    expect(grants.map(({ granted }) => granted)).toEqual(grants.map(() => 5))
    for (const store of stores) await store.close()
  })
})

/** What was sent has been answered. */
async function settled(model: Model): Promise<void> {
  for (const worker of model.workers) for (const account of worker.accounts.values()) await account.more(0)
}
