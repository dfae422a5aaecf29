// Seals ids on their way to the client: replaces a provider's id by the sealed one in the bytes, and leaves everything else
// unchanged.

import { valueAt } from '../core/members.js'
import { asPattern } from '../core/text.js'
import type { Json } from '../plan.js'
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
  // The provider's id → the client's id, both as they appear in JSON.
  const names = new Map<string, string>()
  const members = new Set([...(sealedIds?.members ?? []), ...(sealedIds?.events ?? [])].map(path => path.at(-1) as string))
  if (task && follow) {
    const given = follow.from === 'body' ? choice.given : valueAt(follow, {}, exchange)
    if (typeof given === 'string') names.set(JSON.stringify(task.id), JSON.stringify(given))
  }
  const learn = (value: Json, paths: readonly (readonly string[])[]): void => {
    for (const path of paths) {
      for (const id of textsAt(value, path)) {
        const quoted = JSON.stringify(id)
        if (names.has(quoted)) continue
        const sealed = snapshot.sealer.seal(
          {
            upstream: binding.target.upstream,
            model: task?.model ?? binding.target.model,
            requested: task?.requested ?? exchange.log.model ?? '',
            id,
          },
          caller,
        )
        names.set(quoted, JSON.stringify(`${sealedIds?.prefix ?? ''}${sealed}`))
      }
    }
  }
  const replaced = (text: string): string => {
    let result = text
    for (const [name, sealed] of names) {
      if (!result.includes(name)) continue
      // A short id may be an ordinary word of the answer, so it is replaced only as the value of an id member.
      if (name.length >= LONG) result = result.replaceAll(name, () => sealed)
      else result = result.replaceAll(memberValue(members, name), (_whole, before: string) => before + sealed)
    }
    return result
  }
  const events = sealedIds?.events ?? []
  return {
    whole(text) {
      if (sealedIds) learn(JSON.parse(text), sealedIds.members)
      return replaced(text)
    },
    block(text) {
      parseEvents(text, data => {
        if (events.length === 0) return
        try {
          learn(JSON.parse(data), events)
        } catch {
          // Another stage judges what is not JSON.
        }
      })
      return replaced(text)
    },
    event(text) {
      if (events.length > 0) learn(JSON.parse(text), events)
      return replaced(text)
    },
  }
}

/** Characters, quotes included, from which a text counts as an id wherever it appears. */
const LONG = 14

function memberValue(members: ReadonlySet<string>, quoted: string): RegExp {
  const escaped = [...(members.size > 0 ? members : ['id']), quoted].map(asPattern)
  const value = escaped.pop() as string
  return new RegExp(`("(?:${escaped.join('|')})"\\s*:\\s*)${value}`, 'g')
}

/** The text that a JSON string stands for. */
export function textIn(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return quoted
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
