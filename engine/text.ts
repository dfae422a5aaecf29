// Small facts about text.

import { isAscii } from 'node:buffer'

/** Bytes as text. Most bodies are ASCII throughout, which is cheaper to find out than to decode. */
export function textOf(bytes: Buffer): string {
  return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
}

/** How many characters a string has, where one outside the basic plane counts once. */
export function codePointLength(text: string): number {
  const { length } = text
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
