// Composes two mappings for a pair of dialects without a mapping of its own, through a dialect that both share. To the
// stages the result is a mapping like any other. The intermediate form exists only as values, and is never sent.

import { memberAt, setMember } from '../core/members.js'
import { checkShape } from '../core/validation.js'
import type { Body, Composition, Context, Dialect, Json, Mapping, Plan, Reducer, State } from '../plan.js'

/** What the two mappings carry from the request to the answer. */
interface Carried {
  first: Json
  second: Json
}

/** A plan with the composed pairs. Throws if one of the two mappings is missing. */
export function withComposed(plan: Plan, compositions: Readonly<Record<string, Composition>>): Plan {
  const composed: Record<string, Mapping> = {}
  for (const [name, composition] of Object.entries(compositions)) {
    const { from, via, to } = composition
    const half = (one: string, other: string): Mapping => {
      const mapping = plan.mappings[`${one}-to-${other}`]
      if (mapping === undefined) throw new Error(`${name} is made of ${one}-to-${other}, which does not exist`)
      return mapping
    }
    composed[name] = compose(half(from, via), plan.dialects[via] as Dialect, half(via, to), plan.dialects[to] as Dialect, composition)
  }
  return { ...plan, composed }
}

/** The mapping between two dialects, its own or a composed one; undefined if there is neither. */
export function mappingOf(plan: Plan, from: string, to: string): Mapping | undefined {
  const name = `${from}-to-${to}`
  return plan.mappings[name] ?? plan.composed?.[name]
}

/** Composes two mappings. `middle` is the dialect between them, `upstream` the provider's. */
export function compose(first: Mapping, middle: Dialect, second: Mapping, upstream: Dialect, { via, members }: Composition): Mapping {
  /** The intermediate request while a request is processed: each stage passes the same context. */
  const between = new WeakMap<Context, { of: Body; fetched: unknown; carry: Json; made: Body }>()

  const halfway = (body: Body, ctx: Context): { carry: Json; made: Body } => {
    const known = between.get(ctx)
    if (known?.of === body && known.fetched === ctx.fetched) return known
    const carry = first.carry?.(body, ctx)
    const made = asWritten(first.request?.(body, ctx, carry)) as Body
    const ask = ctx.stream ? middle.stream?.ask : undefined
    if (ask) setMember(made, ask.path, ask.value)
    // The second mapping was compiled for requests that satisfy this schema.
    if (middle.validateRequest) checkShape(middle.validateRequest, made)
    const found = { of: body, fetched: ctx.fetched, carry, made }
    between.set(ctx, found)
    return found
  }

  /** The client's names of a field of the intermediate request; empty if the client did not send it. */
  const asSaid = (path: string, body: Body): string[] => {
    const top = path.split(/[.[]/, 1)[0] as string
    const fields = members[top]
    if (fields === undefined) return [path]
    const said = fields.map(field => ({ field, value: memberAt(body, field.split('.')) })).filter(({ value }) => value != null)
    if (path === top || said.every(({ value }) => typeof value !== 'object')) return said.map(({ field }) => field)
    return [path]
  }

  const dropped = (body: Body, ctx: Context, sent?: Json): string[] => {
    const { made } = halfway(body, ctx)
    const told = first.dropped?.(body, ctx, made as Json) ?? []
    const more = (second.dropped?.(made, ctx, sent) ?? []).flatMap(path => asSaid(path, body))
    return [...new Set([...told, ...more])]
  }

  /** The intermediate answers that were made already. */
  const answers = new WeakMap<Carried, { of: Json; made: Json }>()

  const answerBetween = (body: Json, ctx: Context, carry: Carried): Json => {
    const known = answers.get(carry)
    if (known !== undefined && known.of === body) return known.made
    const made = asWritten(second.response?.(body, ctx, carry.second))
    const answer = middle.normaliseResponse && made !== undefined ? middle.normaliseResponse(made) : made
    answers.set(carry, { of: body, made: answer })
    return answer
  }

  const composed: Mapping = {
    from: first.from,
    to: second.to,
    via,
    judges: first.judges,
    carry(body, ctx) {
      const { carry, made } = halfway(body, ctx)
      const carried: Carried = { first: carry, second: second.carry?.(made, ctx) }
      return carried as unknown as Json
    },
    request(body, ctx, carry) {
      return second.request?.(halfway(body, ctx).made, ctx, carriedIn(carry).second)
    },
    response(body, ctx, carry) {
      between.delete(ctx)
      const carried = carriedIn(carry)
      const answer = answerBetween(body, ctx, carried)
      return first.response?.(answer as Json, ctx, carried.first)
    },
    dropped,
    refused(body, ctx) {
      const found = first.refused?.(body, ctx)
      if (found) return found
      const { made } = halfway(body, ctx)
      const refused = second.refused?.(made, ctx)
      return refused && { ...refused, param: asSaid(refused.param, body)[0] ?? refused.param }
    },
  }
  if (first.fetch) composed.fetch = first.fetch
  // The second mapping's URLs are known only after the first mapping's were fetched.
  const { fetch } = second
  if (fetch) composed.fetchMore = (body, ctx) => fetch(halfway(body, ctx).made, ctx)
  if (first.split) composed.split = first.split
  const { join } = first
  if (join) composed.join = (answers, ctx, carry) => join(answers, ctx, carriedIn(carry).first)
  if (first.failure || second.failure)
    composed.failure = (body, ctx, carry) => {
      const carried = carriedIn(carry)
      const failure = second.failure?.(body, ctx, carried.second)
      if (failure !== undefined || first.failure === undefined) return failure
      const read = upstream.normaliseResponse ? upstream.normaliseResponse(body) : body
      return first.failure(answerBetween(read, ctx, carried) as Json, ctx, carried.first)
    }
  if (first.stream && second.stream) composed.stream = composeReducers(first.stream, middle, second.stream, ctx => between.delete(ctx))
  return composed
}

/** A value as JSON would carry it: members without a value are removed. Changes the objects that have some. */
function asWritten<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) for (const item of value) asWritten(item)
  else {
    const members = value as Record<string, unknown>
    for (const name of Object.keys(members)) {
      if (members[name] === undefined) delete members[name]
      else asWritten(members[name])
    }
  }
  return value
}

