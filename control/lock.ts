// Allows one instance for a folder. The system releases the lock when the process ends, however it ends.

import { randomUUID } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Logger } from 'pino'
import { makeFolder } from './folder.js'
import { LOCK_FILE } from './settings.js'

/** Milliseconds for the previous process to end, and between attempts. */
const PATIENCE = 10_000
const AGAIN = 250

export interface Lock {
  /** The id of this instance, which survives restarts. */
  instance: string
  release(): void
}

/** Whether the reason of a failure is that another process has the folder. */
export const isTaken = (error: unknown): boolean => error instanceof Error && /locked|busy/i.test(error.message)

/** Waits until no other process has the folder: for ever if `mayWait`, else 10 seconds, and rejects then. */
export async function lockWhenFree(folder: string, mayWait: boolean, log: Logger): Promise<Lock> {
  const until = Date.now() + PATIENCE
  for (let isTold = false; ; isTold = true) {
    try {
      return lockFolder(folder)
    } catch (error) {
      if (!isTaken(error) || (!mayWait && Date.now() > until)) throw error
      if (!isTold && mayWait) log.warn({ folder }, 'another instance uses the folder: no keys of the store and no ledger until it ends')
    }
    await new Promise(done => setTimeout(done, AGAIN))
  }
}

/** Throws if another process has the folder. */
export function lockFolder(folder: string): Lock {
  makeFolder(folder)
  const path = join(folder, LOCK_FILE)
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    chmodSync(path, 0o600)
    database.exec('begin exclusive; create table if not exists instance (id text not null)')
    const row = database.prepare('select id from instance').get() as { id: string } | undefined
    const instance = row?.id ?? randomUUID()
    if (row === undefined) {
      database.prepare('insert into instance values (?)').run(instance)
      database.exec('commit; begin exclusive')
    }
    return { instance, release: () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}
