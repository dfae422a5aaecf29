// Binary operators, and the unary minus.

import type { BinaryNode } from '../ast.js'
import { branch, compile, type Env, emit, envWithFacts, inOrder, named, operation, report, rt, value } from '../context.js'
import { both, branchOf, factOf, factsIn, whereTrue } from '../facts.js'
import { js } from '../js.js'
import { asBoolean, asText } from '../operands.js'
import { OPERATORS } from '../runtime.js'
import { ARR, BOOL, FUN, isLiteral, NULL, NUM, OBJ, type Operand, PLAIN, STR, UNDEF } from '../types.js'
import { Lines } from '../unit.js'

export function compileBinary(node: BinaryNode, env: Env): Operand {
  const operator = node.value
  if (operator === 'and' || operator === 'or') return compileLogic(node, operator, env)
  const inner = { ...env, isOutput: false }
  const [left, right] = inOrder(inner, [() => compile(node.lhs, inner), () => compile(node.rhs, inner)])
  switch (operator) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return arithmetic(operator, left, right, env)
    case '=':
    case '!=':
      return equality(operator === '=', left, right, env)
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const same = (left.bits === NUM && right.bits === NUM) || (left.bits === STR && right.bits === STR)
      if (same) return value(js`(${left.code} ${SIGNS[operator]} ${right.code})`, BOOL, { clean: true })
      const name = { '<': 'less', '<=': 'lessOrEqual', '>': 'greater', '>=': 'greaterOrEqual' }[operator]
      return value(js`${rt(env, OPERATORS, name)}(${left.code}, ${right.code})`, BOOL | UNDEF, { clean: true })
    }
    case '&':
      return concatenation(asText(left, env), asText(right, env))
    case '..':
      return value(js`${rt(env, OPERATORS, 'range')}(${left.code}, ${right.code})`, ARR | UNDEF, { raw: true })
    case 'in':
      return value(js`${rt(env, OPERATORS, 'includes')}(${left.code}, ${right.code})`, BOOL, { clean: true })
    default:
      return report(env, 'jsonata/operator', `the compiler does not know the operator ${operator}`, node)
  }
}

function concatenation(left: Operand, right: Operand): Operand {
  return operation(js`(${left.code} + ${right.code})`, [left, right], STR, { clean: true })
}

function compileLogic(node: BinaryNode, operator: 'and' | 'or', env: Env): Operand {
  const inner = { ...env, isOutput: false }
  const first = compile(node.lhs, inner)
  const left = asBoolean(first, env)
  const out = new Lines()
  const rightEnv = envWithFacts(branch(inner, out), operator === 'and' ? whereTrue(first) : first.whereFalse)
  const second = compile(node.rhs, rightEnv)
  const right = asBoolean(second, rightEnv)
  const facts =
    operator === 'and'
      ? factsIn(both(whereTrue(first), whereTrue(second)), undefined)
      : factsIn(undefined, both(first.whereFalse, second.whereFalse))
  const known: Partial<Operand> = { clean: true, ...facts }
  if (out.isEmpty()) return operation(js`(${left.code} ${operator === 'and' ? js`&&` : js`||`} ${right.code})`, [left, right], BOOL, known)
  const name = env.unit.name('t')
  emit(env, js`let ${name} = ${left.code}`)
  emit(env, operator === 'and' ? js`if (${name}) {` : js`if (!${name}) {`)
  out.add(js`${name} = ${right.code}`, env.position)
  env.out.entries.push(out)
  emit(env, js`}`)
  return { code: name, bits: BOOL, stable: true, ...known }
}

const ARITHMETIC = { '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide', '%': 'remainder' } as const

/** Operators that JavaScript and JSONata write alike. */
const SIGNS = { '+': js`+`, '-': js`-`, '<': js`<`, '<=': js`<=`, '>': js`>`, '>=': js`>=` } as const

