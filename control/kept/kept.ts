// Answers that are kept for the key that made them, so that later requests can continue them.

import { sql } from 'kysely'
import { MOST_TEXT, MOST_TURNS } from '../../engine/control/kept-bounds.js'
import type { KeptAnswer, KeptTurn, NewAnswer } from '../../engine/snapshot/model.js'
import type { Store } from '../store/store.js'
import type { KeptTable } from '../store/tables.js'
import { turn } from '../turns.js'
import type { Seal } from './seal.js'

export interface KeptOptions {
  seal: Seal
  /** Milliseconds. */
  for: number
  /** Bytes that all of them may take in the store. */
  size: number
}

/** Characters of a sealed answer; a longer one is not kept. */
const LONGEST = 24 * 1024 * 1024
/** Characters that are read of the store for the items of one request: it holds the requests of their answers, too. */
const MOST_READ = 4 * MOST_TEXT
/** Referable items of one answer. */
const MOST_ITEMS = 1_000
/** Rows that one removal step reads. */
const CHUNK = 500
/**
 * Another instance may still be writing the answer: milliseconds before each further check. A busy store needs longer than
 * most do, and a client whose answer counts as unknown has lost its conversation; a worker waits 2 s. Who only looks can look again.
 */
const LOOKS = [100, 100, 100]
const CONTINUATIONS = [...LOOKS, 200, 500]

/** The parts of an answer are sealed apart, so that one can be opened without the other. */
type Part = 'input' | 'answer'
/** Between the parts: no character of base64. */
const BETWEEN = '.'

const ownerOf = (caller: string, id: string, part?: Part): string => (part === undefined ? `${caller}\n${id}` : `${caller}\n${id}\n${part}`)

/** The text of a row: both parts of an answer. */
async function sealedOf({ caller, id, ...parts }: KeptTurn & { caller: string }, seal: Seal): Promise<string> {
  const close = (part: Part): Promise<string> => seal.close(parts[part], ownerOf(caller, id, part))
  return `${await close('answer')}${BETWEEN}${await close('input')}`
}

/**
 * Keeps an answer; returns how long it is when it is sealed, 0 if it is too long. An existing one stays. A conversation is a row
 * of its own, behind its last turn: that of an answer which belongs to one goes between them.
 */
export async function keep({ db }: Store, { seal, ...options }: KeptOptions, answer: NewAnswer): Promise<number> {
  const { caller, id, conversation, items } = answer
  const sealed = await sealedOf(answer, seal)
  if (sealed.length > LONGEST) return 0
  const now = Date.now()
  const expires_at = now + options.for
  await db.transaction().execute(async trx => {
    const own = trx
      .updateTable('kept')
      .where('caller', '=', caller)
      .where('id', '=', conversation ?? '')
    // It also locks the conversation: another answer that ends at the same time comes after this one.
    const last = conversation === null ? undefined : await own.set({ expires_at }).returning('previous').executeTakeFirst()
    const previous = last ? last.previous : answer.previous
    const row = { id, caller, previous, created_at: now, expires_at, size: sealed.length, sealed }
    const written = await trx
      .insertInto('kept')
      .values(row)
      .onConflict(conflict => conflict.doNothing())
      .executeTakeFirst()
    if (Number(written.numInsertedOrUpdatedRows ?? 0) === 0) return
    if (last) await own.set({ previous: id }).execute()
    const rows = [...new Set(items)].slice(0, MOST_ITEMS).map(item_id => ({ caller, item_id, kept_id: id }))
    if (rows.length === 0) return
    await trx
      .insertInto('kept_item')
      .values(rows)
      .onConflict(conflict => conflict.doNothing())
      .execute()
  })
  return sealed.length
}

/** Undefined if it was sealed with a removed key: then it counts as missing. */
async function opened(row: KeptTable, options: KeptOptions): Promise<KeptAnswer | undefined> {
  const answer = await answerOf(row, options)
  if (typeof answer !== 'string') return answer
  const input = await options.seal.open(row.sealed.slice(row.sealed.indexOf(BETWEEN) + 1), ownerOf(row.caller, row.id, 'input'))
  return input === undefined ? undefined : { input, answer }
}

/** The answer alone; both parts of a row of an earlier version, which sealed them together. */
async function answerOf({ sealed, caller, id }: KeptTable, { seal }: KeptOptions): Promise<string | KeptAnswer | undefined> {
  const end = sealed.indexOf(BETWEEN)
  if (end >= 0) return seal.open(sealed.slice(0, end), ownerOf(caller, id, 'answer'))
  const text = await seal.open(sealed, ownerOf(caller, id))
  if (text === undefined) return undefined
  const [input, answer] = JSON.parse(text) as [string, string]
  return { input, answer }
}

async function rowOf({ db }: Store, caller: string, id: string): Promise<KeptTable | undefined> {
  return db
    .selectFrom('kept')
    .selectAll()
    .where('id', '=', id)
    .where('caller', '=', caller)
    .where('expires_at', '>', Date.now())
    .executeTakeFirst()
}

