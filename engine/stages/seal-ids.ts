// Seals ids on their way to the client: replaces a provider's id by the sealed one in the bytes, and leaves everything else
// unchanged. An id that is a number counts as its digits.

import { valueAt, valuesAt } from '../core/members.js'
import type { Json } from '../plan.js'
import type { Model } from '../snapshot/model.js'
import { keepDigits, releaseDigits } from '../wire/json/digits.js'
import { endOfString } from '../wire/json/end-of-string.js'
import { parseEvents } from '../wire/sse.js'
import type { Attempt } from './attempt.js'
import type { Rewriter } from './rewriter.js'

/** Undefined if the route has no ids to seal. */
export function idSealerOf({ route, binding, choice, exchange, snapshot }: Attempt): Rewriter | undefined {
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
  const { upstream } = binding.target
  const usual = { model: task?.model ?? binding.target.model, requested: task?.requested ?? exchange.log.model ?? '' }
  const learning =
    (paths: readonly (readonly string[])[]) =>
    (text: string): void => {
      const value: Json = JSON.parse(text)
      const made = choice.usable && sealedIds?.model !== undefined ? modelsIn(value, paths, sealedIds.model) : undefined
      const asked = made && askedAs(choice.usable ?? [], upstream)
      for (const id of idsIn(value, text, paths)) {
        if (names.has(id)) continue
        const model = made?.get(id)
        const requested = model === undefined ? undefined : asked?.get(model)
        const sealed = snapshot.sealer.seal(
          { upstream, ...(model === undefined || requested === undefined ? usual : { model, requested }), id },
          caller,
        )
        names.set(id, `${sealedIds?.prefix ?? ''}${sealed}`)
      }
    }
  // A short id may be an ordinary word of the answer, so it is replaced only as the value of an id member.
  const isId = (member: string | undefined): boolean => (members.size > 0 ? members.has(member ?? '') : member === 'id')
  return replacer(
    (id, member, isNumber) => ((id.length >= LONG && !isNumber) || isId(member) ? names.get(id) : undefined),
    sealedIds && learning(sealedIds.members),
    sealedIds?.events && sealedIds.events.length > 0 ? learning(sealedIds.events) : undefined,
  )
}

/** The model of each id at some paths of a value, by the member beside it. */
function modelsIn(value: Json, paths: readonly (readonly string[])[], member: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const path of paths)
    for (const holder of valuesAt(value, path.slice(0, -1))) {
      const { [path.at(-1) as string]: id, [member]: model } = Object(holder) as Record<string, unknown>
      if (isText(id) && isText(model)) found.set(id, model)
    }
  return found
}

/**
 * The models that have targets at an upstream, by its own names of them. A name that several models have leads to none:
 * nobody knows which of them was asked for.
 */
function askedAs(models: readonly Model[], upstream: string): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  for (const { name, targets } of models)
    for (const own of new Set(targets.filter(target => target.upstream === upstream).map(target => target.model)))
      found.set(own, found.has(own) ? undefined : name)
  return found
}

/** The ids at some paths of a value, which JSON text says. */
function idsIn(value: Json, text: string, paths: readonly (readonly string[])[]): string[] {
  const at = (whole: Json): unknown[] => paths.flatMap(path => valuesAt(whole, path))
  const found = at(value)
  if (!found.some(isNumber)) return found.filter(isText)
  // Read again, because JavaScript changes the digits of a long one.
  return at(JSON.parse(keepDigits(text)))
    .filter(id => isNumber(id) || isText(id))
    .map(id => releaseDigits(String(id)))
}

const isNumber = (value: unknown): value is number => typeof value === 'number'
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Learns the ids in JSON text; throws if it is none. */
type Learn = (text: string) => void

/** Replaces the ids of a whole answer, or of events, after the ids in each were learned: there may be none to learn. */
export function replacer(nameOf: NameOf, learnWhole: Learn | undefined, learnEvent: Learn | undefined): Rewriter {
  const learned = (text: string, learn: Learn | undefined): string => {
    learn?.(text)
    return renamed(text, nameOf)
  }
  return {
    whole: text => learned(text, learnWhole),
    event: text => learned(text, learnEvent),
    block(text) {
      if (learnEvent)
        parseEvents(text, data => {
          try {
            learnEvent(data)
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
  const replace = (start: number, end: number, name: string | undefined): void => {
    if (name === undefined) return
    result += text.slice(copied, start) + JSON.stringify(name)
    copied = end
  }
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
      const number = NUMBER.exec(text)?.[0]
      if (number !== undefined) replace(value, value + number.length, nameOf(number, member, true))
    } else replace(at, end, nameOf(string, at === value ? member : undefined, false))
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
  return valuesAt(value, path).filter(isText)
}
