// `sluice store migrate`, `backup` and `restore`: manage the database.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isPostgres } from '../control/settings.js'
import { BackupError, backUp, type Copied, restore } from '../control/store/backup.js'
import type { Engine } from '../control/store/engine.js'
import { migrate, stateOf } from '../control/store/migrate.js'
import { openEngine } from '../control/store/store.js'
import { loadConfig } from './config/config.js'
import type { StoreSettings } from './config/store-settings.js'
import { CommandError, documentOf, UsageError } from './output.js'
import { loadFacts } from './plan.js'

/** The exit code is 1 if there is no store, or its schema cannot be updated. */
export async function migrateStore(config: string, asJson = false): Promise<void> {
  const settings = await storeOf(config)
  let engine: Engine | undefined
  try {
    engine = await openEngine(settings.at)
    const { missing } = await stateOf(engine)
    await migrate(engine, true)
    if (asJson) console.log(documentOf(true, [], { taken: missing }))
    else console.log(missing.length === 0 ? 'The schema is up to date.' : `Migrated: ${missing.join(', ')}`)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(engine === undefined ? `The store cannot be opened: ${why}.` : why)
  } finally {
    await engine?.db.destroy()
  }
}

/** The store settings of a configuration. Throws a CommandError if it has no store. */
async function storeOf(config: string): Promise<StoreSettings> {
  const { settings } = await loadConfig(config, await loadFacts(config), config)
  if (settings.store === undefined) throw new CommandError(`${config} has no store.`)
  return settings.store
}

/** Copies the store of a configuration while it is in use. */
export async function backUpStore(file: string, config: string, asJson = false): Promise<void> {
  const store = await storeOf(config)
  if (isPostgres(store.at))
    throw new CommandError(`The store is Postgres, which has its own: pg_dump --format=custom --file=${file} "$SLUICE_STORE"`)
  await tried(async () => {
    const copied = await backUp(store.at, resolve(file))
    if (asJson) console.log(documentOf(true, [], { file, ...copied }))
    else console.log(`${file}: ${wordsOf(copied)}`)
  })
}

/** Replaces the store of a configuration by a copy. */
export async function restoreStore(file: string, config: string, asJson = false): Promise<void> {
  const store = await storeOf(config)
  if (isPostgres(store.at))
    throw new CommandError(`The store is Postgres, which has its own: pg_restore --clean --if-exists --dbname="$SLUICE_STORE" ${file}`)
  if (!existsSync(file)) throw new UsageError(`The file ${file} does not exist.`)
  await tried(async () => {
    const { before, ...copied } = await restore(resolve(file), store.folder, store.at)
    if (asJson) console.log(documentOf(true, [], { file, before: before ?? null, ...copied }))
    else console.log(`${wordsOf(copied)}${before === undefined ? '' : `\nThe replaced store is ${before}`}`)
  })
}

async function tried(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof BackupError) throw new CommandError(error.message)
    // The system's reason, such as a full disk.
    if ((error as NodeJS.ErrnoException).code !== undefined)
      throw new CommandError(`The store cannot be copied: ${(error as Error).message}.`)
    throw error
  }
}

const wordsOf = ({ exchanges, keys, audit, size }: Copied): string =>
  `${exchanges} exchanges, ${keys} keys, ${audit} entries of the audit, ${(size / 1024 ** 2).toFixed(1)} MiB`
