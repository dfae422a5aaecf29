// Helpers for the tables of all dialects.

import type { Conversation, Turn, Values } from './table.js'

export const list = (value: unknown): Values[] => (Array.isArray(value) ? (value as Values[]) : [])
export const object = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
export const string = (value: unknown): string => (typeof value === 'string' ? value : '')
/** The text of a content that may be a list of parts. */
export const textIn = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : list(content)
        .map(part => string(part.text))
        .join('')
export const number = (value: unknown): number => (typeof value === 'number' ? value : 0)

/** Without members that are null, empty or not there: in an answer all of them say nothing. */
export function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, item]): [string, unknown] => [name, pruned(item)])
      .filter(([, item]) => item !== undefined && item !== null && item !== '' && !(Array.isArray(item) && item.length === 0)),
  )
}

/** What a text of arguments means; text that is no object says what it says. */
export function parsed(text: string): unknown {
  try {
    // Twice: a number beyond all bounds is null on the wire.
    const value: unknown = JSON.parse(JSON.stringify(JSON.parse(text === '' ? '{}' : text)))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}

/** A call whose arguments are a text. */
export function called(name: unknown, text: unknown): { name: string; arguments: unknown; bytes: string } {
  const bytes = string(text)
  const isObject = /^\s*\{/.test(bytes) && JSON.stringify(parsed(bytes)) !== '{}'
  return {
    name: string(name),
    arguments: isObject || /^\s*(\{\s*\})?\s*$/.test(bytes) ? parsed(bytes) : null,
    bytes: bytes === '' ? '{}' : bytes,
  }
}

/** The arguments of a call that was not cut: the last of an answer that ended early may be no call at all. */
export const uncut = (text: unknown, isCut: boolean): string =>
  isCut && (string(text).trim() === '' || called('', text).arguments === null) ? '{}' : string(text)

/** At least so many as its parts. */
export const atLeast = (count: unknown, ...parts: unknown[]): number =>
  Math.max(
    number(count),
    parts.map(number).reduce((sum, part) => sum + part, 0),
  )

/** Ids that differ, since a provider's do. */
export const numbered = (prefix: string, index: number): string => `${prefix}_${String(index).padStart(3, '0')}`

/** Calls whose arguments are a text. */
export const callsInText = (calls: Extract<Turn, { by: 'model' }>['calls']): Values[] =>
  calls.map(({ id, name, arguments: given }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(given) } }))

/** The tools of a request that wraps each in a `function`, as `functionsIn` reads them. */
export const wrapped = (tools: Conversation['tools']): Values[] =>
  tools.map(({ name, description, schema }) => ({
    type: 'function',
    function: { name, ...(description && { description }), parameters: schema },
  }))

/** The tools of a request that wraps each in a `function`. */
export function functionsIn(tools: unknown): { name: string; description?: string; schema: Values }[] {
  return list(tools).map(tool => {
    const { name, description, parameters } = object(tool.function)
    return { name: string(name), ...(string(description) && { description: string(description) }), schema: object(parameters) }
  })
}

/** What is wrong with the heads of an Ollama stream: all of its lines have the same. */
export function unlikeHeads(events: readonly Values[]): string[] {
  const heads = new Set(events.map(({ model, created_at }) => JSON.stringify([model, created_at])))
  return heads.size > 1 ? [`lines differ in model or created_at: ${[...heads].join(' ')}`] : []
}
