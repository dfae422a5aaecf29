// Composes pairs of dialects without a mapping of their own through a dialect that both are mapped to: `via` in a format
// names it. So a new dialect costs two mappings, to that dialect and from it.

import type { Composition } from '../../engine/plan.js'
import { Functions } from '../check/functions.js'
import { fusionOf } from '../check/fusion.js'
import { type ComposedLedger, type Field, namesRead } from '../check/ledger.js'
import { type BindNode, type LambdaNode, type NameNode, type Node, type Pair, parse } from '../jsonata/ast.js'
import type { Entry, Library, MappingData, Project } from '../read/project.js'

/** A composed pair, with its two mappings. */
export interface ComposedPair {
  name: string
  from: string
  via: string
  to: string
  first: Entry<MappingData>
  second: Entry<MappingData>
}

type Formats = Pick<Project, 'formats' | 'mappings'>

/** Every composed pair. */
export function composedPairs(project: Formats): ComposedPair[] {
  const names = [...project.formats.keys()]
  return names.flatMap(from => names.flatMap(to => composedPair(project, from, to) ?? []))
}

/**
 * The composition of a pair without a mapping, through the `via` of the client's dialect or else of the upstream's. A
 * mapping that splits requests, or whose answers are addresses, cannot be the second.
 */
export function composedPair({ formats, mappings }: Formats, from: string, to: string): ComposedPair | undefined {
  const name = `${from}-to-${to}`
  if (from === to || mappings.has(name)) return undefined
  for (const via of [formats.get(from)?.data.via, formats.get(to)?.data.via]) {
    if (via === undefined || via === from || via === to) continue
    const [first, second] = [mappings.get(`${from}-to-${via}`), mappings.get(`${via}-to-${to}`)]
    if (first && second && isSecondHalf(second.data)) return { name, from, via, to, first, second }
  }
  return undefined
}

function isSecondHalf({ split, location, request, response }: MappingData): boolean {
  return split === undefined && location === undefined && request !== undefined && response !== undefined
}

/** The compositions in the engine's form, by name. `libraryOf`: the functions that a mapping sees. */
export function compositionsOf(
  pairs: readonly ComposedPair[],
  libraryOf: (mapping: Entry<MappingData>) => Library,
): Record<string, Composition> {
  // A mapping is the first half of many pairs.
  const known = new Map<Entry<MappingData>, Composition['members']>()
  const membersOf = (first: Entry<MappingData>): Composition['members'] => {
    const members = known.get(first) ?? membersMade(first.data, libraryOf(first))
    known.set(first, members)
    return members
  }
  return Object.fromEntries(pairs.map(({ name, from, via, to, first }) => [name, { from, via, to, members: membersOf(first) }]))
}

/** The ledger of a composed pair. `library` are the functions that the first mapping sees. */
export function composeLedger(
  { first, second }: Pick<ComposedPair, 'first' | 'second'>,
  ofFirst: readonly Field[],
  ofSecond: readonly Field[],
  library: Library,
): ComposedLedger {
  const read = namesRead(first.data, library)
  const members = membersMade(first.data, library)
  const lost = new Map(ofSecond.filter(({ verdict }) => verdict !== 'mapped').map(field => [field.path.replace(/(\[\])+$/, ''), field]))
  const attributed = new Set<string>()
  const fields = ofFirst.map((field): ComposedLedger['fields'][number] => {
    if (field.verdict === 'dropped' || field.verdict === 'refused') return { ...field, half: first.name }
    const bare = field.path.replace(/(\[\])+$/, '')
    const made = Object.keys(members).filter(member => members[member]?.includes(bare))
    const ends = made.flatMap(member => lost.get(member) ?? [])
    // If a field flows into several members, the worst verdict is the one to expect.
    const worst =
      made.length === 0 || ends.length < made.length
        ? undefined
        : (ends.find(({ verdict }) => verdict === 'refused') ?? ends.find(({ verdict }) => verdict === 'conditional') ?? ends[0])
    if (worst === undefined || (worst.verdict === 'conditional' && field.verdict === 'conditional'))
      return field.verdict === 'mapped' ? field : { ...field, half: first.name }
    for (const member of made) attributed.add(member)
    return { ...worst, path: field.path, half: second.name }
  })
  const made = (path: string): boolean => path.split('.').every(part => read.has(part.replace(/(\[\])+$/, '')))
  const behind = [...lost.values()].filter(({ path }) => !attributed.has(path.replace(/(\[\])+$/, '')) && made(path))
  return { fields, behind }
}

