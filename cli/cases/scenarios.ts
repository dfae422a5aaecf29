// The scenarios of scenarios/ beside gateway.yaml: each is one request of a client to a real gateway on a real port, whose
// providers answer, fail, wait and break off as it says, byte for byte.

import { join } from 'node:path'
import { Writable } from 'node:stream'
import { dump } from 'js-yaml'
import pino from 'pino'
import { display } from '../../codegen/read/display.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import { type SpecSchema, withDefaults } from '../../codegen/read/spec.js'
import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer, YamlDocument } from '../../codegen/read/yaml.js'
import { isObject } from '../../engine/core/members.js'
import type { PlanFacts } from '../../engine/plan.js'
import type { GatewayConfig } from '../../engine/snapshot/config.js'
import type { ScenarioData } from '../../schemas/config/types.js'
import { alone } from '../check.js'
import { configIn } from '../config/config.js'
import { run } from '../gateway.js'
import { jsonOrText } from '../json.js'
import { importFacts, locatePlan } from '../plan.js'
import { type Good, prepareFrom, read } from '../prepare.js'
import { fillSecrets, fillSecretsOf } from '../secrets.js'
import { type Called, withKey, withKnownKeys } from './caller.js'
import { ask, type Message } from './client.js'
import { differences, shown } from './differences.js'
import { likened, named, picked, withAny } from './likeness.js'
import { untouched } from './money.js'
import { type CaseFile, type CaseResult, emptyFile, type MappingResult, readCases } from './run.js'
import { type ScenarioEvent, scripted } from './scripted.js'
import { type Asked, startStandIn } from './stand-in.js'

/** Nothing listens here. */
const NOWHERE = 'http://127.0.0.1:1'
/** Of an upstream in a gateway of a scenario's own that says no other host. */
const SOMEWHERE = 'http://upstream.invalid'
/** Characters: a shorter text may stand anywhere. */
const LEAST_SECRET = 8
/** The texts of `textOf`, also in an address. */
const KEYS = /the(?: |%20|\+)key(?: |%20|\+)\S+(?: |%20|\+)of(?: |%20|\+)a(?: |%20|\+)case/
/** Milliseconds that a gateway waits for its exchange when it closes. */
const GRACE = 1000

export interface Scenarios {
  files: readonly CaseFile[]
  run(document: YamlDocument): Promise<CaseResult>
}

/** The scenarios of a folder; nothing where it has none. Throws a DataError where it cannot be served, also in `run`. */
export async function scenariosOf(folder: string, project: Project): Promise<Scenarios | undefined> {
  const files = readCases(join(folder, 'scenarios'), project, 'scenario')
  if (files.length === 0) return undefined
  const config = join(folder, 'gateway.yaml')
  const address = await locatePlan(config)
  const plan = await importFacts(address)
  const grammar = project.configSchemas.get('scenario') as SpecSchema
  let own: Promise<Good> | undefined
  const goodOf = async (document: YamlDocument, { gateway }: ScenarioData): Promise<Good> => {
    if (gateway !== undefined) return { ...(await inlineOf(document, plan, folder)), plan: address, folder }
    if (own === undefined) {
      fillSecrets(config)
      own = read(config, false, { mayLackSecrets: true }).then(good => ({ ...good, gateway: withKnownSecrets(good.gateway, plan) }))
    }
    return own
  }
  return {
    files,
    async run(document) {
      const given = withDefaults(grammar, document.value) as ScenarioData
      const place = `${document.file}:${document.at([]).line}`
      const findings = await findingsOf(document, given, () => goodOf(document, given), plan)
      return { place, name: given.name, findings }
    },
  }
}

/** Runs every scenario of a folder; nothing where it has none. Throws a DataError where it cannot be served. */
export async function runScenarios(folder: string, project: Project): Promise<MappingResult | undefined> {
  const scenarios = await scenariosOf(folder, project)
  if (scenarios === undefined) return undefined
  const cases: CaseResult[] = []
  for (const { file, documents, findings } of scenarios.files) {
    if (findings.length > 0 || documents.length === 0)
      cases.push({ place: file, name: '', findings: findings.length > 0 ? findings : [emptyFile(file)] })
    else for (const document of documents) cases.push(await scenarios.run(document))
  }
  return { pair: display(join(folder, 'scenarios')), cases, steps: { all: 0, fired: 0 }, findings: [], shared: new Map() }
}

