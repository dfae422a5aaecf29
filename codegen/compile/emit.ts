// What the steps of a stream emit. An event that is written out in the mapping is text at build, but for its values; any
// other is a value that is turned into text when it is there.

import { type Node, some } from '../jsonata/ast.js'
import { truth } from '../jsonata/compile.js'
import type { Global } from '../jsonata/context.js'
import { noteObject, objectCode, ofText, partsOf, withNamedParts, written } from '../jsonata/json-text.js'
import { FUN, isLiteral, NOTHING, OBJ, type Operand, type Shape, STR, UNDEF } from '../jsonata/types.js'
import type { Lines } from '../jsonata/unit.js'
import type { Source } from '../read/project.js'
import type { Module } from './module.js'

/** Where an expression stands: what it sees, and where its lines go. */
export interface Place {
  module: Module
  source: Source
  globals: ReadonlyMap<string, Global>
  root: Operand
  into: Lines
}

/**
 * Emits lines that push each event of a literal list, or of the arm of a condition that holds, by itself: its kind, which
 * is its member `line`, and its JSON.
 */
export function emitEvents(whole: Node, place: Place, line: string | undefined): void {
  const { module, source, globals, root, into } = place
  const node = withoutThunk(whole)
  const compile = (part: Node): Operand => module.compileTree(part, source, root, globals, into, { isSerialised: false })
  if (isBlock(node)) {
    const inner = new Map(globals)
    const last = (node.expressions ?? []).at(-1) as Node
    for (const { lhs, rhs } of (node.expressions ?? []).slice(0, -1)) {
      const name = String((lhs as Node).value)
      inner.set(name, bound(name, rhs as Node, last, { ...place, globals: inner }))
    }
    emitEvents(last, { ...place, globals: inner }, line)
    return
  }
  if (node.type === 'condition' && !isQualified(node) && !some(node.condition as Node, child => child.type === 'bind')) {
    into.add(`if (${truth(compile(node.condition as Node), module.unit)}) {`)
    const then = into.nested()
    emitEvents(node.then as Node, { ...place, into: then }, line)
    if (node.else) {
      into.add('} else {')
      const orElse = into.nested()
      emitEvents(node.else, { ...place, into: orElse }, line)
    }
    into.add('}')
    return
  }
  const sight = sightOf(globals)
  const several = listed(node) ?? appended(node, module, sight)
  if (several) {
    for (const item of several) emitEvents(item, place, line)
    return
  }
  const keys = keysOf(node, module, sight)
  if (keys && (line === undefined || keys.includes(line))) {
    const parts = partsIn(node, place)
    const kind = line === undefined ? '""' : kindOf(parts, line, place)
    const json = written(objectOf(parts), module.unit)
    if (json !== undefined) {
      into.add(`out.push(${kind}, ${json})`)
      return
    }
  }
  const called = calledIn(node, module, sight)
  if (called && isWrittenOut(called.body, module, sightInside(called, module, sight))) {
    emitEvents(called.body, inside(called, place), line)
    return
  }
  const operand = module.compileTree(node, source, root, globals, into)
  if (operand.code !== 'undefined') into.add(`${module.unit.use('events', 'pushEvents')}(out, ${operand.code}, ${JSON.stringify(line)})`)
}

/** JavaScript of an event's kind, which is one of its members, too. */
function kindOf(parts: Map<string, Operand>, line: string, { module, into }: Place): string {
  const kind = parts.get(line) as Operand
  if (isLiteral(kind)) return JSON.stringify(String(kind.literal))
  const name = module.unit.name('kind')
  into.add(`const ${name} = ${kind.code}`)
  parts.set(line, { ...kind, code: name, stable: true })
  return kind.bits === STR ? name : `String(${name})`
}

