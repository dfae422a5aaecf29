// SQLite as a store: one file and one connection, so that transactions are serialised.

import { chmodSync } from 'node:fs'
import { DatabaseSync, type StatementSyncInstance } from '@photostructure/sqlite'
import {
  type DatabaseConnection,
  Kysely,
  type RawBuilder,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
  type SqliteStatement,
  sql,
} from 'kysely'
import type { Engine } from './engine.js'
import type { AccountTable, Tables } from './tables.js'

/** Cached compiled statements: a store has few queries, each used often. */
const MOST_STATEMENTS = 256
/** Milliseconds for which another process may lock the file. */
const BUSY = 5_000

/** Adapts Node's own SQLite module to Kysely. */
class Statement implements SqliteStatement {
  readonly reader: boolean

  constructor(private readonly statement: StatementSyncInstance) {
    this.reader = statement.columns().length > 0
  }

  all(parameters: readonly unknown[]): unknown[] {
    return this.statement.all(...parameters)
  }

  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return this.statement.run(...parameters)
  }

  iterate(parameters: readonly unknown[]): IterableIterator<unknown> {
    return this.statement.iterate(...parameters)
  }
}

class Database implements SqliteDatabase {
  protected readonly statements = new Map<string, Statement>()

  constructor(protected readonly database: InstanceType<typeof DatabaseSync>) {}

  prepare(text: string): Statement {
    const known = this.statements.get(text)
    if (known) return known
    const statement = new Statement(this.database.prepare(text))
    if (this.statements.size >= MOST_STATEMENTS) this.statements.delete(this.statements.keys().next().value as string)
    this.statements.set(text, statement)
    return statement
  }

  close(): void {
    this.statements.clear()
    // SQLite does that when it closes the file, but statements that are not yet collected keep it open until later.
    this.database.exec('pragma wal_checkpoint(truncate)')
    this.database.close()
  }
}

/** A connection that only reads. */
class Reader extends Database {
  override close(): void {
    this.statements.clear()
    this.database.close()
  }
}

/** Kysely runs migrations in a transaction only if the adapter says that the schema is part of it. */
class Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

/** SQLite itself ends a transaction for which there is no room: the reason of that must not be lost for there being none to end. */
class Driver extends SqliteDriver {
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(error => {
      if (!(error instanceof Error) || !error.message.includes('no transaction is active')) throw error
    })
  }
}

class Dialect extends SqliteDialect {
  constructor(private readonly config: SqliteDialectConfig) {
    super(config)
  }

  override createDriver(): SqliteDriver {
    return new Driver(this.config)
  }

  override createAdapter(): SqliteAdapter {
    return new Adapter()
  }
}

/** Opens a file, and creates it if it does not exist. Throws if it cannot be opened. */
export function openSqlite(path: string): Engine {
  const database = new DatabaseSync(path, { timeout: BUSY })
  if (path !== ':memory:') chmodSync(path, 0o600)
  database.exec(
    'pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -65536; pragma foreign_keys = on; pragma temp_store = memory',
  )
  const prepared = new Database(database)
  return {
    kind: 'sqlite',
    db: new Kysely<Tables>({ dialect: new Dialect({ database: prepared }) }),
    // A connection of its own: a transaction of the other would make all that write wait.
    reading: async run => {
      const database = new Reader(new DatabaseSync(path, { timeout: BUSY, readOnly: true }))
      const db = new Kysely<Tables>({ dialect: new Dialect({ database }) })
      try {
        return await db.transaction().execute(run)
      } finally {
        await db.destroy()
      }
    },
    // Half the cost of a JSON list. The transaction owns the only connection, so a statement beside Kysely is part of it.
    writeRows: async (_trx, { table, columns, conflict, lists }) => {
      const names = Object.keys(columns)
      const statement = prepared.prepare(
        `insert into "${table}" (${names.map(name => `"${name}"`).join(', ')}) values (${names.map(() => '?').join(', ')}) on conflict ${conflict}`,
      )
      const written = new Set<unknown>()
      for (const list of lists) if (Number(statement.run(list).changes) > 0) written.add(list[0])
      return written
    },
    elementsOf: (json): RawBuilder<unknown> => sql`json_each(${json})`,
    // The only connection serialises transactions, and no other process writes.
    lockWrites: async () => undefined,
    lockAccounts: async (trx, ids) => {
      const { rows } =
        await sql<AccountTable>`select * from account where id in (select value from json_each(${JSON.stringify(ids)}))`.execute(trx)
      return rows
    },
    onChange: async () => ({ close: async () => undefined }),
    notifyChange: async () => undefined,
    recall: async () => true,
  }
}
