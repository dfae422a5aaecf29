// Allows one instance for a folder. The system releases the lock when the process ends, however it ends.

import { randomUUID } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import type { Logger } from 'pino'
import { makeFolder, unusable } from './folder.js'
import { LOCK_FILE } from './settings.js'

/** Milliseconds for the previous process to end, and between attempts. */
const PATIENCE = 10_000
const AGAIN = 250

export interface Lock {
  /** The id of this instance, which survives restarts. */
  instance: string
  release(): void
}

/** Another process has the folder. */
export class FolderTaken extends Error {
  constructor(folder: string) {
    super(`Another instance uses the folder ${folder}: give each its own (store: { folder: … }).`)
  }
}

/** Waits until no other process has the folder: for ever if `mayWait`, else 10 seconds, and rejects then. */
export async function lockWhenFree(folder: string, mayWait: boolean, log: Logger): Promise<Lock> {
  const until = Date.now() + PATIENCE
  for (let isTold = false; ; isTold = true) {
    try {
      return lockFolder(folder)
    } catch (error) {
      if (!(error instanceof FolderTaken) || (!mayWait && Date.now() > until)) throw error
      if (!isTold && mayWait) log.warn({ folder }, 'another instance uses the folder: no keys of the store and no ledger until it ends')
    }
    await new Promise(done => setTimeout(done, AGAIN))
  }
}

/** Throws `FolderTaken` if another process has the folder, and a sentence if its file cannot be used. */
export function lockFolder(folder: string): Lock {
  makeFolder(folder)
  const path = join(folder, LOCK_FILE)
  try {
    return lockFile(path)
  } catch (error) {
    if (error instanceof Error && error.message === 'database is locked') throw new FolderTaken(folder)
    throw unusable(path, error, 'it holds only the name of the instance, so remove it and start again')
  }
}

function lockFile(path: string): Lock {
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
