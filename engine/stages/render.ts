// Makes the upstream request: the client's own bytes with the necessary edits, or a body that a mapping makes.

import { setMember } from '../core/members.js'
import type { Body, Context, Json } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { names } from '../snapshot/parameters.js'
import type { UpstreamRequest } from '../upstream/call.js'
import { releaseDigits } from '../wire/json/digits.js'
import { isWithin } from '../wire/json/unnamed.js'
import type { Attempt } from './attempt.js'
import { callersCredential } from './callers-credential.js'
import { editedBytes } from './edited-bytes.js'
import { applyEdits, fitted } from './fit.js'
import { checkLost, withEndpointDrops } from './lost-fields.js'
import { headersOf, pathOf } from './upstream-head.js'

export interface Rendered {
  request: UpstreamRequest
  ctx: Context
  carry: Json
  /** The gateway asked for usage events, which the client did not. */
  isAsked: boolean
  /** Fields of the request that the provider does not see. */
  dropped: readonly string[]
}

const NONE: readonly string[] = Object.freeze([])

/** The part of an attempt that mappings see. */
export function contextOf({ binding, choice, input, route, exchange }: Attempt): Context {
  const { target } = binding
  const { model, task } = choice
  const followed = model === undefined ? task : undefined
  const ctx: Context = {
    model: followed?.model ?? target.model,
    requested: followed?.requested ?? input.model,
    provider: target.provider.name,
    stream: input.stream,
    max_output: target.maxOutput,
    id: exchange.id.slice(-24),
    created: Math.floor(exchange.startedAt / 1000),
    tag: binding.tag,
    traits: target.traits,
    query: route.queryFor(exchange.query),
  }
  if (task) ctx.task = task.id
  if (input.turn) ctx.kept = { previous: input.turn.previous ?? null }
  return ctx
}

/** `unnamed` are members of the request that the schema does not name, so that no mapping has read them. */
export function render(attempt: Attempt, ctx: Context, unnamed: readonly string[]): Rendered {
  const { binding, input, choice } = attempt
  const headers = headersOf(attempt)
  const ask = input.stream ? binding.to.stream?.ask : undefined
  const { method } = binding.endpoint
  const request: UpstreamRequest = {
    dispatcher: binding.pool,
    origin: binding.origin,
    method,
    path: pathOf(attempt),
    headers,
    name: binding.target.name,
    idHeader: binding.to.error.requestIdHeader,
  }
  if (binding.target.isCallers) request.hides = callersCredential(attempt).text
  const hasBody = method !== 'GET' && method !== 'DELETE'
  if (binding.mapping) {
    const { mapping } = binding
    const carry = mapping.carry?.(input.body, ctx)
    const body = hasBody && mapping.request ? (mapping.request(input.body, ctx, carry) as Body) : undefined
    const told = body && binding.fit ? fitMade(body, attempt, ctx) : (mapping.dropped?.(input.body, ctx, body) ?? NONE)
    const named = unnamed.length > 0 ? [...told, ...unnamed.filter(path => !isWithin(path, told))] : told
    const dropped = body ? withEndpointDrops(named, body, attempt) : named
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
  const { body, isAsked, told } = editedBytes(attempt, ctx, ask)
  if (!hasBody) return { request, ctx, carry: undefined, isAsked, dropped: NONE }
  headers.push('content-type', 'application/json')
  if (Array.isArray(body)) headers.push('content-length', String(body.reduce((sum, piece) => sum + piece.length, 0)))
  request.body = body
  const dropped = binding.endpoint.drop ? withEndpointDrops(told, input.outline, attempt) : told
  return { request, ctx, carry: undefined, isAsked, dropped }
}

/** Fits a mapping's body to its model. Returns the lost members, with the client's names if the mapping knows them. */
function fitMade(body: Body, { binding, input }: Attempt, ctx: Context): readonly string[] {
  const told = (): string[] => binding.mapping?.dropped?.(input.body, ctx, body) ?? []
  const fits =
    binding.fit &&
    fitted(
      binding.fit,
      body,
      () => body,
      ctx.traits,
      path => names(binding.from, path),
    )
  if (fits === undefined) return told()
  const before = told()
  applyEdits(fits.edits, body)
  const after = told()
  if (after.length - before.length >= fits.told.length) return after
  return [...after, ...fits.told.filter(path => !after.includes(path))]
}

/** Drops and renames members of a mapping's body for the provider's endpoint. */
function adapt(body: Body, binding: Binding): void {
  for (const name of binding.endpoint.drop ?? []) delete body[name]
  for (const [name, other] of Object.entries(binding.endpoint.rename ?? {})) {
    if (body[name] === undefined) continue
    body[other] = body[name]
    delete body[name]
  }
}
