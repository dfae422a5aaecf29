// Accumulators that grow in place. A fold that adds one item at each iteration would copy its accumulator each time. If the old
// accumulator is dead once there is a new one, the item is added in place instead (engine/jsonata/growth.ts). That must be
// invisible: this file finds the expressions that pass a member of the accumulator on, and then the next iteration copies it
// once.

import { calledName, children, childrenBehind, type FunctionNode, type LambdaNode, type Node, type PathNode, parse, some } from './ast.js'
import type { Js } from './js.js'
import { BUILTIN_NAMES } from './runtime.js'

/** An additional action at a node. */
export interface Act {
  /** A call that grows a value in place: the functions that do it, and their first arguments. */
  grow?: { append: Js; merge: Js; into: readonly Js[] }
  /** Lines that mark a member as shared. */
  share?: Js[]
}

export type Acts = ReadonlyMap<Node, Act>

/** The members of one argument that a function, called by name, may read; undefined if it may read all. */
export type ReadsOf = (name: string, index: number) => ReadonlySet<string> | undefined

/** A use of the accumulator in an expression: which members it reads, and which of them it may pass on. */
interface Mention {
  node: Node
  fields: ReadonlySet<string> | 'all'
  hands: 'nothing' | 'an item' | 'the whole'
}

interface Candidate {
  calls: Node[]
  field: string
  /** The node in which nothing else may use the member, because it would see the additions. */
  within: Node
  /** Except the parts that are evaluated before anything is added. */
  but: Node[]
}

export interface Growths {
  /** The calls that grow a member; '' is the accumulator itself. */
  calls: Map<Node, string>
  /** The nodes that pass growing members on. */
  shares: Map<Node, string[]>
}

/** The member name of the accumulator itself. */
const WHOLE = ''

/** The growing values in the body of a fold, whose accumulator has this name. */
export function growthsOf(body: Node, name: string, readsOf: ReadsOf = () => undefined): Growths | undefined {
  if (isBound(body, [name])) return undefined
  const kept = new Set<Node>()
  const candidates = candidatesIn(body, [name], kept)
  if (candidates.length === 0) return undefined
  const seen = { names: [name], kept, readsOf }
  const all = mentionsIn(body, seen)
  if (all === undefined) return undefined
  const calls = new Map<Node, string>()
  for (const { calls: nodes, field, within, but } of candidates)
    if (!speaksOf(within, field, but, seen)) for (const call of nodes) calls.set(call, field)
  return calls.size === 0 ? undefined : { calls, shares: sharesAmong(all, fieldsOf(calls)) }
}

/** The members that grow; true if a member is an object. */
export type Growing = ReadonlyMap<string, boolean>

export function fieldsOf(calls: ReadonlyMap<Node, string>, into = new Map<string, boolean>()): Map<string, boolean> {
  for (const [node, field] of calls) into.set(field, into.get(field) === true || isCallOf(node, 'merge'))
  return into
}

/** The calls in a reducer's `set` that make members of its state grow. */
export function growingIn(set: Node, readsOf: ReadsOf): Map<Node, string> {
  const calls = new Map<Node, string>()
  if (isBound(set, STATE)) return calls
  const kept = new Set<Node>()
  const seen = { names: STATE, kept, readsOf }
  for (const { calls: nodes, field, within, but } of candidatesIn(set, ['state'], kept)) {
    if (field === WHOLE || speaksOf(within, field, but, seen)) continue
    for (const call of nodes) calls.set(call, field)
  }
  return calls
}

/** `$was` is the state as long as nothing has been set. */
const STATE = ['state', 'was']

/** The nodes of a reducer's expression that pass on growing members of the state. */
export function sharesOf(node: Node, growing: Growing, readsOf: ReadsOf): Map<Node, string[]> {
  const kept = new Set<Node>()
  candidatesIn(node, ['state'], kept)
  const mentions = isBound(node, STATE) ? undefined : mentionsIn(node, { names: STATE, kept, readsOf })
  return mentions ? sharesAmong(mentions, growing) : new Map([[node, [...growing.keys()]]])
}

