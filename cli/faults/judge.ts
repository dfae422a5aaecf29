// Judges one exchange by the actions of its upstreams: the client must have got the last one's answer, each must have seen
// the request once and in its own dialect, and the access log must agree.

import type { Dialect as Compiled, Kind, Plan, RawUsage } from '../../engine/plan.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import { framings } from '../../engine/wire/framing.js'
import { jsonOrText } from '../json.js'
import type { Dialect } from '../simulator/dialects.js'
import { type Client, eventsOf, type Heard } from './client.js'
import type { Call } from './upstream.js'

/** The facts of an exchange that has ended. */
export interface Exchange {
  client: Client
  /** A word in the request that a good answer repeats. */
  token: string
  heard: Heard
  /** The calls that upstreams saw, in order. */
  calls: readonly Call[]
  /** Its line of the access log; undefined if there is none. */
  line: Record<string, unknown> | undefined
  /** The number of possible targets. */
  targets: number
  /** Texts that neither the client nor the log may see. */
  secrets: readonly string[]
  /** The client's key, which no upstream may see. */
  key: string
  /** The usage that a good answer to a call reports. */
  usageOf(call: Call): { input: number; output: number }
}

/** The outcome of an upstream call. */
type Ending = 'good' | 'moves' | 'final' | 'breaks'

/** The faults of an exchange, one sentence each; empty if it passes. */
export function judge(exchange: Exchange, plan: Plan, known: readonly Dialect[]): string[] {
  const { calls, heard } = exchange
  if (calls.length === 0) return [`no upstream was asked; the client got ${heard.status}: ${heard.text.slice(0, 200)}`]
  const endings = calls.map(call => endingOf(call, plan))
  return [
    ...judgeWay(endings, exchange),
    ...calls.flatMap((call, index) => judgeCall(call, exchange, plan).map(found => `call ${index + 1} (${call.upstream}): ${found}`)),
    ...judgeClient(endings.at(-1) as Ending, exchange, plan, known),
    ...judgeLine(endings.at(-1) as Ending, exchange),
  ]
}

function endingOf(call: Call, plan: Plan): Ending {
  const { fails, breaks, final } = call.fault
  if (breaks !== undefined) return 'breaks'
  if (fails === undefined) return 'good'
  if (final) return 'final'
  // A stream that fails after its first content has begun; before that, another target can take over.
  return call.fault.fail_after !== undefined && hasBegun(call, plan) ? 'breaks' : 'moves'
}

function hasBegun({ said, dialect }: Call, plan: Plan): boolean {
  const format = plan.dialects[dialect?.name ?? '']?.stream
  // A cut list is not JSON; upstreams were asked for single events.
  const events = eventsOf(said, format?.framing === 'ndjson' ? 'ndjson' : 'sse').slice(0, -1)
  return events.some(event => typeof event === 'object' && event !== null && format?.begin?.(event) !== true)
}

/** Judges which targets were called, and how often. */
function judgeWay(endings: readonly Ending[], { calls, targets }: Exchange): string[] {
  const found: string[] = []
  const over = endings.findIndex(ending => ending !== 'moves')
  if (over >= 0 && over + 1 < calls.length)
    found.push(`${calls.length - over - 1} more calls behind one that ended it (${JSON.stringify(calls[over]?.fault)})`)
  const asked = new Set(calls.map(call => call.upstream)).size
  if (over < 0 && asked < targets) found.push(`${asked} of ${targets} targets were asked before it was given up`)
  if (targets > 1 && asked < calls.length) found.push(`a target was asked twice: ${calls.map(call => call.upstream).join(', ')}`)
  return found
}

function judgeCall(call: Call, { token, key, client }: Exchange, plan: Plan): string[] {
  const found: string[] = []
  const { dialect, method, path, body, headers } = call
  if (dialect === undefined) return [`${method} ${path} is not a path of an upstream`]
  if (body.split(token).length !== 2) found.push(`its body holds the words of the client ${body.split(token).length - 1} times`)
  if ((path + body + JSON.stringify(headers)).includes(key)) found.push("it saw the client's key")
  const to = plan.dialects[dialect.name]
  const value = jsonOrText(body)
  if (to?.validateRequest && !to.validateRequest(value))
    found.push(`its body is not a request of ${dialect.name}: ${JSON.stringify(to.validateRequest.errors?.slice(0, 2))}`)
  if (client.dialect !== dialect.name && plan.mappings[pairOf(client.dialect, dialect.name)] === undefined)
    found.push(`it was asked in ${dialect.name}, to which ${client.dialect} has no mapping`)
  return found
}

