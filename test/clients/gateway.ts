// One gateway in front of one simulator, for the official clients. A lane is a way to serve clients of a dialect: a provider,
// and the dialect in which it is called. The plan defines the lanes, so a new mapping is tested at once.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { dump } from 'js-yaml'
import OpenAI from 'openai'
import pino from 'pino'
import { expect } from 'vitest'
import type * as ConfigModule from '../../cli/config/config.js'
import type * as GatewayModule from '../../cli/gateway.js'
import type * as PlanModule from '../../cli/plan.js'
import type { Scripts, Simulator } from '../../cli/simulator/server.js'
import type { Plan } from '../../engine/plan.js'
import type * as SnapshotModule from '../../engine/snapshot/snapshot.js'
import { KEY, startSimulator } from '../harness.js'
import { wrong } from '../simulator/schemas.js'
import { type Heard, read } from './conversation.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { loadPlan } = (await import(built('cli/plan.js'))) as typeof PlanModule
const { loadConfig } = (await import(built('cli/config/config.js'))) as typeof ConfigModule
const { run } = (await import(built('cli/gateway.js'))) as typeof GatewayModule
const { createSnapshot } = (await import(built('engine/snapshot/snapshot.js'))) as typeof SnapshotModule

const plan = await loadPlan(undefined)

/** The dialects of text. */
const DIALECTS = ['chat', 'messages', 'generate', 'responses', 'completions'] as const
export type Dialect = (typeof DIALECTS)[number]

export interface Lane {
  name: string
  id: string
  /** The provider as signatures name it. */
  provider: string
  /** The dialect that the provider is spoken to. */
  speaks: Dialect
  traits: Record<string, unknown>
  /** Stands before the names of the simulator's models, for providers that tell models apart by their names. */
  prefix: string
}

/** Models that a provider treats in another way than its newest; each is a lane of its own. */
type Kind = { kind: string; prefix?: string; traits?: Record<string, unknown> }
const KINDS: Record<string, Kind[]> = {
  openai: [{ kind: '' }],
  anthropic: [{ kind: 'newest' }, { kind: 'budgets', traits: { thinking: 'budget', sampling: 'free', system_turns: false } }],
  gemini: [
    { kind: '2.5', prefix: 'gemini-2.5-flash-' },
    { kind: '3.5', prefix: 'gemini-3.5-flash-' },
  ],
}

/** A lane for each provider, dialect of text that it speaks, and kind of model. */
const LANES: readonly Lane[] = Object.entries(KINDS).flatMap(([provider, kinds]) =>
  DIALECTS.filter(speaks => plan.providers[provider]?.speaks[speaks] !== undefined).flatMap(speaks =>
    kinds.map(({ kind, prefix = '', traits = {} }): Lane => {
      const words = [provider, speaks, ...(kind === '' ? [] : [kind])]
      return { name: words.join(' '), id: words.join('-'), provider: `${provider}_${speaks}`, speaks, traits, prefix }
    }),
  ),
)

export type Served = Lane & { isNative: boolean }

/** Every way to serve clients of a dialect. What passes as it is asks for no difference between models. */
export const lanesFor = (dialect: Dialect): Served[] =>
  LANES.map(lane => ({ ...lane, isNative: lane.speaks === dialect })).filter(({ isNative, speaks, id }) =>
    isNative ? LANES.find(lane => lane.speaks === dialect)?.id === id : `${dialect}-to-${speaks}` in plan.mappings,
  )

/** Names of the simulator that tests use; its README tells what they do. `scene` is for scripts of a test's own. */
const NAMES = [
  ...['sim', 'sim-64', 'sim-utf8', 'sim-empty', 'sim-4k', 'sim-crlf', 'sim-utf8-split-5', 'sim-alive', 'sim-5ms'],
  ...['sim-tools', 'sim-parallel', 'sim-tools-2ms', 'sim-parallel-2ms', 'sim-reasoning', 'sim-reasoning-tools', 'sim-json'],
  ...['sim-length', 'sim-filter', 'sim-cached', 'sim-cached-reasoning'],
  ...[400, 401, 403, 404, 409, 413, 422, 500, 503, 529].map(status => `sim-status-${status}`),
  ...['sim-status-429-retry-7', 'sim-html'],
  ...['sim-fail-0', 'sim-cut-0', 'sim-malformed-1', 'sim-fail-3', 'sim-cut-4', 'sim-torn-4', 'sim-malformed-4', 'sim-noend'],
  ...['sim-fail-3-2ms', 'sim-cut-4-2ms', 'sim-torn-4-2ms', 'sim-malformed-4-2ms', 'sim-noend-2ms'],
  ...['sim-tools-fail-3', 'sim-tools-cut-3', 'sim-tools-noend', 'sim-reasoning-cut-3'],
  ...['sim-1000-20ms', 'sim-slow-9000ms', 'scene'],
]

export const modelOf = (lane: Lane, name: string): string => {
  // A name that no lane offers would be 404, which some tests expect for other reasons.
  if (!NAMES.includes(name)) throw new Error(`no test model is named ${name}`)
  return `${lane.id}/${name}`
}

export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const PDF = Buffer.from('%PDF-1.4\n1 0 obj <</Type /Catalog>> endobj\ntrailer <</Root 1 0 R>>\n%%EOF\n').toString('base64')

