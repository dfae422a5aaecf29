// The exchanges of cases/ beside gateway.yaml: each is a request to a real gateway on a real port, whose providers and services
// answer as the case says. So they show what is patched, asked, sought and handed on.

import { join } from 'node:path'
import { display } from '../../codegen/read/display.js'
import type { Finding } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import { type SpecSchema, withDefaults } from '../../codegen/read/spec.js'
import type { Pointer, YamlDocument } from '../../codegen/read/yaml.js'
import type { Exchange } from '../../engine/core/exchange.js'
import { usageOf } from '../../engine/core/usage.js'
import { connect, handle } from '../../engine/gateway.js'
import { serve } from '../../engine/http/server.js'
import type { PlanFacts } from '../../engine/plan.js'
import type { Snapshot } from '../../engine/snapshot/model.js'
import { maskSecrets } from '../../engine/upstream/redact.js'
import { framings } from '../../engine/wire/framing.js'
import type { ExchangeData } from '../../schemas/config/types.js'
import { alone } from '../check.js'
import { jsonOrText } from '../json.js'
import { importFacts } from '../plan.js'
import { type Good, prepareFrom, read } from '../prepare.js'
import { fillSecrets } from '../secrets.js'
import { withKey, withKnownKeys } from './caller.js'
import { differences, shown } from './differences.js'
import { eventsIn } from './input.js'
import { ANY, withAny } from './likeness.js'
import { untouched } from './money.js'
import { type CaseResult, emptyFile, type MappingResult, readCases } from './run.js'
import { type Answered, type Asked, prefixOf, startStandIn } from './stand-in.js'

/** What became of a request. */
interface Outcome {
  status: number
  headers: Headers
  text: string
  asked: Asked | undefined
  calls: ReadonlyMap<string, Asked>
  log: Exchange['log']
}

/** Runs every exchange of a folder; nothing where it has none. Throws a DataError where the folder cannot be served. */
export async function runExchanges(folder: string, project: Project): Promise<MappingResult | undefined> {
  const at = join(folder, 'cases')
  const files = readCases(at, project, 'exchange')
  if (files.length === 0) return undefined
  const config = join(folder, 'gateway.yaml')
  fillSecrets(config)
  const good = await read(config, false, { mayLackSecrets: true })
  const plan = await importFacts(good.plan)
  const grammar = project.configSchemas.get('exchange') as SpecSchema
  const cases: CaseResult[] = []
  for (const { file, documents, findings } of files) {
    if (findings.length > 0 || documents.length === 0)
      cases.push({ place: file, name: '', findings: findings.length > 0 ? findings : [emptyFile(file)] })
    else
      for (const document of documents)
        cases.push(await resultOf(document, withDefaults(grammar, document.value) as ExchangeData, good, plan))
  }
  return { pair: display(at), cases, steps: { all: 0, fired: 0 }, findings: [], shared: new Map() }
}

async function resultOf(document: YamlDocument, given: ExchangeData, good: Good, plan: PlanFacts): Promise<CaseResult> {
  const findings: Finding[] = []
  const differ = (pointer: Pointer, expected: unknown, made: unknown): void => {
    for (const one of differences(withAny(expected, made), made)) {
      const here = [...pointer, ...one.pointer]
      const detail = withoutSecrets(`${here.join('.')}: expected ${shown(one.expected)}, was ${shown(one.actual)}`, good)
      findings.push({ ...document.at(here), rule: 'case/different', detail, remedy: 'correct the configuration, or the case' })
    }
  }
  compare(given, await outcomeOf(given, good, plan), differ)
  return { place: `${document.file}:${document.at([]).line}`, name: given.name, findings }
}

/** A provider is sent the real secret where the environment has it; a finding does not quote it. */
function withoutSecrets(text: string, { gateway }: Good): string {
  return maskSecrets(
    text,
    Object.values(gateway.upstreams).map(({ secret }) => secret),
  )
}

type Differ = (pointer: Pointer, expected: unknown, made: unknown) => void

/** Everything that the case says, and what was. */
function compare(given: ExchangeData, { status, headers, text, asked, calls, log }: Outcome, differ: Differ): void {
  const { request, response, stream, dropped, usage, masked } = given
  if (given.status !== undefined || response?.in !== undefined || stream) differ(['status'], given.status ?? 200, status)
  if (request?.out !== undefined) differ(['request', 'out'], request.out, asked && valueIn(asked.body))
  for (const [name, expected] of Object.entries(given.asked ?? {})) {
    if (name !== 'headers') differ(['asked', name], expected, asked?.[name === 'upstream' ? 'name' : (name as 'path')])
    else for (const [header, value] of Object.entries(expected)) differ(['asked', 'headers', header], value, asked?.headers[header])
  }
  for (const [name, { in: sent }] of Object.entries(given.calls)) {
    const was = calls.get(name)
    if (sent !== undefined || was === undefined) differ(['calls', name, 'in'], sent ?? ANY, was && valueIn(was.body))
  }
  if (response?.out !== undefined) differ(['response', 'out'], response.out, valueIn(text))
  if (stream?.out !== undefined) differ(['stream', 'out'], stream.out, eventsIn(text))
  if (dropped !== undefined)
    differ(['dropped'], dropped.toSorted(), (headers.get('x-sluice-dropped') ?? '').split(', ').filter(Boolean).toSorted())
  const counted = usageOf(log) as Record<string, unknown> | undefined
  for (const [name, count] of Object.entries(usage ?? {})) differ(['usage', name], count, counted?.[name])
  for (const [name, count] of Object.entries(masked ?? {})) differ(['masked', name], count, log.masked?.[name] ?? 0)
}

