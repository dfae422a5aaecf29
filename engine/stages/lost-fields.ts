// The parts of a request that a provider cannot serve, or never sees.

import { GatewayError } from '../core/errors.js'
import { valuesAt } from '../core/members.js'
import type { Body, Context, Json } from '../plan.js'
import { isWithin, Unnamed } from '../wire/json/unnamed.js'
import type { Attempt } from './attempt.js'
import type { Choice } from './choose.js'

const NONE: readonly string[] = Object.freeze([])

/**
 * Throws if a request holds something that this binding cannot serve, before anything is fetched or sent. Returns the
 * members that the schema does not name, which no mapping can have read.
 */
export function checkServed({ binding, input }: Attempt, ctx: Context): readonly string[] {
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

/** Throws if the model's configuration refuses what a provider will not see. */
export function checkLost(dropped: readonly string[], choice: Choice, why = 'the provider has no such control'): void {
  if (dropped.length > 0 && choice.model?.config.unsupported === 'refuse') throw unsupported(dropped[0] as string, why)
}

/** The dropped members, with those that the provider's endpoint removes from the body, if the caller sent them. */
export function withEndpointDrops(dropped: readonly string[], body: Body, { binding, choice }: Attempt): readonly string[] {
  const { drop = NONE, dropInside = [] } = binding.endpoint
  const { stream, vectors } = binding.to
  // Usage and the encoding of vectors are done by the gateway: the client gets them all the same.
  const isOurs = (name: string): boolean => {
    const [asked, ...inner] = stream?.ask?.path ?? []
    return name === vectors?.form.path[0] || (name === asked && Object.keys(Object(body[name])).every(key => key === inner[0]))
  }
  const more = [
    ...drop.filter(name => isSaid(body[name]) && !isOurs(name)),
    ...dropInside.filter(({ path }) => valuesAt(body, path).some(value => isSaid(value as Json))).map(({ at }) => at),
  ].filter(name => !dropped.includes(name))
  if (more.length === 0) return dropped
  checkLost(more, choice)
  return [...dropped, ...more]
}

/** Whether a member says something. An empty object may: some turn a tool on. */
function isSaid(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== '' && !(Array.isArray(value) && value.length === 0)
}

/** The most names in a refusal, and the longest name. */
const MOST_NAMES = 5
const LONGEST_NAME = 64

/** The names that a condition returned. */
function namesOf(named: Json): string {
  const list: readonly Json[] = Array.isArray(named) ? named : [named]
  const names = [...new Set(list.filter(name => typeof name === 'string' && name !== ''))].slice(0, MOST_NAMES)
  return names.length === 0 ? '' : ` (${names.map(name => String(name).slice(0, LONGEST_NAME)).join(', ')})`
}

/** Refuses a parameter, with the reason. `param` is undefined if the client's dialect has no name for it. */
export function unsupported(param: string | undefined, why: string): GatewayError {
  const what = param === undefined ? 'The request' : `Unsupported parameter: '${param}'`
  return new GatewayError('invalid_request', `${what} cannot be served by this model: ${why}.`, { param, code: 'unsupported_parameter' })
}