function secretOf(upstream: string): string {
  return `secret-of-${upstream}`
}

/** What a scenario shows is the same everywhere, and a finding quotes no secret. A credential that signs stays as it is. */
function withKnownSecrets(gateway: GatewayConfig, plan: PlanFacts): GatewayConfig {
  const upstreams = Object.entries(gateway.upstreams).map(([name, one]) => {
    const isText = one.secret !== undefined && plan.providers[one.provider]?.credential?.jwt === undefined
    return [name, isText ? { ...one, secret: secretOf(name) } : one]
  })
  return { ...gateway, upstreams: Object.fromEntries(upstreams) }
}

/** The configuration with upstreams that nothing listens for. */
function withoutSome(gateway: GatewayConfig, names: readonly string[]): GatewayConfig {
  const upstreams = Object.entries(gateway.upstreams).map(([name, one]) => [name, names.includes(name) ? { ...one, base: NOWHERE } : one])
  return { ...gateway, upstreams: Object.fromEntries(upstreams) }
}

/** The gateway that a scenario brings along, with what it need not say. Findings stand in the scenario. */
async function inlineOf(document: YamlDocument, plan: PlanFacts, folder: string): ReturnType<typeof configIn> {
  const given = structuredClone((document.value as { gateway: Record<string, unknown> }).gateway)
  if (isObject(given.upstreams))
    for (const [name, one] of Object.entries(given.upstreams)) {
      if (!isObject(one)) continue
      if (one.secret === undefined || String(one.secret).startsWith('$')) one.secret = secretOf(name)
      if (typeof one.base === 'string' && one.base.startsWith('/')) one.base = SOMEWHERE + one.base
      const provider = plan.providers[String(one.provider)]
      if (one.base === undefined && provider !== undefined && provider.base === undefined) one.base = SOMEWHERE
    }
  fillSecretsOf(dump(given))
  const below = (pointer: Pointer): Pointer => ['gateway', ...pointer]
  const inner: YamlDocument = {
    file: document.file,
    value: { keys: [{ name: 'test', value: 'the key of a case' }], ...given },
    at: pointer => document.at(below(pointer)),
    key: pointer => document.key(below(pointer)),
    inside: (pointer, offset) => document.inside(below(pointer), offset),
  }
  return configIn(inner, plan, folder)
}

type Add = (pointer: Pointer, rule: string, detail: string, remedy: string) => void
type Differ = (pointer: Pointer, expected: unknown, made: unknown) => void

async function findingsOf(document: YamlDocument, given: ScenarioData, goodOf: () => Promise<Good>, plan: PlanFacts): Promise<Finding[]> {
  const findings: Finding[] = []
  const add: Add = (pointer, rule, detail, remedy) => {
    findings.push({ ...document.at(pointer), rule, detail, remedy })
  }
  const good = await goodOf().catch((error: unknown) => {
    // What is wrong with gateway.yaml is said once, and not for each scenario.
    if (given.gateway === undefined || !(error instanceof DataError)) throw error
    findings.push(...error.findings)
  })
  checkNames(given, good?.gateway, plan, add)
  if (findings.length > 0 || good === undefined) return findings
  const remedy = 'correct the configuration, or the scenario'
  const differ: Differ = (pointer, expected, made) => {
    const actual = likened(made, expected)
    for (const one of differences(withAny(expected, actual), actual)) {
      const here = [...pointer, ...one.pointer]
      add(here, 'case/different', `${here.join('.')}: expected ${shown(one.expected)}, was ${shown(one.actual)}`, remedy)
    }
  }
  try {
    const outcome = await outcomeOf(given, good, plan)
    compare(given, outcome, differ)
    for (const { pointer, detail } of leaksIn(outcome, good.gateway))
      add(pointer, 'case/secret', detail, 'correct the configuration, and report this if it is right')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    add(['client'], 'case/different', `client: expected an answer, was ${reason}`, remedy)
  }
  return findings
}

