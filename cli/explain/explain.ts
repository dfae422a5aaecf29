// `sluice explain`: runs a client's request through the serving stages, up to the call that is not made.

import { dirname } from 'node:path'
import type { Field } from '../../codegen/check/ledger.js'
import { GatewayError, renderError, unsupportedModel } from '../../engine/core/errors.js'
import type { Exchange } from '../../engine/core/exchange.js'
import { once } from '../../engine/core/once.js'
import { NANO } from '../../engine/core/usage.js'
import type { RateLimits } from '../../engine/limits/registry.js'
import type { Dialect, Json, Plan } from '../../engine/plan.js'
import { priceAt, pricesTimes } from '../../engine/snapshot/catalogue.js'
import type { Binding, Key, Route, Snapshot, Target } from '../../engine/snapshot/model.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import { presentedKey } from '../../engine/snapshot/presented-key.js'
import { admit, checkPermission } from '../../engine/stages/admit.js'
import type { Attempt } from '../../engine/stages/attempt.js'
import { choose, mayUse } from '../../engine/stages/choose.js'
import { answerConversation } from '../../engine/stages/conversation.js'
import { failure } from '../../engine/stages/fail.js'
import { proxiedRequest, requestOf } from '../../engine/stages/hand-on.js'
import { checkServed } from '../../engine/stages/lost-fields.js'
import { refusalOf as refusalOfMedia } from '../../engine/stages/media.js'
import { forMapping, type Input, read } from '../../engine/stages/read.js'
import { contextOf, type Rendered, render } from '../../engine/stages/render.js'
import { betterFor } from '../../engine/stages/send.js'
import { maskSecrets } from '../../engine/upstream/redact.js'
import { deadlinesText, ratesText } from '../amounts.js'
import { readInput } from '../cases/input.js'
import { alone, fileOf } from '../check.js'
import { type CommandResult, UsageError } from '../output.js'
import { type Prepared, prepare } from '../prepare.js'
import { projectOf } from '../project.js'
import { fillSecrets } from '../secrets.js'
import { fieldsOfPair, whyDropped } from '../show/fields.js'
import { EXPLAINED_ID, exchangeOf } from './exchange.js'
import { continued } from './kept.js'
import { type GivenRequest, requestIn, requestOfCurl } from './request-text.js'
import { inOrder, placeOf, routingOf, skippedTargets } from './routing.js'

export interface ExplainOptions {
  config: string
  curl?: string
  input: string
  path?: string
  method?: string
  /** The name of a configured key, in place of the one in the request. */
  key?: string
}

interface Explained {
  route?: object
  key?: object
  model?: object
  targets?: ExplainedTarget[]
  refused?: object
}

/** Explains a request without sending anything. Throws a DataError for an invalid file, a UsageError for an invalid request. */
export async function explain(options: ExplainOptions): Promise<CommandResult> {
  const given = options.curl === undefined ? requestIn(readInput(options.input), options.path, options.method) : requestOfCurl(options.curl)
  const config = fileOf(options.config)
  // Nothing is sent, so no secret is needed.
  fillSecrets(config)
  const prepared = await prepare(config, alone)
  const { snapshot } = prepared
  const keeps = prepared.settings.store !== undefined && prepared.gateway.keeps === true
  const explained: Explained = {}
  try {
    await explainIn(given, options, { snapshot, keeps, lost: once(() => lostIn(dirname(config))), timesOf: timesOf(prepared) }, explained)
  } finally {
    await snapshot.close()
  }
  return { json: { ...explained }, text: textOf(explained), findings: [], isBad: explained.refused !== undefined }
}

/** What a request is explained with. */
interface Known {
  snapshot: Snapshot
  /** Whether the gateway keeps answers and conversations. */
  keeps: boolean
  /** Why a pair of dialects loses a field. */
  lost(): Reasons
  /** The factor from list prices to those of an upstream. */
  timesOf(target: Target): number
}

