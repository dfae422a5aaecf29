// Adds the operator's patches of requests to a step that rebuilds requests anyway: the dialect's clean-up where bytes pass,
// or the mapping. A binding without patches has no such step.

import type { Body, Context, Dialect, Json, Mapping } from '../plan.js'
import type { ParameterConfig } from './config.js'
import { compiled, type Expressions } from './expressions.js'

/**
 * Makes the request that is sent from the one that would be. Throws if the expression fails, or returns something other
 * than an object.
 */
export type Patch = (body: Body, ctx: Context) => Body

/** The patches of a model and its target for requests in a dialect, in sequence; undefined if there are none. */
export function patchFor(wishes: readonly ParameterConfig[], dialect: string, expressions: Expressions): Patch | undefined {
  const steps = wishes.flatMap(({ patch }) => {
    const text = typeof patch === 'string' ? patch : patch?.[dialect]
    return text === undefined ? [] : [compiled(text, expressions)]
  })
  if (steps.length === 0) return undefined
  return (body, ctx) =>
    steps.reduce<Body>((before, step) => {
      const after = step(before, { ctx })
      if (after === undefined) return before
      if (typeof after !== 'object' || after === null || Array.isArray(after)) throw new Error(`a patch of ${dialect} returns no object`)
      return after as Body
    }, body)
}

/** A mapping with its requests patched. */
export function patchedMapping(mapping: Mapping, patch: Patch): Mapping {
  const { request } = mapping
  if (request === undefined) return mapping
  return { ...mapping, request: (body, ctx, carry) => patch(request(body, ctx, carry) as Body, ctx) }
}

/** A dialect whose requests are rebuilt from the patch's result. */
export function patchedDialect(dialect: Dialect, patch: Patch): Dialect {
  const clean = (body: Body, ctx: Context): Json => dialect.clean?.request(body, ctx) ?? body
  return { ...dialect, clean: { request: (body, ctx) => patch(clean(body, ctx) as Body, ctx) } }
}
