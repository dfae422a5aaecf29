// Paths. A path of plain names from a value that is known to be no array is a chain of property reads; from anything
// else it is the same chain with a way out to the run time where it meets an array. Other steps become loops, and
// paths that carry variables (`@`, `#`, `%`) go through tuples.

import type { Node, Stage } from './ast.js'
import { choose, compile, compileGroup, PATHS, rt, truth } from './compile.js'
import { branch, closure, type Env, emit, emitLoop, named, value } from './context.js'
import { told, whereTrue } from './facts.js'
import { cannotFail, isYesOrNo, type Loop, loopOf, noteLoop, openLoop, putInto, standIn } from './loops.js'
import { Scope } from './scope.js'
import { searched } from './search.js'
import {
  ANY,
  ARR,
  eachOf,
  FUN,
  isLiteral,
  itemOf,
  listShape,
  member,
  NOTHING,
  NULL,
  NUM,
  OBJ,
  type Operand,
  ownItems,
  PLAIN,
  type Shape,
  UNDEF,
  UNKNOWN,
} from './types.js'
import { access, type Line, Lines, type Unit } from './unit.js'

/** What a path has come to: one value (an array stands for its items), or a list of items. */
interface Cursor {
  operand: Operand
  isList: boolean
}

export function compilePath(node: Node, env: Env): Operand {
  const steps = node.steps as Node[]
  if (steps.some(step => step.tuple)) return tuplePath(node, env)
  const first = steps[0] as Node
  if (first.consarray) {
    const operand = named(env, first.stages ? applyStages(compile(first, env), first.stages, env, first) : compile(first, env), 'list')
    const cursor = { operand, isList: false }
    if (steps.length === 1 || first.stages || first.predicate) return pathFrom(node, cursor, 1, env)
    // An empty list ends the path, as itself: it is no sequence.
    const atEnd = (inner: Env): Operand => pathFrom(node, { operand: { ...operand, clean: false }, isList: false }, steps.length, inner)
    return choose(env, `${operand.code}.length === 0`, atEnd, inner => pathFrom(node, cursor, 1, inner))
  }
  if (first.type !== 'variable' && env.ctx.bits & ARR && staticRun(steps, 0).length === 0) {
    return pathFrom(node, { operand: value(`${rt(env, PATHS, 'items')}(${env.ctx.code})`, ARR), isList: true }, 0, env)
  }
  return pathFrom(node, { operand: told(env.ctx, env.facts), isList: false }, 0, env)
}

/** The steps of a path from one of them on, and what stands behind the last. */
function pathFrom(node: Node, start: Cursor, from: number, env: Env): Operand {
  const steps = node.steps as Node[]
  const hasTail = node.group !== undefined || node.keepSingletonArray === true
  let cursor = start
  const stepFrom = (index: number): Cursor => {
    const isLast = index === steps.length - 1
    const isOutput = isLast && env.isOutput === true && !hasTail && !node.predicate
    return takeStep(cursor, steps[index] as Node, { isLast, isFirst: index === 0, hasTail }, { ...env, isOutput })
  }
  for (let index = from; index < steps.length; ) {
    const run = staticRun(steps, index)
    const names = steps.slice(index, index + run.filter(step => typeof step === 'string').length)
    const next = steps[index + names.length]
    if (isListInSight(cursor) || (run.length === 0 && index === 0)) {
      cursor = stepFrom(index)
      index++
    } else if (next && isFilteredName(next)) {
      // Whether one list is filtered or those that make it, the same items are left.
      cursor = walkNames(cursor.operand, [...run, String(next.value)], [...names, next], 'filtered', env)
      cursor = { operand: applyStages(cursor.operand, next.stages as Stage[], env, next), isList: false }
      index += names.length + 1
    } else if (run.length > 0) {
      index += names.length
      const isLast = index === steps.length
      cursor = walkNames(cursor.operand, run, names, isLast && !hasTail ? 'value' : 'items', env)
      if (isLast && hasTail && !cursor.isList) cursor.operand = { ...cursor.operand, raw: false }
    } else {
      cursor = stepFrom(index)
      index++
    }
  }
  if (node.group) return compileGroup(node.group.lhs, cursor.operand, env)
  if (node.keepSingletonArray) return keptList(cursor, env)
  return cursor.isList ? collapseList(cursor.operand, env) : cursor.operand
}

