// Seals ids on their way to the client: replaces a provider's id by the sealed one in the bytes, and leaves everything else
// unchanged. An id that is a number counts as its digits.

import { valueAt } from '../core/members.js'
import { asPattern } from '../core/text.js'
import type { Json, SealedIds } from '../plan.js'
import { endOfString } from '../wire/json/end-of-string.js'
import { parseEvents } from '../wire/sse.js'
import type { Attempt } from './attempt.js'

/** Replaces ids in an answer. */
export interface IdSealer {
  whole(text: string): string
  /** Whole events of a stream. */
  block(text: string): string
  /** The JSON of one event of a stream. */
  event(text: string): string
}

/** Undefined if the route has no ids to seal. */
export function idSealerOf({ route, binding, choice, exchange, snapshot }: Attempt): IdSealer | undefined {
  const { sealedIds, follow } = route
  const { task } = choice
  if (sealedIds === undefined && task === undefined) return undefined
  // Answers kept here, or nowhere, are never looked up at the upstream.
  if (task === undefined && binding.keepsHere && !sealedIds?.isMapped) return undefined
  const caller = exchange.log.key ?? ''
  // The provider's id → the client's id.
  const names = new Map<string, string>()
  const members = new Set([...(sealedIds?.members ?? []), ...(sealedIds?.events ?? [])].map(path => path.at(-1) as string))
  if (task && follow) {
    const given = follow.from === 'body' ? choice.given : valueAt(follow, {}, exchange)
    if (typeof given === 'string') names.set(task.id, given)
  }
  const learning =
    (paths: readonly (readonly string[])[]) =>
    (value: Json): void => {
      for (const path of paths) {
        for (const id of textsAt(value, path)) {
          if (names.has(id)) continue
          const sealed = snapshot.sealer.seal(
            {
              upstream: binding.target.upstream,
              model: task?.model ?? binding.target.model,
              requested: task?.requested ?? exchange.log.model ?? '',
              id,
            },
            caller,
          )
          names.set(id, `${sealedIds?.prefix ?? ''}${sealed}`)
        }
      }
    }
  // A short id may be an ordinary word of the answer, so it is replaced only as the value of an id member.
  const isId = (member: string | undefined): boolean => (members.size > 0 ? members.has(member ?? '') : member === 'id')
  return replacer(
    (id, member, isNumber) => ((id.length >= LONG && !isNumber) || isId(member) ? names.get(id) : undefined),
    sealedIds && learning(sealedIds.members),
    sealedIds?.events && sealedIds.events.length > 0 ? learning(sealedIds.events) : undefined,
    sealedIds && numbersOf(sealedIds, members),
  )
}

/** Finds the numbers that are values of the members, in JSON text. */
function numbersOf(sealedIds: SealedIds, members: ReadonlySet<string>): RegExp {
  let numbers = patterns.get(sealedIds)
  if (numbers === undefined) {
    const names = [...members].map(name => asPattern(JSON.stringify(name))).join('|')
    numbers = new RegExp(`(?<!\\\\)(${names})(\\s*:\\s*)(-?\\d+)(?=[\\s,}])`, 'g')
    patterns.set(sealedIds, numbers)
  }
  return numbers
}

const patterns = new WeakMap<SealedIds, RegExp>()

type Learn = (value: Json) => void

/**
 * Replaces the ids of a whole answer, or of events, after the ids in each were learned: there may be none to learn. `numbers`
 * finds those that are numbers; they are learned as texts, because a number would lose digits.
 */
export function replacer(nameOf: NameOf, learnWhole: Learn | undefined, learnEvent: Learn | undefined, numbers?: RegExp): IdSealer {
  const parsed = (text: string): Json => JSON.parse(numbers ? text.replace(numbers, '$1$2"$3"') : text)
  const learned = (text: string, learn: Learn | undefined): string => {
    learn?.(parsed(text))
    return renamed(text, nameOf)
  }
  return {
    whole: text => learned(text, learnWhole),
    event: text => learned(text, learnEvent),
    block(text) {
      if (learnEvent)
        parseEvents(text, data => {
          try {
            learnEvent(parsed(data))
          } catch {
            // Another stage judges what is not JSON.
          }
        })
      return renamed(text, nameOf)
    },
  }
}

/** Characters from which a text counts as an id wherever it appears. */
const LONG = 12

/** The new text of a string, or of a member's number, from it and the member that it is the value of; undefined: it stays. */
type NameOf = (id: string, member: string | undefined, isNumber: boolean) => string | undefined

const NUMBER = /-?\d+(?=[\s,}])/y

/**
 * Replaces strings of JSON text, or of events with it, and whole numbers of members in one pass: an answer may hold many ids.
 * A provider may escape any character of them. Names of members stay.
 */
export function renamed(text: string, nameOf: NameOf): string {
  let result = ''
  let copied = 0
  let member: string | undefined
  /** Where the value of the member begins. */
  let value = -1
  let lineEnd = -1
  for (let at = text.indexOf('"'); at >= 0; ) {
    if (lineEnd < at) lineEnd = text.indexOf('\n', at) >>> 0
    const end = endOfString(text, at)
    // No string of JSON goes on in the next line: the quote was in something else.
    if (end < 0 || end > lineEnd + 1) {
      if (lineEnd >= text.length) break
      at = text.indexOf('"', lineEnd)
      continue
    }
    const next = afterSpace(text, end)
    const string = textIn(text, at, end)
    if (text[next] === ':') {
      member = string
      value = afterSpace(text, next + 1)
      NUMBER.lastIndex = value
      const number = mayBeNumber(text.charCodeAt(value)) ? NUMBER.exec(text)?.[0] : undefined
      const name = number === undefined ? undefined : nameOf(number, member, true)
      if (name !== undefined) {
        result += text.slice(copied, value) + JSON.stringify(name)
        copied = NUMBER.lastIndex
      }
    } else {
      const name = nameOf(string, at === value ? member : undefined, false)
      if (name !== undefined) {
        result += text.slice(copied, at) + JSON.stringify(name)
        copied = end
      }
    }
    at = text.indexOf('"', end)
  }
  return copied === 0 ? text : result + text.slice(copied)
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (text.charCodeAt(at) <= SPACE) at++
  return at
}

const SPACE = 0x20

/** `-` or a digit. */
const mayBeNumber = (code: number): boolean => code === 0x2d || (code >= 0x30 && code <= 0x39)

/** The text that a JSON string stands for; `end` is behind its last quote. */
function textIn(text: string, start: number, end: number): string {
  const inside = text.slice(start + 1, end - 1)
  if (!inside.includes('\\')) return inside
  try {
    return JSON.parse(`"${inside}"`)
  } catch {
    return inside
  }
}

/** The texts at a path. */
export function textsAt(value: Json, path: readonly string[]): string[] {
  return valuesAt(value, path).filter((item): item is string => typeof item === 'string' && item !== '')
}

/** The values at a path, where `[]` stands for each element of a list. */
export function valuesAt(value: Json, path: readonly string[]): unknown[] {
  let found: unknown[] = [value]
  for (const name of path) {
    found = found.flatMap(item =>
      name === '[]'
        ? Array.isArray(item)
          ? item
          : []
        : typeof item === 'object' && item !== null
          ? [(item as Record<string, unknown>)[name]]
          : [],
    )
  }
  return found
}
