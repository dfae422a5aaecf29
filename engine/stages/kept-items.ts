// What is read of kept answers, wherever they are used.

import { MOST_TEXT, MOST_TURNS } from '../control/kept-bounds.js'
import { GatewayError } from '../core/errors.js'
import { memberAt } from '../core/members.js'
import { storable } from '../core/text.js'
import type { Json, KeepRule } from '../plan.js'
import type { KeptAnswer } from '../snapshot/model.js'

/** Characters of an id under which something is kept: an index of Postgres holds no text of any length. */
const LONGEST_KEPT_ID = 512

/** What the ids of conversations, and of their turns, begin with in the store. */
const CONVERSATION = 'conversation/'

/** The id in the store of a conversation, or of a turn in one: clients cannot request it as that of an answer. */
export const conversationId = (id: string): string => `${CONVERSATION}${id}`

/** Whether anything can be kept under an id. The store is not asked for any other: some stores refuse the question. */
export function isKeptId(id: unknown): id is string {
  return typeof id === 'string' && id.length <= LONGEST_KEPT_ID && storable(id) === id && !id.startsWith(CONVERSATION)
}

/** A short request may refer to a long conversation: its memory counts like that of a body which holds all of it. */
export function lengthOf(answers: readonly KeptAnswer[]): number {
  return answers.reduce((sum, { input, answer }) => sum + input.length + answer.length, 0)
}

export function outputOf(keep: KeepRule, { answer }: KeptAnswer): Json[] {
  return listOf(keep.output(JSON.parse(answer)))
}

export function listOf(value: Json): Json[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
}

/** The refusal of a request whose earlier items are too many, with the member that refers to them. */
export function tooLong(param: string | undefined): GatewayError {
  return new GatewayError('too_large', 'The conversation that this request continues is too long: begin another one.', { param })
}

/** Whether no turn with so many bytes may follow. A longer conversation can still be read. */
export function isFull(turns: readonly KeptAnswer[], more: number): boolean {
  return turns.length >= MOST_TURNS || lengthOf(turns) + more > MOST_TEXT
}

/** The refusal that a route's expression made. */
export function refusedOf(refused: Json): GatewayError {
  const isMissing = memberAt(refused, ['missing']) === true
  const text = (name: string): string | undefined => memberAt(refused, [name])?.toString()
  const more = { param: text('param'), code: memberAt(refused, ['code']) === null ? null : text('code') }
  return new GatewayError(isMissing ? 'not_found' : 'invalid_request', text('message') ?? 'Invalid request.', more)
}
