// Lists of numbers in the encoding that the client asked for: numbers, or base64 of little-endian 32-bit floats. An answer
// in that encoding passes untouched; another is rewritten list by list in its bytes, without parsing the rest.

import type { Json } from '../../plan.js'
import { forEachAt } from './scan.js'

const BRACKET = 0x5b
const QUOTE = 0x22

/**
 * The bytes of an answer with every list at a path as base64, or as numbers, and how many there are. Throws TypeError if a
 * list holds what is no number.
 */
export function reshape(bytes: Buffer, path: readonly string[], isBase64: boolean): { bytes: Buffer; count: number } {
  const parts: Buffer[] = []
  let from = 0
  let count = 0
  forEachAt(bytes, path, (start, end) => {
    count++
    if (bytes[start] !== (isBase64 ? BRACKET : QUOTE)) return
    parts.push(bytes.subarray(from, start))
    parts.push(
      Buffer.from(
        isBase64 ? `"${encode(floatsOf(bytes, start, end))}"` : `[${printed(decode(bytes.toString('latin1', start + 1, end - 1)))}]`,
      ),
    )
    from = end
  })
  if (parts.length === 0) return { bytes, count }
  parts.push(bytes.subarray(from))
  return { bytes: Buffer.concat(parts), count }
}

/** The same for a mapping's answer, whose lists hold numbers. */
export function encodeLists(value: Json, path: readonly string[]): Json {
  const [name, ...rest] = path
  if (name === undefined) return Array.isArray(value) ? encode(Float32Array.from(value as number[])) : value
  if (name === '[]') return Array.isArray(value) ? value.map(item => encodeLists(item, rest)) : value
  if (typeof value !== 'object' || value === null || !(name in value)) return value
  return { ...value, [name]: encodeLists((value as Record<string, Json>)[name], rest) }
}

/** The numbers of a list in JSON. */
function floatsOf(bytes: Buffer, start: number, end: number): Float32Array {
  const texts = bytes.toString('latin1', start + 1, end - 1).split(',')
  const floats = new Float32Array(texts.length === 1 && (texts[0] as string).trim() === '' ? 0 : texts.length)
  for (let index = 0; index < floats.length; index++) floats[index] = Number(texts[index])
  return numbers(floats)
}

function encode(floats: Float32Array): string {
  return Buffer.from(floats.buffer, floats.byteOffset, floats.byteLength).toString('base64')
}

function decode(text: string): Float32Array {
  // JSON may escape a slash with a backslash.
  const bytes = Buffer.from(text.replaceAll('\\', ''), 'base64')
  const floats = new Float32Array(Math.floor(bytes.length / 4))
  for (let index = 0; index < floats.length; index++) floats[index] = bytes.readFloatLE(index * 4)
  return numbers(floats)
}

/** The same floats. JSON has no other numbers than finite ones, and base64 would hide what was none. */
function numbers(floats: Float32Array): Float32Array {
  if (!floats.every(Number.isFinite)) throw new TypeError('a vector holds something that is no number')
  return floats
}

/** Nine digits distinguish any two 32-bit floats. */
function printed(floats: Float32Array): string {
  const texts: string[] = []
  for (const float of floats) texts.push(String(Number(float.toPrecision(9))))
  return texts.join(',')
}