/** Checks again for a moment: the caller may have got the answer before it was written. */
async function awaited<Value>(delays: readonly number[], look: () => Promise<Value>, isThere: (value: Value) => boolean): Promise<Value> {
  for (const delay of delays) {
    const value = await look()
    if (isThere(value)) return value
    await new Promise(done => setTimeout(done, delay))
  }
  return look()
}

export async function look(store: Store, options: KeptOptions, caller: string, id: string): Promise<KeptAnswer | null> {
  const row = await awaited(
    LOOKS,
    () => rowOf(store, caller, id),
    found => found !== undefined,
  )
  return (row && (await opened(row, options))) ?? null
}

/**
 * Replaces the text of an answer. False if it is not the given one any more, or gone: the caller looks again. Its lifetime stays: a
 * conversation would be there without its turns.
 */
export async function change(
  store: Store,
  options: KeptOptions,
  { caller, id, from, to }: { caller: string; id: string; from: string; to: string },
): Promise<boolean> {
  const row = await rowOf(store, caller, id)
  const was = row && (await opened(row, options))
  if (row === undefined || was === undefined) return false
  // The same message may come twice.
  if (was.answer === to) return true
  if (was.answer !== from) return false
  const sealed = await sealedOf({ caller, id, input: was.input, answer: to }, options.seal)
  const changed = await store.db
    .updateTable('kept')
    .set({ sealed, size: sealed.length })
    .where('caller', '=', caller)
    .where('id', '=', id)
    .where('sealed', '=', row.sealed)
    .executeTakeFirst()
  return Number(changed.numUpdatedRows) > 0
}

type Turn = Pick<KeptTable, 'id' | 'previous' | 'size'>

/** The turns up to an answer, first turn first, as far as they are there; one more than may be if there are too many. */
async function chainTo({ db }: Store, caller: string, id: string, most: number): Promise<Turn[]> {
  const now = Date.now()
  // In one question: a distant store would need too long for one about each turn. The caller comes from the turn, so that
  // Postgres looks for each turn by its id, and does not read all of the caller's.
  const { rows } = await sql<Turn>`
    with recursive turn(caller, id, previous, size, place) as (
      select caller, id, previous, size, 1 from kept where caller = ${caller} and id = ${id} and expires_at > ${now}
      union all
      select kept.caller, kept.id, kept.previous, kept.size, turn.place + 1
      from turn join kept on kept.caller = turn.caller and kept.id = turn.previous
      where kept.expires_at > ${now} and turn.place <= ${sql.lit(most)}
    )
    select id, previous, size from turn order by place desc`.execute(db)
  return rows
}

/** The rows of turns, in their order; fewer if some were removed meanwhile. */
async function rowsOf({ db }: Store, caller: string, turns: readonly Turn[]): Promise<KeptTable[]> {
  if (turns.length === 0) return []
  const ids = turns.map(({ id }) => id)
  const rows = await db.selectFrom('kept').selectAll().where('caller', '=', caller).where('id', 'in', ids).execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  return ids.flatMap(id => byId.get(id) ?? [])
}

/**
 * The conversation up to an answer, first turn first, whose answers start their lifetime anew. Null if it is too long; an overfull
 * one may be twice as long.
 */
export async function conversation(
  store: Store,
  options: KeptOptions,
  caller: string,
  id: string,
  isOverfull = false,
): Promise<KeptTurn[] | null> {
  const [mostTurns, mostText] = isOverfull ? [2 * MOST_TURNS, 2 * MOST_TEXT] : [MOST_TURNS, MOST_TEXT]
  const chain = await awaited(
    CONTINUATIONS,
    () => chainTo(store, caller, id, mostTurns),
    found => found.length > 0,
  )
  if (chain.length > mostTurns || chain.reduce((sum, { size }) => sum + size, 0) > mostText) return null
  const rows = await rowsOf(store, caller, chain)
  // A removed turn invalidates everything before it: half a conversation would be a different one. Meanwhile a turn may have come
  // before the row of a kept conversation, so its own beginning counts.
  if (rows.length < chain.length || chain[0]?.previous !== null) return []
  const turns: KeptTurn[] = []
  let length = 0
  for (const row of rows) {
    const turn = await opened(row, options)
    if (turn === undefined) return []
    turns.push({ id: row.id, ...turn })
    length += turn.input.length + turn.answer.length
    if (length > mostText) return null
  }
  await refresh(store, options, caller, rows)
  return turns
}

