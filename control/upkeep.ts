// Periodic tasks on the open store: the sign of life of this instance, the deletion of old rows, and what ended processes have
// left: exchanges under way, and unspent grants of money.

import { hostname } from 'node:os'
import { endedHolders, release } from './budgets/treasury.js'
import { expire } from './kept/kept.js'
import type { Room } from './kept/room.js'
import type { LastUsed } from './keys/last-used.js'
import { INSTANCE_GONE, type Ingest } from './ledger/ingest.js'
import type { ControlSettings } from './settings.js'
import { DAY } from './store/columns.js'
import type { Keeper } from './store/keeper.js'
import { inSteps, STEP } from './store/steps.js'
import type { Store } from './store/store.js'

/** Milliseconds between two runs of a task. */
const HEARTBEAT = 5_000
const LAST_USED = 5_000
const RELEASE = 60_000
const EXPIRY = 60_000
const LOST = 300_000
const DELETION = 3_600_000
/** Milliseconds for the workers of an earlier control process to reconnect. */
const RECONNECT = 10_000
/** Milliseconds between attempts to release the grants of a worker whose records are still being written. */
const RETRY_DELAY = 200
/** Milliseconds after which every instance has seen that an account was recalled. */
const RECALL_SEEN = 3_600_000

export interface UpkeepOptions {
  store: Store
  keeper: Keeper
  ingest: Ingest
  lastUsed: LastUsed
  settings: ControlSettings
  room: Room
  /** The id of this instance in the store. */
  instance: number
  /** The ids of the workers that are connected, or may reconnect. */
  present(): ReadonlySet<string>
}

export interface Upkeep {
  /** Returns the unspent grants of a worker that has ended, after all of its spending has been written. */
  release(worker: string): void
  stop(): void
}

export function startUpkeep({ store, keeper, ingest, lastUsed, settings, room, instance, present }: UpkeepOptions): Upkeep {
  const timers = new Set<NodeJS.Timeout>()
  const attempt = (task: () => Promise<unknown>): void => void task().catch(error => keeper.failed(error))
  const every = (interval: number, task: () => Promise<unknown>): void => {
    timers.add(setInterval(() => attempt(task), interval))
  }
  const after = (delay: number, task: () => Promise<unknown>): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      attempt(task)
    }, delay)
    timers.add(timer)
  }
  const writeLost = (): Promise<void> => ingest.writeOldLost(present())
  const releaseEnded = async (): Promise<void> => {
    if (ingest.isIdle) await release(store, await endedHolders(store, instance, present(), Date.now() - INSTANCE_GONE))
  }
  const releaseWorker = async (worker: string): Promise<void> => {
    if (ingest.isIdle) await release(store, [worker])
    else after(RETRY_DELAY, () => releaseWorker(worker))
  }
  every(HEARTBEAT, () => showAlive(store, instance))
  every(LAST_USED, () => lastUsed.write(store))
  every(DELETION, () => deleteOld(store, settings.keep))
  every(EXPIRY, async () => {
    await expire(store)
    await room.look()
  })
  after(RECONNECT, writeLost)
  every(LOST, writeLost)
  after(RECONNECT * 1.5, releaseEnded)
  every(RELEASE, releaseEnded)
  attempt(() => deleteOld(store, settings.keep))
  return {
    release: worker => attempt(() => releaseWorker(worker)),
    stop: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

/** Enters this instance into the store; returns its id there. */
export async function register({ db }: Store, publicId: string, config: string): Promise<number> {
  const now = Date.now()
  const row = await db
    .insertInto('instance')
    .values({ public_id: publicId, host: hostname(), started_at: now, seen_at: now, config_hash: config })
    .onConflict(conflict => conflict.column('public_id').doUpdateSet({ started_at: now, seen_at: now, config_hash: config }))
    .returning('id')
    .executeTakeFirstOrThrow()
  return row.id
}

async function showAlive({ db }: Store, instance: number): Promise<void> {
  await db.updateTable('instance').set({ seen_at: Date.now() }).where('id', '=', instance).execute()
}

async function deleteOld({ db, periods, names }: Store, keep: ControlSettings['keep']): Promise<void> {
  const before = Date.now() - keep.rows
  await periods.drop('ledger', before)
  await periods.drop('detail', Date.now() - keep.detail)
  await deleteAccounts(db, before)
  // There may be as many end users as rows, so their rollups are deleted with the rows.
  await db
    .deleteFrom('day_user')
    .where('day', '<', Math.floor(before / DAY))
    .execute()
  await names.drop(Math.floor(before / DAY))
}

/** Deletes windows that ended before a time, and old requests for their unused money. */
async function deleteAccounts(db: Store['db'], before: number): Promise<void> {
  // Each end user may have one that ended at midnight.
  await inSteps(async () => {
    const old = await db.selectFrom('account').select('id').where('until', '<', before).limit(STEP).execute()
    const ids = old.map(({ id }) => id)
    if (ids.length === 0) return 0
    await db.deleteFrom('share').where('account', 'in', ids).execute()
    await db.deleteFrom('account').where('id', 'in', ids).execute()
    return ids.length
  })
  await db
    .deleteFrom('change')
    .where('kind', '=', 'recall')
    .where('at', '<', Date.now() - RECALL_SEEN)
    .execute()
}
