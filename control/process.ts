// START HERE: the control process of an instance. It owns the store; workers send it a record of each exchange and ask it
// for keys; people use its admin API. If it dies, requests are still served.

import { join } from 'node:path'
import type { Logger } from 'pino'
import { createAccessLog } from './access-log.js'
import { readDocument } from './admin/document.js'
import { FirstToken } from './admin/first-token.js'
import { createHandlers } from './admin/handlers.js'
import { type Admin, serveAdmin } from './admin/server.js'
import { spentOf } from './budgets/accounts.js'
import { Treasury } from './budgets/treasury.js'
import type { KeptOptions } from './kept/kept.js'
import { Room } from './kept/room.js'
import { createSeal } from './kept/seal.js'
import { type Changes, type ChangesOptions, followChanges } from './keys/changes.js'
import { LastUsed } from './keys/last-used.js'
import { createLookup } from './keys/lookup.js'
import { Ingest } from './ledger/ingest.js'
import { lockWhenFree } from './lock.js'
import { hourly } from './log.js'
import { createMetrics, type Metrics } from './metrics.js'
import { createAnswerers } from './questions.js'
import { ADMIN_SOCKET, CONTROL_SOCKET, type ControlSettings, KEPT_KEY_FILE, SPOOL_FILE } from './settings.js'
import { moveDamagedAside, openSpool, type Spool } from './spool.js'
import { claimCurrency } from './store/currency.js'
import { Keeper } from './store/keeper.js'
import { register, startUpkeep, type Upkeep } from './upkeep.js'
import { Workers } from './workers.js'

/** Milliseconds: the age of cached keys counts in hours, so it is noted once a minute. */
const NOTE_CERTAIN = 60_000
/** Milliseconds: with the 20 for which a worker gathers records, a line is no later than one of the worker's own. */
const LINE_LATENESS = 80

export interface ControlProcess {
  keeper: Keeper
  workers: Workers
  /** The URL of the admin API, if it has a network address beside its socket. */
  adminUrl: string | undefined
  close(): Promise<void>
}

/** Runs until closed. Rejects if another instance has the folder, or if the store fits neither this version nor the configuration. */
export async function runControl(settings: ControlSettings, log: Logger): Promise<ControlProcess> {
  const lock = await lockWhenFree(settings.folder, settings.mayWait, log)
  const spool = takeSpool(settings.folder, log)
  const lastUsed = new LastUsed()
  // What exists once the store has been opened.
  let instance = 0
  let changes: Changes | undefined
  let upkeep: Upkeep | undefined

  const access = createAccessLog(log, LINE_LATENESS)
  const keeper: Keeper = new Keeper({ at: settings.at, mayMigrate: settings.mayMigrate }, log, async store => {
    store.audited = head => log.info({ head }, 'a change by an administrator is in the audit log')
    await claimCurrency(store, settings.currency)
    instance = await register(store, lock.instance, settings.config)
    changes = await followChanges(store, keeper, reportTo(workers, spool))
    workers.welcomeAll()
    upkeep = startUpkeep({ store, keeper, ingest, lastUsed, settings, room, instance, present: () => workers.present() })
    ingest.drainSoon()
  })
  const room = new Room(keeper, settings.kept.size, log)
  const ingest = new Ingest({ keeper, spool, log, instance: () => instance })
  const treasury = new Treasury({ keeper, instance: () => instance, recall: (account, except) => workers.recall(account, except) })
  const workers: Workers = new Workers({
    path: join(settings.folder, CONTROL_SOCKET),
    run: settings.run,
    ingest,
    changes: () => changes,
    lookUp: createLookup({ keeper, spool, stale: settings.stale, seq: () => changes?.seq ?? 0 }),
    answer: createAnswerers(keeper, keptOf(settings, log), room),
    grant: question => treasury.grant(question),
    onGone: worker => {
      if (keeper.up) upkeep?.release(worker)
    },
    onRecords: (records, batch) => {
      access.addBatch(batch)
      lastUsed.note(records)
      metrics.count(records)
    },
    onLost: count => {
      log.error({ count }, 'records were lost: they could not be delivered in time')
      metrics.lost(count)
    },
    log,
  })
  const metrics = createMetrics({
    without: settings.metrics.without,
    currency: settings.currency,
    config: settings.config,
    version: settings.version,
    restarts: settings.restarts,
    reloads: () => settings.reloads,
    workers: () => workers.all(),
    state: () => ({ lag: ingest.lag, spool: spool.size, isUp: keeper.up }),
    spent: async accounts => spentOf(keeper.get(), accounts),
  })

  let admin: Admin | undefined
  const close = async (): Promise<void> => {
    upkeep?.stop()
    await admin?.close()
    await workers.close()
    await ingest.close()
    workers.reportAllLost()
    access.flush()
    await changes?.close()
    await keeper.close()
    spool.close()
    lock.release()
  }
  try {
    // Workers may connect at once: their records wait in the spool.
    await workers.listen()
    await keeper.open()
    const first = new FirstToken()
    admin = await openAdmin({ settings, keeper, workers, metrics, changes: () => changes, first, log })
    await offerFirstToken(first, admin.url, keeper, log)
  } catch (error) {
    await close()
    throw error
  }
  return { keeper, workers, adminUrl: admin.url, close }
}