/** Each exchange has a gateway of its own: nothing is left of the one before. */
async function outcomeOf(given: ExchangeData, good: Good, plan: PlanFacts): Promise<Outcome> {
  let asked: Asked | undefined
  const calls = new Map<string, Asked>()
  const bases = Object.fromEntries(Object.values(plan.providers).map(({ name, base }) => [name, base]))
  const standIn = await startStandIn({
    upstream(one) {
      asked ??= one
      return answerOf(given, one, good, plan)
    },
    call(one) {
      calls.set(one.name, one)
      return answered(200, 'application/json', JSON.stringify(given.calls[one.name]?.out ?? {}))
    },
  })
  const gateway = withKnownKeys(standIn.redirected(good.gateway, bases))
  const { snapshot, state } = await prepareFrom({ ...good, gateway }, alone)
  state.budgets.treasury = untouched
  let over: (log: Exchange['log']) => void
  const ended = new Promise<Exchange['log']>(resolve => {
    over = resolve
  })
  const server = await serve({
    handle,
    connect,
    host: '127.0.0.1',
    port: 0,
    isShared: false,
    ...good.settings.capacity,
    snapshot: () => snapshot,
    onOver: exchange => over(exchange.log),
  })
  try {
    const { path, headers, body } = requestOf(given, snapshot)
    const url = `http://127.0.0.1:${server.port}${path}`
    const response = await fetch(url, { method: given.method, headers, redirect: 'manual', ...(body !== undefined && { body }) })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, asked, calls, log: await ended }
  } finally {
    await server.close(0, 0)
    await snapshot.close()
    await state.close()
    await standIn.close()
  }
}

function requestOf(
  { path, method, key, headers, request }: ExchangeData,
  snapshot: Snapshot,
): { path: string; headers: Record<string, string>; body?: string } {
  const called = withKey({ path, method, headers, ...(key !== undefined && { key }) }, snapshot)
  if (request === undefined) return called
  const isText = typeof request.in === 'string'
  const type = isText ? 'text/plain' : 'application/json'
  return { ...called, headers: { 'content-type': type, ...called.headers }, body: isText ? String(request.in) : JSON.stringify(request.in) }
}

/** What the provider answers. */
function answerOf({ answers: status, response, stream }: ExchangeData, asked: Asked, good: Good, plan: PlanFacts): Answered {
  if (stream === undefined) {
    const body = response?.in
    return typeof body === 'string'
      ? answered(status, 'text/plain', body)
      : answered(status, 'application/json', body === undefined ? '' : JSON.stringify(body))
  }
  const format = streamFormat(asked, good, plan)
  // Providers of a dialect that is a list are asked for server-sent events.
  const framing = framings[format?.framing === 'ndjson' ? 'ndjson' : 'sse']
  const frames = framing.frames({ ...format }, '\n')
  const kindOf = (event: unknown): string => String((event as Record<string, unknown>)[format?.eventLine ?? ''] ?? '')
  const events = stream.in.map(event => frames.event(kindOf(event), JSON.stringify(event)))
  return answered(status, framing.type, events.join('') + frames.end())
}

function answered(status: number, type: string, body: string): Answered {
  return { status, headers: { 'content-type': type }, body }
}

/** How the endpoint that was asked sends its streams. */
function streamFormat({ name, path }: Asked, { gateway }: Good, plan: PlanFacts): PlanFacts['dialects'][string]['stream'] {
  const upstream = gateway.upstreams[name]
  const provider = plan.providers[upstream?.provider ?? '']
  const below = (path.split('?')[0] as string).slice(prefixOf(upstream?.base ?? provider?.base).length)
  const isAt = (pattern: string): boolean =>
    new RegExp(
      `^${pattern
        .split(/\{[^}]*\}/)
        .map(part => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('[^/]+')}$`,
    ).test(below)
  const found = Object.entries(provider?.speaks ?? {}).find(
    ([dialect, { path: whole, stream }]) =>
      plan.dialects[dialect]?.stream !== undefined && (isAt(whole) || (stream?.path !== undefined && isAt(stream.path))),
  )
  return found && plan.dialects[found[0]]?.stream
}

/** JSON where it is some, else the text; nothing of an empty one. */
function valueIn(text: string): unknown {
  return text === '' ? undefined : jsonOrText(text)
}
