// Copies an SQLite store while it is in use, and restores a copy. Postgres has its own programs for this.

import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from '@photostructure/sqlite'
import { FolderTaken, lockFolder } from '../lock.js'
import { openStore } from './store.js'
import { UnfitStore } from './unfit.js'

/** Pages in one step: other processes write in between. */
const PAGES = 1_000

/** The content of a copy. */
export interface Copied {
  /** Rows of the ledger, keys, and audit entries. */
  exchanges: number
  keys: number
  audit: number
  /** Bytes. */
  size: number
}

/** The reason why a file cannot be used, as a sentence for the operator. */
export class BackupError extends Error {}

/** Copies the store to a path while others use it. Throws if the file exists, or if the copy is damaged. */
export async function backUp(path: string, file: string): Promise<Copied> {
  if (!existsSync(path)) throw new BackupError(`There is no store at ${path}.`)
  if (existsSync(file)) throw new BackupError(`${file} already exists: name another file.`)
  if (!existsSync(dirname(file))) throw new BackupError(`There is no folder ${dirname(file)}.`)
  const part = `${file}.part`
  removeStore(part)
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    await backup(database, part, { rate: PAGES })
    chmodSync(part, 0o600)
    const copied = inspect(part, part)
    renameSync(part, file)
    return copied
  } finally {
    database.close()
    removeStore(part)
  }
}

/**
 * Replaces the store of an unused folder by a copy. The old store is kept beside it, and its path is returned. Throws if a
 * gateway uses the folder, or if the file is not an intact store that this version knows.
 */
export async function restore(file: string, folder: string, path: string): Promise<Copied & { before: string | undefined }> {
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  let release: () => void
  try {
    release = lockFolder(folder).release
  } catch (error) {
    if (!(error instanceof FolderTaken)) throw new BackupError(error instanceof Error ? error.message : String(error))
    throw new BackupError(`A gateway uses the folder ${folder}: end it first.`)
  }
  const fresh = join(folder, 'restored.sqlite')
  try {
    removeStore(fresh)
    copyFileSync(file, fresh)
    chmodSync(fresh, 0o600)
    const copied = inspect(fresh, file)
    // It is migrated first, so that a store that cannot be migrated is not put in place.
    const store = await openStore({ at: fresh, mayMigrate: true })
    await store.close()
    const before = existsSync(path) ? `${path}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}` : undefined
    if (before !== undefined) {
      // The latest writes are in files beside it until it is opened again.
      for (const more of ['-wal', '-shm']) if (existsSync(path + more)) renameSync(path + more, before + more)
      renameSync(path, before)
    }
    renameSync(fresh, path)
    removeStore(fresh)
    return { ...copied, before }
  } catch (error) {
    removeStore(fresh)
    if (error instanceof UnfitStore) throw new BackupError(error.message)
    throw error
  } finally {
    release()
  }
}

/** Removes a store with the files beside it, as far as they exist. */
function removeStore(path: string): void {
  for (const more of ['', '-wal', '-shm', '-journal']) rmSync(path + more, { force: true })
}

/**
 * Inspects a copy, and takes it out of the mode of a store in use, in which even a reader writes files beside it. Throws if
 * it is not a store, or is damaged; `name` is for messages.
 */
function inspect(path: string, name: string): Copied {
  const database = new DatabaseSync(path)
  try {
    database.exec('pragma journal_mode = delete')
    const [check] = database.prepare('pragma quick_check').all() as { quick_check: string }[]
    if (check?.quick_check !== 'ok') throw new BackupError(`${name} is damaged: ${check?.quick_check}.`)
    const count = (table: string): number => Number((database.prepare(`select count(*) as n from "${table}"`).get() as { n: number }).n)
    const { size } = database.prepare('select page_count * page_size as size from pragma_page_count, pragma_page_size').get() as {
      size: number
    }
    return { exchanges: count('ledger'), keys: count('key'), audit: count('audit'), size: Number(size) }
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw new BackupError(`${name} is not a store of Sluice.`)
  } finally {
    database.close()
  }
}