/** The value of a variable of a block whose last expression is `last`. */
function bound(name: string, node: Node, last: Node, place: Place): Global {
  const { module, source, globals, root, into } = place
  const sight = sightOf(globals)
  const isText = isOnlyWritten(name, last, module, sight)
  const operand =
    isText && keysOf(node, module, sight)
      ? objectOf(partsIn(node, place))
      : module.compileTree(node, source, root, globals, into, { isSerialised: false })
  const js = module.unit.name(name)
  if (isText && (operand.bits & (UNDEF | FUN)) === 0) {
    // Once for all events that it stands in.
    into.add(`const ${js} = ${written(operand, module.unit) ?? `${module.unit.use('events', 'written')}(${operand.code})`}`)
    const known = ofText(js, operand)
    return { code: known.code, operand: known }
  }
  into.add(`const ${js} = ${operand.code}`)
  return { code: js, operand: { ...operand, code: js, stable: true } }
}

// What is written out ----------------------------------------------------------------------------------------------

/** Which variables an expression sees, and what is known of them. */
interface Sight {
  has(name: string): boolean
  /** Of one that is an object written out. */
  keys(name: string): readonly string[] | undefined
  shape(name: string): Shape | undefined
}

function sightOf(globals: ReadonlyMap<string, Global>): Sight {
  return {
    has: name => globals.has(name),
    keys(name) {
      const operand = globals.get(name)?.operand
      const parts = operand && partsOf(operand)
      return parts && [...parts.keys()]
    },
    shape(name) {
      const { operand, shape } = globals.get(name) ?? {}
      return operand?.shape ?? shape
    },
  }
}

function sightOfParameters(names: readonly string[]): Sight {
  return { has: name => names.includes(name), keys: () => undefined, shape: () => undefined }
}

/** Of the body of a function that is called. */
function sightInside({ parameters, given, body }: Called, module: Module, sight: Sight): Sight {
  const within = sightOfParameters(parameters)
  const keys = new Map(
    parameters.map((name, index): [string, readonly string[] | undefined] => {
      const node = given[index]
      return [name, node && isOnlyWritten(name, body, module, within) ? keysOf(node, module, sight) : undefined]
    }),
  )
  const shape = (name: string): Shape | undefined => {
    const node = given[parameters.indexOf(name)]
    return node && shapeOf(node, sight)
  }
  return { has: name => keys.has(name), keys: name => keys.get(name), shape }
}

/** What is known of a variable, or of a member of one. */
function shapeOf(node: Node, sight: Sight): Shape | undefined {
  if (node.type === 'variable') return isQualified(node) ? undefined : sight.shape(String(node.value))
  const [first, ...names] = node.type === 'path' && !isQualified(node) ? (node.steps ?? []) : []
  if (first?.type !== 'variable' || !names.every(step => step.type === 'name' && !isQualified(step) && !step.stages)) return undefined
  return names.reduce((shape, step) => shape?.members?.get(String(step.value)), shapeOf(first, sight))
}

const MOST_DEEP = 8

/**
 * The keys of an object that is written out: a literal, `$merge` of such with no key twice, a variable that stands for one,
 * a member of a variable of which all keys are known, or a call of a function of the library that gives one. Nothing where
 * it is none of them.
 */
function keysOf(whole: Node, module: Module, sight: Sight, depth = 0): readonly string[] | undefined {
  const node = withoutThunk(whole)
  if (depth > MOST_DEEP || isQualified(node)) return undefined
  if (node.type === 'variable') return sight.keys(String(node.value))
  const pairs = literalPairs(node)
  const merged = mergedIn(node, sight)
  if (pairs || merged) {
    const lists = pairs ? [pairs.map(([key]) => key)] : (merged ?? []).map(item => keysOf(item, module, sight, depth + 1))
    if (lists.some(list => list === undefined)) return undefined
    const keys = lists.flatMap(list => list as string[])
    return new Set(keys).size === keys.length && !keys.some(isPlace) ? keys : undefined
  }
  const { bits, members, closed } = (node.type === 'path' && shapeOf(node, sight)) || { bits: 0 }
  if (bits === OBJ && members && closed) return [...members.keys()]
  const called = calledIn(node, module, sight)
  return called && keysOf(called.body, module, sightInside(called, module, sight), depth + 1)
}

