// Reads the input of a command from stdin or a file: JSON, YAML, or recorded events of a stream.

import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { jsonOr } from '../../engine/wire/json/parse.js'
import { parseEvents } from '../../engine/wire/sse.js'
import { UsageError } from '../output.js'

/** The text of a file, or of stdin for `-`. Throws a UsageError if it cannot be read. */
export function readInput(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch {
    throw new UsageError(`${path === '-' ? 'stdin' : path} cannot be read.`)
  }
}

/** A JSON or YAML value. Throws a UsageError if the text is neither. */
export function valueIn(text: string, what: string): unknown {
  try {
    // JSON first: YAML would read some of its numbers differently.
    return JSON.parse(text)
  } catch {
    try {
      return load(text)
    } catch (error) {
      throw new UsageError(`${what} is neither JSON nor YAML: ${String((error as { reason?: string }).reason ?? 'it cannot be parsed')}.`)
    }
  }
}

/**
 * The events of a stream: server-sent events, a list, one JSON value per line, or YAML documents of one event. Data that is
 * not JSON (a sentinel) is skipped.
 */
export function eventsIn(text: string): unknown[] {
  if (/^\s*(?:data|event|id|retry)?:/m.test(text.slice(0, 4096)) && /^data:/m.test(text)) {
    const events: unknown[] = []
    parseEvents(text.endsWith('\n\n') ? text : `${text}\n\n`, data => {
      const event = jsonOr(data, undefined)
      if (event !== undefined) events.push(event)
    })
    return events
  }
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const each = lines.map(line => jsonOr(line, undefined))
  if (each.length > 1 && each.every(event => event !== undefined)) return each
  const value = valueIn(text, 'the stream')
  return Array.isArray(value) ? value : [value]
}
