// Answers questions that workers ask the store for their callers.

import type { Question } from '../engine/control/messages.js'
import { NANO } from '../engine/core/usage.js'
import type { DayOfUsage, Questions } from '../engine/snapshot/model.js'
import { spentOf } from './budgets/accounts.js'
import { answersWithItems, change, conversation, type KeptOptions, keep, look, remove } from './kept/kept.js'
import type { Room } from './kept/room.js'
import { usage } from './ledger/queries.js'
import type { Keeper } from './store/keeper.js'
import { isOfValue } from './store/refused.js'

/** Rows of days and models in one answer. */
const MOST_ROWS = 10_000

type Answerers = { [Name in keyof Questions]: (asked: Questions[Name]['asked']) => Promise<Questions[Name]['told']> }

/** Answers the questions of workers. Rejects while the store is unreachable. */
export function createAnswerers(keeper: Keeper, options: KeptOptions, room: Room): (question: Question) => Promise<unknown> {
  /** The answers of each caller that are being written. Its next request may be about one of them, and waits for all. */
  const writing = new Map<string, Set<Promise<number>>>()
  const whenWritten = async <Found>(caller: string, find: () => Promise<Found>): Promise<Found> => {
    await Promise.allSettled(writing.get(caller) ?? [])
    return find()
  }
  const answerers: Answerers = {
    kept: ({ caller, id, isOverfull = false }) => whenWritten(caller, () => conversation(keeper.get(), options, caller, id, isOverfull)),
    items: ({ caller, ids, isAwaited }) => whenWritten(caller, () => answersWithItems(keeper.get(), options, caller, ids, isAwaited)),
    look: ({ caller, id }) => whenWritten(caller, () => look(keeper.get(), options, caller, id)),
    async keep(asked) {
      const { caller } = asked
      const kept = keep(keeper.get(), options, asked)
      const own = writing.get(caller) ?? new Set()
      writing.set(caller, own.add(kept))
      try {
        const length = await kept
        room.add(length)
        return length > 0
      } finally {
        own.delete(kept)
        if (own.size === 0) writing.delete(caller)
      }
    },
    change: asked => change(keeper.get(), options, asked),
    remove: ({ caller, id }) => remove(keeper.get(), caller, id),
    spent: ({ accounts }) => spentOf(keeper.get(), accounts),
    async days({ key, from, to }) {
      const rows = await usage(keeper.get(), { by: ['day', 'model'], key, model: undefined, from, to, limit: MOST_ROWS })
      const days = rows.map(row => ({
        day: row.day as string,
        time: Date.parse(row.day as string) / 1000,
        model: row.model as string | null,
        requests: row.n as number,
        input: row.input as number,
        output: row.output as number,
        cost: (row.cost as number) / NANO,
        charge: (row.charge as number) / NANO,
      }))
      return days.sort(inOrder)
    },
  }
  return async ({ name, asked }) => {
    await keeper.tried
    try {
      const answer = await (answerers[name] as (asked: unknown) => Promise<unknown>)(asked)
      keeper.succeeded()
      return answer
    } catch (error) {
      // The store was reached: only this question has no answer.
      if (isOfValue(error)) keeper.succeeded()
      else keeper.failed(error)
      throw error
    }
  }
}

const inOrder = (one: DayOfUsage, other: DayOfUsage): number =>
  one.day < other.day ? -1 : one.day > other.day ? 1 : (one.model ?? '') < (other.model ?? '') ? -1 : 1
