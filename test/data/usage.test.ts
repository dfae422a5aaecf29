// The usage of an answer is the same whole and as a stream: for each dialect that reports it in both, and for each form of
// usage in the cases of the mappings or in an API's documentation.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { FACTS, METERS } from '../../engine/core/meters.js'
import { mergeUsage, readUsage } from '../../engine/core/usage.js'
import type { Dialect, Usage } from '../../engine/plan.js'
import { costOf } from '../../engine/snapshot/price.js'
import { plan } from '../engine/plan.js'

const root = join(import.meta.dirname, '../..')
type Body = Record<string, unknown>

/** Each meter at a price of its own, so that a unit in a wrong one shows. */
const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]
const prices = Object.fromEntries(Object.keys(METERS).map((name, index) => [name, { price: PRIMES[index] as number, per: 'million' }]))
const cost = costOf(
  [
    {
      from: '2020-01-01',
      currency: 'USD',
      ...prices,
      when: [
        { tier: 'flex', times: 0.5 },
        { tier: 'fast', times: 2 },
      ],
      regions: { us: 1.1 },
    },
  ],
  'USD',
)

/** A whole answer as the events of its stream that tell what it cost. */
const EVENTS: Record<string, (whole: Body) => Body[]> = {
  chat: ({ usage, service_tier }) => [{ choices: [], usage, ...(service_tier !== undefined && { service_tier }) }],
  completions: ({ usage }) => [{ choices: [], usage }],
  fim: ({ usage }) => [{ choices: [{ delta: {}, finish_reason: 'stop' }], usage }],
  suffix_completions: ({ usage }) => [{ choices: [], usage }],
  responses: whole => [{ type: 'response.completed', response: whole }],
  generate: whole => [{ usageMetadata: { promptTokenCount: 1 } }, whole],
  messages: whole => {
    const { output_tokens, output_tokens_details, server_tool_use, ...rest } = whole.usage as Body
    return [
      { type: 'message_start', message: { usage: { ...rest, output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens, output_tokens_details, server_tool_use } },
    ]
  },
  ollama: ({ prompt_eval_count, eval_count }) => [{ done: true, prompt_eval_count, eval_count }],
  ollama_generate: ({ prompt_eval_count, eval_count }) => [{ done: true, prompt_eval_count, eval_count }],
  cohere_chat: ({ usage }) => [{ type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } }],
  images: ({ usage }) => [{ type: 'image_generation.completed', usage }],
  image_edit: ({ usage }) => [{ type: 'image_edit.completed', usage }],
  transcription: ({ usage }) => [{ type: 'transcript.text.done', usage }],
}

/** Shapes that an API describes and that no case has. */
const MORE: Record<string, Body[]> = {
  chat: [
    {
      usage: {
        prompt_tokens: 100,
        completion_tokens: 50,
        prompt_tokens_details: { cached_tokens: 20, audio_tokens: 30 },
        completion_tokens_details: { reasoning_tokens: 10, audio_tokens: 25 },
      },
      service_tier: 'flex',
    },
    { usage: { prompt_tokens: 100, completion_tokens: 50, prompt_cache_hit_tokens: 64 } },
  ],
  responses: [
    {
      usage: {
        input_tokens: 100,
        output_tokens: 50,
        input_tokens_details: { cached_tokens: 20 },
        output_tokens_details: { reasoning_tokens: 40 },
      },
      service_tier: 'flex',
    },
  ],
  generate: [
    {
      usageMetadata: {
        promptTokenCount: 300,
        candidatesTokenCount: 40,
        thoughtsTokenCount: 7,
        toolUsePromptTokenCount: 5,
        promptTokensDetails: [
          { modality: 'TEXT', tokenCount: 10 },
          { modality: 'IMAGE', tokenCount: 258 },
          { modality: 'AUDIO', tokenCount: 32 },
        ],
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 40 }],
        serviceTier: 'flex',
      },
    },
  ],
  messages: [
    {
      usage: {
        input_tokens: 10,
        output_tokens: 50,
        cache_read_input_tokens: 500,
        cache_creation_input_tokens: 300,
        cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
        output_tokens_details: { thinking_tokens: 20 },
        server_tool_use: { web_search_requests: 2 },
        service_tier: 'standard',
        inference_geo: 'us',
      },
    },
    { usage: { input_tokens: 10, output_tokens: 50, speed: 'fast', service_tier: 'standard' } },
  ],
  ollama: [{ done: true, prompt_eval_count: 26, eval_count: 290 }],
  ollama_generate: [{ done: true, prompt_eval_count: 26, eval_count: 290 }],
  images: [
    { usage: { input_tokens: 60, output_tokens: 4_000, input_tokens_details: { text_tokens: 10, image_tokens: 50 } } },
    { usage: { input_tokens: 60, output_tokens: 4_000, output_tokens_details: { image_tokens: 3_900, text_tokens: 100 } } },
  ],
  transcription: [
    { usage: { type: 'tokens', input_tokens: 14, output_tokens: 45, input_token_details: { text_tokens: 0, audio_tokens: 14 } } },
    { usage: { type: 'duration', seconds: 12 } },
  ],
}

