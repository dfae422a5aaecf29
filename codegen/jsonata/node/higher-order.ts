// `$map`, `$filter` and `$reduce` with a literal lambda: loops.

import type { Node } from '../ast.js'
import { branch, compile, compileAt, type Env, emit, emitLoop, named, rt, value } from '../context.js'
import { whereTrue, withFacts } from '../facts.js'
import { type Js, js } from '../js.js'
import { cannotFail, endLoop, fusedEnv, loopOf, noteLoop, openLoop } from '../loops.js'
import { listCode, truth } from '../operands.js'
import { PATHS } from '../runtime.js'
import { searched } from '../search.js'
import { ARR, type Facts, itemOf, listShape, type Operand, UNDEF } from '../types.js'
import { type Line, Lines } from '../unit.js'
import { bodyOf, indexOf, iteration } from './lambda-body.js'
import { reduceLoop } from './reduce.js'

/** `$map`, `$filter` and `$reduce` with a literal lambda. */
export function loop(name: string, args: Node[], { isTail, ...env }: Env, first: Operand | undefined): Operand | undefined {
  const lambda = args[first ? 0 : 1]
  const initial = name === 'reduce' ? args[first ? 1 : 2] : undefined
  const expected = 2 + (initial ? 1 : 0) - (first ? 1 : 0)
  if (lambda?.type !== 'lambda' || lambda.signature || lambda.predicate || args.length !== expected) return undefined
  const params = lambda.arguments.map(param => param.value)
  if (new Set(params).size !== params.length) return undefined
  const quiet: Env = { ...env, isOutput: false }
  const body = lambda.body
  if (name === 'reduce') {
    // The start value must not be a function; only a call with checked arguments would report that.
    const types = ['variable', 'lambda', 'partial', 'apply', 'transform', 'regex', 'function', 'block']
    if (initial !== undefined && types.includes(initial.type) && env.options.open) return undefined
    const [sum, item, ...others] = params
    if (sum === undefined || item === undefined || others.length > 2) return undefined
    const operand = named(env, first ?? compileAt(args, 0, quiet), 'items')
    return reduceLoop(body, [sum, item, ...others], operand, initial ? named(env, compile(initial, quiet), 'start') : undefined, env)
  }
  if (params.length > 3) return undefined
  const given = first ?? compileAt(args, 0, quiet)
  if (!isTail || (given.bits & UNDEF) === 0) return itemsLoop(name === 'map', body, params, given, env)
  // The result for undefined is undefined, which differs from an empty list for a loop that lists its results.
  const items = named(env, given, 'items')
  const { code, ...result } = itemsLoop(name === 'map', body, params, items, env)
  return { ...result, code: js`(${items.code} === undefined ? undefined : ${code})`, bits: result.bits | UNDEF }
}

/** `$map` and `$filter`. They treat an empty list like undefined, and so does the user of their collapsed results. */
function itemsLoop(isMap: boolean, node: Node, params: string[], whole: Operand, env: Env): Operand {
  const [param] = params
  // A lambda with an index or list parameter needs the whole list.
  const isSearch = !isMap && params.length === 1 && loopOf(whole) === undefined
  const given = isSearch && param !== undefined ? searched(whole, node, param, env) : whole
  const list = env.unit.name(isMap ? 'mapped' : 'kept')
  // A lambda with an index parameter needs the index in its own list.
  const open = params.length < 2 ? openLoop(given, node) : undefined
  let out: Env
  let made: Line
  let item: Operand
  let others: Operand[] = []
  if (open) {
    made = open.made
    out = fusedEnv(open, js`const ${list} = []`, env)
    item = named(out, open.item, param ?? 'item')
  } else {
    made = emit(env, js`const ${list} = []`)
    out = branch(env, new Lines())
    item = itemOf(given, env.unit.name(param ?? 'item'))
    const { items, index } = emitLoop(env.out, listCode(given, env.unit), item.code, out.out, env.unit, env.position)
    const all: Operand = { code: items, bits: ARR, stable: true }
    others = [indexOf(index), given.bits === ARR ? { ...given, ...all, raw: false } : all]
  }
  const inner = iteration(node, params, [item, ...others], { ...out, isOutput: isMap && env.isOutput === true })
  let found = bodyOf(node, inner)
  let test: Js | undefined
  let facts: Facts | undefined
  if (!isMap) {
    test = truth(found, inner.unit)
    facts = whereTrue(found)
    found = withFacts(item, facts)
  } else if (found.bits & UNDEF) {
    found = named(inner, found)
    test = js`${found.code} !== undefined`
  }
  const loop = endLoop(list, out, {
    item: { ...found, bits: found.bits & ~UNDEF },
    test,
    facts,
    made,
    isSafe: (open?.isSafe ?? true) && cannotFail(node),
  })
  const known: Partial<Operand> = {
    raw: true,
    nested: found.raw === true,
    list,
    clean: found.clean === true && !found.raw,
    ...(!found.raw && { shape: listShape(found) }),
  }
  const result = value(js`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, known)
  return found.raw ? result : noteLoop(result, loop)
}
