// The halves of dialects use only the terms of schemas/conversation.yaml.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import jsonata from 'jsonata'
import { describe, expect, test } from 'vitest'
import type * as ProjectModule from '../../codegen/read/project.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { readProject } = (await import(built('codegen/read/project.js'))) as typeof ProjectModule

const project = readProject([root])
const words = load(readFileSync(join(root, 'schemas/conversation.yaml'), 'utf8')) as { $defs: { stop: { oneOf: { const: string }[] } } }
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(words, 'conversation')
const stops = words.$defs.stop.oneOf.map(({ const: word }) => word).sort()

/** The part of a schema that lists the members of a term. */
interface Term {
  $ref?: string
  items?: Term
  properties?: Record<string, Term>
}

const parts = [...project.parts.values()]
const having = (name: string): typeof parts => parts.filter(({ data }) => data.functions[name] !== undefined)

/** What a function of a part gives for some values, by the interpreter. */
async function called(part: (typeof parts)[number], name: string, ...values: unknown[]): Promise<unknown> {
  const functions = [...[...project.library].map(([key, { text }]) => [key, text]), ...Object.entries(part.data.functions)]
  const source = `(${functions.map(([key, text]) => `$${key} := ${text};`).join('\n')} $${name}(${values.map((_, index) => `$value${index}`).join(', ')}))`
  const given = await jsonata(source).evaluate(
    {},
    { ...Object.fromEntries(values.map((value, index) => [`value${index}`, value])), tables: part.data.tables ?? {} },
  )
  return given === undefined ? undefined : JSON.parse(JSON.stringify(given))
}

/** Usage in the form of each provider, and with a value that is no number. */
const COUNTS = [
  {},
  { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12, prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 1 } },
  { prompt_tokens: 7, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 2 } },
  { input_tokens: 7, output_tokens: 5, cache_creation_input_tokens: 1, cache_read_input_tokens: 3 },
  { input_tokens: 7, output_tokens: 5, output_tokens_details: { thinking_tokens: 2, reasoning_tokens: 2 }, total_tokens: 12 },
  { promptTokenCount: 7, candidatesTokenCount: 5, thoughtsTokenCount: 2, cachedContentTokenCount: 3, toolUsePromptTokenCount: 1 },
  { promptTokenCount: 7, promptTokensDetails: [{ modality: 'AUDIO', tokenCount: 4 }] },
  { input_tokens: 'many', prompt_tokens: 'many', promptTokenCount: 7 },
]