/** Usage that a provider reports in its own way, and what it means. */
const MEANT: [name: string, dialect: string, body: Body, meant: Usage][] = [
  [
    'reasoning is counted apart, and the total has all of it',
    'chat',
    { usage: { prompt_tokens: 32, completion_tokens: 9, total_tokens: 135, completion_tokens_details: { reasoning_tokens: 94 } } },
    { input: 32, output: 103, reasoning: 94 },
  ],
  [
    'reasoning is a part of the completion',
    'chat',
    { usage: { prompt_tokens: 32, completion_tokens: 103, total_tokens: 135, completion_tokens_details: { reasoning_tokens: 94 } } },
    { input: 32, output: 103, reasoning: 94 },
  ],
  [
    'cached tokens are a count of their own',
    'chat',
    { usage: { prompt_tokens: 32, completion_tokens: 9, total_tokens: 41, cached_tokens: 20 } },
    { input: 32, output: 9, cached: 20 },
  ],
  [
    'the last choice has the usage',
    'chat',
    { choices: [{ index: 0, usage: { prompt_tokens: 32, completion_tokens: 9, cached_tokens: 20 } }] },
    { input: 32, output: 9, cached: 20 },
  ],
  [
    'billed units are priced, not all tokens',
    'cohere_chat',
    { usage: { billed_units: { input_tokens: 5, output_tokens: 7 }, tokens: { input_tokens: 71, output_tokens: 9 } } },
    { input: 5, output: 7 },
  ],
]

/** What an object is made of: its members, and theirs. */
const shapeOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? `{${Object.entries(value)
        .map(([name, inner]) => `${name}:${shapeOf(inner)}`)
        .sort()}}`
    : Array.isArray(value)
      ? `[${value.map(shapeOf)}]`
      : typeof value

interface Case {
  response?: { in?: Body; out?: Body }
}
function wholes(dialect: string): Body[] {
  const found = new Map<string, Body>()
  for (const pair of readdirSync(join(root, 'mappings')).filter(name => name.includes('-to-'))) {
    const [from, to] = pair.split('-to-')
    if (from !== dialect && to !== dialect) continue
    const folder = join(root, 'mappings', pair, 'cases')
    for (const file of readdirSync(folder)) {
      for (const { response } of loadAll(readFileSync(join(folder, file), 'utf8')) as Case[]) {
        const body = to === dialect ? response?.in : response?.out
        const usage = body?.usage ?? body?.usageMetadata
        if (body && typeof usage === 'object' && usage !== null) found.set(shapeOf(usage), body)
      }
    }
  }
  return [...found.values(), ...(MORE[dialect] ?? [])]
}

const whole = (dialect: Dialect, body: Body): Usage | undefined => mergeUsage(undefined, readUsage(dialect.usage, body))
const streamed = (dialect: Dialect, events: readonly Body[]): Usage | undefined =>
  events.reduce<Usage | undefined>((usage, event) => mergeUsage(usage, readUsage(dialect.stream?.usage?.read, event)), undefined)

