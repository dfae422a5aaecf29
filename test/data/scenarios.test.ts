// Whole exchanges: gateway.yaml and a client's request in, what the provider sees, what it answers, what the client sees.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type Finding, print } from '../../codegen/read/findings.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import { KEY, startGateway } from '../harness.js'
import { type Answer, ask, eventText, type Message, type Scenario, type Seen, startRawUpstream, wrongScenario } from './scenarios.js'

const folder = join(import.meta.dirname, '../scenarios')
const SECRET = 'secret-of-the-upstream'
const upstream = await startRawUpstream()
afterAll(() => upstream.close())

/** Upstreams are the scripted one and have a secret, unless the scenario says otherwise; a base that is a path stands behind it. */
function gatewayFile({ upstreams = {}, ...rest }: Scenario['gateway']): Record<string, unknown> {
  const filled = Object.entries(upstreams).map(([name, { base = '', ...other }]) => [
    name,
    { secret: SECRET, ...other, base: String(base).startsWith('http') ? base : `${upstream.url}${String(base)}` },
  ])
  return { ...rest, upstreams: Object.fromEntries(filled) }
}

function clientRequest({ client }: Scenario): { method: string; path: string; headers: Record<string, string>; body?: string } {
  const { method = client.body === undefined ? 'GET' : 'POST', key = 'bearer', body } = client
  const credential: Record<string, Record<string, string>> = {
    bearer: { authorization: `Bearer ${KEY}` },
    'x-api-key': { 'x-api-key': KEY },
    'x-goog-api-key': { 'x-goog-api-key': KEY },
  }
  const path = key === 'query' ? `${client.path}${client.path.includes('?') ? '&' : '?'}key=${KEY}` : client.path
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  const text =
    body === undefined ? {} : { body: (typeof body === 'string' ? body : JSON.stringify(body)).replaceAll('$UPSTREAM', upstream.url) }
  return { method, path, headers: { ...type, ...credential[key], ...client.headers }, ...text }
}

/** What differs from one run to the next, by name: the id of the exchange, what is made of it, and the second of now. */
function named(value: unknown, id: string, seconds: readonly [number, number]): unknown {
  if (typeof value === 'string') return value.replaceAll(id, '$ID').replaceAll(id.slice(-24), '$ID24')
  if (typeof value === 'number') return Number.isInteger(value) && value >= seconds[0] && value <= seconds[1] ? '$NOW' : value
  if (Array.isArray(value)) return value.map(item => named(item, id, seconds))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, named(item, id, seconds)]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const PATTERN = /^\/(\^.*)\/$/s

/** The actual value, where texts and numbers that a pattern `/^…/` is written for and that match it stand as the pattern. */
function likened(actual: unknown, expected: unknown): unknown {
  if ((typeof actual === 'string' || typeof actual === 'number') && typeof expected === 'string') {
    const pattern = PATTERN.exec(expected)?.[1]
    return pattern !== undefined && new RegExp(pattern).test(String(actual)) ? expected : actual
  }
  if (typeof actual !== 'object' || actual === null || typeof expected !== 'object' || expected === null) return actual
  const wanted = expected as Record<string, unknown>
  if (Array.isArray(actual)) return actual.map((item, index) => likened(item, wanted[index]))
  return Object.fromEntries(Object.entries(actual).map(([key, item]) => [key, likened(item, wanted[key])]))
}

function checkHeaders(actual: Record<string, string>, expected: Seen['headers'], what: string): void {
  for (const [name, value] of Object.entries(expected ?? {})) {
    const pattern = value === null ? undefined : PATTERN.exec(value)?.[1]
    if (pattern !== undefined) expect.soft(actual[name], `${what}: header ${name}`).toMatch(new RegExp(pattern))
    else expect.soft(actual[name], `${what}: header ${name}`).toBe(value ?? undefined)
  }
}

function checkBody(actual: string, expected: unknown, what: string, name: (value: unknown) => unknown): void {
  if (expected === undefined) return
  if (typeof expected === 'string') expect.soft(likened(name(actual), expected), `${what}: body`).toBe(expected)
  else expect.soft(likened(name(parsed(actual)), expected), `${what}: body`).toEqual(expected)
}

