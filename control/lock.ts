// Allows one instance for a folder. The system releases the lock when the process ends, however it ends.

import { randomUUID } from 'node:crypto'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { makeFolder } from './folder.js'
import { LOCK_FILE } from './settings.js'

/** Milliseconds for the previous process to end. */
const PATIENCE = 10_000

export interface Lock {
  /** The id of this instance, which survives restarts. */
  instance: string
  release(): void
}

/** Throws if another process still has the folder after `patience` milliseconds. */
export function lockFolder(folder: string, patience = PATIENCE): Lock {
  makeFolder(folder)
  const path = join(folder, LOCK_FILE)
  const database = new DatabaseSync(path, { timeout: patience })
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
