// Composes pairs of dialects without a mapping of their own through a dialect that both are mapped to: `via` in a format
// names it. So a new dialect costs two mappings, to that dialect and from it.

import type { Composition } from '../../engine/plan.js'
import { type ComposedLedger, type Field, namesRead } from '../check/ledger.js'
import { type Node, parse } from '../jsonata/ast.js'
import { type Bound, bound, collect, type Made, NONE, parameters, type Scope } from '../jsonata/fields.js'
import { fusionOf } from '../jsonata/fusion.js'
import { Functions, type Library } from '../read/functions.js'
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
  const within = binds.reduce<Scope>(bound, new Map(parameters(inner.lambda, given.inner)))
  const made: Node = { type: 'unary', value: '{', lhs: pairs.map(([key, value]) => [{ type: 'string', value: key }, value]) }
  const [taken] = outer.lambda.arguments
  const scope = new Map(parameters(outer.lambda, [made, ...given.outer]))
  if (taken) scope.set(taken.value, { node: made, scope: within })
  return { node: outer.lambda.body, scope }
}
