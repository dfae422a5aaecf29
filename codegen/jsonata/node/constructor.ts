// `[ … ]` and `{ … }`.

import type { ArrayNode, NegationNode, Node, ObjectNode, Pair } from '../ast.js'
import { compile, type Env, emit, inOrder, named, report, rt, value } from '../context.js'
import { elementAt } from '../element.js'
import { access, type Js, js, json } from '../js.js'
import { noteArray, noteObject, objectCode, objectLiteral } from '../json-text.js'
import { FUNCTIONS, OPERATORS, PATHS } from '../runtime.js'
import { ANY, ARR, argumentList, isNothing, itemOf, NUM, OBJ, type Operand, ownItems, type Shape, UNDEF } from '../types.js'
import { compileGroup } from './group.js'

export function compileUnary(node: ArrayNode | ObjectNode | NegationNode, env: Env): Operand {
  if (node.value === '[') return compileArray(node, env)
  if (node.value === '{') return compileObject(node, env)
  const operand = compile(node.expression, { ...env, isOutput: false })
  return value(js`${rt(env, OPERATORS, 'negate')}(${operand.code})`, NUM | (operand.bits & UNDEF), { clean: true })
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
  const isLone = (operand: Operand, index: number): boolean => isArray(items[index]) || (operand.bits & ARR) === 0
  const [first] = operands
  const isStatic = operands.every((operand, index) => isLone(operand, index) && (operand.bits & UNDEF) === 0)
  const own = first && operands.length === 1 && !isLone(first, 0) ? ownItems(first) : undefined
  let code: Js
  let shape: Shape = { bits: ARR }
  if (isStatic) {
    code = js`[${argumentList(operands)}]`
    if (first) {
      const bits = operands.reduce((sum, operand) => sum | operand.bits, 0)
      shape = { bits: ARR, items: operands.length === 1 ? { ...first.shape, bits } : { bits } }
    }
  } else if (first && own !== undefined) {
    code = own
    const { shape: known } = itemOf(first, own)
    shape = { bits: ARR, ...(known && { items: known }) }
  } else code = listOf(operands, isLone, env)
  const isClean = operands.every(operand => operand.clean)
  if (node.consarray) return value(js`${rt(env, PATHS, 'cons')}(${code})`, ARR, { clean: isClean })
  const array: Operand = { code, bits: ARR, stable: !isStatic, clean: isClean, shape }
  if (isStatic && env.isOutput) noteArray(array, operands)
  return array
}

/** A named list of all items that exist. */
function listOf(operands: readonly Operand[], isLone: (operand: Operand, index: number) => boolean, env: Env): Js {
  const list = env.unit.name('list')
  const isSure = (operand: Operand, index: number): boolean => isLone(operand, index) && (operand.bits & UNDEF) === 0
  const other = operands.findIndex((operand, index) => !isSure(operand, index))
  const lead = other < 0 ? operands.length : other
  emit(env, js`const ${list} = [${argumentList(operands.slice(0, lead))}]`)
  operands.forEach((operand, index) => {
    if (index < lead || isNothing(operand)) return
    if (!isLone(operand, index)) emit(env, js`${rt(env, PATHS, 'pushAll')}(${list}, ${ownItems(operand) ?? operand.code})`)
    else if (isSure(operand, index)) emit(env, js`${list}.push(${operand.code})`)
    else {
      const item = named(env, operand)
      emit(env, js`if (${item.code} !== undefined) ${list}.push(${item.code})`)
    }
  })
  return list
}

function compileObject(node: ObjectNode, env: Env): Operand {
  const pairs = inKeyOrder(node.lhs)
  const keys = pairs.flatMap(([key]) => (key.type === 'string' && !key.predicate ? [key.value] : []))
  if (keys.length < pairs.length || (env.ctx.bits & ARR && pairs.length === 0)) return compileGroup(pairs, env.ctx, env)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  const forbidden = keys.find(key => key === '_jsonata_lambda' || key === '_jsonata_function')
  if (twice !== undefined || forbidden !== undefined) {
    if (!env.options.open) report(env, 'jsonata/key', `the key "${twice ?? forbidden}" is a duplicate or reserved`, node)
    return compileGroup(pairs, env.ctx, env)
  }
  let ctx = env.ctx
  if (ctx.bits & ARR) ctx = named(env, value(js`${rt(env, PATHS, 'groupContext')}(${ctx.code})`, ANY))
  return objectOf(env, pairs, keys, { ...env, ctx })
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
    members.set(elementAt(keys, index), { ...shape, bits, ...(clean && { clean }) })
  })
  const known: Partial<Operand> = { clean: operands.every(operand => operand.clean), shape: { bits: OBJ, members, closed: true } }
  const isWhole = operands.every(operand => (operand.bits & UNDEF) === 0) || (env.isOutput === true && env.options.isSerialised === true)
  if (isWhole) {
    const object = objectLiteral(keys, operands, known)
    if (env.isOutput) noteObject(object, keys, operands)
    return object
  }
  const lead = operands.findIndex(operand => (operand.bits & UNDEF) !== 0)
  const name = env.unit.name('object')
  emit(env, js`const ${name} = ${objectCode(keys, operands.slice(0, lead))}`)
  // The values must be evaluated in order, so they get names here.
  const rest = operands.slice(lead).map(operand => (isNothing(operand) ? operand : named(env, operand)))
  rest.forEach((operand, offset) => {
    if (isNothing(operand)) return
    const key = elementAt(keys, lead + offset)
    const set =
      key === '__proto__'
        ? js`${rt(env, FUNCTIONS, 'setKey')}(${name}, ${json(key)}, ${operand.code})`
        : js`${name}${access(key)} = ${operand.code}`
    emit(env, operand.bits & UNDEF ? js`if (${operand.code} !== undefined) ${set}` : set)
  })
  return { code: name, bits: OBJ, stable: true, ...known }
}