async function explainIn(given: GivenRequest, options: ExplainOptions, known: Known, into: Explained): Promise<void> {
  const { snapshot } = known
  const { plan } = snapshot
  const isIn = (location: string): boolean => presentedKey([location], plan.keyLocations, given.headers, given.query) !== undefined
  const present = Object.keys(plan.keyLocations).filter(isIn)
  // A named key is where most clients have theirs, unless the request shows where it is.
  const places = present.length === 0 && options.key !== undefined ? bearers(plan.keyLocations) : present
  const found = snapshot.router({ ...given, hasKeyIn: locations => locations.some(location => places.includes(location)) })
  if (found?.kind !== 'route') {
    into.refused = found
      ? { status: 405, message: `${given.path} takes ${found.allow.join(', ')}.` }
      : { status: 404, message: `${given.method} ${given.path} is not a route: sluice routes lists them.` }
    return
  }
  const { route, params } = found
  const exchange = exchangeOf(given, params)
  into.route = { name: route.name, methods: route.methods, paths: route.paths, dialect: route.dialect, auth: route.auth }
  if (route.guards)
    into.route = {
      ...into.route,
      calls: route.guards.calls.map(({ name, at }) => `${name} (at ${at})`),
      patterns: [...new Set(route.guards.patterns.map(({ name }) => name))],
    }
  const dialect = route.errors
  try {
    const key = options.key === undefined ? await admit(route, exchange, snapshot) : namedKey(options.key, route, snapshot)
    if (key !== undefined)
      into.key = {
        name: key.name,
        groups: key.groups,
        models: [...snapshot.models.values()].filter(model => mayUse(key, model)).map(model => model.name),
        ...(key.routes && { routes: key.routes }),
        ...(key.ips && { ips: key.ips }),
        ...(key.rateLimits && { limits: key.rateLimits }),
        ...(key.expires !== undefined && { expires: new Date(key.expires).toISOString() }),
      }
    if (route.fail !== undefined) throw failure(route, exchange, snapshot)
    if (route.proxy) {
      into.route = { ...into.route, answered: 'by the upstream, unchanged' }
      into.targets = [explainHandedOn(route, key, exchange, snapshot)]
      return
    }
    if (route.answer || route.relay) {
      into.route = { ...into.route, answered: route.answer ? 'by the gateway itself' : 'by a socket that is relayed' }
      return
    }
    const asked = await read(route, exchange, snapshot)
    if (route.conversation) {
      // It is refused where nothing is kept.
      if (!known.keeps) await answerConversation(route, asked, key, exchange, snapshot)
      asked.settle?.()
      into.route = { ...into.route, answered: 'by the gateway itself, from its store' }
      return
    }
    const choice = choose(route, asked, key, exchange, snapshot)
    const { input, id } = known.keeps ? await continued(asked, choice, route, exchange, snapshot) : { input: asked }
    if (id !== undefined) into.route = { ...into.route, continues: `${id}, whose items come before the request's; they are not read here` }
    if (choice.model !== undefined) {
      const { name, config } = choice.model
      into.model = {
        name,
        stream: input.stream,
        unsupported: config.unsupported,
        ...(config.rateLimits && { limits: config.rateLimits }),
        ...(config.price && { price: config.price }),
        ...routingOf(choice.model),
        not_asked: skippedTargets(choice, route),
      }
    }
    if (choice.bindings.length === 0) {
      if (!route.estimate) throw unsupportedModel(input.model)
      into.route = { ...into.route, answered: 'estimated by the gateway' }
      return
    }
    const targets: ExplainedTarget[] = []
    into.targets = targets
    for (const binding of inOrder(choice)) {
      const limits = binding.target.limits ? { ...route.limits, ...binding.target.limits } : route.limits
      targets.push(
        await explainTarget(
          { route, input, choice, exchange, snapshot, binding, limits, lease: undefined, hold: undefined, targetLease: undefined },
          dialect,
          known,
        ),
      )
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    into.refused = refusalOf(error, dialect)
  }
}

function bearers(locations: Plan['keyLocations']): string[] {
  return Object.keys(locations).filter(name => locations[name]?.header?.toLowerCase() === 'authorization')
}

/** A key by name, with the checks of `admit`. Throws a UsageError if there is none. */
export function namedKey(name: string, route: Route, snapshot: Snapshot): Key | undefined {
  if (route.auth.length === 0) return undefined
  const key = [...snapshot.keys.values()].find(one => one.name === name)
  if (key === undefined) throw new UsageError(`There is no key ${name} in the file.`)
  checkPermission(key, route)
  return key
}

/** A target as it would be asked: in the dialect that its model prefers for this request, unless that cannot say it. */
async function explainTarget(usual: Attempt, dialect: Dialect, known: Known): Promise<object> {
  const better = betterFor(usual)
  if (better !== undefined) {
    const explained = await explainBinding({ ...usual, binding: better }, dialect, known)
    if (!('refused' in explained)) return explained
  }
  return explainBinding(usual, dialect, known)
}

async function explainBinding(attempt: Attempt, dialect: Dialect, known: Known): Promise<object> {
  const { binding, choice, limits, input } = attempt
  const { target } = binding
  const shown = {
    target: target.name,
    provider: target.provider.name,
    dialect: binding.to.name,
    how: howOf(binding),
    ...placeOf(binding, choice),
    ...(binding.isPatched && { patch: 'the request is patched by gateway.yaml' }),
    // The patches of the provider's file for the answer.
    patched: (['usage', 'request', 'response', 'event', 'error'] as const).filter(part => binding.endpoint[part] !== undefined),
    ...priceOf(attempt, known),
    limits,
  }
  try {
    const refusal = binding.media && refusalOfMedia(binding.media, input)
    if (refusal) throw refusal
    if (binding.mapping && input.stream && !binding.mapping.stream)
      throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
    return { ...shown, ...(await renderedOf(attempt, known)) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (binding.next && binding.mapping)
      return {
        ...shown,
        refused: refusalOf(error, dialect),
        next: await explainBinding({ ...attempt, binding: binding.next }, dialect, known),
      }
    return { ...shown, refused: refusalOf(error, dialect) }
  }
}

/** A request that passes through unchanged: its body is not read. */
function explainHandedOn(route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): object {
  const attempt = proxiedRequest(route, key, exchange, snapshot)
  const { binding, limits } = attempt
  const { target } = binding
  const { method, origin, path, headers } = requestOf(attempt)
  const price = target.cost?.({}, exchange.startedAt)
  return {
    target: target.name,
    provider: target.provider.name,
    how: 'passed on unchanged',
    price: price === undefined ? 'not known' : `${price / NANO} a request`,
    limits,
    request: { method, url: hidden(`${origin}${path}`, target), headers: maskedHeaders(headers, target, binding) },
  }
}

function howOf({ mapping, from, to }: Binding): string {
  if (mapping === undefined) return 'bytes through'
  return `translated by ${pairOf(from.name, to.name)}`
}

/** The upstream request as it would be sent, with secrets masked. */
async function renderedOf(given: Attempt, known: Known): Promise<object> {
  const { binding } = given
  const { target, mapping } = binding
  const attempt = mapping ? { ...given, input: await forMapping(given) } : given
  const ctx = contextOf(attempt)
  const unnamed = checkServed(attempt, ctx)
  const fetched = [mapping?.fetch?.(attempt.input.body, ctx) ?? []].flat()
  const parts = mapping?.split?.(attempt.input.body, ctx)
  const rendered = render(attempt, ctx, unnamed)
  const { request, dropped } = rendered
  return {
    request: {
      method: request.method,
      url: hidden(`${request.origin}${request.path}`, target),
      headers: headersOf(rendered, target, binding),
      before: beforeOf(attempt.input),
      after: bodyOf(rendered),
    },
    dropped,
    ...(dropped.length > 0 && { why: Object.fromEntries(dropped.map(path => [path, whyLost(path, binding, known.lost())])) }),
    ...(fetched.length > 0 && { fetched }),
    ...(Array.isArray(parts) && parts.length > 1 && { calls: parts.length }),
  }
}

/** The price of a million tokens, and of other meters, at this target; nothing if it is not known. */
function priceOf({ binding: { target }, choice }: Attempt, { snapshot, timesOf }: Known): object {
  const own = choice.model?.config.price
  const price = own ?? pricesTimes(priceAt(target.facts.prices, new Date().toISOString()), timesOf(target))
  return price === undefined ? { price: 'not known' } : { price: { ...price, ...(own && { currency: snapshot.currency }) } }
}

function timesOf({ gateway }: Prepared): (target: Target) => number {
  return ({ upstream }) => gateway.upstreams[upstream]?.times ?? 1
}

/** Why a field is lost, by the name of a pair and the path of the field. */
type Reasons = (pair: string, path: string) => string | undefined

function lostIn(folder: string): Reasons {
  const project = projectOf(folder)
  const fields = new Map<string, readonly Field[]>()
  return (pair, path) => {
    if (!fields.has(pair)) fields.set(pair, fieldsOfPair(project, pair))
    return whyDropped(fields.get(pair) as readonly Field[], path)
  }
}

function whyLost(path: string, binding: Binding, lost: Reasons): string {
  const { mapping, from, to, fit, endpoint } = binding
  const rule = fit?.find(one => one.path.join('.') === path && one.why !== '')
  return (
    (mapping && lost(pairOf(from.name, to.name), path)) ??
    rule?.why ??
    (endpoint.drop?.includes(path) || endpoint.dropInside?.some(({ at }) => at === path)
      ? 'the provider does not take it'
      : 'no schema names it, so no mapping reads it')
  )
}

const MASK = '***'

/** A text without the target's secret. Hosts stay, because the operator wants to see where requests go. */
function hidden(text: string, { secret }: Target): string {
  return maskSecrets(text, [secret])
}

function headersOf({ request }: Rendered, target: Target, binding: Binding): Record<string, string> {
  return maskedHeaders(request.headers, target, binding)
}

function maskedHeaders(list: readonly string[], target: Target, binding: Binding): Record<string, string> {
  const credentials = new Set([target.provider.credential.header?.toLowerCase(), binding.token?.header.toLowerCase()])
  const headers: Record<string, string> = {}
  for (let index = 0; index < list.length; index += 2) {
    const name = (list[index] as string).toLowerCase()
    const isOurs = target.headerValues?.includes(list[index + 1] as string) === true
    headers[name] = credentials.has(name) || isOurs ? MASK : hidden(list[index + 1] as string, target)
  }
  return headers
}

function beforeOf(input: Input): Json {
  return input.form ? '(a form)' : input.body
}

function bodyOf({ request }: Rendered): Json {
  const { body } = request as { body?: unknown }
  if (body === undefined) return undefined
  if (typeof body !== 'string' && !Buffer.isBuffer(body) && !Array.isArray(body)) return '(a form)'
  const text = Array.isArray(body) ? Buffer.concat(body as Buffer[]).toString('utf8') : String(body)
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

function refusalOf(error: GatewayError, dialect: Dialect): object {
  const { status, body } = renderError(dialect, error, EXPLAINED_ID)
  return {
    status,
    message: error.message,
    ...(error.more.param !== undefined && { param: error.more.param }),
    body: JSON.parse(body) as Json,
  }
}

interface ExplainedTarget {
  request?: { method: string; url: string; headers: object; before: Json; after: Json }
  limits?: object
  price?: object | string
  dropped?: readonly string[]
  why?: Record<string, string>
  refused?: Refused
  next?: ExplainedTarget
}

interface Refused {
  status: number
  message: string
  /** What the client gets; absent where no route is asked. */
  body?: Json
}

function textOf({ route, key, model, targets, refused }: Explained): string {
  const line = (name: string, value: object | undefined): string[] => (value === undefined ? [] : [`${name.padEnd(8)}${inline(value)}`])
  const lines = [...line('route', route), ...line('key', withRates(key)), ...line('model', withRates(model))]
  targets?.forEach((target, index) => {
    lines.push('', ...targetLines(target, `${index + 1}. `))
  })
  if (refused !== undefined) lines.push('', ...refusedLines('refused  ', refused as Refused))
  lines.push('', 'Nothing was sent.')
  return lines.join('\n')
}

function targetLines(target: ExplainedTarget, title: string): string[] {
  const { request, limits, price, dropped = [], why = {}, refused, next, ...rest } = target
  const lines = [`${title}${inline(rest)}`]
  if (price !== undefined) lines.push(`   price ${typeof price === 'string' ? price : priceText(price)}`)
  if (limits !== undefined) lines.push(`   limits ${deadlinesText(limits)}`)
  lines.push(...dropped.map(path => `   dropped: ${path}: ${why[path] as string}`))
  if (refused !== undefined) lines.push(...refusedLines('   refused: ', refused))
  if (next !== undefined) return [...lines, ...targetLines(next, '   else ')]
  if (request === undefined) return lines
  lines.push(`   ${request.method} ${request.url}`, `   headers ${inline(request.headers)}`)
  return [...lines, ...block('before', request.before), ...block('after', request.after)]
}

function withRates(value: object | undefined): object | undefined {
  const { limits } = Object(value) as { limits?: RateLimits }
  return limits === undefined ? value : { ...value, limits: ratesText(limits) }
}

function priceText({ currency, ...price }: { currency?: string }): string {
  const meters = Object.entries(price).map(
    ([meter, amount]) => `${meter} ${typeof amount === 'object' ? JSON.stringify(amount) : String(amount)}`,
  )
  return `${meters.join(', ')} ${currency ?? 'USD'}; of tokens, for a million`
}

function refusedLines(title: string, { status, message, body }: Refused): string[] {
  const got = body === undefined ? [] : [`${' '.repeat(title.length)}the client gets ${JSON.stringify(body)}`]
  return [`${title}${status} ${message}`, ...got]
}

function block(title: string, value: Json): string[] {
  return value === undefined
    ? []
    : [
        `   ${title}:`,
        ...JSON.stringify(value, null, 2)
          .split('\n')
          .map(line => `     ${line}`),
      ]
}

/** Members in one line of YAML. */
function inline(value: object): string {
  return Object.entries(value)
    .filter(([, item]) => item !== undefined && !(Array.isArray(item) && item.length === 0))
    .map(
      ([name, item]) =>
        `${name}: ${Array.isArray(item) ? item.join(', ') : typeof item === 'object' ? JSON.stringify(item) : String(item)}`,
    )
    .join('; ')
}
