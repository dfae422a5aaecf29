// The upstream request: the client's own bytes with what must differ replaced, or a body that a mapping makes.

import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { isOmitted } from '../core/text.js'
import type { Body, Context, Json, StreamFormat } from '../plan.js'
import type { Task } from '../snapshot/sealer.js'
import type { Binding, Route } from '../snapshot/snapshot.js'
import type { UpstreamRequest } from '../upstream/call.js'
import { releaseDigits } from '../wire/json/digits.js'
import { type Edit, editedPieces, editMembers, type MemberSpan, onlyMember, withValue } from '../wire/json/scan.js'
import { isWithin, Unnamed } from '../wire/json/unnamed.js'
import type { Choice } from './choose.js'
import type { Input } from './read.js'

export interface Rendered {
  request: UpstreamRequest
  ctx: Context
  carry: Json
  /** Events with usage come although the client did not ask for them. */
  isAsked: boolean
  /** Fields of the request that the provider does not see. */
  dropped: readonly string[]
}

const DEFAULT_MAX_OUTPUT = 8192
const NONE: readonly string[] = Object.freeze([])

export function contextOf(binding: Binding, choice: Choice, input: Input, exchange: Exchange): Context {
  const { target } = binding
  const ctx: Context = {
    model: choice.task && choice.model === undefined ? choice.task.model : target.model,
    requested: choice.task && choice.model === undefined ? choice.task.requested : input.model,
    provider: target.provider.name,
    stream: input.stream,
    max_output: choice.model?.config.limits?.max_output ?? DEFAULT_MAX_OUTPUT,
    id: exchange.id.slice(-24),
    created: Math.floor(exchange.startedAt / 1000),
    tag: binding.tag,
    traits: target.traits,
  }
  if (choice.task) ctx.task = choice.task.id
  return ctx
}

/** `unnamed` are members of the request that no schema names, and so no mapping has read. */
export function render(
  binding: Binding,
  choice: Choice,
  input: Input,
  route: Route,
  exchange: Exchange,
  ctx: Context,
  unnamed: readonly string[],
): Rendered {
  const path = pathOf(binding, input.stream ? binding.streamPath : binding.path, choice.task, route, exchange)
  const headers = forwarded(binding, route, exchange)
  const ask = input.stream ? binding.to.stream?.ask : undefined
  const request: UpstreamRequest = {
    dispatcher: binding.pool,
    origin: binding.origin,
    method: binding.endpoint.method,
    path,
    headers,
    name: binding.target.name,
  }
  const hasBody = binding.endpoint.method !== 'GET' && binding.endpoint.method !== 'DELETE'
  if (binding.mapping) {
    const { mapping } = binding
    const carry = mapping.carry?.(input.body, ctx)
    const body = hasBody && mapping.request ? (mapping.request(input.body, ctx, carry) as Body) : undefined
    const told = mapping.dropped?.(input.body, ctx, body) ?? NONE
    const named = unnamed.length > 0 ? [...told, ...unnamed.filter(path => !isWithin(path, told))] : told
    const dropped = body ? withDoor(named, body, binding, choice) : named
    checkLost(dropped, choice)
    if (body) {
      if (ask) setMember(body, ask.path, ask.value)
      adapt(body, binding)
      headers.push('content-type', 'application/json')
      request.body = releaseDigits(JSON.stringify(body))
    }
    return { request, ctx, carry, isAsked: false, dropped }
  }
  if (input.form) {
    headers.push('content-type', input.form.type)
    request.body = input.form.relayed(ctx.model)
    return { request, ctx, carry: undefined, isAsked: false, dropped: NONE }
  }
  if (input.bytes.length === 0) return { request, ctx, carry: undefined, isAsked: false, dropped: NONE }
  const { body, isAsked } = sameDialect(binding, choice, input, route, ctx, ask)
  if (hasBody) {
    headers.push('content-type', 'application/json')
    if (Array.isArray(body)) headers.push('content-length', String(body.reduce((sum, piece) => sum + piece.length, 0)))
    request.body = body
  }
  return { request, ctx, carry: undefined, isAsked, dropped: hasBody ? withDoor(NONE, input.outline, binding, choice) : NONE }
}

/**
 * Throws where a request holds what this binding cannot serve: before anything is fetched or sent for it. Gives the members that
 * its schema does not name, which no mapping can have read.
 */