function judgeClient(ending: Ending, exchange: Exchange, plan: Plan, known: readonly Dialect[]): string[] {
  const { client, heard, secrets } = exchange
  const dialect = plan.dialects[client.dialect] as Compiled
  const simulated = known.find(({ name }) => name === client.dialect) as Dialect
  const found: string[] = []
  if (heard.isCut) found.push('the connection broke before the answer was whole')
  if (!/^[\w-]{8,}$/.test(heard.headers['x-request-id'] ?? '')) found.push('the answer has no x-request-id')
  const all = heard.text + JSON.stringify(heard.headers)
  for (const secret of secrets) if (all.includes(secret)) found.push('the client saw a secret, or the address of an upstream')
  if (ending === 'good' || ending === 'breaks') {
    if (heard.status !== 200) return [...found, `status ${heard.status} in place of 200: ${heard.text.slice(0, 200)}`]
    return [...found, ...judgeAnswer(ending, exchange, dialect, simulated)]
  }
  return [...found, ...judgeRefusal(exchange, dialect, simulated)]
}

/** Judges a whole answer, or a stream that ends with an error event and without its normal end. */
function judgeAnswer(ending: 'good' | 'breaks', exchange: Exchange, dialect: Compiled, simulated: Dialect): string[] {
  const { client, heard, token, calls } = exchange
  const found: string[] = []
  if (!heard.text.includes(token)) found.push('the answer is not that of this request')
  const type = heard.headers['content-type'] ?? ''
  const wanted = (client.mode === 'json' ? 'application/json' : framings[client.mode].type).split(';')[0] as string
  if (!type.startsWith(wanted)) found.push(`content-type ${type} in place of ${wanted}`)
  const call = calls.at(-1) as Call
  if (client.mode === 'json') {
    const body = jsonOrText(heard.text)
    if (typeof body !== 'object' || body === null) return [...found, 'the answer is not JSON']
    return [...found, ...sameUsage('the answer', dialect.usage?.(body), exchange.usageOf(call))]
  }
  let events: unknown[]
  try {
    events = eventsOf(heard.text, client.mode)
  } catch {
    return [...found, 'the stream is not a JSON array']
  }
  const format = dialect.stream
  const framing = simulated.paths.find(path => path.framing)?.framing
  const data = events.filter(event => event !== format?.sentinel)
  const odd = data.find(event => typeof event !== 'object' || event === null)
  if (odd !== undefined) found.push(`an event is not a JSON object: ${String(odd).slice(0, 100)}`)
  const objects = data.filter((event): event is object => typeof event === 'object' && event !== null)
  const failures = objects.filter(event => format?.fail?.read(event) === true)
  const isProven = objects.some(event => framing?.ends(event) === true)
  const hasSentinel = events.at(-1) === format?.sentinel
  if (ending === 'good') {
    if (failures.length > 0) found.push(`a good stream holds a failure: ${JSON.stringify(failures[0])}`)
    if (!isProven) found.push('nothing proves that the stream has ended')
    if (format?.sentinel !== undefined && client.mode === 'sse' && !hasSentinel) found.push('the stream has no sentinel')
    return found
  }
  if (failures.length === 0 || objects.at(-1) !== failures.at(-1)) found.push('the last event reports no failure')
  else if (messageOf(dialect.error.read(failures.at(-1), undefined)) === '') found.push('the failure has no message')
  if (isProven || hasSentinel) found.push('a stream that broke looks as if it had ended')
  return found
}

/** Judges an error: its status, type and form must be those of the client's dialect. */
function judgeRefusal({ client, heard, calls }: Exchange, dialect: Compiled, simulated: Dialect): string[] {
  const found: string[] = []
  const last = calls.at(-1) as Call
  const { fault } = last
  const kind = fault.fails as Kind
  const status = fault.hidden || fault.as !== undefined ? undefined : fault.refusal === undefined ? fault.status : 400
  const isSame = last.dialect?.name === client.dialect
  // An error of a provider of the client's own dialect stays unchanged.
  const kept = isSame && status !== undefined && status >= 400
  const word = dialect.error.kinds[kind]
  const wanted = kept ? status : word.status
  if (heard.status !== wanted) found.push(`status ${heard.status} in place of ${wanted}`)
  const body = jsonOrText(heard.text)
  if (typeof body !== 'object' || body === null) return [...found, `the error is not JSON: ${heard.text.slice(0, 100)}`]
  const read = dialect.error.read(body, heard.status)
  // In some dialects errors have no type.
  const usual = simulated.error({ status: wanted ?? 0, message: 'x', type: word.type })
  const type = dialect.error.read(kept ? jsonOrText(last.said) : usual, wanted)?.type
  if (read?.type !== type) found.push(`the error is of type ${String(read?.type)} in place of ${String(type)}`)
  const reason = fault.refusal === undefined ? fault.error : last.dialect?.refusals[fault.refusal]
  const said = fault.hidden ? undefined : reason?.message
  if (fault.hidden && reason?.message !== undefined && heard.text.includes(reason.message))
    found.push('the client got a message that is hidden from it')
  if (messageOf(read) === '') found.push('the error has no message')
  // Some clients know a kind of error by its first words alone, which a dialect then puts before those of the provider.
  else if (said !== undefined && !messageOf(read).endsWith(said)) found.push(`the error says '${messageOf(read)}' in place of '${said}'`)
  const sample = simulated.error({ status: heard.status, message: 'x', type: String(read?.type) })
  found.push(...missing(sample, body, ''))
  const wait = fault.error?.retry_after
  if (wait !== undefined && heard.headers['retry-after'] !== String(wait))
    found.push(`retry-after is ${heard.headers['retry-after']} in place of ${wait}`)
  if (wait === undefined && kind === 'rate_limit' && heard.headers['retry-after'] !== undefined)
    found.push(`retry-after ${heard.headers['retry-after']}, which no provider sent`)
  return found
}

