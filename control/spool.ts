// The local buffer while the store is unreachable: records that it has not accepted, and the known keys.

import { chmodSync, existsSync, renameSync } from 'node:fs'
import { deserialize, serialize } from 'node:v8'
import { DatabaseSync } from '@photostructure/sqlite'
import type { KeyConfig } from '../engine/snapshot/config.js'
import { unusable } from './folder.js'
import type { ExchangeRecord } from './ledger/record.js'

/** Batches and records that are kept aside: the latest. */
const MOST_ASIDE = 10_000
/** Bytes of records: some five million. */
const MOST = 1024 ** 3

/** What cannot be written is told to the `warn` of `openSpool`, once until something can be. */
export interface Spool {
  readonly isEmpty: boolean
  /** The last attempt to read or to write it failed. */
  readonly isBroken: boolean
  /** Bytes in the spool. */
  readonly size: number
  /** The id of the new batch; undefined if there is no room, or if it cannot be written. */
  add(records: readonly ExchangeRecord[]): number | undefined
  /** The oldest batch; its records are undefined if they cannot be read. */
  next(): { id: number; records: ExchangeRecord[] | undefined } | undefined
  /** False if it stays. */
  remove(id: number): boolean
  /** Keeps a batch that cannot be read until the next start; false if it stays where it is. */
  setAside(id: number, cause: string): boolean
  /** Keeps a record that the store refuses until the next start, when it is tried again. */
  keepRefused(record: ExchangeRecord, cause: string): void
  /** Keys as they were answered, for a start without the store. One that cannot be removed is unknown to this process all the same. */
  rememberKey(sha256: string, key: KeyConfig): void
  forgetKeys(ids: readonly number[]): void
  keyOf(sha256: string): KeyConfig | undefined
  /** The position of the last change that the known keys agree with; undefined if there is none. */
  seq: number | undefined
  /** When all of them were last known to be valid: milliseconds since 1970. */
  certainAt: number
  close(): void
}

const ADVICE = 'records may wait in it for the store, so let the gateway write it, or move it away and start again'