export function checkServed(binding: Binding, input: Input, ctx: Context): readonly string[] {
  const { mapping, from } = binding
  if (mapping === undefined) return NONE
  const refused = mapping.refused?.(input.body, ctx)
  if (refused) throw unsupported(refused.param, `${refused.why}${namesOf(refused.named)}`)
  if (from.unnamed === undefined) return NONE
  const found = new Unnamed()
  from.unnamed(input.body, found)
  const known = found.kinds.length > 0 ? (mapping.dropped?.(input.body, ctx) ?? NONE) : NONE
  const kind = found.kinds.find(({ path }) => !mapping.judges.includes(path) && !isWithin(path, known))
  if (kind) throw unsupported(kind.path, kind.why)
  return found.members
}

/** Throws where the model refuses what a provider will not see. */
function checkLost(dropped: readonly string[], choice: Choice): void {
  if (dropped.length > 0 && choice.model?.config.unsupported === 'refuse')
    throw unsupported(dropped[0] as string, 'the provider has no such control')
}

/** What is dropped, with what the provider's endpoint takes out of a body: members that somebody asked for. */
function withDoor(dropped: readonly string[], body: Body, binding: Binding, choice: Choice): readonly string[] {
  if (binding.endpoint.drop === undefined) return dropped
  const { stream, vectors } = binding.to
  // Usage and the form of vectors are the gateway's matter: the client has them all the same.
  const isOurs = (name: string): boolean => {
    const [asked, ...inner] = stream?.ask?.path ?? []
    return name === vectors?.form.path[0] || (name === asked && Object.keys(Object(body[name])).every(key => key === inner[0]))
  }
  const more = binding.endpoint.drop.filter(
    name => body[name] !== undefined && body[name] !== null && !isOurs(name) && !dropped.includes(name),
  )
  if (more.length === 0) return dropped
  checkLost(more, choice)
  return [...dropped, ...more]
}

/** How many of what a refusal is about are named, and how long a name may be. */
const MOST_NAMES = 5
const LONGEST_NAME = 64

/** A condition may give the names of what it found. */
function namesOf(named: Json): string {
  const list: readonly Json[] = Array.isArray(named) ? named : [named]
  const names = [...new Set(list.filter(name => typeof name === 'string' && name !== ''))].slice(0, MOST_NAMES)
  return names.length === 0 ? '' : ` (${names.map(name => String(name).slice(0, LONGEST_NAME)).join(', ')})`
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('invalid_request', `Unsupported parameter: '${param}' cannot be served by this model: ${why}.`, {
    param,
    code: 'unsupported_parameter',
  })
}

/** The client's bytes, unless some of them must change; of a long body in pieces then, so that it need not be copied. */
function sameDialect(
  binding: Binding,
  choice: Choice,
  input: Input,
  route: Route,
  ctx: Context,
  ask: StreamFormat['ask'],
): { body: Buffer | Buffer[]; isAsked: boolean } {
  const { to, endpoint } = binding
  let { bytes, outline: body, members } = input
  const isMarked = to.clean?.markers.some(marker => input.probeBytes.includes(marker)) === true
  // Bytes that are made anew may be said in the way that the expression knows.
  if (isMarked) input.normalise?.()
  const cleaned = isMarked ? to.clean?.request(input.body, ctx) : undefined
  if (cleaned !== undefined) {
    body = cleaned as Body
    bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
    members = undefined
  }
  let edits: Map<string, Edit> | undefined
  const edit = (name: string, change: Edit): void => {
    edits ??= new Map()
    edits.set(name, { ...edits.get(name), ...change })
  }
  const model = to.model.from === 'body' ? (to.model.path[0] as string) : undefined
  if (model !== undefined && route.model !== undefined && (body[model] !== ctx.model || mayRepeat(bytes, model, members)))
    edit(model, { value: JSON.stringify(ctx.model) })
  if (route.follow?.from === 'body') {
    const name = route.follow.path[0] as string
    if (typeof body[name] === 'string' && choice.task) edit(name, { value: JSON.stringify(choice.task.id) })
    else if (body[name] !== undefined && body[name] !== null) throw unknownTask(name)
  }
  let isAsked = false
  if (ask && !endpoint.drop?.includes(ask.path[0] as string)) {
    isAsked = memberAt(body, ask.path) !== ask.value
    if (isAsked) {
      const first = ask.path[0] as string
      const holder = { [first]: isOmitted(body[first]) ? input.body[first] : body[first] } as Body
      setMember(holder, ask.path, ask.value)
      edit(first, { value: JSON.stringify(holder[first]) })
    }
  }
  for (const name of endpoint.drop ?? []) if (body[name] !== undefined) edit(name, { drop: true })
  for (const name in endpoint.rename) if (body[name] !== undefined) edit(name, { rename: endpoint.rename[name] as string })
  if (edits === undefined) return { body: bytes, isAsked }
  // What is signed is signed as one.
  if (members !== undefined && !binding.signer) return { body: inFew(editedPieces(bytes, edits, members)), isAsked }
  const edited = (members === undefined ? oneValue(bytes, body, edits) : undefined) ?? editMembers(bytes, edits, members)
  // Bytes that parse as an object are scanned as one; if not, that is our fault, not the caller's.
  if (edited === undefined) throw new Error('a parsed body could not be scanned')
  return { body: edited, isAsked }
}

