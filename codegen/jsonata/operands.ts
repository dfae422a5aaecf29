// What is made of the JavaScript of a value wherever it came from: its truth, its text, a list to look at, one of two.

import { branch, type Env, emit, rt, value } from './context.js'
import { type Js, js, json } from './js.js'
import { OPERATORS, PATHS, SEQUENCE } from './runtime.js'
import { ARR, BOOL, isLiteral, NULL, type Operand, ownItems, PLAIN, type Shape, STR, UNDEF } from './types.js'
import { Lines, type Unit } from './unit.js'

/** JavaScript text that is true where the operand is, in JSONata's sense. */
export function truth(operand: Operand, unit: Unit): Js {
  if (isLiteral(operand)) return json(Boolean(operand.literal))
  if ((operand.bits & ~PLAIN) === 0) return operand.code
  return js`${unit.use(SEQUENCE, 'truthy')}(${operand.code})`
}

export function asText(operand: Operand, env: Env): Js {
  if (operand.bits === STR) return operand.code
  return js`${rt(env, OPERATORS, 'text')}(${operand.code})`
}

/** JavaScript text that is true or false, and nothing else. */
export function asBoolean(operand: Operand, env: Env): Js {
  if (operand.bits === BOOL || isLiteral(operand) || (operand.bits & ~PLAIN) !== 0) return truth(operand, env.unit)
  return js`Boolean(${operand.code})`
}

/** JavaScript of an array of what is in a value, to be looked at: in an array, or itself. */
export function listCode(operand: Operand, unit: Unit): Js {
  const own = operand.stable ? operand.items : (operand.list ?? ownItems(operand))
  if (own !== undefined) return own
  return (operand.bits & ~ARR) === 0 ? operand.code : js`${unit.use(PATHS, 'listOf')}(${operand.code})`
}

/** The value of one of two arms: a conditional expression if neither needs lines, else a statement. */
export function choose(env: Env, test: Js, then: (inner: Env) => Operand, orElse: (inner: Env) => Operand): Operand {
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
  if (thenOut.isEmpty() && elseOut.isEmpty()) return value(js`(${test} ? ${left.code} : ${right.code})`, bits, known)
  const name = env.unit.name('t')
  emit(env, js`let ${name}`)
  thenOut.add(js`${name} = ${left.code}`, env.position)
  emit(env, js`if (${test}) {`)
  env.out.entries.push(thenOut)
  if (right.code !== js`undefined` || !elseOut.isEmpty()) {
    elseOut.add(js`${name} = ${right.code}`, env.position)
    emit(env, js`} else {`)
    env.out.entries.push(elseOut)
  }
  emit(env, js`}`)
  return { code: name, bits, stable: true, ...known }
}

/** What is known of a value that is one of two. */
function eitherShape(left: Operand, right: Operand): Shape | undefined {
  if (left.shape === right.shape || (right.bits & ~(UNDEF | NULL)) === 0) return left.shape
  if ((left.bits & ~(UNDEF | NULL)) === 0) return right.shape
  const isKnown = (operand: Operand): boolean => operand.shape !== undefined || isLiteral(operand)
  return isKnown(left) && isKnown(right) ? { bits: left.bits | right.bits } : undefined
}