function arithmetic(operator: keyof typeof ARITHMETIC, left: Operand, right: Operand, env: Env): Operand {
  const isSmall = (operand: Operand): boolean =>
    operand.shape?.bits === NUM || (typeof operand.literal === 'number' && Math.abs(operand.literal) < 2 ** 31)
  if (left.bits === NUM && right.bits === NUM && isSmall(left) && isSmall(right) && (operator === '+' || operator === '-')) {
    // The result of arithmetic changes with each event, so it does not last for the stream.
    return value(js`(${left.code} ${SIGNS[operator]} ${right.code})`, NUM, { clean: true, shape: { bits: NUM } })
  }
  const bits = left.bits === NUM && right.bits === NUM ? NUM : NUM | UNDEF
  return value(js`${rt(env, OPERATORS, ARITHMETIC[operator])}(${left.code}, ${right.code})`, bits, { clean: true })
}

function equality(isEqual: boolean, left: Operand, right: Operand, env: Env): Operand {
  const isPlain = (operand: Operand): boolean => (operand.bits & ~PLAIN) === 0
  const mayMiss = (operand: Operand): boolean => (operand.bits & UNDEF) !== 0
  const result = isLiteral(right) ? resultOf(isEqual, left, right) : isLiteral(left) ? resultOf(isEqual, right, left) : {}
  const known = { clean: true, ...result }
  if (
    (isLiteral(left) && isPlain(left)) ||
    (isLiteral(right) && isPlain(right)) ||
    (isPlain(left) && isPlain(right) && !(mayMiss(left) && mayMiss(right)))
  ) {
    const asked = typeTest(left, right) ?? typeTest(right, left)
    if (asked !== undefined && isEqual) return { ...asked, ...known }
    if (isEqual) return operation(js`(${left.code} === ${right.code})`, [left, right], BOOL, known)
    const [subject, other] = mayMiss(left) ? [left, right] : [right, left]
    if (!mayMiss(subject)) return operation(js`(${left.code} !== ${right.code})`, [left, right], BOOL, known)
    const name = named(env, subject)
    return value(js`(${name.code} !== undefined && ${name.code} !== ${other.code})`, BOOL, known)
  }
  return value(js`${rt(env, OPERATORS, isEqual ? 'equals' : 'differs')}(${left.code}, ${right.code})`, BOOL, known)
}

const KINDS: Readonly<Record<string, number>> = {
  null: NULL,
  string: STR,
  number: NUM,
  boolean: BOOL,
  array: ARR,
  object: OBJ,
  function: FUN,
}

/** The facts about the other side of a comparison with a literal. */
function resultOf(isEqual: boolean, subject: Operand, { literal: word, bits }: Operand): Partial<Operand> {
  if (subject.typeOf) {
    const kind = KINDS[String(word)]
    if (kind === undefined) return {}
    const [is, isNot] = [factOf(subject.typeOf, { bits: kind }), factOf(subject.typeOf, { bits: ~kind })]
    return isEqual ? factsIn(is, isNot) : factsIn(both(isNot, factOf(subject.typeOf, { bits: ~UNDEF })), undefined)
  }
  const isNot = word === null ? factOf(subject, { bits: ~NULL }) : undefined
  if (!isEqual) return factsIn(both(isNot, factOf(subject, { bits: ~UNDEF })), undefined)
  return factsIn(both(factOf(subject, { bits }), branchOf(subject, word)), isNot)
}

/** `$type(x) = "string"` as a JavaScript test, if one test is equivalent. */
function typeTest(type: Operand, word: Operand): Operand | undefined {
  if (type.typeOf === undefined) return undefined
  const { typeOf } = type
  const { code, bits } = typeOf
  if (word.literal === 'object' && (bits & ~(OBJ | NULL | UNDEF)) === 0) return operation(js`(${code} != null)`, [typeOf], BOOL)
  if (word.literal === 'string' || word.literal === 'boolean') return value(js`(typeof ${code} === ${word.code})`, BOOL)
  return word.literal === 'array' ? value(js`isArray(${code})`, BOOL) : undefined
}
