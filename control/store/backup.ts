// A copy of a store in SQLite while it is in use, and back again. Postgres has programs of its own for this.

import { chmodSync, copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from '@photostructure/sqlite'
import { lockFolder } from '../lock.js'
import { SchemaError } from './migrate.js'
import { openStore } from './store.js'

/** Pages that are copied at a time: others write in between. */
const PAGES = 1_000

/** What a copy holds. */
export interface Copied {
  /** Rows of the ledger, keys, and entries of the audit. */
  exchanges: number
  keys: number
  audit: number
  /** Bytes. */
  size: number
}

/** What is wrong with a file, or why it cannot be put there: a sentence for the operator. */
export class BackupError extends Error {}

/** Copies the store at a path while others use it. Throws where the file is there already, or the copy is not whole. */
export async function backUp(path: string, file: string): Promise<Copied> {
  if (!existsSync(path)) throw new BackupError(`There is no store at ${path}.`)
  if (existsSync(file)) throw new BackupError(`${file} is there already: name another file.`)
  if (!existsSync(dirname(file))) throw new BackupError(`There is no folder ${dirname(file)}.`)
  const part = `${file}.part`
  rmSync(part, { force: true })
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    await backup(database, part, { rate: PAGES })
    chmodSync(part, 0o600)
    const copied = looked(part)
    renameSync(part, file)
    return copied
  } finally {
    database.close()
    rmSync(part, { force: true })
  }
}

/**
 * Puts a copy in the place of the store of a folder that no gateway uses. The store that was there is kept beside it, and its path
 * given. Throws where a gateway uses the folder, or the file is no whole store that this version knows.
 */
export async function restore(file: string, folder: string, path: string): Promise<Copied & { before: string | undefined }> {
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`)
  const copied = looked(file)
  let release: () => void
  try {
    release = lockFolder(folder, 0).release
  } catch {
    throw new BackupError(`A gateway uses the folder ${folder}: end it first.`)
  }
  const fresh = join(folder, 'restored.sqlite')
  try {
    removeStore(fresh)
    copyFileSync(file, fresh)
    chmodSync(fresh, 0o600)
    // It is brought up to date here, so that one that cannot be is not put there.
    const store = await openStore({ at: fresh, mayMigrate: true })
    await store.close()
    const before = existsSync(path) ? `${path}.${new Date().toISOString().replaceAll(/[:.]/g, '-')}` : undefined
    if (before !== undefined) {
      // What was written last stands beside the file until it is opened again.
      for (const more of ['-wal', '-shm']) if (existsSync(path + more)) renameSync(path + more, before + more)
      renameSync(path, before)
    }
    renameSync(fresh, path)
    return { ...copied, before }
  } catch (error) {
    removeStore(fresh)
    if (error instanceof SchemaError) throw new BackupError(error.message)
    throw error
  } finally {
    release()
  }
}

function removeStore(path: string): void {
  for (const more of ['', '-wal', '-shm', '-journal']) rmSync(path + more, { force: true })
}

/** What is in a file. Throws where it is no store, or is not whole. */
function looked(file: string): Copied {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const [check] = database.prepare('pragma quick_check').all() as { quick_check: string }[]
    if (check?.quick_check !== 'ok') throw new BackupError(`${file} is not whole: ${check?.quick_check}.`)
    const count = (table: string): number => Number((database.prepare(`select count(*) as n from "${table}"`).get() as { n: number }).n)
    const { size } = database.prepare('select page_count * page_size as size from pragma_page_count, pragma_page_size').get() as {
      size: number
    }
    return { exchanges: count('ledger'), keys: count('key'), audit: count('audit'), size: Number(size) }
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw new BackupError(`${file} is no store of Sluice.`)
  } finally {
    database.close()
  }
}
