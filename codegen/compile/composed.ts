// Composes pairs of dialects without a mapping of their own through a dialect that both are mapped to: `via` in a format
// names it. So a new dialect costs two mappings, to that dialect and from it.

import type { Composition } from '../../engine/plan.js'
import type { ComposedLedger, Field } from '../check/ledger.js'
import { type Node, type Pair, parse } from '../jsonata/ast.js'
import type { Entry, MappingData, Project } from '../read/project.js'

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

/** The composition in the engine's form. */
export function compositionOf({ from, via, to, first }: ComposedPair): Composition {
  return { from, via, to, members: membersMade(first.data) }
}

/** The ledger of a composed pair. `read` are the names that the first mapping's expressions read. */
export function composeLedger(
  { first, second }: Pick<ComposedPair, 'first' | 'second'>,
  ofFirst: readonly Field[],
  ofSecond: readonly Field[],
  read: ReadonlySet<string>,
): ComposedLedger {
  const members = membersMade(first.data)
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

type Scope = ReadonlyMap<string, Node>

/**
 * For each member that a mapping's request makes: the client's fields that it comes from, as paths without lists. A member
 * is left out if the whole request is used for it.
 */
export function membersMade({ request, carry }: MappingData): Record<string, string[]> {
  if (request === undefined) return {}
  const carried: Made = new Map()
  const made: Made = new Map()
  try {
    if (carry !== undefined) collect(parse(carry), new Map(), new Map(), carried)
    collect(parse(request), new Map(), carried, made)
  } catch {
    // The compiler reports the error.
    return {}
  }
  return Object.fromEntries([...made].flatMap(([name, fields]) => (fields === undefined ? [] : [[name, [...fields].sort()]])))
}

/** Adds the members of an expression's object. */
function collect(node: Node, scope: Scope, carried: Made, into: Made): void {
  switch (node.type) {
    case 'block': {
      const own = new Map(scope)
      for (const expression of node.expressions) {
        if (expression.type === 'bind') own.set(expression.lhs.value, expression.rhs)
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
      const bound = scope.get(node.value)
      if (bound) collect(bound, without(scope, node.value), carried, into)
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

/** A binding sees those before it, never itself. */
function without(scope: Scope, name: string): Scope {
  return new Map([...scope].filter(([one]) => one !== name))
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
      return fieldsIn(head, scope, carried, found)
    }
    case 'name':
      found.add(node.value)
      return true
    case 'variable': {
      if (node.value === '' || node.value === '$') return false
      if (node.value === 'carry') return ofCarry(undefined, carried, found)
      const bound = scope.get(node.value)
      return bound === undefined || fieldsIn(bound, without(scope, node.value), carried, found)
    }
    case 'lambda': {
      const own = new Map(scope)
      for (const { value } of node.arguments) own.delete(value)
      return fieldsIn(node.body, own, carried, found)
    }
    case 'block': {
      const own = new Map(scope)
      let isKnown = true
      for (const expression of node.expressions) {
        if (expression.type === 'bind') own.set(expression.lhs.value, expression.rhs)
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

function ofCarry(name: string | undefined, carried: Made, found: Set<string>): boolean {
  const fields = name === undefined ? undefined : carried.get(name)
  for (const field of fields ?? []) found.add(field)
  return fields !== undefined
}

/** The plain names that continue a path. */
function namesFrom(steps: readonly Node[]): string[] {
  const end = steps.findIndex(({ type }) => type !== 'name')
  return (end < 0 ? steps : steps.slice(0, end)).map(step => String((step as { value: unknown }).value))
}