/** A name behind which stand predicates that are true or false for an item, wherever it stands. */
function isFilteredName({ type, keepArray, stages = [] }: Node): boolean {
  return type === 'name' && !keepArray && stages.length > 0 && stages.every(stage => stage.type === 'filter' && isYesOrNo(stage.expr))
}

/** Whether a path has come to a list that compiled code has just made: a loop goes on with it at once. */
function isListInSight({ operand, isList }: Cursor): boolean {
  return isList || (!operand.stable && operand.list !== undefined)
}

/** The longest run of names, and positions after them, from a place in a path. */
function staticRun(steps: Node[], from: number): (string | number)[] {
  const run: (string | number)[] = []
  for (let index = from; index < steps.length; index++) {
    const step = steps[index] as Node
    if (step.type !== 'name' || (step.keepArray && step.stages)) break
    const positions: number[] = []
    for (const stage of step.stages ?? []) {
      if (stage.type !== 'filter' || stage.expr.type !== 'number' || stage.expr.predicate) return run
      positions.push(Math.floor(stage.expr.value as number))
    }
    run.push(String(step.value), ...positions)
  }
  return run
}

// Names ----------------------------------------------------------------------------------------------------------

/**
 * `nodes` are the names of the run, for findings. What it comes to is the path's value, or the items of what stands behind
 * it, which may be a predicate of the last name.
 */
function walkNames(
  operand: Operand,
  run: (string | number)[],
  nodes: readonly Node[],
  end: 'value' | 'items' | 'filtered',
  env: Env,
): Cursor {
  const isFinal = end === 'value'
  const walk = (code: string, rest: (string | number)[]): string => {
    const steps = env.unit.constant(`path_${rest.join('_')}`, JSON.stringify(rest))
    return `${rt(env, PATHS, isFinal ? 'walk' : 'walkItems')}(${code}, ${steps})`
  }
  const listed = walkKnown(operand, run, nodes, env)
  if (listed) return listed
  let current = operand
  // Where an array is met, the rest of the path is left to the run time.
  const exits: { test: string; code: string }[] = []
  const temporaries: string[] = []
  let didWalk = false
  let place = 0
  for (let index = 0; index < run.length; index++) {
    const step = run[index] as string | number
    if (typeof step === 'number') {
      current = position(current, step, temporaries, env)
      continue
    }
    if (current.bits & ARR) {
      const subject = inlineName(current, temporaries, env)
      exits.push({ test: `isArray(${subject.test})`, code: walk(subject.name, run.slice(index)) })
      didWalk = true
      current = { ...current, code: subject.name, stable: true, bits: current.bits & ~ARR }
    }
    checkKnown(current, step, nodes[place++], env)
    current = read(current, step, env)
  }
  if (temporaries.length > 0) emit(env, `let ${temporaries.join(', ')}`)
  if (end === 'filtered' && !current.clean && (current.bits & ARR) !== 0)
    current = value(`${rt(env, PATHS, 'collapse')}(${current.code})`, ANY)
  const tail = exits.reduceRight((rest, exit) => `${exit.test} ? ${exit.code} : ${rest}`, current.code)
  const mayBeFlagged = isFinal && !current.clean && (current.bits & ARR) !== 0
  const bits = didWalk ? (isFinal ? ANY & (current.clean ? ~FUN : ANY) : current.bits | ARR) : current.bits
  const known: Partial<Operand> = { clean: current.clean === true }
  if (current.shape && !didWalk) known.shape = current.shape
  const found = didWalk ? value(`(${tail})`, bits, known) : { ...current, bits, ...known }
  return { operand: mayBeFlagged ? { ...found, raw: true, stable: false } : found, isList: false }
}

