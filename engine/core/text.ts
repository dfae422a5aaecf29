// Small facts about text.

import { isAscii } from 'node:buffer'
import { randomBytes } from 'node:crypto'

/** The part of an id that a message or the log holds, if a client or a provider chose it: characters. */
export const LONGEST_ID = 128

/** Base64 has four characters for three bytes. */
export const AS_BASE64 = 4 / 3

/** Bytes as text. Most bodies are pure ASCII, and checking that is cheaper than decoding. */
export function textOf(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
}

const PLAIN_VALUE = /^[\t\x20-\x7e]*$/

/** Whether the value of a header is the same text on both sides, whatever the encoding. */
export const isPlainValue = (value: string): boolean => PLAIN_VALUE.test(value)

/** Control characters, some of which no store can hold and terminals obey, and unpaired surrogates. */
const NO_TEXT = /[\0-\x1f\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** A text that a store can hold: a name that it would change is none. */
export const storable = (text: string): string => text.replaceAll(NO_TEXT, '\ufffd')

/** The source of a pattern that matches exactly a text. */
export function asPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** A predicate for texts that match one of some patterns, where `*` stands for anything; without patterns all texts match. */
export function matcher(patterns: readonly string[] | undefined): (text: string) => boolean {
  if (patterns === undefined) return () => true
  const tests = patterns.map(wildcard)
  return text => tests.some(test => test(text))
}

/**
 * A predicate for texts that match a pattern, where `*` stands for anything. Whoever manages keys writes patterns, so there is no
 * RegExp: with many stars it would take exponential time.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first, ...parts] = pattern.split('*') as [string, ...string[]]
  const last = parts.pop()
  if (last === undefined) return text => text === pattern
  const least = pattern.length - parts.length - 1
  return text => {
    if (text.length < least || !text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    for (const part of parts) {
      const at = text.indexOf(part, from)
      if (at < 0) return false
      from = at + part.length
    }
    return from <= text.length - last.length
  }
}

/**
 * The length of a string in code points. An omitted string has more than any schema allows, so that the checker reads it
 * whole.
 */
export function codePointLength(text: string): number {
  const { length } = text
  if (isOmitted(text)) return Number.POSITIVE_INFINITY
  let count = length
  for (let index = 0; index < length - 1; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code <= 0xdbff) {
      const next = text.charCodeAt(index + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--
        index++
      }
    }
  }
  return count
}

/**
 * The middle of the placeholder for an omitted text: characters that JSON text cannot hold unescaped, and random ones that
 * nobody can guess.
 */
const GAP = `\t\n${randomBytes(12).toString('hex')}\n\t`
const GAP_AS_JSON = JSON.stringify(GAP).slice(1, -1)

/** The placeholder for an omitted text, as JSON: its beginning, in letters that need no escapes, and its length in bytes. */
export function omittedAsJson(head: string, bytes: number): string {
  return `"${head}${GAP_AS_JSON}${bytes}\\t"`
}

/** Whether a value holds a placeholder for an omitted text. */
export function isOmitted(value: unknown): boolean {
  if (typeof value === 'string') return value.includes(GAP)
  if (typeof value !== 'object' || value === null) return false
  for (const key in value) if (key.includes(GAP) || isOmitted((value as Record<string, unknown>)[key])) return true
  return false
}

/** The length of an omitted text: bytes. */
function omittedBytes(text: string): number {
  return Number.parseInt(text.slice(text.indexOf(GAP) + GAP.length), 10)
}

/** How many bytes a base64 text stands for; of an omitted text, the most that it can stand for. */
export function base64Bytes(text: string): number {
  if (isOmitted(text)) return Math.floor((omittedBytes(text) * 3) / 4)
  return Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
}
