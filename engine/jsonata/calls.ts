// Function values: calls of functions that are unknown at build, partial application, composition, transforms, tail calls.

import { setKey } from './objects.js'
import { collapse } from './paths.js'
import { ExpressionError, type FunctionValue } from './sequence.js'
import { clone } from './values.js'

type Fields = Record<string, unknown>

/** A call that the caller runs, so that recursion through it needs no stack. */
export class TailCall {
  constructor(
    readonly callee: unknown,
    readonly args: unknown[],
  ) {}
}

/** Tail calls after which one call counts as endless. */
const TAIL_CALL_LIMIT = 1e7

export function call(callee: unknown, args: unknown[], context: unknown): unknown {
  if (typeof callee !== 'function') throw new ExpressionError('T1006')
  return settle(callOnce(callee as FunctionValue, args, context), context)
}

function callOnce(callee: FunctionValue, args: unknown[], context: unknown): unknown {
  if (callee.withContext) return callee.withContext(context, args)
  return callee.body ? callee.body(...args) : callee(...args)
}

/** Runs the tail calls in a result until it is a value. */
export function settle(result: unknown, context: unknown): unknown {
  let value = result
  for (let calls = 0; value instanceof TailCall; calls++) {
    if (calls > TAIL_CALL_LIMIT) throw new ExpressionError('U1001')
    if (typeof value.callee !== 'function') throw new ExpressionError('T1006')
    value = callOnce(value.callee as FunctionValue, value.args, context)
  }
  return value
}

/** A lambda whose body may end in tail calls. */
export function trampolined(body: (...args: unknown[]) => unknown): FunctionValue {
  const value: FunctionValue = (...args) => settle(body(...args), null)
  value.arity = body.length
  value.body = body
  return value
}

/** A lambda with a signature: checks and completes its arguments. */
export function signed(validate: (args: unknown[], context: unknown) => unknown[], body: FunctionValue): FunctionValue {
  const run = body.body ?? body
  const value: FunctionValue = (...args) => settle(run(...validate(args, null)), null)
  value.arity = body.arity ?? body.length
  value.withContext = (context, args) => run(...validate(args, context))
  value.implementation = body
  return value
}

/** The placeholder of an argument that is left open. */
export const OPEN = Symbol('open')

export function partial(callee: unknown, given: unknown[]): FunctionValue {
  if (typeof callee !== 'function') throw new ExpressionError('T1008')
  const { implementation } = callee as FunctionValue
  const run = implementation ?? (callee as FunctionValue)
  const declared = (callee as FunctionValue).arity ?? (callee as FunctionValue).length
  const open: number[] = []
  for (let index = 0; index < Math.min(given.length, Math.max(declared, run.length)); index++) if (given[index] === OPEN) open.push(index)
  const value: FunctionValue = (...rest) => {
    const args = given.slice(0, Math.max(declared, run.length))
    for (let index = 0; index < open.length; index++) args[open[index] as number] = rest[index]
    return run(...args)
  }
  value.arity = open.length
  return value
}

/** `a ~> f`, where `f` is a function and `a` anything, a function included. */
export function apply(left: unknown, callee: unknown): unknown {
  if (typeof callee !== 'function') throw new ExpressionError('T2006', { value: callee })
  if (typeof left !== 'function') return call(callee, [left], null)
  return trampolined(argument => new TailCall(callee, [collapse(call(left, [argument], null))]))
}

/** `|pattern|update, delete|`: a copy with the matched objects changed. */
export function transform(
  pattern: (input: unknown) => unknown,
  update: (match: unknown) => unknown,
  remove: ((match: unknown) => unknown) | undefined,
): (input: unknown) => unknown {
  return input => {
    if (input === undefined) return undefined
    const result = clone(input)
    const found = pattern(result)
    if (found === undefined) return result
    for (const match of Array.isArray(found) ? found : [found]) {
      const changes = update(match)
      if (changes !== undefined) {
        if (typeof changes !== 'object' || changes === null || Array.isArray(changes))
          throw new ExpressionError('T2011', { value: changes })
        for (const key of Object.keys(changes)) setKey(match as Fields, key, (changes as Fields)[key])
      }
      const names = remove?.(match)
      if (names === undefined) continue
      const list: unknown[] = Array.isArray(names) ? names : [names]
      if (!list.every(name => typeof name === 'string')) throw new ExpressionError('T2012', { value: names })
      if (typeof match === 'object' && match !== null) for (const name of list) delete (match as Fields)[name as string]
    }
    return result
  }
}

/** Fails for a name of a function without its `$`. */
export function callForgotten(callee: unknown, args: unknown[], context: unknown): unknown {
  if (callee === undefined) throw new ExpressionError('T1005')
  return call(callee, args, context)
}

export function partialForgotten(callee: unknown, given: unknown[]): FunctionValue {
  if (callee === undefined) throw new ExpressionError('T1007')
  return partial(callee, given)
}