/** The growing members of a variable that an expression uses at all. */
export function growingMembersUsed(node: Node, name: string, growing: Growing, readsOf: ReadsOf): string[] {
  const mentions = mentionsIn(node, { names: [name], kept: new Set(), readsOf })
  if (mentions === undefined || isBound(node, [name])) return [...growing.keys()]
  return [...growing.keys()].filter(field => mentions.some(mention => isOf(mention, field)))
}

function sharesAmong(mentions: Mention[], growing: Growing): Map<Node, string[]> {
  const shares = new Map<Node, string[]>()
  for (const mention of mentions) {
    const fields = [...growing].filter(([field, isObject]) => isHandedOn(mention, field, isObject)).map(([field]) => field)
    if (fields.length > 0) shares.set(mention.node, fields)
  }
  return shares
}

function isHandedOn(mention: Mention, field: string, isObject: boolean): boolean {
  if (!isOf(mention, field) || mention.hands === 'nothing') return false
  // A predicate passes on items of a list, but an object as a whole.
  return mention.hands === 'the whole' || isObject || (field !== WHOLE && mention.fields === 'all')
}

function isOf({ fields }: Mention, field: string): boolean {
  return fields === 'all' || fields.has(field)
}

// What grows ------------------------------------------------------------------------------------------------------

function candidatesIn(body: Node, names: readonly string[], kept: Set<Node>): Candidate[] {
  const found: Candidate[] = []
  const visit = (node: Node, field: string, within: Node | undefined): void => {
    if (isHead(node, names, field)) kept.add(node)
    else if (node.type === 'lambda' && node.thunk) visit(node.body, field, within)
    else if (hasSuffix(node)) return
    else if (node.type === 'condition') {
      visit(node.then, field, within)
      if (node.else) visit(node.else, field, within)
    } else if (node.type === 'block') {
      const last = node.expressions.at(-1)
      if (last) visit(last, field, within)
    } else if (node.type === 'unary' && node.value === '{' && within === undefined) {
      for (const [key, member] of node.lhs) if (key.type === 'string') visit(member, key.value, node)
    } else {
      const call = callIn(node, names, field)
      if (call === undefined) return
      kept.add(call.head)
      found.push({ calls: call.calls, field, within: within ?? call.calls[0] ?? node, but: call.but })
    }
  }
  visit(body, WHOLE, undefined)
  return found
}

/**
 * `$append` of the old value and an addition, or of such a call and an addition; `$merge` of a list that begins with the
 * old value.
 */
function callIn(node: Node, names: readonly string[], field: string): { calls: Node[]; head: Node; but: Node[] } | undefined {
  if (hasSuffix(node)) return undefined
  const [first, second, ...more] = node.type === 'function' ? node.arguments : []
  if (isCallOf(node, 'append') && first && second && more.length === 0) {
    if (isHead(first, names, field)) return { calls: [node], head: first, but: [first, second] }
    const inner = callIn(first, names, field)
    return inner && isCallOf(first, 'append') ? { ...inner, calls: [node, ...inner.calls] } : undefined
  }
  if (!isCallOf(node, 'merge') || first?.type !== 'unary' || first.value !== '[' || second !== undefined) return undefined
  const [head] = first.expressions
  if (hasSuffix(first) || first.consarray || head === undefined || !isHead(head, names, field)) return undefined
  return { calls: [node], head, but: first.expressions }
}

function isHead(node: Node, names: readonly string[], field: string): boolean {
  if (hasSuffix(node)) return false
  if (field === WHOLE) return node.type === 'variable' && names.includes(node.value)
  const [variable, name, ...more] = node.type === 'path' ? node.steps : []
  return (
    node.keepSingletonArray !== true &&
    variable?.type === 'variable' &&
    names.includes(String(variable.value)) &&
    name?.type === 'name' &&
    name.value === field &&
    more.length === 0 &&
    [variable, name].every(step => !hasSuffix(step) && !step.stages && !step.focus && !step.index && !step.ancestor)
  )
}

