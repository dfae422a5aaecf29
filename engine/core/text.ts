// Small facts about text.

import { isAscii } from 'node:buffer'
import { randomBytes } from 'node:crypto'

/** Bytes as text. Most bodies are ASCII throughout, which is cheaper to find out than to decode. */
export function textOf(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
}

/** Bytes as text in which each character is one byte; nothing where some are not ASCII. */
export function asciiOf(bytes: Buffer): string | undefined {
  return isAscii(bytes) ? bytes.toString('latin1') : undefined
}

const patterns = new WeakMap<readonly string[], RegExp>()

/** Whether any of some texts stands in a text. One pattern for all of them is one pass, and faster than a search for one. */
export function holdsAny(text: string, texts: readonly string[]): boolean {
  let pattern = patterns.get(texts)
  if (pattern === undefined) {
    pattern = new RegExp(texts.map(asPattern).join('|') || '(?!)')
    patterns.set(texts, pattern)
  }
  return pattern.test(text)
}

/** A pattern's source that matches a text as it stands. */
export function asPattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Whether a text is one of some patterns, where `*` is anything; everything is where there are none. */
export function matcher(patterns: readonly string[] | undefined): (text: string) => boolean {
  if (patterns === undefined) return () => true
  const tests = patterns.map(pattern => new RegExp(`^${pattern.split('*').map(asPattern).join('.*')}$`))
  return text => tests.some(test => test.test(text))
}

/**
 * How many characters a string has, where one outside the basic plane counts once. Of one that was left out nobody knows:
 * it has more than any schema allows, so that the whole is looked at.
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

/** What stands in the middle of a text that was left out: nothing that anybody could send, and no word of any pattern. */
const GAP = `\t\n${randomBytes(12).toString('hex')}\n\t`
const GAP_AS_JSON = JSON.stringify(GAP).slice(1, -1)

/** What stands for a text that was left out, as JSON: how it begins, in letters that need no escapes, and its bytes. */
export function omittedAsJson(head: string, bytes: number): string {
  return `"${head}${GAP_AS_JSON}${bytes}\\t"`
}

/** Whether something was left out in a value. */
export function isOmitted(value: unknown): boolean {
  if (typeof value === 'string') return value.includes(GAP)
  if (typeof value !== 'object' || value === null) return false
  for (const key in value) if (key.includes(GAP) || isOmitted((value as Record<string, unknown>)[key])) return true
  return false
}

/** The bytes of a text that was left out. */
function omittedBytes(text: string): number {
  return Number.parseInt(text.slice(text.indexOf(GAP) + GAP.length), 10)
}

/** How many bytes a text in base64 stands for; of one that was left out as many as it can be at most. */
export function base64Bytes(text: string): number {
  if (isOmitted(text)) return Math.floor((omittedBytes(text) * 3) / 4)
  return Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0)
}