/** The input fields that each made member comes from; undefined if the analysis does not understand how it is made. */
type Made = Map<string, Set<string> | undefined>

/** A variable's expression, and the variables that it sees. */
interface Bound {
  node: Node
  scope: Scope
}

type Scope = ReadonlyMap<string, Bound>

const NONE: Scope = new Map()

/** What an object literal has under a name that it does not have: it comes from no field. */
const NOTHING: Bound = { node: { type: 'string', value: '' }, scope: NONE }

/**
 * For each member that a mapping's request makes: the client's fields that it comes from, as paths without lists. A member
 * is left out if the whole request is used for it.
 */
export function membersMade({ request, carry }: MappingData, library: Library): Record<string, string[]> {
  if (request === undefined) return {}
  const carried: Made = new Map()
  const made: Made = new Map()
  try {
    if (carry !== undefined) collect(parse(carry), NONE, new Map(), carried)
    const { node, scope } = wholeOf(parse(request), new Functions(library))
    collect(node, scope, carried, made)
  } catch {
    // The compiler reports the error.
    return {}
  }
  return Object.fromEntries([...made].flatMap(([name, fields]) => (fields === undefined ? [] : [[name, [...fields].sort()]])))
}

/** What a request is made by: the outer one of two functions, whose argument is the object that the inner one makes. */
function wholeOf(node: Node, functions: Functions): Bound {
  const fusion = fusionOf(node, functions.find, functions.readsOf)
  if (fusion === undefined) return { node, scope: NONE }
  const { outer, inner, given, binds, pairs } = fusion
  const parameters = (lambda: LambdaNode, nodes: readonly Node[]): [string, Bound][] =>
    lambda.arguments.flatMap(({ value }, index): [string, Bound][] => {
      const argument = nodes[index]
      return argument ? [[value, { node: argument, scope: NONE }]] : []
    })
  const within = binds.reduce<Scope>((scope, bind) => bound(scope, bind), new Map(parameters(inner.lambda, given.inner)))
  const made: Node = { type: 'unary', value: '{', lhs: pairs.map(([key, value]) => [{ type: 'string', value: key }, value]) }
  const [taken] = outer.lambda.arguments
  const scope = new Map(parameters(outer.lambda, [made, ...given.outer]))
  if (taken) scope.set(taken.value, { node: made, scope: within })
  return { node: outer.lambda.body, scope }
}

/** A binding sees those before it, never itself. */
function bound(scope: Scope, { lhs, rhs }: BindNode): Scope {
  return new Map(scope).set(lhs.value, { node: rhs, scope })
}

/** Adds the members of an expression's object. */
function collect(node: Node, scope: Scope, carried: Made, into: Made): void {
  switch (node.type) {
    case 'block': {
      let own = scope
      for (const expression of node.expressions) {
        if (expression.type === 'bind') own = bound(own, expression)
        else collect(expression, own, carried, into)
      }
      return
    }
    case 'condition':
      for (const branch of [node.then, node.else]) if (branch) collect(branch, scope, carried, into)
      return
    case 'function':
      // $merge of several objects
      for (const argument of node.arguments) collect(argument, scope, carried, into)
      return
    case 'unary':
      if (node.value === '{') for (const pair of node.lhs) add(pair, scope, carried, into)
      else if (node.value === '[') for (const expression of node.expressions) collect(expression, scope, carried, into)
      return
    case 'path':
      if (node.steps.length === 1) collect(node.steps[0], scope, carried, into)
      return
    case 'variable': {
      const known = scope.get(node.value)
      if (known) collect(known.node, known.scope, carried, into)
      return
    }
    default:
  }
}

