// Compiles what the steps of a stream emit. An event literal in the mapping becomes text at build, except for its values;
// any other event is a value that is serialised at run time.

import { type BindNode, calledName, isQualified, literalPairs, type NameNode, type Node, some, withoutThunk } from '../jsonata/ast.js'
import type { Global } from '../jsonata/context.js'
import { type Js, js, json } from '../jsonata/js.js'
import { noteObject, objectCode, ofText, partsOf, withNamedParts, written } from '../jsonata/json-text.js'
import { truth } from '../jsonata/operands.js'
import { FUN, isLasting, isLiteral, isNothing, NOTHING, OBJ, type Operand, type Shape, STR, UNDEF } from '../jsonata/types.js'
import type { Lines } from '../jsonata/unit.js'
import type { Source } from '../read/functions.js'
import type { Module } from './module.js'

/** The context of an expression: what it sees, and where its lines go. */
export interface ExpressionSite {
  module: Module
  source: Source
  globals: ReadonlyMap<string, Global>
  root: Operand
  into: Lines
}

/**
 * Emits lines that push each event of a literal list, or of the branch of a condition, separately: its kind, which is its
 * member `line`, and its JSON.
 */
export function emitEvents(whole: Node, site: ExpressionSite, line: string | undefined): void {
  const { module, source, globals, root, into } = site
  const node = withoutThunk(whole)
  const compile = (part: Node): Operand => module.compileTree(part, source, root, globals, into, { isSerialised: false })
  const block = blockIn(node)
  if (block) {
    const inner = new Map(globals)
    const { binds, last } = block
    for (const { lhs, rhs } of binds) inner.set(lhs.value, bound(lhs.value, rhs, last, { ...site, globals: inner }))
    emitEvents(last, { ...site, globals: inner }, line)
    return
  }
  if (node.type === 'condition' && !isQualified(node) && !some(node.condition, child => child.type === 'bind')) {
    into.add(js`if (${truth(compile(node.condition), module.unit)}) {`)
    const then = into.nested()
    emitEvents(node.then, { ...site, into: then }, line)
    if (node.else) {
      into.add(js`} else {`)
      const orElse = into.nested()
      emitEvents(node.else, { ...site, into: orElse }, line)
    }
    into.add(js`}`)
    return
  }
  const sight = sightOf(globals)
  const several = listed(node) ?? appended(node, module, sight)
  if (several) {
    for (const item of several) emitEvents(item, site, line)
    return
  }
  const keys = keysOf(node, module, sight)
  if (keys && (line === undefined || keys.includes(line))) {
    const parts = partsIn(node, site)
    const kind = line === undefined ? json('') : kindOf(parts, line, site)
    const text = written(objectOf(parts), module.unit)
    if (text !== undefined) {
      into.add(js`out.push(${kind}, ${text})`)
      return
    }
  }
  const called = calledIn(node, module, sight)
  if (called && isWrittenOut(called.body, module, sightInside(called, module, sight))) {
    emitEvents(called.body, inside(called, site), line)
    return
  }
  const operand = module.compileTree(node, source, root, globals, into)
  if (!isNothing(operand)) into.add(js`${module.unit.use('events', 'pushEvents')}(out, ${operand.code}, ${json(line)})`)
}

/** JavaScript of an event's kind, which is also one of its members. */
function kindOf(parts: Map<string, Operand>, line: string, { module, into }: ExpressionSite): Js {
  const kind = parts.get(line) as Operand
  if (isLiteral(kind)) return json(String(kind.literal))
  const name = module.unit.name('kind')
  into.add(js`const ${name} = ${kind.code}`)
  parts.set(line, { ...kind, code: name, stable: true })
  return kind.bits === STR ? name : js`String(${name})`
}

/** The value of a variable of a block whose last expression is `last`. */
function bound(name: string, node: Node, last: Node, site: ExpressionSite): Global {
  const { module, source, globals, root, into } = site
  const sight = sightOf(globals)
  const isText = isOnlyWritten(name, last, module, sight)
  const operand =
    isText && keysOf(node, module, sight)
      ? objectOf(partsIn(node, site))
      : module.compileTree(node, source, root, globals, into, { isSerialised: false })
  const local = module.unit.name(name)
  if (isText && (operand.bits & (UNDEF | FUN)) === 0) {
    // Evaluated once for all events that contain it.
    into.add(js`const ${local} = ${written(operand, module.unit) ?? js`${module.unit.use('events', 'written')}(${operand.code})`}`)
    const known = ofText(local, operand)
    return { code: known.code, operand: known }
  }
  into.add(js`const ${local} = ${operand.code}`)
  return { code: local, operand: { ...operand, code: local, stable: true } }
}

// Literals ------------------------------------------------------------------------------------------------------