describe('a half of a dialect', () => {
  for (const part of having('read_stop')) {
    test(`${part.name} reads stop reasons into known terms`, async () => {
      const read = Object.values(part.data.tables?.read_stops ?? {})
      expect(read.length).toBeGreaterThan(2)
      expect(read.filter(word => !stops.includes(String(word)))).toEqual([])
      for (const given of [undefined, null, 'no such word', {}, { status: 'incomplete' }, { status: 'failed' }])
        expect(stops).toContain(await called(part, 'read_stop', given))
    })
  }

  for (const part of having('write_stop')) {
    test(`${part.name} writes every known stop reason`, async () => {
      expect(Object.keys(part.data.tables?.write_stops ?? {}).sort()).toEqual(stops)
      for (const stop of stops) expect(await called(part, 'write_stop', stop)).toBeTruthy()
    })
  }

  test('names and lacks only terms of a request', () => {
    const all = words.$defs as unknown as Record<string, Term>
    /** What a term has, wherever its schema is. */
    const membersOf = ({ $ref, items, properties }: Term): Record<string, Term> =>
      properties ?? (items ? membersOf(items) : $ref ? membersOf(all[$ref.slice('#/$defs/'.length)] as Term) : {})
    const isTerm = (path: string): boolean => {
      let at: Term | undefined = all.ask
      for (const name of path.split('.')) at = at && membersOf(at)[name]
      return at !== undefined
    }
    for (const key of ['terms', 'lacks'] as const) {
      const naming = parts.filter(({ data }) => data[key] !== undefined)
      expect(naming.length).toBeGreaterThan(3)
      expect(
        naming.flatMap(({ name, data }) => Object.keys(data[key] ?? {}).flatMap(path => (isTerm(path) ? [] : [`${name}: ${path}`]))),
      ).toEqual([])
    }
  })

  /** What clients ask for, by their half; a half of another name has no request here and fails. */
  const ASKED: Record<string, { thinking: unknown[][]; form: unknown[] }> = {
    'chat/client/common': {
      thinking: [
        [{}],
        [{ reasoning_effort: 'none' }],
        [{ thinking: { type: 'enabled', budget_tokens: 2000 } }],
        [{ thinking: { type: 'disabled' } }],
      ],
      form: [
        {},
        { response_format: { type: 'json_object' } },
        { response_format: { type: 'json_schema', json_schema: { name: 'a', strict: null, schema: {} } } },
      ],
    },
    'messages/client/common': {
      thinking: [
        [undefined, undefined],
        [{ type: 'adaptive' }, 'of tomorrow'],
        [{ type: 'enabled', budget_tokens: 2000 }],
        [{ type: 'disabled' }, 'low'],
      ],
      form: [{}, { output_config: { format: { type: 'json_schema', schema: {} } } }, { output_format: { type: 'json_schema' } }],
    },
    'generate/client/common': {
      thinking: [[undefined], [{ thinkingBudget: 0 }], [{ thinkingBudget: -1 }], [{ thinkingLevel: 'HIGH', includeThoughts: true }]],
      form: [{}, { responseMimeType: 'application/json' }, { responseMimeType: 'text/x.enum', responseJsonSchema: { enum: ['a', 1] } }],
    },
    'responses/client/common': {
      thinking: [[undefined], [{ effort: 'xhigh' }], [{ summary: 'auto' }], [{ effort: 'low', summary: 'none' }]],
      form: [{}, { type: 'text' }, { type: 'json_object' }, { type: 'json_schema', name: 'a', schema: {}, strict: true }],
    },
    'cohere_chat/client/request': {
      thinking: [[undefined], [{ type: 'enabled', token_budget: 5 }], [{ type: 'disabled' }]],
      form: [{}, { type: 'text' }, { type: 'json_object' }, { type: 'json_object', json_schema: {} }, { type: 'json_object', schema: {} }],
    },
    ollama_client: { thinking: [[undefined], [true], [false], ['high'], ['odd']], form: [undefined, 'json', {}] },
  }
  for (const kind of ['thinking', 'form'] as const) {
    for (const part of having(`read_${kind}`)) {
      test(`${part.name} reads the requested ${kind} into known terms`, async () => {
        const isKnown = ajv.getSchema(`conversation#/$defs/${kind}`)
        let said = 0
        for (const given of ASKED[part.name]?.[kind] ?? []) {
          const read = await called(part, `read_${kind}`, ...(kind === 'thinking' ? (given as unknown[]) : [given]))
          if (read === undefined) continue
          said++
          expect(isKnown?.(read), ajv.errorsText(isKnown?.errors)).toBe(true)
        }
        expect(said).toBeGreaterThan(1)
      })
    }
  }

  for (const part of parts.filter(({ data }) => data.names !== undefined)) {
    test(`${part.name} makes names that the provider accepts, with room for a number at the end`, async () => {
      const { length } = part.data.names as { length: number }
      for (const name of [
        '',
        'a',
        'a.b:c/d e',
        '0',
        '-x',
        'ünïcode 工具',
        'x'.repeat(length),
        'x'.repeat(length + 1),
        `a.${'y'.repeat(300)}`,
      ]) {
        const made = await called(part, 'as_name', name)
        expect(await called(part, 'is_name', `${made}_9999`), `${made}_9999`).toBe(true)
        expect(await called(part, 'is_name', `${made}_`), `${made}_`).toBe(true)
      }
      expect(await called(part, 'is_name', 'x'.repeat(length))).toBe(true)
      for (const name of ['', 'a b', 'x'.repeat(length + 1)]) expect(await called(part, 'is_name', name)).toBe(false)
    })
  }

  for (const part of having('proof_of')) {
    test(`${part.name} returns a proof only to the provider that made it`, async () => {
      const isProof = ajv.getSchema('conversation#/$defs/proof')
      for (const block of [
        { type: 'thinking', thinking: 'Why?', signature: 'c2lnbmF0dXJl' },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
      ]) {
        const proof = await called(part, 'proof_of', block)
        expect(isProof?.(proof), ajv.errorsText(isProof?.errors)).toBe(true)
        const told = await called(part, 'told_thinking', 'Why?', proof, 'sluice.one.')
        expect(JSON.stringify(told)).toContain('sluice.one.')
        expect(await called(part, 'proof_in', told, 'sluice.one.')).toBe(proof)
        expect(await called(part, 'proof_in', told, 'sluice.two.')).toBeUndefined()
        expect(await called(part, 'own_thinking', 'Why?', proof)).toEqual(block)
      }
      // What proves a call goes back with the call.
      const call = await called(part, 'told_thinking', '', 'google:c2ln', 'sluice.one.')
      expect(await called(part, 'proof_in', call, 'sluice.one.')).toBe('google:c2ln')
      expect(await called(part, 'own_thinking', '', 'google:c2ln')).toBeUndefined()
      // Thoughts without a proof reach the client, but are not sent back.
      for (const block of [{ type: 'thinking', thinking: 'Why?' }, { type: 'redacted_thinking' }, { type: 'text', text: 'a' }])
        expect(await called(part, 'proof_of', block)).toBeUndefined()
    })
  }

  for (const part of having('read_usage')) {
    test(`${part.name} reads usage into known terms`, async () => {
      const isUsage = ajv.getSchema('conversation#/$defs/usage')
      for (const counts of COUNTS) {
        expect(isUsage?.(await called(part, 'read_usage', counts)), ajv.errorsText(isUsage?.errors)).toBe(true)
      }
    })
  }

  for (const part of having('write_usage')) {
    test(`${part.name} writes usage, also if some counts are absent`, async () => {
      for (const usage of [
        { input: 7, output: 5, cached: 0 },
        { input: 7, output: 5, cached: 3, written: 1, reasoning: 2, total: 12, audio_input: 1, audio_output: 1 },
      ]) {
        const told = JSON.stringify(await called(part, 'write_usage', usage))
        expect(told).toMatch(/\b(5|12)\b/)
        expect(told).not.toMatch(/null|NaN/)
      }
    })
  }
})

test('no function of a half is longer than 40 lines', () => {
  const long = parts.flatMap(({ name, data }) =>
    Object.entries(data.functions).flatMap(([key, text]) => {
      const lines = text.trimEnd().split('\n').length
      return lines > 40 ? [`${name}: ${key} has ${lines}`] : []
    }),
  )
  expect(long).toEqual([])
})
