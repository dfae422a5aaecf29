// Changes valid bytes: to bytes that are almost valid, and to unusual values.

import type { Random } from './random.js'

const TELLING = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '\\',
  '\n',
  '\r\n',
  '\n\n',
  'data: ',
  '\u0000',
  '\u2028',
  'null',
  '-',
  'e',
  '\\u',
  '\\ud800',
  '﻿',
]

/** JSON texts that replace another value. */
function oddValue(random: Random): string {
  const kinds: (() => string)[] = [
    () =>
      random.pick([
        'null',
        'true',
        'false',
        '0',
        '-1',
        '1e400',
        '-0',
        '1.5',
        '12345678901234567890',
        '""',
        '[]',
        '{}',
        '"\\ud800"',
        '"\\u0000"',
      ]),
    () => random.pick(['NaN', 'undefined', '01', '+1', "'text'", '.5', 'nul', '"\t"', '1e', '--1', '"\\x"']),
    () => random.pick(['{"__proto__":{"a":1}}', '{"constructor":{"prototype":{"a":1}}}', '{"toString":1,"length":-1}', '{"a":1,"a":2}']),
    () => JSON.stringify('x'.repeat(random.below(20_000))),
    () => '['.repeat(1 + random.below(400)) + ']'.repeat(1 + random.below(400)),
    () => nested(1 + random.below(300)),
    () => nested(5_000 + random.below(50_000)),
    () => JSON.stringify(Array.from({ length: random.below(5_000) }, (_, index) => index)),
    () => `{${Array.from({ length: random.below(2_000) }, (_, index) => `"k${index}":${index}`).join()}}`,
  ]
  return random.pick(kinds)()
}

function nested(depth: number): string {
  return `${'{"a":['.repeat(depth)}1${']}'.repeat(depth)}`
}

/** JSON with some of its values, or names, replaced. */
function reshaped(value: unknown, random: Random): string {
  let places = 0
  const count = (item: unknown): void => {
    places++
    if (typeof item === 'object' && item !== null) for (const inner of Object.values(item)) count(inner)
  }
  count(value)
  const chosen = new Set(Array.from({ length: 1 + random.below(3) }, () => random.below(places)))
  let at = -1
  const write = (item: unknown): string => {
    at++
    if (chosen.has(at)) {
      // What is below is not changed, but counted.
      if (typeof item === 'object' && item !== null) for (const inner of Object.values(item)) write(inner)
      return oddValue(random)
    }
    if (Array.isArray(item)) return `[${item.map(write).join()}]`
    if (typeof item !== 'object' || item === null) return JSON.stringify(item)
    const members = Object.entries(item).map(([name, inner]) => {
      const written = `${JSON.stringify(random.is(0.02) ? random.pick(['__proto__', 'constructor', '', name + name]) : name)}:${write(inner)}`
      return random.is(0.02) ? `${written},${written}` : written
    })
    return `{${members.join()}}`
  }
  return write(value)
}

/** Bytes with some of them changed, left out, doubled or put in. */
export function mutated(bytes: Buffer, random: Random): Buffer {
  let changed = Buffer.from(bytes)
  const times = 1 + random.below(4)
  for (let count = 0; count < times; count++) {
    const at = random.below(changed.length + 1)
    const span = random.below(random.is(0.2) ? 400 : 8)
    const [before, behind] = [changed.subarray(0, at), changed.subarray(at)]
    const parts: (() => Buffer[])[] = [
      () => [before, behind.subarray(span)],
      () => [before, behind.subarray(0, span), behind],
      () => [before, Buffer.from(random.pick(TELLING)), behind],
      () => [before, noise(random, span), behind],
      () => [before, noise(random, Math.min(span, behind.length)), behind.subarray(span)],
      () => [before],
    ]
    changed = Buffer.concat(random.pick(parts)())
  }
  return changed
}

/** So many bytes of anything. */
export function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.below(256)))
}

/** A body of JSON that is wrong in some way, or unusual, or right. */
export function wrongJson(value: unknown, random: Random): Buffer {
  const text = (): Buffer => Buffer.from(JSON.stringify(value))
  const kinds: (() => Buffer)[] = [
    () => Buffer.from(reshaped(value, random)),
    () => Buffer.from(reshaped(value, random)),
    () => mutated(text(), random),
    () => text().subarray(0, random.below(text().length)),
    () => noise(random, random.below(2_000)),
    () => Buffer.from(oddValue(random)),
    text,
  ]
  return random.pick(kinds)()
}
