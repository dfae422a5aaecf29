// The upstream request: the client's own bytes with what must differ replaced, or a body that a mapping makes.

import { GatewayError } from './errors.js'
import type { Exchange } from './exchange.js'
import type { Body, Context, Json, StreamFormat } from './plan.js'
import type { Input } from './read.js'
import { type Edit, editMembers } from './scan.js'
import type { Model, Route, Way } from './world.js'

export interface Rendered {
  path: string
  headers: string[]
  body: Buffer | string
  ctx: Context
  carry: Json
  /** Events with usage come although the client did not ask for them. */
  isAsked: boolean
  /** Fields of the request that the provider does not see. */
  dropped: readonly string[]
}

const DEFAULT_MAX_OUTPUT = 8192
const NONE: readonly string[] = Object.freeze([])

export function contextOf(way: Way, model: Model, input: Input, call: Exchange): Context {
  return {
    model: way.target.model,
    requested: input.model,
    provider: way.target.provider.name,
    stream: input.stream,
    max_output: model.config.limits?.max_output ?? DEFAULT_MAX_OUTPUT,
    id: call.id.slice(-24),
    created: Math.floor(call.startedAt / 1000),
    tag: `sluice.${way.target.provider.name}.`,
    traits: way.target.traits,
  }
}

/** Throws `invalid_request` for what this way cannot serve. */
export function render(way: Way, model: Model, input: Input, route: Route, call: Exchange, ctx: Context): Rendered {
  const path = input.stream ? way.streamPath : way.path
  const headers = headersOf(way, route, call)
  const ask = input.stream ? way.to.stream?.ask : undefined
  if (way.mapping) {
    const { mapping } = way
    const refused = mapping.refused?.(input.body, ctx)
    if (refused) throw unsupported(refused.param, refused.why)
    const dropped = mapping.dropped?.(input.body, ctx) ?? NONE
    if (dropped.length > 0 && model.config.unsupported === 'refuse')
      throw unsupported(dropped[0] as string, 'the provider has no such control')
    const carry = mapping.carry?.(input.body, ctx)
    const body = mapping.request(input.body, ctx, carry) as Body
    if (ask) setMember(body, ask.path, ask.value)
    adapt(body, way)
    return { path, headers, body: JSON.stringify(body), ctx, carry, isAsked: false, dropped }
  }
  const { bytes, isAsked } = sameDialect(way, input, ctx, ask)
  return { path, headers, body: bytes, ctx, carry: undefined, isAsked, dropped: NONE }
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('invalid_request', `Unsupported parameter: '${param}' cannot be served by this model: ${why}.`, {
    param,
    code: 'unsupported_parameter',
  })
}

/** The client's bytes, unless some of them must change. */
function sameDialect(way: Way, input: Input, ctx: Context, ask: StreamFormat['ask']): { bytes: Buffer | string; isAsked: boolean } {
  const { to, door, target } = way
  let { bytes, body } = input
  if (to.clean && bytes.includes(to.clean.marker)) {
    body = to.clean.request(body, ctx) as Body
    bytes = Buffer.from(JSON.stringify(body))
  }
  const edits = new Map<string, Edit>()
  if (to.model.from === 'body' && (body[to.model.path[0] as string] !== target.model || mayRepeat(bytes, to.model.path[0] as string))) {
    edits.set(to.model.path[0] as string, { value: JSON.stringify(target.model) })
  }
  let isAsked = false
  if (ask && !door.drop?.includes(ask.path[0] as string)) {
    isAsked = memberAt(body, ask.path) !== ask.value
    if (isAsked) {
      const first = ask.path[0] as string
      const holder = { [first]: body[first] } as Body
      setMember(holder, ask.path, ask.value)
      edits.set(first, { value: JSON.stringify(holder[first]) })
    }
  }
  for (const name of door.drop ?? []) if (body[name] !== undefined) edits.set(name, { drop: true })
  for (const [name, other] of Object.entries(door.rename ?? {}))
    if (body[name] !== undefined) edits.set(name, { ...edits.get(name), rename: other })
  if (edits.size === 0) return { bytes, isAsked }
  const edited = editMembers(bytes, edits)
  // Bytes that parse as an object are scanned as one; if not, that is our fault, not the caller's.
  if (edited === undefined) throw new Error('a parsed body could not be scanned')
  return { bytes: edited, isAsked }
}

/** Whether a key may stand in the bytes more than once: which one counts is then up to the reader, and must not be. */
function mayRepeat(bytes: Buffer, key: string): boolean {
  const quoted = JSON.stringify(key)
  return bytes.indexOf(quoted) !== bytes.lastIndexOf(quoted) || bytes.includes('\\u00')
}

/** A provider's quirks, on a body that a mapping made. */
function adapt(body: Body, way: Way): void {
  for (const name of way.door.drop ?? []) delete body[name]
  for (const [name, other] of Object.entries(way.door.rename ?? {})) {
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

function headersOf(way: Way, route: Route, call: Exchange): string[] {
  const headers = way.headers.slice()
  headers.push('x-request-id', call.id)
  if (way.mapping) return headers
  for (const name of route.forward) {
    const value = call.headers[name]
    if (value === undefined) continue
    if (way.headerNames.has(name)) headers[headers.indexOf(name) + 1] = value
    else headers.push(name, value)
  }
  return headers
}