/** The variables that an expression sees, and what is known of them. */
interface Sight {
  has(name: string): boolean
  /** The keys of a variable that is an object literal. */
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

/** The variables inside the body of a called function. */
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
  if (node.type === 'variable') return isQualified(node) ? undefined : sight.shape(node.value)
  const [first, ...names] = node.type === 'path' && !isQualified(node) ? node.steps : []
  const isName = (step: Node): step is NameNode => step.type === 'name' && !isQualified(step) && !step.stages
  if (first?.type !== 'variable' || !names.every(isName)) return undefined
  return names.reduce((shape, step) => shape?.members?.get(step.value), shapeOf(first, sight))
}

const MOST_DEEP = 8

/**
 * The keys of an object literal: a literal itself, `$merge` of literals with distinct keys, a variable bound to one, a
 * member of a variable with known keys, or a call of a library function that returns one. Undefined for anything else.
 */
function keysOf(whole: Node, module: Module, sight: Sight, depth = 0): readonly string[] | undefined {
  const node = withoutThunk(whole)
  if (depth > MOST_DEEP || isQualified(node)) return undefined
  if (node.type === 'variable') return sight.keys(node.value)
  const pairs = literalPairs(node)
  const merged = mergedIn(node, sight)
  if (pairs || merged) {
    const lists = pairs ? [pairs.map(([key]) => key)] : (merged ?? []).map(item => keysOf(item, module, sight, depth + 1))
    const known = lists.filter(list => list !== undefined)
    if (known.length < lists.length) return undefined
    const keys = known.flat()
    return new Set(keys).size === keys.length && !keys.some(isIndex) ? keys : undefined
  }
  const { bits, members, closed } = (node.type === 'path' && shapeOf(node, sight)) || { bits: 0 }
  if (bits === OBJ && members && closed) return [...members.keys()]
  const called = calledIn(node, module, sight)
  return called && keysOf(called.body, module, sightInside(called, module, sight), depth + 1)
}

/** The members of an object literal. */
function partsIn(whole: Node, site: ExpressionSite): Map<string, Operand> {
  const { module, globals } = site
  const node = withoutThunk(whole)
  const pairs = literalPairs(node)
  if (pairs) return new Map(pairs.map(([key, value]) => [key, memberOf(value, site)]))
  if (node.type === 'variable') return partsOf(globals.get(node.value)?.operand as Operand) as Map<string, Operand>
  const sight = sightOf(globals)
  const merged = mergedIn(node, sight)
  if (merged) return new Map(merged.flatMap(item => [...partsIn(item, site)]))
  if (node.type === 'path') {
    const member = (key: string): Node => ({ ...node, steps: [...node.steps, { type: 'name', value: key }] })
    return new Map((keysOf(node, module, sight) as string[]).map(key => [key, memberOf(member(key), site)]))
  }
  const called = calledIn(node, module, sight) as Called
  return partsIn(called.body, inside(called, site))
}

/** A member's value: an object literal stays one. */
function memberOf(node: Node, site: ExpressionSite): Operand {
  const { module, source, globals, root, into } = site
  const isObject = literalPairs(node) === undefined && node.type !== 'variable' && keysOf(node, module, sightOf(globals))
  return isObject ? objectOf(partsIn(node, site)) : module.compileTree(node, source, root, globals, into)
}

/** An object of these members, for writing only: an absent member equals an undefined one. */
function objectOf(parts: ReadonlyMap<string, Operand>): Operand {
  const [keys, operands] = [[...parts.keys()], [...parts.values()]]
  const code = objectCode(keys, operands)
  const operand: Operand = {
    code,
    compound: code,
    bits: OBJ,
    stable: operands.every(part => part.stable),
    clean: operands.every(part => part.clean),
  }
  noteObject(operand, keys, operands)
  return operand
}

/** Whether it can only yield event literals. */
function isWrittenOut(whole: Node, module: Module, sight: Sight, depth = 0): boolean {
  const node = withoutThunk(whole)
  const isOne = (child: Node): boolean => isWrittenOut(child, module, sight, depth + 1)
  if (depth > MOST_DEEP || isQualified(node)) return false
  const block = blockIn(node)
  if (block) {
    const names = new Set(block.binds.map(({ lhs }) => lhs.value))
    const inner: Sight = {
      has: name => names.has(name) || sight.has(name),
      keys: name => (names.has(name) ? undefined : sight.keys(name)),
      shape: name => (names.has(name) ? undefined : sight.shape(name)),
    }
    return isWrittenOut(block.last, module, inner, depth + 1)
  }
  if (node.type === 'condition') return isOne(node.then) && (node.else === undefined || isOne(node.else))
  const several = listed(node) ?? callOf(node, 'append', sight)
  if (several) return several.every(isOne)
  if (keysOf(node, module, sight, depth)) return true
  const called = calledIn(node, module, sight)
  return called !== undefined && isWrittenOut(called.body, module, sightInside(called, module, sight), depth + 1)
}