/** Names from a list of which all is known: no array on the way, so that nothing is left to the run time. */
function walkKnown(operand: Operand, run: (string | number)[], nodes: readonly Node[], env: Env): Cursor | undefined {
  const each = (operand.bits & ARR) !== 0 ? eachOf(operand) : undefined
  if (each === undefined || run.some(step => typeof step === 'number')) return undefined
  const steps: Operand[] = [itemOf(operand, 'item')]
  for (const step of run) {
    const current = steps.at(-1) as Operand
    if ((current.bits & ARR) !== 0) return undefined
    steps.push(read(current, String(step), env))
  }
  if (((steps.at(-1) as Operand).bits & (ARR | FUN)) !== 0) return undefined
  run.forEach((step, index) => {
    checkKnown(steps[index] as Operand, String(step), nodes[index], env)
  })
  const { list, found, loop } = gather(operand, undefined, env, inner =>
    run.reduce<Operand>((current, step) => read(current, String(step), inner), inner.ctx),
  )
  const clean = found.clean === true
  return { operand: noteLoop({ code: list, bits: ARR, stable: true, clean, shape: listShape(found) }, loop), isList: true }
}

interface Gathered {
  /** The name of the list. */
  list: string
  loop: Loop
  /** What is known of what was put into it; it may still be nothing. */
  found: Operand
}

/**
 * A loop over the items of a value that puts what `find` gives for each, as the context, into a list. `node` is what is
 * evaluated there: where the items come from a loop that may run turn by turn with it, it takes place in that one.
 */
function gather(operand: Operand, node: Node | undefined, env: Env, find: (inner: Env) => Operand): Gathered {
  const list = env.unit.name('found')
  const open = openLoop(operand, node)
  let inner: Env
  let made: Line
  if (open) {
    made = open.made
    inner = standIn(open, `const ${list} = []`, env)
    inner.ctx = named(inner, open.item, 'item')
  } else {
    const ctx = itemOf(operand, env.unit.name('item'))
    made = emit(env, `const ${list} = []`)
    inner = branch(env, new Lines(), { ctx })
    emitLoop(env.out, listCode(operand, env.unit), ctx.code, inner.out, env.unit, env.position)
  }
  let found = find(inner)
  const mayMiss = (found.bits & UNDEF) !== 0
  if (mayMiss) found = named(inner, found)
  const test = mayMiss ? `${found.code} !== undefined` : undefined
  const isSafe = (open?.isSafe ?? true) && (node === undefined || cannotFail(node))
  const loop = putInto(list, inner, { item: { ...found, bits: found.bits & ~UNDEF }, test, made, isSafe })
  return { list, loop, found }
}

/** Names a value inside an expression: what tests it first also assigns it. */
function inlineName(operand: Operand, temporaries: string[], env: Env): { test: string; name: string } {
  if (operand.stable) return { test: operand.code, name: operand.code }
  const name = env.unit.name('t')
  temporaries.push(name)
  return { test: `${name} = ${operand.code}`, name }
}