describe.each(Object.keys(EVENTS))('%s', name => {
  const dialect = plan.dialects[name] as Dialect
  test.each(wholes(name).map(body => [shapeOf(body.usage ?? body.usageMetadata), body] as const))(
    'counts the same in a stream: %s',
    (_shape, body) => {
      const said = whole(dialect, body)
      expect(cost?.(said ?? {}, Date.now())).toBeGreaterThanOrEqual(0)
      const events = (EVENTS[name] as (body: Body) => Body[])(body)
      // An event that tells it is one that is looked at.
      for (const event of events) expect(dialect.stream?.usage?.markers.some(marker => JSON.stringify(event).includes(marker))).toBe(true)
      const { tier, region, ...counts } = streamed(dialect, events) as Usage
      expect({ ...counts, tier, region }).toEqual({
        ...Object.fromEntries(Object.entries(said as Usage).filter(([member, count]) => count !== 0 || member in counts)),
        tier: said?.tier,
        region: said?.region,
      })
      expect(cost?.(streamed(dialect, events) as Usage, Date.now())).toBe(cost?.(said as Usage, Date.now()))
    },
  )
})

test('every dialect that reports usage in both ways is covered', () => {
  const both = Object.values(plan.dialects).filter(({ usage, stream }) => usage && stream?.usage)
  expect(both.map(({ name }) => name).sort()).toEqual(Object.keys(EVENTS).sort())
})

test('what a dialect counts is known before any answer, and has a name', () => {
  for (const { name, usage, stream, asked, estimated, meters } of Object.values(plan.dialects)) {
    const counts = [usage ?? stream?.usage ?? estimated, asked]
    expect([name, ...[meters?.told, meters?.asked].map(all => (all?.length ?? 0) > 0)]).toEqual([
      name,
      ...counts.map(one => one !== undefined),
    ])
    for (const meter of [...(meters?.told ?? []), ...(meters?.asked ?? [])])
      expect([name, meter, meter in METERS || FACTS.has(meter)]).toEqual([name, meter, true])
  }
  for (const name of Object.keys(EVENTS)) {
    const { meters } = plan.dialects[name] as Dialect
    const members = new Set(meters?.told.map(meter => METERS[meter]?.member ?? meter))
    for (const body of wholes(name))
      for (const member of Object.keys(whole(plan.dialects[name] as Dialect, body) ?? {})) expect(members).toContain(member)
  }
})

test('an answer without usage has no counts', () => {
  for (const name of Object.keys(EVENTS))
    expect(whole(plan.dialects[name] as Dialect, { choices: [], service_tier: 'flex' })).toBeUndefined()
})

test('cached sound and pictures have the price of what is cached', () => {
  const cached = { text_tokens: 100, audio_tokens: 350, image_tokens: 50 }
  const input_token_details = { text_tokens: 400, audio_tokens: 500, image_tokens: 100, cached_tokens: 500, cached_tokens_details: cached }
  const realtime = { type: 'response.done', response: { usage: { input_tokens: 1_000, output_tokens: 0, input_token_details } } }
  const counted = { input: 1_000, output: 0, cached: 500, audioInput: 150, imageInput: 50 }
  expect(streamed(plan.dialects.realtime as Dialect, [realtime])).toEqual(counted)
  const details = (audio: number, image: number): Body[] => [
    { modality: 'AUDIO', tokenCount: audio },
    { modality: 'IMAGE', tokenCount: image },
  ]
  const usageMetadata = {
    promptTokenCount: 1_000,
    cachedContentTokenCount: 500,
    promptTokensDetails: details(500, 100),
    cacheTokensDetails: details(350, 50),
  }
  const generate = plan.dialects.generate as Dialect
  expect(whole(generate, { usageMetadata })).toEqual(counted)
  expect(streamed(generate, [{ usageMetadata }])).toEqual(counted)
})

test.each(MEANT)('%s (%s)', (_name, name, body, meant) => {
  const dialect = plan.dialects[name] as Dialect
  const { usage } = body
  // Only an event may have it in a choice.
  if (usage !== undefined) expect(whole(dialect, body)).toEqual(meant)
  const events = usage === undefined ? [body] : (EVENTS[name] as (body: Body) => Body[])(body)
  expect(streamed(dialect, events)).toEqual(meant)
})