function hasSuffix(node: Node): boolean {
  return node.predicate !== undefined || node.group !== undefined || node.keepArray === true
}

function isCallOf(node: Node, name: string): boolean {
  return calledBy(node) === name
}

function calledBy(node: Node): string | undefined {
  return node.type === 'function' && !hasSuffix(node.procedure) ? calledName(node) : undefined
}

/** Whether one of these names, or of the built-ins that are searched for, is rebound somewhere. */
function isBound(body: Node, names: readonly string[]): boolean {
  const isOne = (name: unknown): boolean => names.includes(String(name)) || TRUSTED.has(String(name))
  return some(
    body,
    node =>
      (node.type === 'bind' && isOne(node.lhs.value)) ||
      (node.type === 'lambda' && node.thunk !== true && node.arguments.some(param => isOne(param.value))) ||
      (node.focus !== undefined && isOne(node.focus)) ||
      (node.index !== undefined && isOne(node.index)) ||
      node.type === 'transform',
  )
}

// Uses of the accumulator -----------------------------------------------------------------------------------------

interface Seen {
  names: readonly string[]
  /** The nodes where the old accumulator's member goes into the new one. */
  kept: ReadonlySet<Node>
  readsOf: ReadsOf
}

/** Built-ins that only read their first argument, and return nothing that refers to it or to its lists. */
const LOOKED_INTO = new Set(['count', 'exists', 'type', 'keys', 'lookup', 'join', 'sum', 'map', 'filter'])
/** Those of them that read none of its members. */
const ASKED = new Set(['count', 'exists', 'type', 'keys'])
/** Built-ins that call a function at once, and do not keep it. */
const GIVEN = new Set(['map', 'filter', 'reduce', 'each', 'sift', 'single', 'sort'])
/** Names that must not be rebound. */
export const TRUSTED: ReadonlySet<string> = new Set([...LOOKED_INTO, ...GIVEN, 'append', 'merge'])

/** All uses of the accumulator; undefined if a function that may run later uses it. */
function mentionsIn(whole: Node, { names, kept, readsOf }: Seen): Mention[] | undefined {
  const found: Mention[] = []
  const bound = namesBoundIn(whole)
  let isLost = false
  const isSum = (node: Node | undefined): boolean => node?.type === 'variable' && names.includes(node.value)
  const inside = (node: Node | undefined): void => {
    if (node) for (const child of children(node)) visit(child)
  }
  const path = (node: PathNode, asked: string | undefined): void => {
    const [first, second, ...more] = node.steps
    const isOwn = !first.stages && !first.predicate && !first.group && !first.keepArray
    const isKept = node.keepSingletonArray === true || node.group !== undefined || second?.keepArray === true
    if (isOwn && second?.type === 'name') {
      const isMember = more[0]?.type === 'name' && !isKept
      const isItem = (more.length > 0 || second.stages !== undefined) && !isKept
      const hands = isMember || asked !== undefined ? 'nothing' : isItem ? 'an item' : 'the whole'
      found.push({ node, fields: new Set([String(second.value)]), hands })
    } else found.push({ node, fields: 'all', hands: isOwn || isKept ? 'the whole' : 'an item' })
    inside(first)
    inside(second)
    for (const step of [...more, ...childrenBehind(node)]) visit(step)
  }
  /** `asked` is the built-in that only reads the value. */
  const visit = (node: Node, asked?: string): void => {
    if (kept.has(node)) return
    if (node.type === 'lambda' && node.thunk !== true && some(node, isSum)) isLost = true
    else if (node.type === 'path' && isSum(node.steps[0])) path(node, asked)
    else if (isSum(node)) {
      if (asked !== undefined && ASKED.has(asked) && !hasSuffix(node)) found.push({ node, fields: new Set([WHOLE]), hands: 'nothing' })
      else found.push({ node, fields: 'all', hands: node.predicate && !node.group && !node.keepArray ? 'an item' : 'the whole' })
      inside(node)
    } else if (node.type === 'condition' && !hasSuffix(node)) {
      visit(node.condition, 'condition')
      visit(node.then)
      if (node.else) visit(node.else)
    } else {
      const name = calledBy(node)
      if (node.type === 'function' && name !== undefined) call(node, name)
      else inside(node)
    }
  }
  const call = (node: FunctionNode, name: string): void => {
    const args = node.arguments
    const isInline = args[1] === undefined || (args[1].type === 'lambda' && args[1].arguments.length < 3) || !GIVEN.has(name)
    args.forEach((argument, index) => {
      if (argument.type === 'lambda' && argument.thunk !== true && GIVEN.has(name)) visit(argument.body)
      else if (isSum(argument) && !hasSuffix(argument) && !BUILTIN_NAMES.has(name))
        found.push({ node: argument, fields: (bound.has(name) ? undefined : readsOf(name, index)) ?? 'all', hands: 'the whole' })
      else visit(argument, index === 0 && isInline && LOOKED_INTO.has(name) ? name : undefined)
    })
    for (const child of [node.procedure, ...childrenBehind(node)]) visit(child)
  }
  visit(whole)
  return isLost ? undefined : found
}

