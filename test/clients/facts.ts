// The simulator's answers, and the parts that reach a client: the expectations that all clients share.

import { Ajv2020 } from 'ajv/dist/2020.js'
import { SIGNATURE, TEXT } from '../../cli/simulator/script.js'
import type { Lane } from './gateway.js'

export { SIGNATURE, TEXT }

export const THOUGHT = 'First the question is read, then the answer is written.'
export const UTF8 = 'Grüße, 世界! 🙂 Čau, 你好 🙃 naïve 🏳️‍🌈 konec.'

/** Answers that differ in how they come, not in what a client should make of them; the text, where it is known. */
export const TEXTS: [name: string, text?: string][] = [
  ['sim', TEXT],
  ['sim-5ms', TEXT],
  ['sim-64'],
  ['sim-4k'],
  ['sim-utf8', UTF8],
  ['sim-utf8-split-5', UTF8],
  ['sim-crlf', TEXT],
  ['sim-alive', TEXT],
  ['sim-empty', ''],
]

/** What a schema makes the simulator call its tool with: the first call, and the second one beside it. */
export const PARAMETERS = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, days: { type: 'integer' as const } },
  required: ['city', 'days'],
}
export const CALLS = [
  { city: 'text', days: 2 },
  { city: 'text 1', days: 3 },
]

/** A schema with what schemas of real tools have: references, variants, bounds, lists, values of several types. */
export const RICH = {
  type: 'object' as const,
  $defs: {
    place: { type: 'object', properties: { name: { type: 'string' }, zone: { enum: ['utc', 'local'] } }, required: ['name', 'zone'] },
  },
  properties: {
    place: { $ref: '#/$defs/place' },
    places: { type: 'array', items: { $ref: '#/$defs/place' } },
    unit: { anyOf: [{ type: 'string', enum: ['c', 'f'] }, { type: 'null' }] },
    note: { type: ['string', 'null'] },
    depth: { type: 'number', minimum: 0.5, maximum: 9 },
  },
  required: ['place', 'places', 'unit', 'note', 'depth'],
  additionalProperties: false,
}

const ajv = new Ajv2020({ strict: false })

/** Whether a value is what a schema accepts. */
export const fits = (schema: object, value: unknown): boolean => ajv.validate(schema, value)

/** Tokens that the simulator counts, in total: `input` includes what caches gave and took, `output` includes reasoning. */
export interface Tokens {
  input: number
  output: number
  cached: number
  /** Absent where the provider has no word for it. */
  written: number | undefined
  reasoning: number
}

export function tokensOf(name: string, lane: Lane): Tokens {
  const isCached = name.includes('cached')
  const reasoning = name.includes('reasoning') ? 10 : 0
  return {
    input: isCached ? 100 : 12,
    output: 14 + reasoning,
    cached: isCached ? 80 : 0,
    written: lane.speaks === 'generate' ? undefined : isCached ? 10 : 0,
    reasoning,
  }
}

/** Streams that fail before anything was said: a real status. */
export const FAILS_AT_ONCE = ['sim-fail-0', 'sim-cut-0', 'sim-malformed-1']

/** Streams that fail in the middle, with a pace and in one piece, with text, calls or reasoning. */
export const FAILS_LATER = [
  ...['sim-fail-3', 'sim-cut-4', 'sim-torn-4', 'sim-malformed-4', 'sim-noend'],
  ...['sim-fail-3-2ms', 'sim-cut-4-2ms', 'sim-torn-4-2ms', 'sim-malformed-4-2ms', 'sim-noend-2ms'],
  ...['sim-tools-fail-3', 'sim-tools-cut-3', 'sim-tools-noend', 'sim-reasoning-cut-3'],
]

/** The same for answers that are no stream: half a body. */
export const FAILS_WHOLE = ['sim-fail-3', 'sim-cut-4', 'sim-torn-4', 'sim-malformed-4', 'sim-html']
