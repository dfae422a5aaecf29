// `$reduce` with a literal lambda: a loop whose accumulator may grow in place.

import type { Node } from '../ast.js'
import { branch, type Env, emit, named, rt, value } from '../context.js'
import { copiesIn, type LambdaOf } from '../copies.js'
import { type Act, type Growths, growthsOf, TRUSTED } from '../growth.js'
import { type Js, js } from '../js.js'
import { listCode } from '../operands.js'
import { GROWTH } from '../runtime.js'
import { ANY, ARR, isNothing, itemOf, type Operand, UNDEF } from '../types.js'
import { Lines } from '../unit.js'
import { bodyOf, indexOf, iteration } from './lambda-body.js'
import { findVariable } from './variable.js'

export function reduceLoop(
  node: Node,
  params: [string, string, ...string[]],
  operand: Operand,
  start: Operand | undefined,
  outer: Env,
): Operand {
  const isTrusted = [...TRUSTED].every(name => findVariable(name, outer) === undefined && !outer.options.globals?.has(name))
  const readsOf = (name: string, index: number): ReadonlySet<string> | undefined =>
    findVariable(name, outer) === undefined ? outer.options.readsOf?.(name, index) : undefined
  const growths = isTrusted ? growthsOf(node, params[0], readsOf) : undefined
  reportCopies(node, params[0], growths, outer)
  const env = growths ? { ...outer, acts: actsIn(growths, outer) } : outer
  const result = env.unit.name('sum')
  const mayMiss = (operand.bits & UNDEF) !== 0
  const body = new Lines()
  const inner: Env = mayMiss ? branch(env, body) : env
  if (mayMiss) emit(env, js`let ${result}`)
  const list = operand.bits === ARR ? operand : named(inner, value(listCode(operand, env.unit), ARR), 'list')
  const one = js`${list.code}[0]`
  const mayStart = start !== undefined && (start.bits & UNDEF) !== 0
  const begin =
    start === undefined || isNothing(start) ? one : mayStart ? js`${start.code} === undefined ? ${one} : ${start.code}` : start.code
  emit(inner, js`${mayMiss ? js`` : js`let `}${result} = ${begin}`)
  const from = start === undefined ? js`1` : mayStart ? js`${start.code} === undefined ? 1 : 0` : js`0`
  const index = env.unit.name('i')
  emit(inner, js`for (let ${index} = ${from}; ${index} < ${list.code}.length; ${index}++) {`)
  const out = new Lines()
  const item = itemOf(operand, env.unit.name(params[1]))
  out.add(js`const ${item.code} = ${list.code}[${index}]`, env.position)
  // The accumulator changes at each iteration, but a closure made in this one must keep seeing its value.
  const sum = env.unit.name(params[0])
  out.add(js`const ${sum} = ${result}`, env.position)
  const bodyEnv = iteration(
    node,
    params,
    [{ code: sum, bits: ANY, stable: true }, item, indexOf(index), list],
    branch({ ...env, isOutput: false }, out),
  )
  out.add(js`${result} = ${bodyOf(node, bodyEnv).code}`, env.position)
  inner.out.entries.push(out)
  emit(inner, js`}`)
  if (mayMiss) {
    emit(env, js`if (${operand.code} !== undefined) {`)
    env.out.entries.push(body)
    emit(env, js`}`)
  }
  return value(result, ANY, { raw: true })
}

/** Reports what is copied at each iteration; an expression whose functions are not known is not compiled for many items. */
function reportCopies(body: Node, name: string, growths: Growths | undefined, env: Env): void {
  const { lambdaOf } = env.options
  if (lambdaOf === undefined) return
  const known: LambdaOf = called => (findVariable(called, env) === undefined ? lambdaOf(called) : undefined)
  for (const { position, call, to } of copiesIn(body, [name], growths?.calls ?? new Set(), known)) {
    const detail = `${call} copies ${to} at each iteration`
    env.findings.push({ rule: 'jsonata/copies', detail, position: position ?? env.position })
  }
}

/** The actions at the nodes of a fold whose accumulator grows; emits the lines that they need before the loop. */
function actsIn({ calls, shares }: Growths, env: Env): Map<Node, Act> {
  const growers = new Map<string, Js>()
  for (const field of calls.values()) {
    if (growers.has(field)) continue
    const name = env.unit.name(field === '' ? 'own' : `own_${field}`)
    emit(env, js`const ${name} = ${rt(env, GROWTH, 'grower')}()`)
    growers.set(field, name)
  }
  const acts = new Map<Node, Act>(env.acts)
  const add = (node: Node, act: Act): void => void acts.set(node, { ...acts.get(node), ...act })
  for (const [node, field] of calls) {
    const own = growers.get(field)
    add(node, { grow: { append: rt(env, GROWTH, 'grow'), merge: rt(env, GROWTH, 'growMerged'), into: own ? [own] : [] } })
  }
  for (const [node, fields] of shares) {
    const share = fields.flatMap(field => {
      const own = growers.get(field)
      return own === undefined ? [] : [js`${own}.own = undefined`]
    })
    add(node, { share: [...(acts.get(node)?.share ?? []), ...share] })
  }
  return acts
}
