// A run of names, and of indexes after them: property reads, which call the run time if they meet an array.

import type { Node } from '../ast.js'
import { type Env, emit, rt, value } from '../context.js'
import { withFacts } from '../facts.js'
import { access, isIdentifier, type Js, joined, js, json, optionalAccess } from '../js.js'
import { noteLoop } from '../loops.js'
import { FUNCTIONS, PATHS } from '../runtime.js'
import {
  ANY,
  ARR,
  eachOf,
  FUN,
  isChain,
  isLasting,
  isLiteral,
  itemOf,
  listShape,
  member,
  NOTHING,
  NULL,
  OBJ,
  type Operand,
  PLAIN,
  type Shape,
  UNDEF,
  UNKNOWN,
} from '../types.js'
import { gather } from './gather.js'

/** The value that a path has reached: a single value (an array stands for its items), or a list of items. */
export interface Cursor {
  operand: Operand
  isList: boolean
}

/**
 * `nodes` are the names of the run, for findings. The result is the path's value, or its items if something follows, such
 * as a predicate of the last name.
 */
export function walkNames(
  operand: Operand,
  run: (string | number)[],
  nodes: readonly Node[],
  end: 'value' | 'items' | 'filtered',
  env: Env,
): Cursor {
  const isFinal = end === 'value'
  const walk = (code: Js, rest: (string | number)[]): Js => {
    const steps = env.unit.constant(`path_${rest.join('_')}`, json(rest))
    return js`${rt(env, PATHS, isFinal ? 'walk' : 'walkItems')}(${code}, ${steps})`
  }
  const listed = walkKnown(operand, run, nodes, env)
  if (listed) return listed
  let current = operand
  // At an array, the run time evaluates the rest of the path.
  const exits: { test: Js; code: Js }[] = []
  const temporaries: Js[] = []
  let didWalk = false
  let named = 0
  // The names that are known here: of a list, those of its items.
  let known = operand.shape
  for (const [index, step] of run.entries()) {
    if (typeof step === 'number') {
      current = itemAt(current, step, temporaries, env)
      known = current.shape
      continue
    }
    while (known?.items && !known.members) known = known.items
    if (current.bits & ARR) {
      const subject = inlineName(current, temporaries, env)
      exits.push({ test: js`isArray(${subject.test})`, code: walk(subject.name, run.slice(index)) })
      didWalk = true
      current = { ...current, code: subject.name, stable: true, bits: current.bits & ~ARR }
    }
    checkKnown(known, step, nodes[named++], env)
    known = known?.members?.get(step)
    current = read(current, step, env)
  }
  if (temporaries.length > 0) emit(env, js`let ${joined(temporaries, ', ')}`)
  if (end === 'filtered' && !current.clean && (current.bits & ARR) !== 0)
    current = value(js`${rt(env, PATHS, 'collapse')}(${current.code})`, ANY)
  const tail = exits.reduceRight((rest, exit) => js`${exit.test} ? ${exit.code} : ${rest}`, current.code)
  const mayBeFlagged = isFinal && !current.clean && (current.bits & ARR) !== 0
  const bits = didWalk ? (isFinal ? ANY & (current.clean ? ~FUN : ANY) : current.bits | ARR) : current.bits
  const facts: Partial<Operand> = { clean: current.clean === true }
  if (current.shape && !didWalk) facts.shape = current.shape
  const found = didWalk ? value(js`(${tail})`, bits, facts) : { ...current, bits, ...facts }
  return { operand: mayBeFlagged ? { ...found, raw: true, stable: false } : found, isList: false }
}

/** Names from a list whose shape is fully known: there is no array on the path, so the run time is not needed. */
function walkKnown(operand: Operand, run: (string | number)[], nodes: readonly Node[], env: Env): Cursor | undefined {
  const each = (operand.bits & ARR) !== 0 ? eachOf(operand) : undefined
  const names = run.filter(step => typeof step === 'string')
  if (each === undefined || names.length < run.length) return undefined
  const reads: { shape: Shape | undefined; name: string }[] = []
  let current = itemOf(operand, js`item`)
  for (const name of names) {
    if ((current.bits & ARR) !== 0) return undefined
    reads.push({ shape: current.shape, name })
    current = read(current, name, env)
  }
  if ((current.bits & (ARR | FUN)) !== 0) return undefined
  for (const [index, { shape, name }] of reads.entries()) checkKnown(shape, name, nodes[index], env)
  const { list, found, loop } = gather(operand, undefined, env, inner =>
    names.reduce<Operand>((current, name) => read(current, name, inner), inner.ctx),
  )
  const clean = found.clean === true
  return { operand: noteLoop({ code: list, bits: ARR, stable: true, clean, shape: listShape(found) }, loop), isList: true }
}