/** The answers with some items. Null if they are too long. */
export async function answersWithItems(
  store: Store,
  options: KeptOptions,
  caller: string,
  ids: readonly string[],
  isAwaited: boolean,
): Promise<KeptAnswer[] | null> {
  const { db } = store
  if (ids.length === 0) return []
  const find = () =>
    db
      .selectFrom('kept_item')
      .innerJoin('kept', join => join.onRef('kept.caller', '=', 'kept_item.caller').onRef('kept.id', '=', 'kept_item.kept_id'))
      .select(['item_id', 'kept_id', 'size', 'expires_at'])
      .where('kept_item.caller', '=', caller)
      .where('item_id', 'in', ids as string[])
      .where('expires_at', '>', Date.now())
      .execute()
  // The newest item is the one that may still be on its way.
  const found = await awaited(CONTINUATIONS, find, rows => !isAwaited || rows.some(row => row.item_id === ids.at(-1)))
  const kept = new Map(found.map(({ kept_id, size, expires_at }) => [kept_id, { id: kept_id, size, expires_at }]))
  if ([...kept.values()].reduce((sum, { size }) => sum + size, 0) > MOST_READ) return null
  const answers: KeptAnswer[] = []
  let length = 0
  for (const id of kept.keys()) {
    const row = await rowOf(store, caller, id)
    const part = row && (await answerOf(row, options))
    if (part === undefined) continue
    const answer = typeof part === 'string' ? part : part.answer
    // Only the answers are needed.
    answers.push({ input: '[]', answer })
    length += answer.length
    if (length > MOST_TEXT) return null
  }
  await refresh(store, options, caller, [...kept.values()])
  return answers
}

/**
 * Extends the lifetime of answers that are continued. Only after a tenth of the lifetime: otherwise each turn would write
 * to all turns before it.
 */
async function refresh(
  { db }: Store,
  options: KeptOptions,
  caller: string,
  rows: readonly Pick<KeptTable, 'id' | 'expires_at'>[],
): Promise<void> {
  const until = Date.now() + options.for
  const old = rows.filter(row => row.expires_at < until - options.for / 10).map(row => row.id)
  if (old.length === 0) return
  await db.updateTable('kept').set({ expires_at: until }).where('caller', '=', caller).where('id', 'in', old).execute()
}

export async function remove({ db }: Store, caller: string, id: string): Promise<boolean> {
  const removed = await db.deleteFrom('kept').where('id', '=', id).where('caller', '=', caller).executeTakeFirst()
  return Number(removed.numDeletedRows) > 0
}

/** Removes expired answers. */
export async function expire({ db }: Store): Promise<void> {
  await db.deleteFrom('kept').where('expires_at', '<=', Date.now()).execute()
}

/**
 * Removes answers if all together are too large, those first that were not continued for the longest. Only callers that keep
 * more than an equal share lose some: nobody can push out the answers of others. Returns how many were removed.
 */
export async function shrink({ db }: Store, size: number): Promise<number> {
  const { rows } = await sql<{ total: number | string | null }>`select sum(size) as total from kept`.execute(db)
  if (Number(rows[0]?.total ?? 0) <= size) return 0
  const sums = await db
    .selectFrom('kept')
    .select(['caller', row => row.fn.sum<number | string>('size').as('total')])
    .groupBy('caller')
    .execute()
  const share = shareOf(
    sums.map(({ total }) => Number(total)),
    size,
  )
  /** By caller, how much it keeps beyond the share. */
  const over = new Map(sums.flatMap(({ caller, total }) => (Number(total) > share ? [[caller, Number(total) - share]] : [])))
  let removed = 0
  let last: Place | undefined
  while (over.size > 0) {
    const oldest = await chunkAfter(db, last)
    if (oldest.length === 0) break
    last = oldest.at(-1)
    const gone = oldest.filter(({ caller, size }) => {
      const rest = over.get(caller)
      if (rest === undefined) return false
      if (rest > size) over.set(caller, rest - size)
      else over.delete(caller)
      return true
    })
    removed += gone.length
    await removeAll(db, gone)
    // Requests for keys and money must not wait for all of it.
    await turn()
  }
  return removed
}

/** The most that each may keep so that all together fit: who keeps less leaves the rest to others. */
function shareOf(totals: readonly number[], size: number): number {
  let rest = size
  let others = totals.length
  for (const total of totals.toSorted((one, other) => one - other)) {
    if (total * others >= rest) return rest / others
    rest -= total
    others--
  }
  return rest
}

type Place = Pick<KeptTable, 'expires_at' | 'caller' | 'id'>

/** The next answers in the order of their last continuation. */
function chunkAfter(db: Store['db'], last: Place | undefined): Promise<(Place & Pick<KeptTable, 'size'>)[]> {
  const chunk = db
    .selectFrom('kept')
    .select(['expires_at', 'caller', 'id', 'size'])
    .orderBy('expires_at')
    .orderBy('caller')
    .orderBy('id')
    .limit(CHUNK)
  if (last === undefined) return chunk.execute()
  return chunk
    .where(({ eb, refTuple, tuple }) => eb(refTuple('expires_at', 'caller', 'id'), '>', tuple(last.expires_at, last.caller, last.id)))
    .execute()
}

async function removeAll(db: Store['db'], places: readonly Place[]): Promise<void> {
  for (const caller of new Set(places.map(place => place.caller))) {
    const ids = places.filter(place => place.caller === caller).map(({ id }) => id)
    await db.deleteFrom('kept').where('caller', '=', caller).where('id', 'in', ids).execute()
  }
}
