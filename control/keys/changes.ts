// Reports changes in the store to the caches of keys: at once after a write of this process, on a notification, and after
// `POLL` in any case.

import type { Keeper } from '../store/keeper.js'
import type { Store } from '../store/store.js'

/** Milliseconds. */
const POLL = 300
/** More changes are reported as one. */
const MOST = 10_000

export interface Forgotten {
  seq: number
  keys: number[]
  secrets: string[]
  /** Keys whose requests under way must end. */
  ended: number[]
  /** Accounts whose unused money another instance wants: ids of their names. */
  recalled: number[]
}

export interface Changes {
  /** The position of the last reported change. */
  readonly seq: number
  /** Checks now; resolves when the present changes have been reported. */
  check(): Promise<void>
  /** The changes since a position; undefined if there are too many. */
  since(seq: number): Promise<Forgotten | undefined>
  close(): Promise<void>
}

export interface ChangesOptions {
  /** The last change that an earlier process reported. */
  reported?: number | undefined
  onForget(forgotten: Forgotten): void
  /** Another instance wants the unused money of an account. */
  onRecall(account: string): void
  /** Runs after every check: everything up to `seq` has been reported. */
  onCertain(seq: number): void
}

export async function followChanges(store: Store, keeper: Keeper, options: ChangesOptions): Promise<Changes> {
  const newest = await store.db
    .selectFrom('change')
    .select(expression => expression.fn.max('seq').as('seq'))
    .executeTakeFirst()
  // A store that was restored may not have it any more.
  let seq = Math.min(options.reported ?? Number.POSITIVE_INFINITY, newest?.seq ?? 0)
  let checking: Promise<void> | undefined
  let isRequestedAgain = false
  const check = async (): Promise<void> => {
    try {
      const forgotten = await read(store, seq)
      keeper.succeeded()
      if (forgotten.seq > seq) {
        seq = forgotten.seq
        options.onForget(forgotten)
        for (const id of forgotten.recalled) {
          const account = await store.names.textOf(id)
          if (account !== undefined) options.onRecall(account)
        }
      }
      options.onCertain(seq)
    } catch (error) {
      keeper.failed(error)
    }
  }
  /** One check at a time; a call during a check gets a check that begins afterwards. */
  const checkOnce = async (): Promise<void> => {
    while (checking) {
      isRequestedAgain = true
      await checking
      if (!isRequestedAgain) return checking
    }
    isRequestedAgain = false
    checking = check().finally(() => {
      checking = undefined
    })
    return checking
  }
  await checkOnce()
  const timer = setInterval(() => void checkOnce(), POLL)
  const listener = await store.onChange(() => void checkOnce())
  return {
    get seq() {
      return seq
    },
    check: checkOnce,
    async since(from) {
      const forgotten = await read(store, from)
      return forgotten.keys.length >= MOST || forgotten.seq < seq ? undefined : forgotten
    },
    async close() {
      clearInterval(timer)
      await listener.close()
      await checking
    },
  }
}

async function read({ db }: Store, from: number): Promise<Forgotten> {
  const rows = await db
    .selectFrom('change')
    .select(['seq', 'kind', 'subject_id', 'is_now'])
    .where('seq', '>', from)
    .orderBy('seq')
    .limit(MOST)
    .execute()
  const teams = [...new Set(rows.filter(row => row.kind === 'team').map(row => row.subject_id))]
  const theirs =
    teams.length === 0
      ? []
      : await db.selectFrom('key').innerJoin('team', 'team.name', 'key.team').select('key.id').where('team.id', 'in', teams).execute()
  const keys = [...new Set([...rows.filter(row => row.kind === 'key').map(row => row.subject_id), ...theirs.map(row => row.id)])]
  const secrets: { sha256: string }[] = []
  for (let index = 0; index < keys.length; index += MOST)
    secrets.push(
      ...(await db
        .selectFrom('key_secret')
        .select('sha256')
        .where('key_id', 'in', keys.slice(index, index + MOST))
        .execute()),
    )
  return {
    seq: rows.at(-1)?.seq ?? from,
    keys,
    secrets: secrets.map(row => row.sha256),
    ended: rows.filter(row => row.is_now === 1).map(row => row.subject_id),
    recalled: [...new Set(rows.filter(row => row.kind === 'recall').map(row => row.subject_id))],
  }
}
