// Whole exchanges written as YAML: what a scenario says, an upstream that answers exactly what it is told, byte for byte,
// and a client that sends and keeps every byte.

import { Buffer } from 'node:buffer'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'

/** A text is the event as it stands on the wire, without its blank line; an object is its data, and its `type` the event line. */
export type ScenarioEvent = string | Record<string, unknown>

/**
 * What must be seen. A text is exact; an object is compared as JSON, and a text in it may be a pattern, `/^…/`. Headers:
 * exact, a pattern, or null for absent.
 */
export interface Seen {
  headers?: Record<string, string | null>
  body?: unknown
}

export interface Answer {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  events?: ScenarioEvent[]
  /** Bytes as they are, each piece in a write of its own. */
  chunks?: string[]
  /** Milliseconds before the headers. */
  wait?: number
  /** Milliseconds before each event or piece. */
  delays?: number[]
  /** The connection breaks after the last of them. */
  cut?: boolean
}

export interface Scenario {
  name: string
  gateway: { upstreams?: Record<string, Record<string, unknown>>; models?: Record<string, unknown>; [key: string]: unknown }
  client: { method?: string; path: string; key?: string; headers?: Record<string, string>; body?: unknown }
  upstream?: { sees: Seen & { method?: string; path: string }; answers: Answer }[]
  sees: Seen & { status: number; events?: ScenarioEvent[] }
  log?: Record<string, unknown>
}

const GRAMMAR = `
$defs:
  headers: { type: object, additionalProperties: { type: [string, 'null'] } }
  events: { type: array, items: { type: [string, object] } }
type: object
additionalProperties: false
required: [name, gateway, client, sees]
properties:
  name: { type: string }
  gateway: { type: object }
  client:
    type: object
    additionalProperties: false
    required: [path]
    properties:
      method: { type: string }
      path: { type: string }
      key: { enum: [bearer, x-api-key, x-goog-api-key, query, none] }
      headers: { $ref: '#/$defs/headers' }
      body: { type: [string, object, array, number] }
  upstream:
    type: array
    items:
      type: object
      additionalProperties: false
      required: [sees, answers]
      properties:
        sees:
          type: object
          additionalProperties: false
          required: [path]
          properties: { method: { type: string }, path: { type: string }, headers: { $ref: '#/$defs/headers' }, body: {} }
        answers:
          type: object
          additionalProperties: false
          properties:
            status: { type: integer }
            headers: { $ref: '#/$defs/headers' }
            body: {}
            events: { $ref: '#/$defs/events' }
            chunks: { type: array, items: { type: string } }
            delays: { type: array, items: { type: number } }
            cut: { type: boolean }
            wait: { type: number }
  sees:
    type: object
    additionalProperties: false
    required: [status]
    properties: { status: { type: integer }, headers: { $ref: '#/$defs/headers' }, body: {}, events: { $ref: '#/$defs/events' } }
  log: { type: object }
`

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true })
const validate = ajv.compile(load(GRAMMAR) as object)

/** What is wrong with how a scenario is written; nothing if it is right. */
export function wrongScenario(value: unknown): string | undefined {
  return validate(value) ? undefined : ajv.errorsText(validate.errors, { separator: '\n' })
}

/** One event as it stands on the wire. */
export function eventText(event: ScenarioEvent): string {
  if (typeof event === 'string') return `${event}\n\n`
  const line = typeof event.type === 'string' ? `event: ${event.type}\n` : ''
  return `${line}data: ${JSON.stringify(event)}\n\n`
}

export interface Message {
  method: string
  path: string
  status: number
  headers: Record<string, string>
  body: string
}

export interface RawUpstream {
  url: string
  /** What has been asked since the script was set. */
  calls: Message[]
  /** The answers to give, in order. */
  script(answers: Answer[]): void
  close(): Promise<void>
}

/** An upstream that says what it is told and nothing of its own. */
export async function startRawUpstream(): Promise<RawUpstream> {
  let answers: Answer[] = []
  const calls: Message[] = []
  const server = createServer((req, res) => {
    void bodyOf(req).then(async body => {
      calls.push({ method: req.method ?? '', path: req.url ?? '', status: 0, headers: flat(req), body })
      await give(res, answers[calls.length - 1])
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    script(next) {
      answers = next
      calls.length = 0
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}

async function give(res: ServerResponse, answer: Answer | undefined): Promise<void> {
  if (answer === undefined) {
    res.writeHead(500, { 'content-type': 'text/plain' }).end('the scenario does not expect this call')
    return
  }
  if (answer.wait !== undefined) await sleep(answer.wait)
  if (res.destroyed) return
  const { status = 200, headers, events, chunks, delays = [], cut = false } = answer
  const pieces = chunks ?? events?.map(eventText)
  if (pieces === undefined) {
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {})
    res.writeHead(status, { 'content-type': 'application/json', ...headers })
    res.end(text)
    return
  }
  res.writeHead(status, { 'content-type': events ? 'text/event-stream' : 'application/json', ...headers })
  res.flushHeaders()
  for (const [index, piece] of pieces.entries()) {
    // Without a pause of their own, pieces still go out one by one.
    await sleep(delays[index] ?? 2)
    if (res.destroyed) return
    res.write(piece)
  }
  if (cut) {
    await sleep(10)
    res.socket?.resetAndDestroy()
  } else res.end()
}

/** Sends a request and collects the answer. A connection that breaks off is an answer that ends with `‹broken off›`. */
export function ask(
  url: string,
  { method, path, headers, body }: { method: string; path: string; headers: Record<string, string>; body?: string },
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const call = request(new URL(url), { method, path, headers, agent: false, timeout: 60_000 }, res => {
      const pieces: Buffer[] = []
      const finish = (end: string): void =>
        resolve({ method, path, status: res.statusCode ?? 0, headers: flat(res), body: Buffer.concat(pieces).toString('utf8') + end })
      res.on('data', (piece: Buffer) => pieces.push(piece))
      res.on('end', () => finish(''))
      res.on('error', () => finish('‹broken off›'))
    })
    call.on('timeout', () => call.destroy(new Error('no answer in time')))
    call.on('error', reject)
    call.end(body)
  })
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

function flat(message: IncomingMessage): Record<string, string> {
  return Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]))
}