/** Moves a spool that SQLite cannot read aside, and returns its new path; undefined if it is intact, or does not exist. */
export function moveDamagedAside(path: string): string | undefined {
  if (!existsSync(path) || !isDamaged(path)) return undefined
  const aside = `${path}.broken-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
  // Programs that save what can be saved look for the latest writes beside it.
  for (const more of ['-wal', '-shm', '']) if (existsSync(path + more)) renameSync(path + more, aside + more)
  return aside
}

/** Throws a sentence if that cannot be known. */
function isDamaged(path: string): boolean {
  try {
    return check(path) !== 'ok'
  } catch (error) {
    if (error instanceof Error && /not a database|malformed/.test(error.message)) return true
    throw unusable(path, error, ADVICE)
  }
}

/** The first fault that SQLite finds, or `ok`. */
function check(path: string): string {
  const database = new DatabaseSync(path)
  try {
    return (database.prepare('pragma quick_check(1)').get() as { quick_check: string }).quick_check
  } finally {
    database.close()
  }
}

/** Throws a sentence if the file cannot be used. */
export function openSpool(path: string, warn: (error: unknown) => void = () => undefined): Spool {
  try {
    return open(path, warn)
  } catch (error) {
    throw unusable(path, error, ADVICE)
  }
}

function open(path: string, warn: (error: unknown) => void): Spool {
  const database = new DatabaseSync(path)
  chmodSync(path, 0o600)
  database.exec(`
    pragma journal_mode = wal; pragma synchronous = normal; pragma auto_vacuum = incremental;
    create table if not exists batch (id integer primary key autoincrement, size integer not null, records blob not null);
    create table if not exists aside (id integer primary key autoincrement, at integer not null, cause text not null, records blob not null);
    insert into batch (size, records) select length(records), records from aside;
    delete from aside;
    create table if not exists known_key (sha256 text primary key, key_id integer not null, key text not null);
    create index if not exists known_key_id on known_key (key_id);
    create table if not exists fact (name text primary key, value integer not null);
    delete from known_key where not exists (select 1 from fact where name = 'seq');
  `)
  const insert = database.prepare('insert into batch (size, records) values (?, ?)')
  const oldest = database.prepare('select id, records from batch order by id limit 1')
  const remove = database.prepare('delete from batch where id = ? returning size')
  const setAside = database.prepare('insert into aside (at, cause, records) select ?, ?, records from batch where id = ?')
  const putAside = database.prepare('insert into aside (at, cause, records) values (?, ?, ?)')
  const trimAside = database.prepare(`delete from aside where id <= (select max(id) - ${MOST_ASIDE} from aside)`)
  const putKey = database.prepare('insert into known_key values (?, ?, ?) on conflict (sha256) do update set key = excluded.key')
  const dropKey = database.prepare('delete from known_key where key_id = ?')
  const getKey = database.prepare('select key from known_key where sha256 = ?')
  const putFact = database.prepare('insert into fact values (?, ?) on conflict (name) do update set value = excluded.value')
  const { size } = database.prepare('select coalesce(sum(size), 0) as size from batch').get() as { size: number }
  const getFact = database.prepare('select value from fact where name = ?')
  const factOf = (name: string): number | undefined => (getFact.get(name) as { value: number } | undefined)?.value
  let [held, certainAt, seq] = [size, factOf('certain_at') ?? 0, factOf('seq')]
  /** Keys that are still to be removed. */
  const forgotten = new Set<number>()
  let isBroken = false
  const fail = (error: unknown): void => {
    if (!isBroken) warn(error)
    isBroken = true
  }
  const attempt = (write: () => void): boolean => {
    try {
      write()
      isBroken = false
    } catch (error) {
      fail(error)
    }
    return !isBroken
  }
  const dropForgotten = (): void => {
    for (const id of forgotten) {
      dropKey.run(id)
      forgotten.delete(id)
    }
  }
  const drop = (id: number): void => {
    const row = remove.get(id) as { size: number } | undefined
    held -= row?.size ?? 0
    if (held === 0) database.exec('pragma incremental_vacuum')
  }
  return {
    get isEmpty() {
      return held === 0
    },
    get isBroken() {
      return isBroken
    },
    get size() {
      return held
    },
    add(records) {
      const blob = serialize(records)
      if (held + blob.length > MOST) return undefined
      let id: number | undefined
      attempt(() => {
        id = Number(insert.run(blob.length, blob).lastInsertRowid)
        held += blob.length
      })
      return id
    },
    next() {
      try {
        const row = oldest.get() as { id: number; records: Uint8Array } | undefined
        return row && { id: row.id, records: readRecords(row.records) }
      } catch (error) {
        // That it can be read does not say that it can be written.
        fail(error)
        return undefined
      }
    },
    remove: id => attempt(() => drop(id)),
    setAside: (id, cause) =>
      attempt(() => {
        setAside.run(Date.now(), cause, id)
        trimAside.run()
        drop(id)
      }),
    keepRefused: (record, cause) =>
      void attempt(() => {
        putAside.run(Date.now(), cause, serialize([record]))
        trimAside.run()
      }),
    rememberKey: (sha256, key) =>
      void attempt(() => {
        dropForgotten()
        putKey.run(sha256, key.id as number, JSON.stringify(key))
      }),
    forgetKeys(ids) {
      for (const id of ids) forgotten.add(id)
      attempt(dropForgotten)
    },
    keyOf(sha256) {
      const row = getKey.get(sha256) as { key: string } | undefined
      const key = row && (JSON.parse(row.key) as KeyConfig)
      return key === undefined || forgotten.has(key.id as number) ? undefined : key
    },
    get seq() {
      return seq
    },
    set seq(position) {
      if (position === seq) return
      attempt(() => {
        // A later start hears again of keys that could not be removed.
        dropForgotten()
        putFact.run('seq', position as number)
        seq = position
      })
    },
    get certainAt() {
      return certainAt
    },
    set certainAt(time) {
      certainAt = time
      attempt(() => {
        // Keys that could not be removed are not certain at a later start.
        dropForgotten()
        putFact.run('certain_at', time)
      })
    },
    close: () => database.close(),
  }
}

function readRecords(blob: Uint8Array): ExchangeRecord[] | undefined {
  try {
    const records: unknown = deserialize(blob)
    return Array.isArray(records) ? (records as ExchangeRecord[]) : undefined
  } catch {
    return undefined
  }
}