function add([key, value]: Pair, scope: Scope, carried: Made, into: Made): void {
  if (key.type !== 'string') return
  const found = new Set<string>()
  const isKnown = fieldsIn(value, scope, carried, found)
  const before = into.get(key.value)
  into.set(key.value, !isKnown || (into.has(key.value) && before === undefined) ? undefined : new Set([...(before ?? []), ...found]))
}

/** Adds the request's fields that an expression reads. Returns false if it may read any of them. */
function fieldsIn(node: Node, scope: Scope, carried: Made, found: Set<string>): boolean {
  const all = (nodes: readonly Node[]): boolean => nodes.map(one => fieldsIn(one, scope, carried, found)).every(isKnown => isKnown)
  switch (node.type) {
    case 'path': {
      const [head, ...rest] = node.steps
      const names = namesFrom(rest)
      if (head.type === 'name') {
        found.add([head.value, ...names].join('.'))
        return true
      }
      if (head.type === 'variable' && head.value === '$' && names.length > 0) {
        found.add(names.join('.'))
        return true
      }
      if (head.type === 'variable' && head.value === 'carry') return ofCarry(names[0], carried, found)
      if (head.type === 'variable' && names.length > 0 && !head.predicate && !head.stages) {
        const known = memberOf(head.value, names, scope)
        if (known) return fieldsIn(known.node, known.scope, carried, found)
      }
      return fieldsIn(head, scope, carried, found)
    }
    case 'name':
      found.add(node.value)
      return true
    case 'variable': {
      if (node.value === '' || node.value === '$') return false
      if (node.value === 'carry') return ofCarry(undefined, carried, found)
      const known = scope.get(node.value)
      return known === undefined || fieldsIn(known.node, known.scope, carried, found)
    }
    case 'lambda': {
      const own = new Map(scope)
      for (const { value } of node.arguments) own.delete(value)
      return fieldsIn(node.body, own, carried, found)
    }
    case 'block': {
      let own = scope
      let isKnown = true
      for (const expression of node.expressions) {
        if (expression.type === 'bind') own = bound(own, expression)
        else isKnown = fieldsIn(expression, own, carried, found) && isKnown
      }
      return isKnown
    }
    case 'function':
    case 'partial':
      return all([...node.arguments, node.procedure])
    case 'binary':
    case 'apply':
      return all([node.lhs, node.rhs])
    case 'condition':
      return all([node.condition, node.then, ...(node.else ? [node.else] : [])])
    case 'unary':
      return all(node.value === '-' ? [node.expression] : node.value === '[' ? node.expressions : node.lhs.flat())
    case 'bind':
      return fieldsIn(node.rhs, scope, carried, found)
    case 'wildcard':
    case 'descendant':
    case 'parent':
    case 'transform':
    case 'sort':
      return false
    default:
      return true
  }
}

/** What a path from a variable leads to, if that is the request, a part of it, or an object literal that has such a member. */
function memberOf(variable: string, names: readonly string[], scope: Scope): Bound | undefined {
  const known = scope.get(variable)
  const node = known?.node
  if (known === undefined || node === undefined) return undefined
  const behind = names.map((value): NameNode => ({ type: 'name', value }))
  if (node.type === 'variable' && (node.value === '' || node.value === '$')) {
    const [first, ...rest] = behind
    return first && { node: { type: 'path', steps: [first, ...rest] }, scope: NONE }
  }
  if (node.type === 'path') return { node: { type: 'path', steps: [...node.steps, ...behind] }, scope: known.scope }
  if (node.type === 'variable') return memberOf(node.value, names, known.scope)
  if (node.type !== 'unary' || node.value !== '{' || node.lhs.some(([key]) => key.type !== 'string')) return undefined
  const pair = node.lhs.find(([key]) => key.type === 'string' && key.value === names[0])
  return pair ? { node: pair[1], scope: known.scope } : NOTHING
}

function ofCarry(name: string | undefined, carried: Made, found: Set<string>): boolean {
  const fields = name === undefined ? undefined : carried.get(name)
  for (const field of fields ?? []) found.add(field)
  return fields !== undefined
}

/** The plain names that continue a path. */
function namesFrom(steps: readonly Node[]): string[] {
  const names: string[] = []
  for (const step of steps) {
    if (step.type !== 'name') break
    names.push(step.value)
  }
  return names
}
