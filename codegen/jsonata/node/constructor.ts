// `[ … ]` and `{ … }`.

import type { ArrayNode, NegationNode, Node, ObjectNode, Pair } from '../ast.js'
import { compile, type Env, emit, inOrder, named, report, rt, value } from '../context.js'
import { noteArray, noteObject, objectCode } from '../json-text.js'
import { FUNCTIONS, OPERATORS, PATHS } from '../runtime.js'
import { ANY, ARR, itemOf, NUM, OBJ, type Operand, ownItems, type Shape, UNDEF } from '../types.js'
import { access } from '../unit.js'
import { compileGroup } from './group.js'

export function compileUnary(node: ArrayNode | ObjectNode | NegationNode, env: Env): Operand {
  if (node.value === '[') return compileArray(node, env)
  if (node.value === '{') return compileObject(node, env)
  const operand = compile(node.expression, { ...env, isOutput: false })
  return value(`${rt(env, OPERATORS, 'negate')}(${operand.code})`, NUM | (operand.bits & UNDEF), { clean: true })
}

function isArray(node: Node | undefined): boolean {
  return node?.type === 'unary' && node.value === '['
}

function compileArray(node: ArrayNode, env: Env): Operand {
  const items = node.expressions
  const operands = inOrder(
    env,
    items.map(item => () => compile(item, env)),
  )
  const isLone = (index: number): boolean => isArray(items[index]) || ((operands[index] as Operand).bits & ARR) === 0
  let code: string
  let shape: Shape = { bits: ARR }
  const first = operands[0]
  const isStatic = operands.every((operand, index) => isLone(index) && (operand.bits & UNDEF) === 0)
  if (isStatic) {
    code = `[${operands.map(operand => operand.code).join(', ')}]`
    if (first) {
      const bits = operands.reduce((sum, operand) => sum | operand.bits, 0)
      shape = { bits: ARR, items: operands.length === 1 ? { ...first.shape, bits } : { bits } }
    }
  } else if (operands.length === 1 && first && !isLone(0) && ownItems(first) !== undefined) {
    code = ownItems(first) as string
    shape = { bits: ARR, items: itemOf(first, '').shape as Shape }
  } else {
    code = env.unit.name('list')
    let lead = 0
    while (lead < operands.length && isLone(lead) && ((operands[lead] as Operand).bits & UNDEF) === 0) lead++
    emit(
      env,
      `const ${code} = [${operands
        .slice(0, lead)
        .map(operand => operand.code)
        .join(', ')}]`,
    )
    for (let index = lead; index < operands.length; index++) {
      const operand = operands[index] as Operand
      if (operand.code === 'undefined') continue
      if (!isLone(index)) {
        emit(env, `${rt(env, PATHS, 'pushAll')}(${code}, ${ownItems(operand) ?? operand.code})`)
      } else if ((operand.bits & UNDEF) === 0) {
        emit(env, `${code}.push(${operand.code})`)
      } else {
        const item = named(env, operand)
        emit(env, `if (${item.code} !== undefined) ${code}.push(${item.code})`)
      }
    }
  }
  const isClean = operands.every(operand => operand.clean)
  if (node.consarray) return value(`${rt(env, PATHS, 'cons')}(${code})`, ARR, { clean: isClean })
  const array: Operand = { code, bits: ARR, stable: /^\w+$/.test(code), clean: isClean, shape }
  if (isStatic && env.isOutput) noteArray(array, operands)
  return array
}

function compileObject(node: ObjectNode, env: Env): Operand {
  const pairs = inKeyOrder(node.lhs)
  const keys = pairs.map(([key]) => (key.type === 'string' && !key.predicate ? key.value : undefined))
  if (keys.some(key => key === undefined) || (env.ctx.bits & ARR && pairs.length === 0)) return compileGroup(pairs, env.ctx, env)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  const forbidden = keys.find(key => key === '_jsonata_lambda' || key === '_jsonata_function')
  if (twice !== undefined || forbidden !== undefined) {
    if (!env.options.open) report(env, 'jsonata/key', `the key "${twice ?? forbidden}" stands twice or is reserved`, node)
    return compileGroup(pairs, env.ctx, env)
  }
  let ctx = env.ctx
  if (ctx.bits & ARR) ctx = named(env, value(`${rt(env, PATHS, 'groupContext')}(${ctx.code})`, ANY))
  return objectOf(env, pairs, keys as string[], { ...env, ctx })
}

/** Keys that look like array indices come first in an object, so their values are evaluated first. */
function inKeyOrder(pairs: Pair[]): Pair[] {
  const indexOf = ([key]: Pair): number => {
    if (key.type !== 'string' || String(Number(key.value) >>> 0) !== key.value || key.value === '4294967295')
      return Number.POSITIVE_INFINITY
    return Number(key.value)
  }
  return pairs.some(pair => indexOf(pair) < Number.POSITIVE_INFINITY)
    ? [...pairs].sort((left, right) => (indexOf(left) === indexOf(right) ? 0 : indexOf(left) - indexOf(right)))
    : pairs
}

function objectOf(env: Env, pairs: Pair[], keys: string[], inner: Env): Operand {
  const operands = inOrder(
    inner,
    pairs.map(
      ([, node]) =>
        () =>
          compile(node, inner),
    ),
  )
  const members = new Map<string, Shape>()
  operands.forEach(({ shape, bits, clean }, index) => {
    members.set(keys[index] as string, { ...shape, bits, ...(clean && { clean }) })
  })
  const known: Partial<Operand> = { clean: operands.every(operand => operand.clean), shape: { bits: OBJ, members, closed: true } }
  const isWhole = operands.every(operand => (operand.bits & UNDEF) === 0) || (env.isOutput === true && env.options.isSerialised === true)
  if (isWhole) {
    const object = value(objectCode(keys, operands), OBJ, known)
    if (env.isOutput) noteObject(object, keys, operands)
    return object
  }
  let lead = 0
  while (lead < operands.length && ((operands[lead] as Operand).bits & UNDEF) === 0) lead++
  const name = env.unit.name('object')
  emit(env, `const ${name} = ${objectCode(keys, operands.slice(0, lead))}`)
  // The values were to be evaluated in order; naming them keeps it so.
  const rest = operands.slice(lead).map(operand => (operand.code === 'undefined' ? operand : named(env, operand)))
  rest.forEach((operand, offset) => {
    if (operand.code === 'undefined') return
    const key = keys[lead + offset] as string
    const set =
      key === '__proto__'
        ? `${rt(env, FUNCTIONS, 'setKey')}(${name}, ${JSON.stringify(key)}, ${operand.code})`
        : `${name}${access(key)} = ${operand.code}`
    emit(env, operand.bits & UNDEF ? `if (${operand.code} !== undefined) ${set}` : set)
  })
  return { code: name, bits: OBJ, stable: true, ...known }
}
