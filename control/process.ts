// START HERE: the control process of an instance. It owns the store; workers send it a record of each exchange and ask it
// for keys; people use its admin API. If it dies, requests are still served.

import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { KeyConfig } from '../engine/snapshot/config.js'
import { readDocument } from './admin/document.js'
import { FirstToken } from './admin/first-token.js'
import { createHandlers } from './admin/handlers.js'
import { type Admin, serveAdmin } from './admin/server.js'
import { spentOf } from './budgets/accounts.js'
import { endedHolders, release, Treasury } from './budgets/treasury.js'
import { expire } from './kept/kept.js'
import { createSeal } from './kept/seal.js'
import { type Changes, followChanges } from './keys/changes.js'
import { LastUsed } from './keys/last-used.js'
import { keyOf } from './keys/lookup.js'
import { INSTANCE_GONE, Ingest } from './ledger/ingest.js'
import { type Pricing, recordedPrice } from './ledger/price.js'
import type { Booking } from './ledger/write.js'
import { lockFolder } from './lock.js'
import { createMetrics } from './metrics.js'
import { createAnswerers } from './questions.js'
import { ADMIN_SOCKET, CONTROL_SOCKET, type ControlSettings, KEPT_KEY_FILE, SPOOL_FILE } from './settings.js'
import { openSpool } from './spool.js'
import { DAY } from './store/columns.js'
import { Keeper } from './store/keeper.js'
import type { Store } from './store/store.js'
import { Workers } from './workers.js'

/** Milliseconds. */
const HEARTBEAT = 5_000
const RETAIN = 3_600_000
const EXPIRE = 60_000
/** Milliseconds for the workers of an earlier control process to reconnect. */
const RETURN = 10_000
const AGAIN = 200

export interface ControlProcess {
  keeper: Keeper
  workers: Workers
  ingest: Ingest
  changes(): Changes | undefined
  /** The URL of the admin API, if it has a network address beside its socket. */
  adminUrl: string | undefined
  close(): Promise<void>
}

export interface ControlParts {
  pricing?: Pricing
  bookings?: readonly Booking[]
}

