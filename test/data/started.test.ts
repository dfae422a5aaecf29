// The model lists of a start without a file, with the keys of three makers: each model with its name, dates, limits and
// prices, in each form of the list, and on the page with prices.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { defaultContent } from '../../cli/defaults.js'
import { plan } from '../engine/plan.js'
import { startGateway, type TestGateway } from '../harness.js'

const MAKERS = { openai: 'OPENAI_API_KEY', anthropic: 'ANTHROPIC_API_KEY', gemini: 'GEMINI_API_KEY' }
const before = { ...process.env }
let gateway: TestGateway
let key: string
beforeAll(async () => {
  for (const name of Object.values(MAKERS)) process.env[name] = 'sk-nobody'
  const made = defaultContent(plan, 'http://127.0.0.1:9')
  key = made.key
  gateway = await startGateway({ ...made.content })
})
afterAll(async () => {
  await gateway?.close()
  for (const name of Object.values(MAKERS)) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
})

interface Listed {
  id: string
  display_name?: string
  created: number
  limits: { context?: number; max_output?: number }
  inputs?: string[]
  outputs?: string[]
  price?: object
  deprecated_at?: string
  retires_at?: string
}

async function get<Body>(path: string, headers: Record<string, string> = {}): Promise<Body> {
  return (await (await fetch(gateway.url + path, { headers: { authorization: `Bearer ${key}`, ...headers } })).json()) as Body
}

const offered = Object.keys(MAKERS).flatMap(name => plan.providers[name]?.models ?? [])

test('each model that the three makers offer has a price, and limits if it writes text', async () => {
  const { data } = await get<{ data: Listed[] }>('/v1/models')
  const listed = new Map(data.map(model => [model.id, model]))
  expect(offered.filter(name => !listed.has(name))).toEqual([])
  const without = (has: (model: Listed) => unknown): string[] => offered.filter(name => has(listed.get(name) as Listed) === undefined)
  expect(without(({ price }) => price)).toEqual([])
  expect(without(({ outputs }) => outputs)).toEqual([])
  const writes = ({ inputs, outputs }: Listed): boolean => outputs?.join() === 'text' && inputs?.includes('text') === true
  const withoutLimit = (has: (model: Listed) => unknown): string[] => without(model => (writes(model) ? has(model) : null))
  expect(withoutLimit(({ limits }) => limits.context)).toEqual([])
  expect(withoutLimit(({ limits }) => limits.max_output)).toEqual([])
})

test('the list has names, dates and limits in each dialect', async () => {
  const { data } = await get<{ data: Listed[] }>('/v1/models')
  expect(data.find(({ id }) => id === 'gpt-4o')).toMatchObject({
    display_name: 'GPT-4o',
    limits: { context: 128_000, max_output: 16_384 },
    deprecated_at: '2026-10-14T00:00:00.000Z',
    retires_at: '2027-01-14T00:00:00.000Z',
  })
  const messages = await get<{ data: Record<string, unknown>[] }>('/v1/models?limit=1000', { 'anthropic-version': '2023-06-01' })
  expect(messages.data.find(({ id }) => id === 'claude-haiku-4-5')).toMatchObject({
    display_name: 'Claude Haiku 4.5',
    created_at: '2025-10-15T00:00:00.000Z',
    max_input_tokens: 200_000,
    max_tokens: 64_000,
    lifecycle: 'active',
  })
  const generate = await get<{ models: Record<string, unknown>[] }>('/v1beta/models?pageSize=1000', { 'x-goog-api-key': key })
  expect(generate.models.find(({ name }) => name === 'models/gemini-3.8-flash')).toMatchObject({
    displayName: 'Gemini 3.8 Flash',
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
  })
})

test('the page with prices has the price of each of these models', async () => {
  const { data } = await get<{ data: { id: string; price?: object }[] }>('/pricing.json')
  const priced = new Set(data.filter(({ price }) => price !== undefined).map(({ id }) => id))
  expect(offered.filter(name => !priced.has(name))).toEqual([])
})
