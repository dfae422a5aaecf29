// What the operator patches of requests, put where a request is made anyway: in the dialect's own clean-up where bytes pass, in
// the mapping where there is one. A binding of which nothing is patched has neither.

import type { Body, Context, Dialect, Json, Mapping } from '../plan.js'
import type { ParameterConfig } from './config.js'
import { compiled, type Expressions } from './expressions.js'

/** The request that is sent, from the one that would be. Throws where the expression fails, or gives no object. */
export type Patch = (body: Body, ctx: Context) => Body

/** The patches of a model and of its target for requests of a dialect, one after the other; nothing where there is none. */
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
      if (typeof after !== 'object' || after === null || Array.isArray(after)) throw new Error(`a patch of ${dialect} gives no object`)
      return after as Body
    }, body)
}

/** A mapping whose requests are patched. */
export function patchedMapping(mapping: Mapping, patch: Patch): Mapping {
  const { request } = mapping
  if (request === undefined) return mapping
  return { ...mapping, request: (body, ctx, carry) => patch(request(body, ctx, carry) as Body, ctx) }
}

/** A dialect in which the bytes of a request are made anew from what a patch gives. */
export function patchedDialect(dialect: Dialect, patch: Patch): Dialect {
  const clean = (body: Body, ctx: Context): Json => dialect.clean?.request(body, ctx) ?? body
  // Each request is an object, so each is patched.
  return { ...dialect, clean: { markers: ['{'], request: (body, ctx) => patch(clean(body, ctx) as Body, ctx) } }
}