/** Runs until closed. Rejects if another instance has the folder, or if the store's schema does not fit this version. */
export async function runControl(settings: ControlSettings, log: Logger, parts: ControlParts = {}): Promise<ControlProcess> {
  const lock = lockFolder(settings.folder)
  const spool = openSpool(join(settings.folder, SPOOL_FILE))
  let changes: Changes | undefined
  let instance = 0
  const lastUsed = new LastUsed()
  const timers: NodeJS.Timeout[] = []

  const opened = async (store: Store): Promise<void> => {
    instance = await register(store, lock.instance, settings)
    changes = await followChanges(store, keeper, {
      onRecall: account => workers.recall(account),
      onForget: forgotten => {
        spool.forgetKeys(forgotten.keys)
        workers.forget(forgotten)
      },
      onCertain: seq => {
        // The value counts in hours, so once a minute is enough.
        if (Date.now() - spool.certainAt > 60_000) spool.certainAt = Date.now()
        workers.certain(seq)
      },
    })
    timers.push(
      setInterval(() => void heartbeat(store, instance, keeper), HEARTBEAT),
      setInterval(() => void lastUsed.write(store).catch(error => keeper.failed(error)), HEARTBEAT),
      setInterval(() => void retain(store, settings, keeper), RETAIN),
      setInterval(() => void expire(store, settings.kept).catch(error => keeper.failed(error)), EXPIRE),
      setTimeout(() => void ingest.writeOldLost(workers.present()).catch(error => keeper.failed(error)), RETURN),
      setInterval(() => void ingest.writeOldLost(workers.present()).catch(error => keeper.failed(error)), RETAIN / 12),
      setTimeout(() => void releaseOld(store), RETURN * 1.5),
      setInterval(() => void releaseOld(store), RETAIN / 60),
    )
    void retain(store, settings, keeper)
    ingest.drainSoon()
  }
  const pricing = parts.pricing ?? recordedPrice
  const keeper = new Keeper({ at: settings.at, mayMigrate: settings.mayMigrate }, log, opened)
  const ingest = new Ingest({
    keeper,
    spool,
    pricing,
    bookings: parts.bookings ?? [],
    log,
    instance: () => instance,
  })

  /** From the store, or from the last known state if it is unreachable. */
  const lookUp = async (sha256: string): Promise<{ key: KeyConfig | undefined; seq: number }> => {
    const seq = changes?.seq ?? 0
    try {
      const key = await keyOf(keeper.get(), sha256)
      keeper.succeeded()
      if (key) spool.rememberKey(sha256, key)
      return { key, seq }
    } catch (error) {
      keeper.failed(error)
      const key = Date.now() - spool.certainAt < settings.stale ? spool.keyOf(sha256) : undefined
      if (key === undefined) throw error
      return { key, seq }
    }
  }
  const { seal, ...keeping } = settings.kept
  const kept = { ...keeping, seal: createSeal(seal, join(settings.folder, KEPT_KEY_FILE)) }
  const treasury = new Treasury({ keeper, instance: () => instance, recall: (account, except) => workers.recall(account, except) })
  /** The unspent grants of ended workers return after all of their spending has been written. */
  const releaseOld = async (store: Store, gone?: string): Promise<void> => {
    if (!ingest.isIdle) {
      if (gone !== undefined) timers.push(setTimeout(() => void releaseOld(store, gone), AGAIN))
      return
    }
    try {
      const holders = gone === undefined ? await endedHolders(store, instance, workers.present(), Date.now() - INSTANCE_GONE) : [gone]
      await release(store, holders)
    } catch (error) {
      keeper.failed(error)
    }
  }
  const workers = new Workers({
    path: join(settings.folder, CONTROL_SOCKET),
    ingest,
    changes: () => changes,
    lookUp,
    answer: createAnswerers(keeper, kept),
    grant: question => treasury.grant(question),
    onGone: worker => {
      if (keeper.up) void releaseOld(keeper.get(), worker)
    },
    onRecords: records => {
      lastUsed.note(records)
      for (const record of records) metrics.count(record, pricing(record))
    },
    onLost: count => {
      log.error({ count }, 'records were lost: they could not be delivered in time')
      metrics.lost(count)
    },
    log,
  })
  const metrics = createMetrics({
    currency: settings.currency,
    config: settings.config,
    version: settings.version,
    restarts: settings.restarts,
    workers: () => workers.all(),
    state: () => ({ lag: ingest.lag, spool: spool.size, isUp: keeper.up }),
    spent: async accounts => spentOf(keeper.get(), accounts),
  })
  const api = readDocument(settings.home)
  const first = new FirstToken()
  const handlers = createHandlers({ api, currency: settings.currency, changes: () => changes, workers: () => workers.all(), first })
  let admin: Admin | undefined
  const close = async (): Promise<void> => {
    for (const timer of timers) clearInterval(timer)
    await admin?.close()
    await workers.close()
    await ingest.close()
    await changes?.close()
    await keeper.close()
    spool.close()
    lock.release()
  }
  try {
    // Workers may connect at once: their records wait in the spool.
    await workers.listen()
    await keeper.open()
    admin = await serveAdmin({ api, handlers, keeper, metrics: metrics.page, log }, join(settings.folder, ADMIN_SOCKET), settings.admin)
    if (admin.url !== undefined && keeper.up) {
      const code = await first.offer(keeper.get())
      if (code !== undefined)
        log.info(
          { link: `${admin.url}/admin/v1/first/${code}` },
          'the admin API has no tokens: create one with `sluice token first LINK` within 10 minutes',
        )
    }
  } catch (error) {
    await close()
    throw error
  }
  return { keeper, workers, ingest, changes: () => changes, adminUrl: admin.url, close }
}

async function register({ db }: Store, publicId: string, settings: ControlSettings): Promise<number> {
  const now = Date.now()
  const row = await db
    .insertInto('instance')
    .values({ public_id: publicId, host: hostname(), started_at: now, seen_at: now, config_hash: settings.config })
    .onConflict(conflict => conflict.column('public_id').doUpdateSet({ started_at: now, seen_at: now, config_hash: settings.config }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

async function heartbeat({ db }: Store, id: number, keeper: Keeper): Promise<void> {
  try {
    await db.updateTable('instance').set({ seen_at: Date.now() }).where('id', '=', id).execute()
  } catch (error) {
    keeper.failed(error)
  }
}

/** Removes windows that ended before a time, and the questions about them. */
async function dropAccounts(db: Store['db'], before: number): Promise<void> {
  const old = db.selectFrom('account').select('id').where('until', '<', before)
  await db.deleteFrom('share').where('account', 'in', old).execute()
  await db.deleteFrom('account').where('until', '<', before).execute()
  // The spending of ended holders is part of the account.
  await db
    .deleteFrom('change')
    .where('kind', '=', 'recall')
    .where('at', '<', Date.now() - RETAIN)
    .execute()
}

async function retain({ db, periods }: Store, { keep }: ControlSettings, keeper: Keeper): Promise<void> {
  try {
    await periods.drop('ledger', Date.now() - keep.rows)
    await periods.drop('detail', Date.now() - keep.detail)
    await dropAccounts(db, Date.now() - keep.rows)
    // There may be as many end users as rows, so their rollups are deleted with the rows.
    await db
      .deleteFrom('day_user')
      .where('day', '<', Math.floor((Date.now() - keep.rows) / DAY))
      .execute()
  } catch (error) {
    keeper.failed(error)
  }
}