/** Events one by one: a text must be the same bytes, an object the same JSON behind the same lines. */
function checkEvents(actual: string, expected: readonly (string | Record<string, unknown>)[], name: (value: unknown) => unknown): void {
  const blocks = actual.split('\n\n')
  expect.soft(blocks.pop(), 'the client sees: what stands behind the last event').toBe('')
  const found = blocks.map((block, index) => {
    const form = expected[index]
    const data = /^(?:event: (.*)\n)?data: (.*)$/.exec(block)
    if (data === null || typeof form === 'string') return name(block)
    const value = likened(name(parsed(data[2] as string)), form)
    const line = (value as { type?: unknown }).type
    return (typeof line === 'string' ? line : undefined) === data[1] ? value : name(block)
  })
  expect.soft(found, 'the client sees: events').toEqual(expected.map(event => (typeof event === 'string' ? event : plain(event))))
}

/** YAML shares what it names once; JSON does not. */
function plain(event: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(event))
}

/** The line of the access log, which is written just after the answer. */
async function accessLine(lines: readonly Record<string, unknown>[]): Promise<Record<string, unknown> | undefined> {
  const find = (): Record<string, unknown> | undefined => lines.find(({ msg }) => msg === 'request')
  await expect.poll(find, { message: 'the access log' }).toBeDefined()
  return find()
}

async function play(scenario: Scenario): Promise<void> {
  const script = scenario.upstream ?? []
  upstream.script(script.map(({ answers }): Answer => answers))
  const gateway = await startGateway(gatewayFile(scenario.gateway))
  try {
    const began = Math.floor(Date.now() / 1000)
    const seen = await ask(gateway.url, clientRequest(scenario))
    const id = seen.headers['x-request-id'] ?? ''
    const name = (value: unknown): unknown => named(value, id, [began, Math.floor(Date.now() / 1000)])
    const line = await accessLine(gateway.log)
    expect.soft(id, 'the client sees: x-request-id').toMatch(/^[0-9a-f]{32}$/)

    upstream.calls.forEach((call, index) => {
      checkCall(call, script[index]?.sees, `call ${index + 1} of the upstream`, name)
    })
    expect.soft(upstream.calls.length, 'calls of the upstream').toBe(script.length)

    expect.soft(seen.status, 'the client sees: status').toBe(scenario.sees.status)
    checkHeaders(seen.headers, scenario.sees.headers, 'the client sees')
    checkBody(seen.body, scenario.sees.body, 'the client sees', name)
    if (scenario.sees.events) checkEvents(seen.body, scenario.sees.events, name)
    expect.soft(JSON.stringify([seen, gateway.log]).includes(SECRET), 'the secret is seen by the client or stands in the log').toBe(false)
    if (scenario.log) expect.soft(line, 'the access log').toMatchObject(scenario.log)
  } finally {
    await gateway.close()
  }
}

function checkCall(
  call: Message,
  expected: Required<Scenario>['upstream'][number]['sees'] | undefined,
  what: string,
  name: (value: unknown) => unknown,
): void {
  if (expected === undefined) return
  expect.soft(call.method, `${what}: method`).toBe(expected.method ?? 'POST')
  expect.soft(call.path, `${what}: path`).toBe(expected.path)
  checkHeaders(call.headers, expected.headers, what)
  checkBody(call.body, expected.body, what, name)
  expect.soft(JSON.stringify(call).includes(KEY), `${what}: the client's key is in it`).toBe(false)
}

describe('scenarios', () => {
  for (const file of readdirSync(folder)
    .filter(name => name.endsWith('.yaml'))
    .sort()) {
    const findings: Finding[] = []
    const documents = parseYaml(file, readFileSync(join(folder, file), 'utf8'), findings)
    if (documents.length === 0) throw new Error(`${file} holds no scenario. ${print(findings)}`)
    for (const document of documents) {
      const scenario = document.value as Scenario
      test(`${file}:${document.at([]).line} ${scenario?.name ?? ''}`, async () => {
        expect(wrongScenario(scenario), 'how the scenario is written').toBeUndefined()
        await play(scenario)
      })
    }
  }
})

test('an event of a scenario is what stands on the wire', () => {
  expect(eventText({ id: 1 })).toBe('data: {"id":1}\n\n')
  expect(eventText({ type: 'a', b: 1 })).toBe('event: a\ndata: {"type":"a","b":1}\n\n')
  expect(eventText(': a comment')).toBe(': a comment\n\n')
})