function carriedIn(carry: Json): Carried {
  return (carry ?? { first: undefined, second: undefined }) as unknown as Carried
}

/** Feeds one reducer into another. Holds at most the events that result from one event of the provider. */
function composeReducers(first: Reducer, middle: Dialect, second: Reducer, begin: (ctx: Context) => void): Reducer {
  /** Feeds the events of the second reducer, pairs of kind and JSON, to the first. Returns a failure of the first. */
  const handOn = (told: readonly string[], state: State, ctx: Context, carry: Carried, out: string[]): Json => {
    for (let index = 1; index < told.length; index += 2) {
      const event = JSON.parse(told[index] as string) as Json
      const read = middle.normaliseEvent ? middle.normaliseEvent(event) : event
      const failure = first.event(state.first as State, read, ctx, carry.first, out)
      if (failure !== undefined) return failure
    }
    return undefined
  }
  return {
    start: () => ({ first: first.start(), second: second.start(), begun: false }),
    event(state, event, ctx, carry, out) {
      if (state.begun === false) {
        state.begun = true
        begin(ctx)
      }
      const carried = carriedIn(carry)
      const told: string[] = []
      const failure = second.event(state.second as State, event, ctx, carried.second, told)
      return handOn(told, state, ctx, carried, out) ?? failure
    },
    done(state, ctx, carry, out) {
      const carried = carriedIn(carry)
      const told: string[] = []
      const failure = second.done(state.second as State, ctx, carried.second, told)
      return handOn(told, state, ctx, carried, out) ?? failure ?? first.done(state.first as State, ctx, carried.first, out)
    },
  }
}
