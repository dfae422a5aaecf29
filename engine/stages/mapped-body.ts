// The body of an upstream request that a mapping makes of the client's.

import { setMember } from '../core/members.js'
import { askedUsage } from '../core/usage.js'
import type { Body, Context, Json, RawUsage } from '../plan.js'
import type { Binding } from '../snapshot/model.js'
import { names } from '../snapshot/parameters.js'
import { releaseDigits } from '../wire/json/digits.js'
import { isWithin } from '../wire/json/unnamed.js'
import type { Attempt } from './attempt.js'
import { endpointBody } from './endpoint-body.js'
import { applyEdits, fitted } from './fit.js'
import { checkLost, withEndpointDrops } from './lost-fields.js'

export interface MappedBody {
  /** JSON; undefined if the request has no body. */
  text: string | undefined
  carry: Json
  /** Fields of the client's request that the provider does not see. */
  dropped: readonly string[]
  /** Those of them that the schema does not name. */
  unnamed: readonly string[]
  /** What is counted in the provider's request. */
  asked?: RawUsage | undefined
}

const NONE: readonly string[] = Object.freeze([])

/** `unnamed` are members of the request that the schema does not name, so that no mapping has read them. */
export function mappedBody(attempt: Attempt, ctx: Context, unnamed: readonly string[], hasBody: boolean): MappedBody {
  const { binding, input, choice } = attempt
  const { mapping } = binding
  const carry = mapping?.carry?.(input.body, ctx)
  const body = hasBody && mapping?.request ? (mapping.request(input.body, ctx, carry) as Body) : undefined
  const told = body && binding.fit ? fitMade(body, attempt, ctx) : (mapping?.dropped?.(input.body, ctx, body) ?? NONE)
  const others = unnamed.length > 0 ? unnamed.filter(path => !isWithin(path, told)) : NONE
  const lost = others.length > 0 ? [...told, ...others] : told
  const dropped = body ? withEndpointDrops(lost, body, attempt) : lost
  checkLost(dropped, choice)
  if (body === undefined) return { text: undefined, carry, dropped, unnamed: others }
  const ask = input.stream ? binding.to.stream?.ask : undefined
  if (ask) setMember(body, ask.path, ask.value)
  const asked = askedUsage(binding.to, { body })
  return { text: releaseDigits(JSON.stringify(adapted(body, binding))), carry, dropped, unnamed: others, ...(asked && { asked }) }
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

/** A mapping's body as the provider's endpoint takes it. */
function adapted(made: Body, { endpoint }: Binding): Body {
  const body = endpointBody(endpoint, made, () => made) ?? made
  for (const name of endpoint.drop ?? []) delete body[name]
  for (const [name, other] of Object.entries(endpoint.rename ?? {})) {
    if (body[name] === undefined) continue
    body[other] = body[name]
    delete body[name]
  }
  return body
}
