// Built-ins that are compiled inline.

import type { Node } from '../ast.js'
import { compile, compileAt, type Env, emit, named, operation, rt, value } from '../context.js'
import { factOf, factsIn, whereTrue } from '../facts.js'
import { js } from '../js.js'
import { insideOf } from '../json-text.js'
import { fusedEnv, openLoop } from '../loops.js'
import { truth, truthOf } from '../operands.js'
import { PATHS } from '../runtime.js'
import { ARR, BOOL, literal, NUM, OBJ, type Operand, type Shape, STR, UNDEF } from '../types.js'
import { Lines } from '../unit.js'
import { builtinCall } from './builtin-call.js'
import { loop } from './higher-order.js'

export function inlined(name: string, args: Node[], env: Env, first: Operand | undefined): Operand | undefined {
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const count = args.length + (first ? 1 : 0)
  const one = (): Operand => first ?? compileAt(args, 0, quiet)
  switch (name) {
    case 'exists': {
      if (count !== 1) return undefined
      const operand = one()
      const facts = factsIn(factOf(operand, { bits: ~UNDEF }), factOf(operand, { bits: UNDEF }))
      return operation(js`(${operand.code} !== undefined)`, [operand], BOOL, { clean: true, ...facts })
    }
    case 'not': {
      if (count !== 1) return undefined
      const operand = one()
      const known = { clean: true, ...factsIn(operand.whereFalse, whereTrue(operand)) }
      const test = truthOf(operand, env.unit)
      if ((operand.bits & UNDEF) === 0) return operation(js`!${test.code}`, [test], BOOL, known)
      const subject = named(env, operand)
      return value(js`(${subject.code} === undefined ? undefined : !${truth(subject, env.unit)})`, BOOL | UNDEF, { clean: true })
    }
    case 'boolean': {
      if (count !== 1) return undefined
      const operand = one()
      if (operand.bits === BOOL) return operand
      return builtinCall(name, [operand], env, env.ctx)
    }
    case 'string': {
      if (count !== 1) return undefined
      const operand = one()
      if (operand.bits === STR) return operand
      return builtinCall(name, [operand], env, env.ctx)
    }
    case 'type': {
      if (count !== 1) return undefined
      const subject = one()
      return { ...builtinCall(name, [subject], env, env.ctx), typeOf: subject }
    }
    case 'count': {
      if (count !== 1) return undefined
      const operand = one()
      const shape = { bits: NUM }
      if (operand.bits === ARR) return value(js`${operand.code}.length`, NUM, { clean: true, shape })
      return value(js`${rt(env, PATHS, 'countOf')}(${operand.code})`, NUM, { clean: true, shape })
    }
    case 'join': {
      const between = args[first ? 0 : 1]
      if (count > 2 || count < 1 || (between !== undefined && (between.type !== 'string' || between.predicate))) return undefined
      const operand = first ?? compileAt(args, 0, quiet)
      const separator = between && literal(between.value)
      return joined(operand, separator, env) ?? builtinCall(name, separator ? [operand, separator] : [operand], env, env.ctx)
    }
    case 'merge':
      return args[0] && count === 1 && !first ? merged(args[0], quiet) : undefined
    case 'map':
    case 'filter':
    case 'reduce':
      return loop(name, args, env, first)
    default:
      return undefined
  }
}

/** An object with some members replaced, if it is known to have all of them. */
function merged(list: Node, env: Env): Operand | undefined {
  const isPlain = list.type === 'unary' && list.value === '[' && !list.predicate && !list.group && !list.consarray
  const [left, right, ...more] = isPlain ? list.expressions : []
  if (more.length > 0 || right?.type !== 'unary' || right.value !== '{') return undefined
  if (left?.type !== 'path' && left?.type !== 'variable') return undefined
  if (compile(left, { ...env, out: new Lines(), findings: [] }).bits !== OBJ) return undefined
  const whole = compile(left, env)
  const members = new Map(whole.shape?.members)
  const part = compile(right, env)
  const isSure = (shape: Shape | undefined): boolean => shape !== undefined && (shape.bits & UNDEF) === 0
  const changes = [...(part.shape?.members ?? [])]
  const inside = insideOf(part)
  if (changes.length === 0 || inside === undefined || !changes.every(([key, shape]) => isSure(members.get(key)) && isSure(shape)))
    return builtinCall(
      'merge',
      [value(js`[${whole.code}, ${part.code}]`, ARR, { shape: { bits: ARR, items: { bits: OBJ } } })],
      env,
      env.ctx,
    )
  for (const [key, shape] of changes) members.set(key, shape)
  return value(js`{ ...${whole.code}, ${inside} }`, OBJ, {
    clean: whole.clean === true && part.clean === true,
    shape: { bits: OBJ, members },
  })
}

/** Concatenates the texts that a loop yields. */
function joined(operand: Operand, separator: Operand | undefined, env: Env): Operand | undefined {
  const open = openLoop(operand, undefined)
  if (open === undefined || open.item.bits !== STR) return undefined
  const text = env.unit.name('text')
  const inner = fusedEnv(open, js`let ${text}`, env)
  const item = named(inner, open.item, 'item')
  const between = separator === undefined || separator.literal === '' ? js`` : js`${separator.code} + `
  emit(inner, js`${text} = ${text} === undefined ? ${item.code} : ${text} + ${between}${item.code}`)
  return { code: text, bits: STR | UNDEF, stable: true, clean: true }
}
