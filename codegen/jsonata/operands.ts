// Conversions of any operand: to a boolean, to text, to a list that is only read, and the choice of one of two.

import { branch, type Env, emit, operation, rt, value } from './context.js'
import { type Js, js } from './js.js'
import { OPERATORS, PATHS, SEQUENCE } from './runtime.js'
import { ARR, BOOL, isLiteral, isNothing, literal, NULL, type Operand, ownItems, PLAIN, type Shape, STR, UNDEF } from './types.js'
import { Lines, type Unit } from './unit.js'

/** A JavaScript expression that is truthy exactly if JSONata takes the operand for true. */
export function truthOf(operand: Operand, unit: Unit): Operand {
  if (isLiteral(operand)) return literal(Boolean(operand.literal))
  if ((operand.bits & ~PLAIN) === 0) return operand
  return value(js`${unit.use(SEQUENCE, 'truthy')}(${operand.code})`, BOOL)
}

/** The same as JavaScript text. */
export function truth(operand: Operand, unit: Unit): Js {
  return truthOf(operand, unit).code
}

/** An operand as text; undefined is an empty text. */
export function asText(operand: Operand, env: Env): Operand {
  if (operand.bits === STR) return operand
  return value(js`${rt(env, OPERATORS, 'text')}(${operand.code})`, STR)
}

/** Like `truthOf`, but strictly true or false. */
export function asBoolean(operand: Operand, env: Env): Operand {
  if (operand.bits === BOOL || isLiteral(operand) || (operand.bits & ~PLAIN) !== 0) return truthOf(operand, env.unit)
  return value(js`Boolean(${operand.code})`, BOOL)
}

/** JavaScript of an array with the items of a value, to be read only: the array itself, or one around a single value. */
export function listCode(operand: Operand, unit: Unit): Js {
  const own = operand.stable ? operand.items : (operand.list ?? ownItems(operand))
  if (own !== undefined) return own
  return (operand.bits & ~ARR) === 0 ? operand.code : js`${unit.use(PATHS, 'listOf')}(${operand.code})`
}

/** Selects one of two values: a conditional expression if neither needs lines, else a statement. */
export function choose(env: Env, test: Operand, then: (inner: Env) => Operand, orElse: (inner: Env) => Operand): Operand {
  const thenOut = new Lines()
  const elseOut = new Lines()
  const left = then(branch(env, thenOut))
  const right = orElse(branch(env, elseOut))
  const known: Partial<Operand> = {
    raw: left.raw === true || right.raw === true,
    nested: left.nested === true || right.nested === true,
    clean: left.clean === true && right.clean === true,
  }
  const shape = eitherShape(left, right)
  if (shape) known.shape = shape
  const bits = left.bits | right.bits
  if (thenOut.isEmpty() && elseOut.isEmpty())
    return operation(js`(${test.code} ? ${left.code} : ${right.code})`, [test, left, right], bits, known)
  const name = env.unit.name('t')
  emit(env, js`let ${name}`)
  thenOut.add(js`${name} = ${left.code}`, env.position)
  emit(env, js`if (${test.code}) {`)
  env.out.entries.push(thenOut)
  if (!isNothing(right) || !elseOut.isEmpty()) {
    elseOut.add(js`${name} = ${right.code}`, env.position)
    emit(env, js`} else {`)
    env.out.entries.push(elseOut)
  }
  emit(env, js`}`)
  return { code: name, bits, stable: true, ...known }
}

/** The shape of a value that is one of two. */
function eitherShape(left: Operand, right: Operand): Shape | undefined {
  if (left.shape === right.shape || (right.bits & ~(UNDEF | NULL)) === 0) return left.shape
  if ((left.bits & ~(UNDEF | NULL)) === 0) return right.shape
  const isKnown = (operand: Operand): boolean => operand.shape !== undefined || isLiteral(operand)
  return isKnown(left) && isKnown(right) ? { bits: left.bits | right.bits } : undefined
}