/** The arguments of `$append`, if each yields only event literals. */
function appended(node: Node, module: Module, sight: Sight): Node[] | undefined {
  return isWrittenOut(node, module, sight) ? callOf(node, 'append', sight) : undefined
}

// Calls ------------------------------------------------------------------------------------------------------------

/** A call of a library function whose body may be inlined. */
interface Called {
  parameters: string[]
  body: Node
  source: Source
  given: Node[]
}

function calledIn(node: Node, module: Module, sight: Sight): Called | undefined {
  const name = calledName(node)
  if (node.type !== 'function' || name === undefined || isQualified(node)) return undefined
  const found = sight.has(name) ? undefined : module.functionOf(name)
  if (found === undefined) return undefined
  const { lambda, source } = found
  const parameters = lambda.arguments.map(parameter => parameter.value)
  return { parameters, body: lambda.body, source, given: node.arguments }
}

/** A value as a constant, unless it may be written anew wherever it is used. */
export function constant(wish: string, operand: Operand, { module, into }: Pick<ExpressionSite, 'module' | 'into'>): Operand {
  // A value that lasts for the stream does not change while events are written.
  if (operand.stable || isLasting(operand)) return operand
  const name = module.unit.name(wish)
  into.add(js`const ${name} = ${operand.code}`)
  return { ...operand, code: name, stable: true }
}

/** The site of an inlined body: its parameters are constants. */
function inside(called: Called, site: ExpressionSite): ExpressionSite {
  const { parameters, source, given } = called
  const { module, globals, root, into } = site
  const within = sightInside(called, module, sightOf(globals))
  const inner = new Map<string, Global>()
  parameters.forEach((wish, index) => {
    const node = given[index]
    let operand = NOTHING
    if (node && within.keys(wish)) {
      // Its parts get names, because it may be used in several events.
      const name = (key: string, part: Operand): Operand =>
        withNamedParts(part, inner => constant(key, inner, site)) ?? constant(key, part, site)
      operand = objectOf(new Map([...partsIn(node, site)].map(([key, part]) => [key, name(key, part)])))
    } else if (node) operand = constant(wish, module.compileTree(node, site.source, root, globals, into, { isSerialised: false }), site)
    inner.set(wish, { code: operand.code, operand })
  })
  return { module, source, globals: inner, root: NOTHING, into }
}

/** The arguments of a call of a JSONata built-in. */
function callOf(node: Node, name: string, sight: Sight): Node[] | undefined {
  if (node.type !== 'function' || isQualified(node)) return undefined
  return calledName(node) === name && !sight.has(name) ? node.arguments : undefined
}

/** The items of a literal list that `$merge` is called with. */
function mergedIn(node: Node, sight: Sight): Node[] | undefined {
  const [list, ...more] = callOf(node, 'merge', sight) ?? []
  return list && more.length === 0 ? listed(list) : undefined
}

// Nodes ------------------------------------------------------------------------------------------------------------

/** A block that binds new names to values before its last expression. */
function blockIn(node: Node): { binds: BindNode[]; last: Node } | undefined {
  if (node.type !== 'block' || isQualified(node)) return undefined
  const binds = node.expressions.slice(0, -1)
  const last = node.expressions.at(-1)
  const isBind = (child: Node): child is BindNode => child.type === 'bind'
  return last && binds.length > 0 && binds.every(isBind) ? { binds, last } : undefined
}

/** The items of a literal list. */
function listed(node: Node): Node[] | undefined {
  return node.type === 'unary' && node.value === '[' && !isQualified(node) ? node.expressions : undefined
}

/** JavaScript orders such keys before others, wherever they are written. */
function isIndex(key: string): boolean {
  return /^\d+$/.test(key)
}

/** Whether a variable is only written out: then an absent member equals an undefined one. */
function isOnlyWritten(name: string, whole: Node, module: Module, sight: Sight, depth = 0): boolean {
  const node = withoutThunk(whole)
  if (node.type === 'variable') return !isQualified(node)
  const isHere = (child: Node): boolean => some(child, part => part.type === 'variable' && part.value === name)
  if (!isHere(node)) return true
  const pairs = literalPairs(node)
  const inner = pairs ? pairs.map(([, value]) => value) : (listed(node) ?? mergedIn(node, sight))
  if (inner) return inner.every(child => isOnlyWritten(name, child, module, sight, depth))
  const called = depth < MOST_DEEP ? calledIn(node, module, sight) : undefined
  if (called === undefined) return false
  const { parameters, given, body } = called
  const within = sightOfParameters(parameters)
  return given.every((child, index) => {
    if (!isHere(child)) return true
    if (!isOnlyWritten(name, child, module, sight, depth)) return false
    const parameter = parameters[index]
    return parameter === undefined || isOnlyWritten(parameter, body, module, within, depth + 1)
  })
}