/** Pieces that are shorter are put together: each is written by itself. */
const SHORT = 16 * 1024

function inFew(pieces: readonly Buffer[]): Buffer[] {
  const few: Buffer[] = []
  const short: Buffer[] = []
  for (const piece of pieces) {
    if (piece.length >= SHORT && short.length > 0) few.push(Buffer.concat(short.splice(0)))
    if (piece.length >= SHORT) few.push(piece)
    else short.push(piece)
  }
  if (short.length > 0) few.push(Buffer.concat(short))
  return few
}

/** What the caller names is no task of its own, whether or not it is somebody else's. */
export function unknownTask(param: string): GatewayError {
  return new GatewayError('not_found', `There is nothing with the id that '${param}' gives.`, { param, code: 'not_found' })
}

/** Whether a key may stand in the bytes more than once: which one counts is then up to the reader, and must not be. */
function mayRepeat(bytes: Buffer, key: string, members: readonly MemberSpan[] | undefined): boolean {
  return members ? members.filter(member => member.key === key).length > 1 : onlyMember(bytes, key) === undefined
}

/** The bytes with another value for one member, where that is all, and it is found without looking at the others. */
function oneValue(bytes: Buffer, body: Body, edits: ReadonlyMap<string, Edit>): Buffer | undefined {
  if (edits.size !== 1) return undefined
  const [name, { value, rename, drop }] = edits.entries().next().value as [string, Edit]
  if (value === undefined || rename !== undefined || drop || !Object.hasOwn(body, name)) return undefined
  const member = onlyMember(bytes, name)
  return member && withValue(bytes, member, value)
}

/** A provider's quirks, on a body that a mapping made. */
function adapt(body: Body, binding: Binding): void {
  for (const name of binding.endpoint.drop ?? []) delete body[name]
  for (const [name, other] of Object.entries(binding.endpoint.rename ?? {})) {
    if (body[name] === undefined) continue
    body[other] = body[name]
    delete body[name]
  }
}

function memberAt(body: Body, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (typeof value === 'object' && value !== null ? (value as Body)[name] : undefined), body)
}

function setMember(body: Body, path: readonly string[], value: Json): void {
  let holder = body
  for (const name of path.slice(0, -1)) {
    const next = holder[name]
    holder[name] = typeof next === 'object' && next !== null ? { ...next } : {}
    holder = holder[name] as Body
  }
  holder[path.at(-1) as string] = value
}

/** A binding's path, with the task that is followed and what the route passes on of the query. */
export function pathOf(binding: Binding, path: string, task: Task | undefined, route: Route, exchange: Exchange): string {
  let whole = path
  if (task && binding.isOpen) {
    whole = whole
      .replaceAll('{model}', encodeURIComponent(task.model))
      .replaceAll('{task}', encodeURIComponent(task.id))
      .replaceAll('{+task}', task.id.split('/').map(segment).join('/'))
  }
  if (binding.mapping || route.forwardQuery.length === 0) return whole
  const passed = new URLSearchParams()
  for (const name of route.forwardQuery) if (exchange.query[name] !== undefined) passed.set(name, exchange.query[name])
  const text = passed.toString()
  return text === '' ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${text}`
}

/** A segment of a path that leads nowhere else: the provider chose it, and what holds dots alone would climb. */
function segment(text: string): string {
  return /^\.+$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
}

/** The headers of an upstream request but its body's: the binding's, the credential, and what the route passes on. */
export function forwarded(binding: Binding, route: Route, exchange: Exchange): string[] {
  const headers = binding.headers.slice()
  headers.push('x-request-id', exchange.id)
  if (binding.token) headers.push(binding.token.header, binding.token.value())
  if (binding.mapping) return headers
  for (const name of route.forward) {
    const value = exchange.headers[name]
    if (value === undefined) continue
    if (binding.headerNames.has(name)) headers[headers.indexOf(name) + 1] = value
    else headers.push(name, value)
  }
  return headers
}