/** Names a value inside an expression: its first test also assigns it. */
function inlineName(operand: Operand, temporaries: Js[], env: Env): { test: Js; name: Js } {
  if (operand.stable) return { test: operand.code, name: operand.code }
  const name = env.unit.name('t')
  temporaries.push(name)
  return { test: js`${name} = ${operand.code}`, name }
}

export function itemAt(operand: Operand, index: number, temporaries: Js[], env: Env): Operand {
  if (isLiteral(operand)) return index === 0 || index === -1 ? operand : NOTHING
  const item = operand.shape?.items
  const known: Partial<Operand> = { clean: operand.clean === true, ...(item && { shape: item }) }
  const bits = (item?.bits ?? ANY) | UNDEF
  if ((operand.bits & ~(ARR | UNDEF)) === 0) {
    const isSure = (operand.bits & UNDEF) === 0
    return value(
      index < 0 ? js`${operand.code}${isSure ? js`.` : js`?.`}at(${index})` : js`${operand.code}${isSure ? js`` : js`?.`}[${index}]`,
      bits,
      known,
    )
  }
  const subject = inlineName(operand, temporaries, env)
  const other = index === 0 || index === -1 ? subject.name : js`undefined`
  return value(
    js`(isArray(${subject.test}) ? ${subject.name}${index < 0 ? js`.at(${index})` : js`[${index}]`} : ${other})`,
    operand.clean ? ANY & ~FUN : ANY,
    { clean: operand.clean === true },
  )
}

const OBJECT_NAMES = new Set(Object.getOwnPropertyNames(Object.prototype))
const SCALAR_NAMES = new Set(
  [String.prototype, Number.prototype, Boolean.prototype].flatMap(prototype => Object.getOwnPropertyNames(prototype)),
)
const FUNCTION_NAMES = new Set([
  ...Object.getOwnPropertyNames(Function.prototype),
  'prototype',
  'body',
  'withContext',
  'implementation',
  'regex',
  'signature',
  'contextual',
])

/** A field that the source's schema does not have is a typing error, or is missing in the schema. */
export function checkKnown(shape: Shape | undefined, name: string, node: Node | undefined, env: Env): void {
  if (!shape?.isNamed || shape.members?.has(name) || shape.rest !== undefined) return
  const { rule, words } = shape.missing ?? { rule: 'jsonata/field', words: 'the schema has no field' }
  const detail = shape.missing ? `${words} ${name}` : `${words} ${name} here`
  env.findings.push({ rule, detail, position: node?.position ?? env.position })
}

/** A property of a value that is not an array. */
export function read(operand: Operand, name: string, env: Env): Operand {
  const { bits, parts } = operand
  if (parts) return withFacts(parts.get(name) ?? NOTHING, env.facts)
  if ((bits & ~PLAIN) === 0 && operand.stable) return NOTHING
  const shape = member(operand.shape, name)
  const clean = operand.clean === true || shape.clean === true
  const isDeclared = operand.shape?.members?.has(name) === true && shape !== UNKNOWN
  if (operand.shape?.closed && !isDeclared && operand.shape.rest === undefined && bits === OBJ)
    return { code: js`undefined`, bits: UNDEF, stable: true, clean: true }
  const isUnsafe =
    OBJECT_NAMES.has(name) ||
    (bits & ~(OBJ | UNDEF | NULL | FUN) && (SCALAR_NAMES.has(name) || /^\d+$/.test(name))) ||
    (bits & FUN && FUNCTION_NAMES.has(name))
  const found = clean ? shape.bits & ~FUN : shape.bits
  // A declared member of an object that certainly exists has the type of its schema; other members may be missing.
  const mayMiss = (bits & ~OBJ) !== 0 || !isDeclared
  const result: Partial<Operand> = { clean, ...(isDeclared && { shape }) }
  if (isUnsafe) return value(js`${rt(env, FUNCTIONS, 'lookup')}(${operand.code}, ${json(name)})`, found | UNDEF, result)
  const mayFail = (bits & (UNDEF | NULL)) !== 0
  const code = js`${operand.code}${mayFail ? optionalAccess(name) : access(name)}`
  const isNamed = isIdentifier(name)
  const read = value(code, mayMiss ? found | UNDEF : found, {
    ...result,
    member: { of: operand, name },
    ...(isNamed && isChain(operand) && { chain: code }),
    ...(isNamed && !mayFail && isLasting(operand) && { lasting: code }),
  })
  return withFacts(read, env.facts)
}