/** What a scenario names is there. Without a configuration, only what the plan has is checked. */
function checkNames({ client, unreachable }: ScenarioData, gateway: GatewayConfig | undefined, plan: PlanFacts, add: Add): void {
  const check = (pointer: Pointer, rule: string, what: string, name: string, known: readonly string[]): void => {
    if (!known.includes(name)) add(pointer, rule, `there is no ${what} ${name}`, useOneOf(known, name))
  }
  if (client.key_in !== undefined)
    check(['client', 'key_in'], 'names/credential', 'key location', client.key_in, [...Object.keys(plan.keyLocations), 'none'])
  if (gateway === undefined) return
  if (client.key !== undefined) {
    const keys = gateway.keys.map(({ name }) => name)
    check(['client', 'key'], 'names/key', 'key', client.key, keys)
  }
  for (const [index, name] of unreachable.entries())
    check(['unreachable', index], 'names/upstream', 'upstream', name, Object.keys(gateway.upstreams))
}

interface Outcome {
  seen: Message
  asked: readonly Asked[]
  /** The lines that the gateway logged. */
  lines: readonly Record<string, unknown>[]
  /** Names what differs from one run to the next. */
  name(value: unknown): unknown
}

/** Each scenario has a gateway of its own: nothing is left of the one before. */
async function outcomeOf(given: ScenarioData, good: Good, plan: PlanFacts): Promise<Outcome> {
  const asked: Asked[] = []
  const bases = Object.fromEntries(Object.values(plan.providers).map(({ name, base }) => [name, base]))
  const standIn = await startStandIn({
    upstream(one) {
      asked.push(one)
      const answers = given.upstream[asked.length - 1]?.answers
      return answers ? scripted(answers) : scripted({ status: 500, headers: { 'content-type': 'text/plain' }, body: 'nobody expects this' })
    },
    call: ({ name }) => scripted({ body: given.calls[name] ?? {} }),
  })
  const gateway = withoutSome(withKnownKeys(standIn.redirected(good.gateway, bases)), given.unreachable)
  const { snapshot, state } = await prepareFrom({ ...good, gateway }, alone)
  state.budgets.treasury = untouched
  const { store: _, tokens: __, ...others } = good.settings
  const lines: Record<string, unknown>[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') lines.push(JSON.parse(line) as Record<string, unknown>)
      done()
    },
  })
  const server = await run({
    settings: { ...others, host: '127.0.0.1', port: 0, grace: GRACE, drain: 0, isAccessLogged: true },
    snapshot,
    state,
    log: pino({ level: 'info', base: null }, sink),
    isShared: false,
    lateness: 0,
  })
  try {
    const began = Math.floor(Date.now() / 1000)
    const seen = await ask(server.url, requestOf(given, withKey(calledOf(given), snapshot), standIn.at('fetched')))
    const ended = Math.floor(Date.now() / 1000)
    const id = seen.headers['x-request-id'] ?? ''
    return { seen, asked, lines, name: value => named(value, id, [began, ended]) }
  } finally {
    // It ends when the exchange has, and then all lines are written.
    await server.close()
    await standIn.close()
  }
}

function calledOf({ client: { path, headers, body, key, key_in, method = body === undefined ? 'GET' : 'POST' } }: ScenarioData): Called {
  return { method, path, headers, ...(key !== undefined && { key }), ...(key_in !== undefined && { keyLocation: key_in }) }
}

function requestOf(
  given: ScenarioData,
  { path, headers }: { path: string; headers: Record<string, string> },
  upstream: string,
): Parameters<typeof ask>[1] {
  const { method } = calledOf(given)
  const { body } = given.client
  if (body === undefined) return { method, path, headers }
  const text = (typeof body === 'string' ? body : JSON.stringify(body)).replaceAll('$UPSTREAM', upstream)
  return { method, path, headers: { 'content-type': 'application/json', ...headers }, body: text }
}