export const KEYS = { good: KEY, disabled: 'disabled-key', expired: 'expired-key', limited: 'limited-key' }

/** What a model that only the key `test` may use is named, and one that says how much it can. */
export const DECLARED = 'declared'

export interface Stage {
  url: string
  simulator: Simulator
  /** Lines of the access log, as they come. */
  log: Record<string, unknown>[]
  /** A page that has `/image.png` and `/document.pdf`, at a private address. */
  media: string
  /** What the provider heard last, or at another place from the end. Fails if it was not spoken to as the lane says. */
  heard(lane: Lane, back?: number): Heard
  /** Binds the lane's model `scene` to scripts. */
  script(lane: Lane, scripts: Scripts): void
  close(): Promise<void>
}

export async function startStage(): Promise<Stage> {
  const media = await startMedia()
  // Every request of the gateway is held against the provider's own schema.
  const simulator = await startSimulator({ record: true, validate: (name, body) => wrong(name, 'request', body) })
  const gateway = await startGateway(simulator.url)
  return {
    url: gateway.url,
    simulator,
    log: gateway.log,
    media: media.url,
    heard(lane, back = 1) {
      const request = simulator.requests.at(-back)
      if (request === undefined) throw new Error('the provider heard nothing')
      const heard = read(request)
      if (heard.dialect !== lane.speaks) throw new Error(`the provider was spoken to in ${heard.dialect}`)
      return heard
    },
    script: (lane, scripts) => simulator.scenario(`${lane.prefix}scene`, scripts),
    async close() {
      await gateway.close()
      await simulator.close()
      await media.close()
    },
  }
}

/** A gateway with a model for each lane and name. */
async function startGateway(base: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const path = join(folder, 'gateway.yaml')
  const upstreams = Object.fromEntries(
    LANES.map(lane => [lane.provider, { provider: lane.provider, base, secret: `secret-of-${lane.provider}` }]),
  )
  const models = Object.fromEntries(
    LANES.flatMap(lane =>
      NAMES.map(name => [
        `${lane.id}/${name}`,
        {
          targets: [
            {
              upstream: lane.provider,
              model: `${lane.prefix}${name}`,
              ...(Object.keys(lane.traits).length > 0 && { traits: lane.traits }),
            },
          ],
        },
      ]),
    ),
  )
  const declared = {
    targets: [{ upstream: LANES[0]?.provider ?? '', model: 'sim' }],
    groups: ['inner'],
    limits: { context: 200_000, max_output: 4096 },
    display_name: 'A declared model',
    owner: 'somebody',
    created: 1_750_000_000,
  }
  const keys = [
    { name: 'test', value: KEYS.good, groups: ['default', 'inner'] },
    { name: 'disabled', value: KEYS.disabled, enabled: false },
    { name: 'expired', value: KEYS.expired, expires: '2020-01-01' },
    { name: 'limited', value: KEYS.limited, models: ['*/sim'] },
  ]
  writeFileSync(
    path,
    dump({ listen: '127.0.0.1:0', grace: '1s', fetch: { private: true }, keys, upstreams, models: { ...models, [DECLARED]: declared } }),
  )
  const log: Record<string, unknown>[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') log.push(JSON.parse(line))
      done()
    },
  })
  const narrow = narrowed(plan)
  const { settings, gateway } = await loadConfig(path, narrow, path)
  const running = await run({
    settings,
    snapshot: createSnapshot(narrow, gateway),
    log: pino({ level: 'info', base: null }, sink),
    isShared: false,
    lateness: 5,
  })
  return {
    url: running.url,
    log,
    async close() {
      await running.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The plan with a provider for each lane that speaks this one dialect of text: so every dialect of a client meets each of them. */
function narrowed(plan: Plan): Plan {
  const providers = { ...plan.providers }
  for (const { provider, speaks } of LANES) {
    const whole = plan.providers[provider.replace(`_${speaks}`, '')]
    if (whole === undefined) continue
    const endpoints = Object.entries(whole.speaks).filter(([name]) => name === speaks || !DIALECTS.some(dialect => dialect === name))
    providers[provider] = { ...whole, name: provider, speaks: Object.fromEntries(endpoints) }
  }
  return { ...plan, providers }
}

/** A site with an image and a document. */
async function startMedia() {
  const pages: Record<string, { type: string; data: string }> = {
    '/image.png': { type: 'image/png', data: PNG },
    '/document.pdf': { type: 'application/pdf', data: PDF },
  }
  const server = createServer((request, response) => {
    const page = pages[request.url ?? '']
    if (page === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': page.type }).end(Buffer.from(page.data, 'base64'))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}

/** How a promise is rejected; fails if it is not. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown
  try {
    value = await promise
  } catch (error) {
    return error
  }
  throw new Error(`this should have failed, but gave ${JSON.stringify(value)}`)
}

/** That a call is refused by the gateway itself, in the official API's words, before any provider is asked. */
export async function expectRefused(stage: Stage, call: () => Promise<unknown>, told: object): Promise<void> {
  const before = stage.simulator.requests.length
  const failure = await failureOf(call())
  expect(failure).toBeInstanceOf(OpenAI.APIError)
  expect(failure).toMatchObject({ ...told, requestID: expect.any(String), error: { message: expect.any(String) } })
  expect(stage.simulator.requests).toHaveLength(before)
}