function namesBoundIn(whole: Node): Set<string> {
  const bound = new Set<string>()
  some(whole, node => {
    if (node.type === 'bind') bound.add(node.lhs.value)
    if (node.type === 'lambda') for (const param of node.arguments) bound.add(param.value)
    return false
  })
  return bound
}

/** Whether an expression uses a member, except in some parts of it. */
function speaksOf(within: Node, field: string, but: readonly Node[], seen: Seen): boolean {
  const left = new Set([...seen.kept, ...but])
  const mentions = mentionsIn(within, { ...seen, kept: left })
  return mentions === undefined || mentions.some(mention => field === WHOLE || isOf(mention, field))
}

/** The members that an expression may read of a variable; undefined if it may read, or hand on, all of them. */
export function readsOfVariable(name: string, body: Node, readsOf: ReadsOf): ReadonlySet<string> | undefined {
  return readsIn({ ...(parse(`function($${name}) { 0 }`) as LambdaNode), body }, 0, readsOf)
}

/** The members that a function may read of a parameter; undefined if it may read all of them. */
export function readsIn(lambda: LambdaNode, index: number, readsOf: ReadsOf): ReadonlySet<string> | undefined {
  const { arguments: parameters, body } = lambda
  const name = parameters[index]?.value
  if (name === undefined) return new Set()
  if (some(body, node => node.type === 'lambda' && node.thunk !== true && node.arguments.some(param => param.value === name)))
    return undefined
  if (some(body, node => node.type === 'bind' && node.lhs.value === name)) return undefined
  const fields = new Set<string>()
  let isAll = false
  const visit = (node: Node): void => {
    const [first, second, ...more] = node.type === 'path' ? node.steps : []
    if (first?.type === 'variable' && first.value === name) {
      if (second?.type === 'name' && !first.stages && !first.predicate) fields.add(String(second.value))
      else isAll = true
      for (const child of [...(second ? [second] : []), ...more, ...childrenBehind(node)]) visit(child)
      return
    }
    if (node.type === 'variable' && node.value === name) isAll = true
    const called = calledBy(node)
    if (node.type !== 'function' || called === undefined) {
      for (const child of children(node)) visit(child)
      return
    }
    for (const [index, argument] of node.arguments.entries()) {
      if (argument.type !== 'variable' || argument.value !== name || hasSuffix(argument) || BUILTIN_NAMES.has(called)) visit(argument)
      else {
        const inner = readsOf(called, index)
        if (inner === undefined) isAll = true
        else for (const field of inner) fields.add(field)
      }
    }
    for (const child of [node.procedure, ...childrenBehind(node)]) visit(child)
  }
  visit(body)
  return isAll ? undefined : fields
}