function position(operand: Operand, place: number, temporaries: string[], env: Env): Operand {
  if (isLiteral(operand)) return place === 0 || place === -1 ? operand : NOTHING
  const item = operand.shape?.items
  const known: Partial<Operand> = { clean: operand.clean === true, ...(item && { shape: item }) }
  const bits = (item?.bits ?? ANY) | UNDEF
  if ((operand.bits & ~(ARR | UNDEF)) === 0) {
    const chain = operand.bits & UNDEF ? '?.' : place < 0 ? '.' : ''
    return value(
      place < 0 ? `${operand.code}${chain.startsWith('?') ? '?.' : '.'}at(${place})` : `${operand.code}${chain}[${place}]`,
      bits,
      known,
    )
  }
  const subject = inlineName(operand, temporaries, env)
  const other = place === 0 || place === -1 ? subject.name : 'undefined'
  return value(
    `(isArray(${subject.test}) ? ${subject.name}${place < 0 ? `.at(${place})` : `[${place}]`} : ${other})`,
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

/** A field that the source's schema does not have is a slip of the pen, or the schema lacks it. */
function checkKnown({ shape }: Operand, name: string, node: Node | undefined, env: Env): void {
  if (shape?.isNamed && !shape.members?.has(name) && shape.rest === undefined)
    env.findings.push({ rule: 'jsonata/field', detail: `the schema has no field ${name} here`, position: node?.position ?? env.position })
}

/** A property of a value that is no array. */
function read(operand: Operand, name: string, env: Env): Operand {
  const { bits } = operand
  if ((bits & ~PLAIN) === 0 && operand.stable) return NOTHING
  const shape = member(operand.shape, name)
  const clean = operand.clean === true || shape.clean === true
  const isDeclared = operand.shape?.members?.has(name) === true && shape !== UNKNOWN
  if (operand.shape?.closed && !isDeclared && operand.shape.rest === undefined && bits === OBJ)
    return { code: 'undefined', bits: UNDEF, stable: true, clean: true }
  const isUnsafe =
    OBJECT_NAMES.has(name) ||
    (bits & ~(OBJ | UNDEF | NULL | FUN) && (SCALAR_NAMES.has(name) || /^\d+$/.test(name))) ||
    (bits & FUN && FUNCTION_NAMES.has(name))
  const found = clean ? shape.bits & ~FUN : shape.bits
  // A declared member of an object that is surely there keeps what its schema says; of anything else it may be absent.
  const mayMiss = (bits & ~OBJ) !== 0 || !isDeclared
  const result: Partial<Operand> = { clean, ...(isDeclared && { shape }) }
  if (isUnsafe) return value(`${rt(env, PATHS, 'lookup')}(${operand.code}, ${JSON.stringify(name)})`, found | UNDEF, result)
  const dot = bits & (UNDEF | NULL) ? (access(name).startsWith('.') ? '?' : '?.') : ''
  const isFixed = operand.stable || operand.isFixed === true
  const read = value(`${operand.code}${dot}${access(name)}`, mayMiss ? found | UNDEF : found, {
    ...result,
    isFixed,
    member: { of: operand, name },
  })
  return told(read, env.facts)
}

// Steps ----------------------------------------------------------------------------------------------------------

interface Place {
  isFirst: boolean
  isLast: boolean
  /** Something stands behind the last step. */
  hasTail: boolean
}

function takeStep(cursor: Cursor, step: Node, { isFirst, isLast, hasTail }: Place, env: Env): Cursor {
  if (step.type === 'sort') return takeSort(cursor, step, env)
  // A list that a step makes of a value is one item of what follows.
  const isOne = step.consarray === true && !isLast
  if (!cursor.isList && ((cursor.operand.bits & ARR) === 0 || isFirst) && !isOne)
    return stepOnValue(cursor.operand, step, isLast, isFirst, env)
  const { list, found, loop } = gather(cursor.operand, step, env, inner => {
    const operand = stepValue(step, inner)
    return step.stages ? applyStages(operand, step.stages, inner, step) : operand
  })
  const clean = found.clean === true
  if ((found.bits & ARR) === 0)
    return { operand: noteLoop({ code: list, bits: ARR, stable: true, clean, shape: listShape(found) }, loop), isList: true }
  if (isLast && !hasTail && !found.raw) return { operand: value(`${rt(env, PATHS, 'gathered')}(${list})`, ANY, { clean }), isList: false }
  return { operand: value(`${rt(env, PATHS, 'flatten')}(${list}, ${isLast})`, ARR, { clean, raw: true }), isList: true }
}

function stepOnValue(subject: Operand, step: Node, isLast: boolean, isFirst: boolean, env: Env): Cursor {
  const run = (inner: Env): Operand => {
    let operand = stepValue(step, inner)
    if (step.stages) operand = applyStages(operand, step.stages, inner, step)
    // A lone list that `[]` kept is flattened by the step that yields it.
    if (isLast && !operand.clean && (operand.bits & ARR) !== 0)
      operand = { ...operand, code: `${rt(env, PATHS, 'unkept')}(${operand.code})`, stable: false }
    return operand
  }
  if (isFirst || (subject.bits & UNDEF) === 0) {
    const ctx = named(env, subject)
    return { operand: run({ ...env, ctx }), isList: false }
  }
  const ctx = named(env, subject)
  const name = env.unit.name('t')
  emit(env, `let ${name}`)
  emit(env, `if (${ctx.code} !== undefined) {`)
  const out = new Lines()
  const operand = run({ ...branch(env, out), ctx: { ...ctx, bits: ctx.bits & ~UNDEF } })
  out.add(`${name} = ${operand.code}`, env.position)
  env.out.entries.push(out)
  emit(env, '}')
  return { operand: { ...operand, code: name, stable: true, bits: operand.bits | UNDEF }, isList: false }
}

/** A step's value for one item, before its predicates. */
function stepValue(step: Node, env: Env): Operand {
  if (step.type !== 'name' || step.keepArray) return compile(step, env)
  const name = String(step.value)
  const { ctx } = env
  checkKnown(ctx, name, step, env)
  if ((ctx.bits & ARR) === 0) return read(ctx, name, env)
  const found = read({ ...ctx, bits: ctx.bits & ~ARR }, name, env)
  const walked = `${rt(env, PATHS, 'collapse')}(${rt(env, PATHS, 'lookup')}(${ctx.code}, ${JSON.stringify(name)}))`
  return value(`(isArray(${ctx.code}) ? ${walked} : ${found.code})`, ctx.clean ? ANY & ~FUN : ANY, { clean: ctx.clean === true })
}

function takeSort(cursor: Cursor, step: Node, env: Env): Cursor {
  const terms = sortTerms(step, env)
  const found = cursor.operand.code
  const list = cursor.isList
    ? cursor.operand.raw
      ? found
      : `${rt(env, PATHS, 'sequenceOf')}(${found})`
    : `${rt(env, PATHS, 'sequenceFrom')}(${found})`
  let operand = value(`${rt(env, PATHS, 'orderBy')}(${list}, ${terms})`, ARR, { raw: true })
  if (step.stages) operand = value(`${rt(env, PATHS, 'stages')}(${stageList(step.stages, env)}, ${operand.code})`, ARR, { raw: true })
  return { operand, isList: true }
}

function sortTerms(step: Node, env: Env, bind?: (inner: Env, tuple: string) => Env): string {
  const terms = (step.terms ?? []).map(term => `[${itemFunction(env, 'term', term.expression, bind)}, ${term.descending}]`)
  return `[${terms.join(', ')}]`
}

/** A node as a function of an item, and of the tuple that carries its variables where there is one. */
function itemFunction(env: Env, wish: string, node: Node, bind?: (inner: Env, tuple: string) => Env): string {
  const item = env.unit.name('item')
  const tuple = env.unit.name('tuple')
  return closure(env, wish, bind ? [item, tuple] : [item], inner => {
    const base: Env = { ...inner, ctx: { code: item, bits: ANY, stable: true }, isOutput: false }
    return compile(node, bind ? bind(base, tuple) : base).code
  })
}

// Predicates -----------------------------------------------------------------------------------------------------

/** Predicates on a value that may be a raw sequence; gives one that may be. */
export function applyStages(operand: Operand, stages: Stage[], env: Env, of: Node): Operand {
  if (of.tuple)
    return value(
      `${rt(env, PATHS, 'stages')}(${stageList(stages, env, withTuple(carried({ type: 'path', steps: [of] })))}, ${operand.code})`,
      ANY,
      { raw: true },
    )
  let current = operand
  stages.forEach((stage, index) => {
    const next = stages[index + 1]
    // Nothing is looked at behind the first, if that is all that is asked for.
    const isFirst = next?.type === 'filter' && next.expr.type === 'number' && next.expr.value === 0 && !next.expr.predicate
    if (stage.type !== 'index') current = applyPredicate(current, stage.expr, env, isFirst)
  })
  return current
}

function applyPredicate(given: Operand, predicate: Node, env: Env, isFirst = false): Operand {
  if (predicate.type === 'number' && !predicate.predicate) {
    if (given.raw) return value(`${rt(env, PATHS, 'at')}(${given.code}, ${String(predicate.value)})`, ANY, { raw: true })
    const temporaries: string[] = []
    const result = position(given, Math.floor(predicate.value as number), temporaries, env)
    if (temporaries.length > 0) emit(env, `let ${temporaries.join(', ')}`)
    return result.clean ? result : { ...result, raw: (result.bits & ARR) !== 0 }
  }
  const operand = loopOf(given) ? given : searched(given, predicate, undefined, env)
  const open = isYesOrNo(predicate) ? openLoop(operand, predicate) : undefined
  const list = env.unit.name('kept')
  const inner = { ...(open ? standIn(open, `const ${list} = []`, env) : branch(env, new Lines())), isOutput: false }
  const ctx = open ? named(inner, open.item, 'item') : itemOf(operand, env.unit.name('item'))
  inner.ctx = ctx
  const test = compile(predicate, inner)
  let made = open?.made
  if (made === undefined) {
    if ((test.bits & (NUM | ARR)) !== 0) return placed(operand, predicate, test, inner, list, env)
    made = emit(env, `const ${list} = []`)
    emitLoop(env.out, listCode(operand, env.unit), ctx.code, inner.out, env.unit, env.position)
  }
  const holds = truth(test, inner.unit)
  const facts = whereTrue(test)
  const item = told(ctx, facts)
  const shape = item.shape && { shape: { bits: ARR, items: item.shape } }
  const kept = value(`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, { clean: ctx.clean === true, ...shape, raw: true, list })
  const isSafe = (open?.isSafe ?? true) && cannotFail(predicate)
  const loop = putInto(list, inner, { item, test: holds, facts, made, isSafe })
  if (!isFirst || open || !isSafe) return noteLoop(kept, loop)
  emit(inner, `if (${list}.length > 0) break`)
  return kept
}

/** A predicate that may name a place, or many: `test` is its value for the context of `inner`, under whose name it stands. */
function placed(operand: Operand, predicate: Node, test: Operand, inner: Env, list: string, env: Env): Operand {
  // The same place for all of them.
  if (predicate.type === 'variable' && test.stable && test.bits === NUM && test.shape?.bits === NUM)
    return value(`${rt(env, PATHS, 'at')}(${operand.code}, ${test.code})`, ANY, { raw: true })
  if (isSameForAll(predicate, test) && inner.out.isEmpty())
    return value(`${rt(env, PATHS, 'placedAt')}(${operand.code}, ${test.code})`, ANY, { clean: operand.clean === true, raw: true })
  if (operand.raw && operand.list === undefined) {
    // It may be a stream of tuples.
    return value(`${rt(env, PATHS, 'filter')}(${operand.code}, ${itemFunction(env, 'predicate', predicate)})`, ANY, { raw: true })
  }
  emit(env, `const ${list} = []`)
  const { items, index } = emitLoop(env.out, listCode(operand, env.unit), inner.ctx.code, inner.out, env.unit, env.position)
  emit(inner, `${rt(env, PATHS, 'keep')}(${list}, ${inner.ctx.code}, ${test.code}, ${index}, ${items}.length)`)
  return value(`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, { clean: inner.ctx.clean === true, raw: true, list })
}

/** A variable, or a number that is added to one: whatever the item is, it is the same, and cannot fail. */
function isSameForAll(predicate: Node, test: Operand): boolean {
  if (predicate.predicate || predicate.group || predicate.keepArray) return false
  if (predicate.type === 'variable') return predicate.value !== ''
  const isPlain = (node: Node): boolean =>
    (node.type === 'variable' && node.value !== '' && !node.predicate && !node.group) || node.type === 'number'
  // Only what is known to be a number is compiled to JavaScript's own operator.
  return predicate.type === 'binary' && test.shape?.bits === NUM && isPlain(predicate.lhs as Node) && isPlain(predicate.rhs as Node)
}

/** JavaScript of an array of what is in a value, to be looked at: in an array, or itself. */
export function listCode(operand: Operand, unit: Unit): string {
  const own = operand.stable ? operand.items : (operand.list ?? ownItems(operand))
  if (own !== undefined) return own
  return (operand.bits & ~ARR) === 0 ? operand.code : `${unit.use(PATHS, 'listOf')}(${operand.code})`
}

function stageList(stages: Stage[], env: Env, bind?: (inner: Env, tuple: string) => Env): string {
  const made = stages.map(stage => {
    if (stage.type === 'index') return `{ index: ${JSON.stringify(stage.value)} }`
    if (stage.expr.type === 'number' && !stage.expr.predicate) return String(stage.expr.value)
    return itemFunction(env, 'predicate', stage.expr, bind)
  })
  return `[${made.join(', ')}]`
}

// Ends -----------------------------------------------------------------------------------------------------------

/** A list of a path's results as its value. */
function collapseList(list: Operand, env: Env): Operand {
  if (list.raw) return list
  const item = list.shape?.items
  if (item && (item.bits & ARR) === 0) {
    const each = eachOf({ ...list, list: list.code })
    const known = { clean: list.clean === true, ...(each && { each }) }
    return noteLoop(value(`${rt(env, PATHS, 'loneOf')}(${list.code})`, ARR | UNDEF | item.bits, known), loopOf(list))
  }
  return value(`${rt(env, PATHS, 'loneOf')}(${list.code})`, ANY, { clean: list.clean === true })
}

function keptList(cursor: Cursor, env: Env): Operand {
  const { operand } = cursor
  const item = cursor.isList ? operand.shape?.items : undefined
  const shape: Shape = { bits: ARR, ...(item && { items: item }) }
  if (!cursor.isList && operand.bits === ARR && operand.clean) return operand
  const keep = cursor.isList ? (operand.raw ? 'keptList' : 'keptFound') : 'keptOf'
  return value(`${rt(env, PATHS, keep)}(${operand.code})`, ARR | UNDEF, { clean: operand.clean === true, shape })
}

// Tuples ---------------------------------------------------------------------------------------------------------

/** The names that a tuple stream carries after a node. */
function carried(node: Node, into = new Set<string>()): Set<string> {
  for (const step of node.steps ?? [node]) {
    if (step.focus) into.add(step.focus)
    if (step.index) into.add(step.index)
    if (step.ancestor) into.add(step.ancestor.label)
    for (const stage of step.stages ?? []) if (stage.type === 'index') into.add(stage.value)
    if (step.tuple && step.type === 'path') carried(step, into)
    if (step.tuple && step.type === 'block') {
      const last = step.expressions?.at(-1)
      if (last) carried(last, into)
    }
  }
  return into
}

/** A frame with the variables of a tuple. */
function withTuple(names: ReadonlySet<string>): (inner: Env, tuple: string) => Env {
  return (inner, tuple) => {
    const scope = new Scope(inner.scope, new Map(), undefined, inner.level)
    for (const name of names) {
      const outer = outerValue(name, inner)
      const code =
        outer === undefined ? `${tuple}${access(name)}` : `(${JSON.stringify(name)} in ${tuple} ? ${tuple}${access(name)} : ${outer})`
      scope.variables.set(name, { js: code, isAssigned: true, isConstant: false })
    }
    return { ...inner, scope }
  }
}

function outerValue(name: string, env: Env): string | undefined {
  const found = env.scope.find(name)
  if (found) return found.variable.js
  return env.options.open ? `bindings[${JSON.stringify(name)}]` : undefined
}

function tuplePath(node: Node, env: Env): Operand {
  const steps = node.steps as Node[]
  const first = steps[0] as Node
  const names = new Set<string>()
  const items = env.unit.name('items')
  const tuples = env.unit.name('tuples')
  const start = first.type === 'variable' ? `[${env.ctx.code}]` : `${rt(env, PATHS, 'items')}(${env.ctx.code})`
  emit(env, `let ${items} = ${start}`)
  emit(env, `let ${tuples}`)
  const firstTuple = steps.findIndex(step => step.tuple)
  // Where a step before the first that carries variables gives nothing, the path ends there.
  const label = env.unit.name('path')
  const hasExit = firstTuple > 0
  const body = hasExit ? new Lines() : env.out
  if (hasExit) emit(env, `${label}: {`)
  const inner = hasExit ? branch(env, body) : env
  steps.forEach((step, index) => {
    if (index === 0 && step.consarray) {
      const operand = compile(step, { ...inner, isOutput: false })
      emit(inner, step.focus === undefined ? `${items} = ${operand.code}` : `void ${operand.code}`)
      if (hasExit) emit(inner, `if (${items} === undefined || ${items}.length === 0) break ${label}`)
      return
    }
    if (index < firstTuple) {
      const cursor = takeStep(
        { operand: { code: items, bits: ARR, stable: true, raw: true }, isList: true },
        step,
        { isFirst: false, isLast: index === steps.length - 1, hasTail: true },
        { ...inner, isOutput: false },
      )
      emit(inner, `${items} = ${cursor.operand.raw ? cursor.operand.code : `${rt(env, PATHS, 'sequenceOf')}(${cursor.operand.code})`}`)
      emit(inner, `if (${items} === undefined || ${items}.length === 0) break ${label}`)
      return
    }
    const before = withTuple(new Set(names))
    for (const name of carried({ type: 'path', steps: [step] })) names.add(name)
    const after = withTuple(new Set(names))
    const parts: string[] = []
    if (step.type === 'sort') parts.push(`terms: ${sortTerms(step, inner, before)}`)
    else parts.push(`run: ${itemFunction(inner, 'step', step, before)}`)
    if (step.focus) parts.push(`focus: ${JSON.stringify(step.focus)}`)
    if (step.index) parts.push(`index: ${JSON.stringify(step.index)}`)
    if (step.ancestor) parts.push(`ancestor: ${JSON.stringify(step.ancestor.label)}`)
    if (step.stages) parts.push(`stages: ${stageList(step.stages, inner, after)}`)
    emit(inner, `${tuples} = ${rt(env, PATHS, 'tupleStep')}({ ${parts.join(', ')} }, ${items}, ${tuples})`)
  })
  if (hasExit) {
    env.out.entries.push(body)
    emit(env, '}')
  }
  if (node.group) return compileGroup(node.group.lhs, value(`(${tuples} ?? ${items})`), env, withTuple(names))
  let result = node.tuple ? `(${tuples} ?? ${items})` : `(${tuples} === undefined ? ${items} : ${rt(env, PATHS, 'valuesOf')}(${tuples}))`
  if (node.keepSingletonArray) result = `${rt(env, PATHS, 'keepSingleton')}(${result})`
  return value(result, ANY, { raw: true, nested: true })
}
