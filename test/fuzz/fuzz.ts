// Requests and upstream bytes, random, changed and cut short, against the built command as a separate process. Requirements:
// it lives, no turn of its event loop takes long, each exchange ends, and errors have the caller's dialect.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as send } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { gzipSync } from 'node:zlib'
import { dump } from 'js-yaml'
import { PROGRAM } from '../../cli/bundled.js'
import { type Client, eventsOf, type Heard, heard, type Request, requestOf } from '../../cli/faults/client.js'
import { jsonOrText } from '../../cli/json.js'
import { loadPlan } from '../../cli/plan.js'
import { dialects } from '../../cli/simulator/dialects.js'
import { HOME } from '../../codegen/home.js'
import type { Plan } from '../../engine/plan.js'
import { type Corpus, corpusOf } from './corpus.js'
import { mutated, noise, wrongJson } from './mutate.js'
import { type Random, random } from './random.js'
import { type RawUpstream, startRawUpstream } from './upstream.js'

export interface FuzzOptions {
  minutes: number
  /** At least so many cases of each kind, however long they take. Default none. */
  least?: number
  seed: number
  /** One case alone. */
  only?: number
}

export interface FuzzResult {
  /** How many of each kind. */
  cases: Record<string, number>
  /** How clients were answered. */
  statuses: Record<string, number>
  findings: string[]
}

const KEY = 'key-of-the-fuzz-test'
const WIDTH = 8
const PATIENCE = 15_000
const MOST = 20
const PROVIDERS = ['openai', 'anthropic', 'gemini']
/** What a case may be; one that is here twice is drawn twice as often. */
const TRIALS: [name: string, run: typeof badBody][] = [
  ['bodies', badBody],
  ['bodies', badBody],
  ['heads', badHead],
  ['answers', badAnswer],
  ['answers', badAnswer],
]
/** Statuses that tell of what is not there, or of what the provider did; all others from 500 on are ours. */
const ODD = 500