/** The members of an object that is written out. */
function partsIn(whole: Node, place: Place): Map<string, Operand> {
  const { module, globals } = place
  const node = withoutThunk(whole)
  const pairs = literalPairs(node)
  if (pairs) return new Map(pairs.map(([key, value]) => [key, memberOf(value, place)]))
  if (node.type === 'variable') return partsOf(globals.get(String(node.value))?.operand as Operand) as Map<string, Operand>
  const sight = sightOf(globals)
  const merged = mergedIn(node, sight)
  if (merged) return new Map(merged.flatMap(item => [...partsIn(item, place)]))
  if (node.type === 'path') {
    const member = (key: string): Node => ({ ...node, steps: [...(node.steps ?? []), { type: 'name', value: key }] })
    return new Map((keysOf(node, module, sight) as string[]).map(key => [key, memberOf(member(key), place)]))
  }
  const called = calledIn(node, module, sight) as Called
  return partsIn(called.body, inside(called, place))
}

/** A member's value: an object that is written out stays that. */
function memberOf(node: Node, place: Place): Operand {
  const { module, source, globals, root, into } = place
  const isObject = literalPairs(node) === undefined && node.type !== 'variable' && keysOf(node, module, sightOf(globals))
  return isObject ? objectOf(partsIn(node, place)) : module.compileTree(node, source, root, globals, into)
}

/** An object of these members, for writing: one that is absent is the same as one that is undefined. */
function objectOf(parts: ReadonlyMap<string, Operand>): Operand {
  const [keys, operands] = [[...parts.keys()], [...parts.values()]]
  const operand: Operand = {
    code: objectCode(keys, operands),
    bits: OBJ,
    stable: operands.every(part => part.stable),
    clean: operands.every(part => part.clean),
  }
  noteObject(operand, keys, operands)
  return operand
}

/** Whether nothing but events that are written out can come of it. */
function isWrittenOut(whole: Node, module: Module, sight: Sight, depth = 0): boolean {
  const node = withoutThunk(whole)
  const isOne = (child: Node): boolean => isWrittenOut(child, module, sight, depth + 1)
  if (depth > MOST_DEEP || isQualified(node)) return false
  if (isBlock(node)) {
    const names = new Set((node.expressions ?? []).slice(0, -1).map(({ lhs }) => String((lhs as Node).value)))
    const inner: Sight = {
      has: name => names.has(name) || sight.has(name),
      keys: name => (names.has(name) ? undefined : sight.keys(name)),
      shape: name => (names.has(name) ? undefined : sight.shape(name)),
    }
    return isWrittenOut((node.expressions ?? []).at(-1) as Node, module, inner, depth + 1)
  }
  if (node.type === 'condition') return isOne(node.then as Node) && (node.else === undefined || isOne(node.else))
  const several = listed(node) ?? callOf(node, 'append', sight)
  if (several) return several.every(isOne)
  if (keysOf(node, module, sight, depth)) return true
  const called = calledIn(node, module, sight)
  return called !== undefined && isWrittenOut(called.body, module, sightInside(called, module, sight), depth + 1)
}

/** The arguments of `$append`, where each gives nothing but events that are written out. */
function appended(node: Node, module: Module, sight: Sight): Node[] | undefined {
  return isWrittenOut(node, module, sight) ? callOf(node, 'append', sight) : undefined
}

// Calls ------------------------------------------------------------------------------------------------------------

/** A call of a function of the library whose body may stand in its place. */
interface Called {
  parameters: string[]
  body: Node
  source: Source
  given: Node[]
}

function calledIn(node: Node, module: Module, sight: Sight): Called | undefined {
  if (node.type !== 'function' || isQualified(node) || node.procedure?.type !== 'variable') return undefined
  const name = String(node.procedure.value)
  const found = sight.has(name) ? undefined : module.functionOf(name)
  if (found === undefined) return undefined
  const { lambda, source } = found
  const parameters = (lambda.arguments ?? []).map(parameter => String(parameter.value))
  return { parameters, body: lambda.body as Node, source, given: node.arguments ?? [] }
}