function messageOf(read: { message?: unknown } | undefined): string {
  return typeof read?.message === 'string' ? read.message : ''
}

/** Members of the simulator's error that this one lacks, or has with another type. */
function missing(sample: unknown, value: unknown, at: string): string[] {
  if (typeof sample !== 'object' || sample === null || Array.isArray(sample)) return []
  return Object.entries(sample).flatMap(([name, wanted]) => {
    const given = (value as Record<string, unknown> | null | undefined)?.[name]
    const path = at === '' ? name : `${at}.${name}`
    if (given === undefined) return [`the error lacks ${path}`]
    if (wanted !== null && given !== null && typeof given !== typeof wanted) return [`${path} of the error is a ${typeof given}`]
    return missing(wanted, given, path)
  })
}

interface Line {
  status?: number
  attempts?: number
  target?: string
  partial?: boolean
  error?: { kind: string }
  failed?: { target: string; kind: string; status?: number }[]
  upstream?: { status?: number }
  level?: number
  usage?: { input?: number; output?: number }
}

function judgeLine(ending: Ending, { line, heard, calls, secrets, key, usageOf }: Exchange): string[] {
  if (line === undefined) return ['the access log has no line of it']
  const found: string[] = []
  const { status, attempts = 1, target = '', partial = false, error, failed = [], usage, upstream, level } = line as Line
  if (status !== heard.status) found.push(`the log says status ${status}`)
  if (attempts !== calls.length) found.push(`the log says ${attempts} attempts of ${calls.length}`)
  const last = calls.at(-1) as Call
  if (target.split('/')[0] !== last.upstream) found.push(`the log says target ${target} in place of ${last.upstream}`)
  if (partial !== (ending === 'breaks')) found.push(`the log says partial: ${partial}`)
  const wanted = calls.slice(0, -1).map(call => `${call.upstream} ${call.fault.fails} ${statusOf(call)}`)
  const logged = failed.slice(0, calls.length - 1).map(one => `${one.target.split('/')[0]} ${one.kind} ${one.status}`)
  if (logged.join() !== wanted.join())
    found.push(`the log says that these failed: ${logged.join() || 'none'}, in place of ${wanted.join()}`)
  const kind = ending === 'breaks' ? (last.fault.breaks ?? last.fault.fails) : last.fault.fails
  if (error?.kind !== kind) found.push(`the log says error ${String(error?.kind)} in place of ${String(kind)}`)
  if (upstream?.status !== statusOf(last)) found.push(`the log says that the last upstream answered ${upstream?.status}`)
  const isFault = failed.length > 0 || ending === 'breaks' || ending === 'moves'
  if (isFault && (level ?? 0) < WARN) found.push(`the log reports a failure on level ${level}`)
  if (ending === 'good') found.push(...sameUsage('the log', usage, usageOf(last)))
  if (ending === 'moves' || ending === 'final') {
    if (usage !== undefined) found.push(`the log has the usage ${JSON.stringify(usage)} of an answer that no client got`)
  }
  const text = JSON.stringify(line)
  for (const secret of [...secrets, key]) if (text.includes(secret)) found.push('the log holds a secret, or the address of an upstream')
  return found
}

const WARN = 40

/** The status of a call; undefined if it had no answer. */
function statusOf({ fault: { reset, hang, refusal, status, as } }: Call): number | undefined {
  if (reset === 'before' || hang === 'before') return undefined
  return as ?? (refusal === undefined ? (status ?? 200) : 400)
}

function sameUsage(who: string, usage: RawUsage | undefined, wanted: { input: number; output: number }): string[] {
  const is = { input: usage?.input, output: usage?.output }
  return is.input === wanted.input && is.output === wanted.output
    ? []
    : [`${who} says usage ${JSON.stringify(is)} in place of ${JSON.stringify(wanted)}`]
}