/** Runs for so many minutes, or one case. Throws where the gateway does not begin. */
export async function fuzz({ minutes, least = 0, seed, only }: FuzzOptions): Promise<FuzzResult> {
  const plan = await loadPlan(undefined)
  const corpus = corpusOf(plan)
  const good = (path: string, body: string): Buffer => goodAnswer(path, body, corpus)
  // What a wrong answer leaves on a connection is nothing to a request that is answered well.
  const [upstream, sound] = await Promise.all([startRawUpstream(good), startRawUpstream(good)])
  const folder = mkdtempSync(join(tmpdir(), 'sluice-fuzz-'))
  const findings: string[] = []
  const note = (what: string): void => {
    if (findings.length < MOST) findings.push(what)
  }
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, configuration(upstream.url, sound.url))
  const gateway = await startGateway(path, note)
  const result: FuzzResult = { cases: {}, statuses: {}, findings }
  try {
    const until = performance.now() + minutes * 60_000
    let next = only ?? 0
    const isDone = (): boolean => performance.now() >= until && TRIALS.every(([name]) => (result.cases[name] ?? 0) >= least)
    const work = async (): Promise<void> => {
      do {
        const index = next++
        const found = await attempt(index, { url: gateway.url, plan, corpus, upstream, seed, result })
        for (const what of found) note(`case ${index} of seed ${seed}: ${what}`)
      } while (only === undefined && !isDone() && findings.length < MOST && gateway.isAlive())
    }
    await Promise.all(Array.from({ length: only === undefined ? WIDTH : 1 }, work))
    for (const what of [...upstream.wrong, ...sound.wrong].slice(0, MOST)) note(`the gateway sent what is no JSON: ${what}`)
    await gateway.stop()
  } finally {
    gateway.kill()
    await Promise.all([upstream.stop(), sound.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  return result
}

function configuration(wrong: string, sound: string): string {
  return dump({
    listen: '127.0.0.1:0',
    keys: [{ name: 'fuzz', value: KEY }],
    upstreams: Object.fromEntries(
      PROVIDERS.flatMap(provider => [
        [provider, { provider, base: wrong, secret: `secret-of-${provider}` }],
        [`sound-${provider}`, { provider, base: sound, secret: `secret-of-${provider}` }],
      ]),
    ),
    models: Object.fromEntries(
      PROVIDERS.flatMap(provider => [
        [`by-${provider}`, { targets: [{ upstream: provider }] }],
        [`well-by-${provider}`, { targets: [{ upstream: `sound-${provider}` }] }],
      ]),
    ),
    limits: { connect: '2s', headers: '2s', first_event: '2s', idle: '1s', total: '8s', upload: '2s', body: '8MiB' },
    grace: '5s',
  })
}

interface Stage {
  url: string
  plan: Plan
  corpus: Corpus
  upstream: RawUpstream
  seed: number
  result: FuzzResult
}

/** One case; gives what is wrong. */
async function attempt(index: number, stage: Stage): Promise<string[]> {
  const chance = random(stage.seed, index)
  const [name, run] = chance.pick(TRIALS)
  stage.result.cases[name] = (stage.result.cases[name] ?? 0) + 1
  try {
    return (await run(index, chance, stage)).map(found => `${name}: ${found}`)
  } catch (error) {
    return [`${name}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

// A body that is wrong ---------------------------------------------------------------------------------------------

async function badBody(_index: number, chance: Random, { url, plan, corpus, result }: Stage): Promise<string[]> {
  const client = chance.pick(corpus.clients)
  const value = withModel(chance.pick(corpus.requests[client.dialect] ?? [{}]), chance)
  const base = requestOf(client, plan, `well-by-${chance.pick(PROVIDERS)}`, 'x', KEY)
  const asked = JSON.parse(base.body) as Record<string, unknown>
  const merged = {
    ...asked,
    ...value,
    ...(asked.model !== undefined && { model: asked.model }),
    ...(asked.stream !== undefined && { stream: asked.stream }),
  }
  const body = wrongJson(merged, chance)
  const headers = { ...base.headers }
  if (chance.is(0.05))
    headers['content-type'] = chance.pick(['text/plain', 'application/json; charset=utf-16', '', 'multipart/form-data; boundary=x'])
  const coding = chance.is(0.05) ? chance.pick(['gzip', 'br', 'deflate', 'zstd', 'gzip, gzip']) : undefined
  if (coding !== undefined) headers['content-encoding'] = coding
  const sent = coding === 'gzip' && chance.is(0.5) ? gzipSync(body) : body
  const heard = await exchange(url, { ...base, headers }, sent)
  count(result, heard)
  const found = judge(heard, client, plan)
  // What cannot be read is never answered.
  if (!isReadable(body) && heard.status < 400) found.push(`status ${heard.status} for a body that is no JSON: ${show(body)}`)
  if (heard.status >= ODD && heard.status !== 501) found.push(`status ${heard.status}: ${heard.text.slice(0, 300)} for ${show(body)}`)
  return found
}

function withModel(value: unknown, chance: Random): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && chance.is(0.9) ? (value as Record<string, unknown>) : {}
}

function isReadable(body: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
    return true
  } catch {
    return false
  }
}

// A head that is wrong ---------------------------------------------------------------------------------------------

async function badHead(_index: number, chance: Random, { url, plan, corpus, result }: Stage): Promise<string[]> {
  const client = chance.pick(corpus.clients)
  const { method, path, headers, body } = requestOf(client, plan, `well-by-${chance.pick(PROVIDERS)}`, 'x', KEY)
  const more: Record<string, string> = chance.is(0.3)
    ? {
        [chance.pick(['transfer-encoding', 'content-length', 'expect', 'x'.repeat(3_000), 'host'])]: chance.pick([
          'chunked',
          '5',
          '-1',
          '99999999999',
          '100-continue',
          'y'.repeat(9_000),
          '',
        ]),
      }
    : {}
  const lines = Object.entries({ host: 'gateway', ...headers, 'content-length': String(Buffer.byteLength(body)), ...more })
  const whole = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`)
  const bytes = chance.is(0.1) ? noise(chance, chance.below(4_000)) : mutated(whole, chance)
  const answer = await rawExchange(url, bytes)
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
  result.statuses[status] = (result.statuses[status] ?? 0) + 1
  // HTTP that the library knows to be none is 505 in its own words; docs/http.md says so.
  return status >= ODD && status !== 501 && status !== 505 ? [`status ${status} for ${show(bytes)}: ${answer.slice(0, 300)}`] : []
}

/** Sends bytes, then gives what comes until the other side closes, falls silent for a moment, or takes too long. */
function rawExchange(url: string, bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const finish = (): void => {
      socket.destroy()
      resolve(text)
    }
    // The server waits for the rest of half a request, and need not log that.
    socket.setTimeout(400, finish)
    socket.on('data', part => {
      text += part.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', error => ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? reject(error) : resolve(text)))
  })
}

// Bytes of an upstream that are wrong ------------------------------------------------------------------------------

async function badAnswer(index: number, chance: Random, { url, plan, corpus, upstream, seed, result }: Stage): Promise<string[]> {
  const client = chance.pick(corpus.clients)
  const word = `fuzz-${seed}-${index}`
  const request = requestOf(client, plan, `by-${chance.pick(PROVIDERS)}`, word, KEY)
  const bytes = answerBytes(chance, corpus, client.mode !== 'json')
  upstream.answers.set(word, { bytes, isLeftOpen: chance.is(0.05) })
  try {
    const heard = await exchange(url, request, Buffer.from(request.body))
    count(result, heard)
    const found = judge(heard, client, plan)
    if (heard.status === ODD && /failed to handle this request/.test(heard.text)) found.push('an internal error')
    return found.map(what => `${what}; the upstream sent ${show(bytes)}`)
  } finally {
    upstream.answers.delete(word)
  }
}

/** An HTTP answer in one of the dialects, right or wrong in its head, its body or its framing. */
function answerBytes(chance: Random, corpus: Corpus, streams: boolean): Buffer {
  if (chance.is(0.05)) return noise(chance, chance.below(3_000))
  const dialect = chance.pick(Object.keys(corpus.answers))
  const good = streams
    ? streamText(chance.pick(corpus.streams[dialect] ?? [[]]))
    : JSON.stringify(chance.pick(corpus.answers[dialect] ?? [{}]))
  let body: Buffer = Buffer.from(good)
  if (!streams && chance.is(0.7)) body = wrongJson(JSON.parse(good), chance)
  else if (streams && chance.is(0.4))
    body = Buffer.from(streamText(chance.pick(corpus.streams[dialect] ?? [[]]).map(event => String(wrongJson(event, chance)))))
  else if (chance.is(0.8)) body = mutated(body, chance)
  if (chance.is(0.05)) body = gzipSync(body)
  const status = chance.is(0.8)
    ? 200
    : chance.pick([100, 101, 199, 201, 204, 206, 302, 304, 400, 401, 404, 413, 418, 429, 500, 503, 529, 599, 999])
  const type = chance.is(0.85)
    ? streams
      ? 'text/event-stream'
      : 'application/json'
    : chance.pick(['text/html', '', 'application/octet-stream', 'text/event-stream; charset=latin1'])
  const headers = [`content-type: ${type}`]
  if (chance.is(0.05)) headers.push(`content-encoding: ${chance.pick(['gzip', 'br', 'x'])}`)
  if (chance.is(0.05)) headers.push(`retry-after: ${chance.pick(['-1', '1e9', 'soon', 'Wed, 21 Oct 2099 07:28:00 GMT', '0'])}`)
  if (chance.is(0.05)) headers.push(`x-odd: ${'y'.repeat(chance.below(30_000))}`)
  let framed: Buffer
  if (chance.is(0.5)) {
    headers.push('transfer-encoding: chunked')
    const size = 1 + chance.below(body.length + 1)
    const pieces: Buffer[] = []
    for (let at = 0; at < body.length; at += size) {
      const piece = body.subarray(at, at + size)
      pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
    }
    framed = Buffer.concat([...pieces, Buffer.from(chance.is(0.9) ? '0\r\n\r\n' : '')])
  } else {
    if (chance.is(0.8)) headers.push(`content-length: ${chance.is(0.9) ? body.length : chance.below(body.length * 2 + 1)}`)
    framed = body
  }
  const whole = Buffer.concat([Buffer.from(`HTTP/1.1 ${status} X\r\n${headers.join('\r\n')}\r\n\r\n`), framed])
  return chance.is(0.1) ? mutated(whole, chance) : whole
}

/** Events as they are sent; a text is the data of its event. */
function streamText(events: readonly unknown[]): string {
  const lines = events.map(event => {
    const name = typeof event === 'object' && event !== null ? (event as { type?: unknown }).type : undefined
    const data = typeof event === 'string' ? event : JSON.stringify(event)
    return `${typeof name === 'string' ? `event: ${name}\n` : ''}data: ${data}\n\n`
  })
  return lines.join('')
}

/** A good answer in the dialect that a path belongs to. */
function goodAnswer(path: string, body: string, corpus: Corpus): Buffer {
  const known = dialects(HOME)
  const [name = '', search = ''] = path.split('?')
  const found = known.find(dialect => dialect.paths.some(one => one.method === 'POST' && one.pattern.test(name)))?.name ?? 'chat'
  const streams = name.includes('stream') || search.includes('sse') || (jsonOrText(body) as { stream?: unknown } | null)?.stream === true
  const said = streams ? streamText(corpus.streams[found]?.[0] ?? []) : JSON.stringify(corpus.answers[found]?.[0] ?? {})
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${streams ? 'text/event-stream' : 'application/json'}\r\ncontent-length: ${Buffer.byteLength(said)}\r\n\r\n${said}`,
  )
}

// Judgement --------------------------------------------------------------------------------------------------------

/** What must hold for every answer, whatever was asked. */
function judge(heard: Heard, client: Client, plan: Plan): string[] {
  const dialect = plan.dialects[client.dialect]
  if (heard.isCut) return [`the connection broke off behind status ${heard.status}: ${heard.text.slice(-200)}`]
  // Where bytes pass, a provider's own word for success passes as well.
  if (heard.status < 200 || heard.status >= 300) {
    const message = dialect?.error.read(jsonOrText(heard.text), heard.status)?.message
    return typeof message === 'string' && message !== ''
      ? []
      : [`status ${heard.status} is not in the words of ${client.dialect}: ${heard.text.slice(0, 200)}`]
  }
  if (heard.headers['content-type']?.startsWith('application/json')) {
    return isReadable(Buffer.from(heard.text)) ? [] : [`an answer that is no JSON: ${heard.text.slice(0, 200)}`]
  }
  const framing = dialects(HOME)
    .find(({ name }) => name === client.dialect)
    ?.paths.find(path => path.framing)?.framing
  const mode = heard.headers['content-type']?.startsWith('application/x-ndjson') ? 'ndjson' : 'sse'
  const events = eventsOf(heard.text, mode).filter((event): event is object => typeof event === 'object' && event !== null)
  const last = events.at(-1)
  const isTold = last !== undefined && dialect?.stream?.fail?.read(last) === true
  return isTold || events.some(event => framing?.ends(event))
    ? []
    : [`a stream that has no end and does not say so: ${heard.text.slice(-300)}`]
}

function count(result: FuzzResult, { status }: Heard): void {
  result.statuses[status] = (result.statuses[status] ?? 0) + 1
}

function show(bytes: Buffer): string {
  const text = JSON.stringify(bytes.toString('latin1'))
  return text.length > 1_500 ? `${text.slice(0, 1_000)}… (${bytes.length} bytes)` : text
}

function exchange(url: string, { method, path, headers }: Request, body: Buffer): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const request = send(url + path, { method, headers: { ...headers, 'content-length': body.length }, agent: false })
    const timer = setTimeout(() => request.destroy(new Error(`it was not over in ${PATIENCE} ms`)), PATIENCE)
    request.on('error', reject)
    request.on('close', () => clearTimeout(timer))
    request.on('response', response => resolve(heard(response)))
    request.end(body)
  })
}

// The gateway ------------------------------------------------------------------------------------------------------

interface RunningGateway {
  url: string
  isAlive(): boolean
  stop(): Promise<void>
  kill(): void
}

async function startGateway(path: string, note: (what: string) => void): Promise<RunningGateway> {
  const watch = join(HOME, 'dist/test/fuzz/watch.js')
  const child = spawn(process.execPath, ['--import', watch, PROGRAM, 'start', '--config', path], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isStopping = false
  const exited = new Promise<void>(resolve =>
    child.once('exit', (code, signal) => {
      if (!isStopping || code !== 0) note(`the gateway ended with ${code ?? signal}`)
      resolve()
    }),
  )
  createInterface({ input: child.stderr }).on('line', line => note(`the gateway says: ${line.slice(0, 500)}`))
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the gateway ended before it listened')))
    createInterface({ input: child.stdout }).on('line', text => {
      const line = JSON.parse(text) as { msg: string; url?: string; level: number; error?: { kind: string } }
      if (line.msg === 'listening') resolve(line.url as string)
      else if (line.level >= 50) note(`the gateway says: ${text.slice(0, 1_500)}`)
    })
  })
  return {
    url,
    isAlive: () => child.exitCode === null,
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      await exited
    },
  }
}