/** The place of a body that stands in the place of a call: its parameters are constants. */
function inside(called: Called, place: Place): Place {
  const { parameters, source, given } = called
  const { module, globals, root, into } = place
  const within = sightInside(called, module, sightOf(globals))
  const constant = (wish: string, operand: Operand): Operand => {
    if (operand.stable || MEMBER.test(operand.code)) return operand
    const name = module.unit.name(wish)
    into.add(`const ${name} = ${operand.code}`)
    return { ...operand, code: name, stable: true }
  }
  const inner = new Map<string, Global>()
  parameters.forEach((wish, index) => {
    const node = given[index]
    let operand = NOTHING
    if (node && within.keys(wish)) {
      // Its parts get names: it may stand in several events.
      const name = (key: string, part: Operand): Operand => withNamedParts(part, inner => constant(key, inner)) ?? constant(key, part)
      operand = objectOf(new Map([...partsIn(node, place)].map(([key, part]) => [key, name(key, part)])))
    } else if (node) operand = constant(wish, module.compileTree(node, place.source, root, globals, into, { isSerialised: false }))
    inner.set(wish, { code: operand.code, operand })
  })
  return { module, source, globals: inner, root: NOTHING, into }
}

/** A member of what does not change while events are written: as good as a constant. */
const MEMBER = /^(?:state|ctx|carry)(?:\.[A-Za-z_$][\w$]*)+$/

/** The arguments of a call of a function of JSONata's own. */
function callOf(node: Node, name: string, sight: Sight): Node[] | undefined {
  const isCall = node.type === 'function' && !isQualified(node) && node.procedure?.type === 'variable'
  return isCall && node.procedure?.value === name && !sight.has(name) ? node.arguments : undefined
}

/** What `$merge` is given in a literal list. */
function mergedIn(node: Node, sight: Sight): Node[] | undefined {
  const given = callOf(node, 'merge', sight)
  return given?.length === 1 ? listed(given[0] as Node) : undefined
}

// Nodes ------------------------------------------------------------------------------------------------------------

const isQualified = (node: Node): boolean => node.predicate !== undefined || node.group !== undefined

/** A call at the end of a function is wrapped by the parser. */
function withoutThunk(node: Node): Node {
  return node.type === 'lambda' && node.thunk ? (node.body as Node) : node
}

/** A block that gives names to values, each a new one, before its last expression. */
function isBlock(node: Node): boolean {
  if (node.type !== 'block' || isQualified(node)) return false
  const binds = (node.expressions ?? []).slice(0, -1)
  return binds.length > 0 && binds.every(({ type, lhs }) => type === 'bind' && (lhs as Node).type === 'variable')
}

/** The items of a literal list. */
function listed(node: Node): Node[] | undefined {
  return node.type === 'unary' && node.value === '[' && !isQualified(node) ? (node.expressions ?? []) : undefined
}

/** The members of an object literal whose keys are known. */
export function literalPairs(node: Node): [string, Node][] | undefined {
  if (node.type !== 'unary' || node.value !== '{' || isQualified(node)) return undefined
  const pairs = node.lhs as [Node, Node][]
  if (pairs.some(([key]) => key.type !== 'string')) return undefined
  return pairs.map(([key, value]) => [String(key.value), value])
}

/** Keys of this kind come before others, wherever they are written. */
function isPlace(key: string): boolean {
  return /^\d+$/.test(key)
}

/** Whether a variable is used only as a value in what is written: then a member that is absent is the same as one that is undefined. */
function isOnlyWritten(name: string, whole: Node, module: Module, sight: Sight, depth = 0): boolean {
  const node = withoutThunk(whole)
  if (node.type === 'variable') return !isQualified(node)
  const isHere = (child: Node): boolean => some(child, ({ type, value }) => type === 'variable' && value === name)
  if (!isHere(node)) return true
  const pairs = literalPairs(node)
  const inner = pairs ? pairs.map(([, value]) => value) : (listed(node) ?? mergedIn(node, sight))
  if (inner) return inner.every(child => isOnlyWritten(name, child, module, sight, depth))
  const called = depth < MOST_DEEP ? calledIn(node, module, sight) : undefined
  if (called === undefined) return false
  const { parameters, given, body } = called
  const within = sightOfParameters(parameters)
  return given.every(
    (child, index) =>
      !isHere(child) ||
      (isOnlyWritten(name, child, module, sight, depth) && isOnlyWritten(parameters[index] as string, body, module, within, depth + 1)),
  )
}