/** Everything that the scenario says, and what was. */
function compare(given: ScenarioData, { seen, asked, lines, name }: Outcome, differ: Differ): void {
  for (let index = 0; index < Math.max(asked.length, given.upstream.length); index++) {
    const [call, expected] = [asked[index], given.upstream[index]?.sees]
    const here: Pointer = ['upstream', index]
    if (call === undefined || expected === undefined)
      differ(here, expected && `${expected.method} ${expected.path}`, call && `${call.method} ${call.path}`)
    else {
      const sees = [...here, 'sees']
      if (expected.upstream !== undefined) differ([...sees, 'upstream'], expected.upstream, call.name)
      differ([...sees, 'method'], expected.method, call.method)
      differ([...sees, 'path'], expected.path, call.path)
      compareHeaders([...sees, 'headers'], expected.headers, call.headers, differ)
      compareBody([...sees, 'body'], expected.body, call.body, name, differ)
    }
  }
  const { status, headers, body, events } = given.sees
  differ(['sees', 'status'], status, seen.status)
  compareHeaders(['sees', 'headers'], headers, seen.headers, differ)
  compareBody(['sees', 'body'], body, seen.body, name, differ)
  if (events !== undefined) compareEvents(['sees', 'events'], events as ScenarioEvent[], seen.body, name, differ)
  if (given.log === undefined) return
  const line = lines.find(({ msg }) => msg === 'request')
  differ(['log'], given.log, picked(line, given.log))
}

function compareHeaders(
  pointer: Pointer,
  expected: Readonly<Record<string, string | null>> = {},
  actual: Readonly<Record<string, string>>,
  differ: Differ,
): void {
  for (const [header, value] of Object.entries(expected)) differ([...pointer, header], value ?? undefined, actual[header])
}

function compareBody(pointer: Pointer, expected: unknown, actual: string, name: (value: unknown) => unknown, differ: Differ): void {
  if (expected !== undefined) differ(pointer, expected, name(typeof expected === 'string' ? actual : jsonOrText(actual)))
}

/** Events one by one: a text must be the same bytes, an object the same JSON behind the same lines. */
function compareEvents(
  pointer: Pointer,
  expected: readonly ScenarioEvent[],
  actual: string,
  name: (value: unknown) => unknown,
  differ: Differ,
): void {
  const blocks = actual.split('\n\n')
  // What stands behind the last blank line is no whole event.
  if (blocks.at(-1) === '') blocks.pop()
  const found = blocks.map((block, index) => {
    const data = /^(?:event: (.*)\n)?data: (.*)$/.exec(block)
    if (data === null || typeof expected[index] === 'string') return name(block)
    const value = name(jsonOrText(data[2] as string))
    const line = (value as { type?: unknown } | null)?.type
    return (typeof line === 'string' ? line : undefined) === data[1] ? value : name(block)
  })
  differ(pointer, expected, found)
}

/** Secrets of upstreams that the client or the log sees, and keys of callers that an upstream sees. */
function leaksIn({ seen, asked, lines }: Outcome, { upstreams }: GatewayConfig): { pointer: Pointer; detail: string }[] {
  const [answer, logged] = [JSON.stringify(seen), JSON.stringify(lines)]
  const found: { pointer: Pointer; detail: string }[] = []
  for (const [name, { secret = '' }] of Object.entries(upstreams)) {
    if (secret.length < LEAST_SECRET) continue
    if (answer.includes(secret)) found.push({ pointer: ['sees'], detail: `the client sees the secret of the upstream ${name}` })
    if (logged.includes(secret)) found.push({ pointer: ['log'], detail: `the secret of the upstream ${name} is in the log` })
  }
  const keys = asked.findIndex(call => KEYS.test(JSON.stringify(call)))
  if (keys >= 0) found.push({ pointer: ['upstream', keys], detail: "the upstream sees the caller's key" })
  return found
}