function takeSpool(folder: string, log: Logger): Spool {
  const path = join(folder, SPOOL_FILE)
  const file = moveDamagedAside(path)
  if (file !== undefined) log.error({ file }, 'the spool was damaged, and is moved aside: records in it that the store lacks have no rows')
  return openSpool(path, error => log.error({ cause: String(error) }, 'the spool cannot be written'))
}

/** Reports changes in the store to the caches of workers and of the spool. */
function reportTo(workers: Workers, spool: Spool): ChangesOptions {
  return {
    reported: spool.seq,
    onRecall: account => workers.recall(account),
    onForget: forgotten => {
      workers.forget(forgotten)
      spool.forgetKeys(forgotten.keys)
    },
    onCertain: seq => {
      workers.certain(seq)
      spool.seq = seq
      if (Date.now() - spool.certainAt > NOTE_CERTAIN) spool.certainAt = Date.now()
    },
  }
}

function keptOf({ folder, kept, seal }: ControlSettings, log: Logger): KeptOptions {
  const { close, open } = createSeal(seal, join(folder, KEPT_KEY_FILE))
  const warn = hourly(log)
  return {
    ...kept,
    seal: {
      close,
      async open(sealed, owner) {
        const text = await open(sealed, owner)
        // Its caller hears only that it is unknown.
        if (text === undefined)
          warn(
            'a kept answer cannot be opened: another secret sealed it. All instances of a store need the same `seal`, with its old secrets',
          )
        return text
      },
    },
  }
}

interface AdminParts {
  settings: ControlSettings
  keeper: Keeper
  workers: Workers
  metrics: Metrics
  changes(): Changes | undefined
  first: FirstToken
  log: Logger
}

function openAdmin({ settings, keeper, workers, metrics, changes, first, log }: AdminParts): Promise<Admin> {
  const api = readDocument(settings.home)
  const handlers = createHandlers({ api, currency: settings.currency, changes, workers: () => workers.all(), first })
  return serveAdmin({ api, handlers, keeper, metrics: metrics.page, log }, join(settings.folder, ADMIN_SOCKET), settings.admin)
}

/** Logs the link that creates the first token, if the admin API has a network address and no tokens yet. */
async function offerFirstToken(first: FirstToken, url: string | undefined, keeper: Keeper, log: Logger): Promise<void> {
  if (url === undefined || !keeper.up) return
  const code = await first.offer(keeper.get())
  if (code === undefined) return
  log.info(
    { link: `${url}/admin/v1/first/${code}` },
    'the admin API has no tokens: create one with `sluice token first LINK` within 10 minutes',
  )
}
