// The engines that a suite runs on: SQLite always, Postgres if its binaries are found.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Engine } from '../../control/store/engine.js'
import type * as MigrateModule from '../../control/store/migrate.js'
import type * as PostgresModule from '../../control/store/postgres.js'
import type * as SqliteModule from '../../control/store/sqlite.js'
import type * as StoreModule from '../../control/store/store.js'
import { hasPostgres, type Postgres, startPostgres } from '../../tools/postgres.mjs'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', path)).href
export const { openStore } = (await import(built('control/store/store.js'))) as typeof StoreModule
export type Store = StoreModule.Store
export const { migratorOf, stateOf } = (await import(built('control/store/migrate.js'))) as typeof MigrateModule
const { openPostgres } = (await import(built('control/store/postgres.js'))) as typeof PostgresModule
const { openSqlite } = (await import(built('control/store/sqlite.js'))) as typeof SqliteModule

/** The engine of a store, without a schema. */
export const engineAt = (at: string): Engine => (at.startsWith('postgres:') ? openPostgres(at) : openSqlite(at))

/** Runs a suite once for each engine; `make` gives where a new, empty store is. */
export function onEachEngine(suite: (make: () => Promise<string>, kind: 'sqlite' | 'postgres') => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-store-'))
  let postgres: Promise<Postgres> | undefined
  let count = 0
  describe('on SQLite', () => suite(async () => join(folder, `${count++}.sqlite`), 'sqlite'))
  describe.skipIf(!hasPostgres)('on Postgres', () =>
    suite(async () => {
      postgres ??= startPostgres()
      return (await postgres).database()
    }, 'postgres'),
  )
  afterAll(async () => {
    await (await postgres)?.close()
    rmSync(folder, { recursive: true, force: true })
  })
}

/** A suite about a Postgres of its own, where its binaries are found. */
export function onPostgres(name: string, suite: (postgres: () => Postgres) => void): void {
  describe.skipIf(!hasPostgres)(name, () => {
    let postgres: Postgres | undefined
    beforeAll(async () => {
      postgres = await startPostgres()
    })
    afterAll(() => postgres?.close())
    suite(() => postgres as Postgres)
  })
}
