// Navigation: the steps, predicates and groupings of a path over values whose shape is unknown at build. A compiled path of
// plain names is a chain of property reads and calls these functions only for an array.

import { append } from './arrays.js'
import { lookup, setKey } from './objects.js'
import { areNumbers, createSequence, ExpressionError, isSequence, type Sequence, truthy } from './sequence.js'
import { mergeSort } from './sort.js'

type Fields = Record<string, unknown>
/** A tuple carries the variables bound along a path; its own value is the member "@". */
type Tuple = Record<string, unknown>

/** The value of a finished expression: an empty sequence is undefined, a sequence of one is its item. */
export function collapse(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  const sequence = value as Sequence
  if (sequence.sequence !== true || sequence.tupleStream || sequence.length > 1) return value
  if (sequence.length === 0) return undefined
  return sequence.keepSingleton ? value : sequence[0]
}

/** The effect of `[]` after an expression: a single value stays a list. */
export function keepArray(value: unknown): unknown {
  if (isSequence(value)) {
    if (!value.tupleStream) value.keepSingleton = true
    return collapse(value)
  }
  return value
}

/** An array literal that a path must not flatten. */
export function cons(items: unknown[]): unknown[] {
  Object.defineProperty(items, 'cons', { value: true })
  return items
}

/** Appends the items of an array literal's member, which is one value or an array. */
export function pushAll(target: unknown[], value: unknown): void {
  if (value === undefined) return
  if (Array.isArray(value)) for (let index = 0; index < value.length; index++) target.push(value[index])
  else target.push(value)
}

/** Combines the results of a step: one level flatter, except for a last step's only array. */
export function flatten(results: unknown[], isLast: boolean): unknown[] {
  if (isLast && results.length === 1 && Array.isArray(results[0]) && !isSequence(results[0])) return results[0]
  const flat = createSequence()
  for (let index = 0; index < results.length; index++) {
    const result = results[index]
    if (Array.isArray(result) && !(result as Sequence).cons) for (let inner = 0; inner < result.length; inner++) flat.push(result[inner])
    else flat.push(result)
  }
  return flat
}

/** The value of a path with these results of its last step. */
export function gathered(results: unknown[]): unknown {
  for (let index = 0; index < results.length; index++) if (Array.isArray(results[index])) return collapse(flatten(results, true))
  return loneOf(results)
}

/** The rest of a path of names (strings) and positions (numbers, within the result of the name before), from a list. */
export function walk(input: unknown[], steps: readonly (string | number)[]): unknown {
  let found: unknown
  for (let index = 0; index < input.length; index++) {
    let value = input[index]
    for (let place = 0; place < steps.length && value !== undefined; place++) {
      const name = steps[place]
      if (typeof name === 'number' || Array.isArray(value)) return collapse(walkItems(input, steps, true))
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, name as string) ? (value as Fields)[name as string] : undefined
    }
    if (value === undefined) continue
    // Most lists have no more than one item.
    if (found !== undefined || Array.isArray(value)) return collapse(walkItems(input, steps, true))
    found = value
  }
  return found
}

/** The same, not yet collapsed. */
export function walkItems(input: unknown[], steps: readonly (string | number)[], isLast = false): unknown[] {
  let items = input
  for (let place = 0; place < steps.length; ) {
    const name = steps[place] as string
    let after = place + 1
    while (typeof steps[after] === 'number') after++
    const results: unknown[] = []
    for (let index = 0; index < items.length; index++) {
      let value = collapse(lookup(items[index], name))
      for (let position = place + 1; position < after; position++) value = at(value, steps[position] as number)
      if (value !== undefined) results.push(value)
    }
    items = flatten(results, isLast && after === steps.length)
    if (items.length === 0) break
    place = after
  }
  return items
}

/** A numeric predicate: the item at that index, counted from the end if negative. Not yet collapsed. */
export function at(input: unknown, position: number): unknown {
  const place = Math.floor(position)
  let item: unknown
  if (Array.isArray(input)) item = input[place < 0 ? input.length + place : place]
  else item = place === 0 || place === -1 ? input : undefined
  const isTuples = Array.isArray(input) && (input as Sequence).tupleStream === true
  if (Array.isArray(item)) return item
  const result = item === undefined ? createSequence() : createSequence(item)
  if (isTuples) result.tupleStream = true
  return result
}

/** A predicate: keeps the items for which it is true, or whose index it equals. Not yet collapsed. */
export function filter(input: unknown, predicate: (item: unknown, tuple: Tuple) => unknown): Sequence {
  const result = createSequence()
  const isTuples = Array.isArray(input) && (input as Sequence).tupleStream === true
  if (isTuples) result.tupleStream = true
  const items = listOf(input)
  for (let index = 0; index < items.length; index++) {
    const item = items[index]
    const found = isTuples ? predicate((item as Tuple)['@'], item as Tuple) : predicate(item, NO_TUPLE)
    keep(result, item, found, index, items.length)
  }
  return result
}

/** A predicate with the same value for every item: mostly an index. Not yet collapsed. */
export function placedAt(input: unknown, value: unknown): Sequence {
  if (typeof value !== 'number' || !Number.isFinite(value)) return filter(input, () => value)
  const items = listOf(input)
  const place = Math.floor(value)
  const item = items[place < 0 ? items.length + place : place]
  const result = item === undefined ? createSequence() : createSequence(item)
  if (Array.isArray(input) && (input as Sequence).tupleStream) result.tupleStream = true
  return result
}

/** Keeps an item by the value of its predicate: if it is true, or once for each time that it names the item's index. */
export function keep(kept: unknown[], item: unknown, value: unknown, place: number, count: number): void {
  const places = typeof value === 'number' ? [value] : value
  if (!Array.isArray(places) || !areNumbers(places)) {
    if (truthy(value)) kept.push(item)
    return
  }
  for (let index = 0; index < places.length; index++) {
    const floor = Math.floor(places[index] as number)
    if ((floor < 0 ? count + floor : floor) === place) kept.push(item)
  }
}

const NO_TUPLE: Tuple = Object.freeze(Object.create(null) as Tuple)

/** The items that a path's first step iterates over. */
export function items(input: unknown): unknown[] {
  return Array.isArray(input) ? input : [input]
}

/** The value of `$`: an array as the whole input counts as one value. */
export function self(input: unknown): unknown {
  return Array.isArray(input) && (input as Sequence).outerWrapper ? input[0] : input
}

/** The whole input as the context of an expression. */
export function root(input: unknown): unknown {
  if (!Array.isArray(input) || isSequence(input)) return input
  const wrapped = createSequence(input)
  wrapped.outerWrapper = true
  return wrapped
}

export function wildcard(input: unknown): Sequence {
  const source = Array.isArray(input) && (input as Sequence).outerWrapper && input.length > 0 ? input[0] : input
  let result: Sequence = createSequence()
  if (typeof source !== 'object' || source === null) return result
  for (const key of Object.keys(source)) {
    const value = (source as Fields)[key]
    if (Array.isArray(value)) result = append(result, leaves(value, [])) as Sequence
    else result.push(value)
  }
  return result
}

function leaves(value: unknown, found: unknown[]): unknown[] {
  if (Array.isArray(value)) for (const item of value) leaves(item, found)
  else found.push(value)
  return found
}

export function descendants(input: unknown): unknown {
  if (input === undefined) return undefined
  const found = createSequence()
  descend(input, found)
  return found.length === 1 ? found[0] : found
}

function descend(value: unknown, found: unknown[]): void {
  if (Array.isArray(value)) {
    for (const item of value) descend(item, found)
    return
  }
  found.push(value)
  if (typeof value === 'object' && value !== null) for (const key of Object.keys(value)) descend((value as Fields)[key], found)
}

/** One `key: value` of an object constructor: both receive the item, and the variables of its tuple. */
export type Pair = readonly [key: (item: unknown, tuple: Tuple) => unknown, value: (item: unknown, tuple: Tuple) => unknown]

const FORBIDDEN_KEYS = new Set(['_jsonata_lambda', '_jsonata_function'])

/** An object made from the items, grouped by their keys. */
export function group(input: unknown, pairs: readonly Pair[]): Fields {
  const isTuples = Array.isArray(input) && (input as Sequence).tupleStream === true
  const list = Array.isArray(input) ? input : [input]
  const groups = new Map<string, Gathered & { pair: number }>()
  const members = list.length === 0 && !isTuples ? [undefined] : list
  for (const item of members) {
    for (let pair = 0; pair < pairs.length; pair++) {
      const [keyOf] = pairs[pair] as Pair
      const key = isTuples ? keyOf((item as Tuple)['@'], item as Tuple) : keyOf(item, NO_TUPLE)
      if (key === undefined) continue
      if (typeof key !== 'string') throw new ExpressionError('T1003', { value: key })
      if (FORBIDDEN_KEYS.has(key)) throw new ExpressionError('D1013', { value: key })
      const known = groups.get(key)
      if (known === undefined) groups.set(key, { pair, data: item, isOwn: false })
      else if (known.pair !== pair) throw new ExpressionError('D1009', { value: key })
      else gather(known, item)
    }
  }
  const result: Fields = {}
  for (const [key, { pair, data }] of inKeyOrder(groups)) {
    const [, memberOf] = pairs[pair] as Pair
    const tuple = isTuples ? mergeTuples(data) : NO_TUPLE
    const value = isTuples ? memberOf(tuple['@'], tuple) : memberOf(data, NO_TUPLE)
    if (value !== undefined) setKey(result, key, value)
  }
  return result
}

/** Keys that look like array indices come first in an object, so their values are evaluated first. */
function inKeyOrder<T>(groups: Map<string, T>): Iterable<[string, T]> {
  const isIndex = (key: string): boolean => String(Number(key) >>> 0) === key && key !== '4294967295'
  const entries = [...groups]
  const indices = entries.filter(([key]) => isIndex(key))
  if (indices.length === 0) return entries
  indices.sort(([left], [right]) => Number(left) - Number(right))
  return [...indices, ...entries.filter(([key]) => !isIndex(key))]
}

/** The context of an object constructor's values if its keys are all literals. */
export function groupContext(input: unknown): unknown {
  if (!Array.isArray(input)) return input
  const context: Gathered = { data: input[0], isOwn: false }
  for (let index = 1; index < input.length; index++) gather(context, input[index])
  return context.data
}

/** Collects values as `append` would, one after the other, without a copy for each of them. */
interface Gathered {
  data: unknown
  isOwn: boolean
}

function gather(into: Gathered, item: unknown): void {
  if (item === undefined) return
  if (into.data === undefined) into.data = item
  else if (!into.isOwn) {
    into.data = [...listOf(into.data), ...listOf(item)]
    into.isOwn = true
  } else if (Array.isArray(item)) for (const one of item) (into.data as unknown[]).push(one)
  else (into.data as unknown[]).push(item)
}

function mergeTuples(data: unknown): Tuple {
  if (!Array.isArray(data)) return data as Tuple
  const gathered = new Map<string, Gathered>()
  for (const tuple of data as Tuple[]) {
    for (const name of Object.keys(tuple)) {
      const known = gathered.get(name)
      if (known === undefined) gathered.set(name, { data: tuple[name], isOwn: false })
      else gather(known, tuple[name])
    }
  }
  const merged: Tuple = Object.create(null)
  for (const [name, { data: value }] of gathered) merged[name] = value
  return merged
}

/** A term of `^( … )`: its key for an item, and whether it is descending. */
export type Term = readonly [key: (item: unknown, tuple: Tuple) => unknown, descending: boolean]

export function orderBy(input: unknown, terms: readonly Term[]): unknown {
  if (input === undefined) return undefined
  const list = items(input)
  if (list.length <= 1) return input
  const isTuples = (input as Sequence).tupleStream === true
  const key = (term: Term, item: unknown): unknown => (isTuples ? term[0]((item as Tuple)['@'], item as Tuple) : term[0](item, NO_TUPLE))
  return mergeSort(list, (left, right) => {
    for (const term of terms) {
      const order = compareKeys(key(term, left), key(term, right), term[1])
      if (order !== 0) return order > 0
    }
    return false
  })
}

function compareKeys(left: unknown, right: unknown, descending: boolean): number {
  if (left === undefined) return right === undefined ? 0 : 1
  if (right === undefined) return -1
  const isLeft = typeof left === 'string' || typeof left === 'number'
  const isRight = typeof right === 'string' || typeof right === 'number'
  if (!isLeft || !isRight) throw new ExpressionError('T2008', { value: isLeft ? right : left })
  if (typeof left !== typeof right) throw new ExpressionError('T2007', { value: left, value2: right })
  if (left === right) return 0
  const order = left < right ? -1 : 1
  return descending ? -order : order
}

/** A stage after a step that carries variables: a predicate, or the variable that receives the index. */
export type Stage = ((item: unknown, tuple: Tuple) => unknown) | number | { index: string }

export interface TupleStep {
  run?: (item: unknown, tuple: Tuple) => unknown
  terms?: readonly Term[]
  focus?: string
  index?: string
  ancestor?: string
  stages?: readonly Stage[]
}

/** One step of a path that carries variables. `tuples` is undefined before the first such step. */
export function tupleStep(step: TupleStep, input: unknown[], tuples: Sequence | undefined): Sequence {
  let result: Sequence
  if (step.terms) {
    if (tuples) {
      result = orderBy(tuples, step.terms) as Sequence
    } else {
      const sorted = items(orderBy(input, step.terms))
      result = createSequence()
      result.tupleStream = true
      for (let place = 0; place < sorted.length; place++) {
        const tuple: Tuple = { '@': sorted[place] }
        if (step.index !== undefined) tuple[step.index] = place
        result.push(tuple)
      }
    }
  } else {
    result = createSequence()
    result.tupleStream = true
    const sources = tuples ?? input.map(item => ({ '@': item }))
    for (const source of sources as Tuple[]) bind(step, source, result)
  }
  return stages(step.stages ?? [], result)
}

function bind(step: TupleStep, source: Tuple, result: Sequence): void {
  const found = (step.run as (item: unknown, tuple: Tuple) => unknown)(source['@'], source)
  if (found === undefined) return
  const list = items(found)
  const isTuples = (list as Sequence).tupleStream === true
  for (let place = 0; place < list.length; place++) {
    const tuple: Tuple = Object.assign(Object.create(null), source)
    if (isTuples) {
      Object.assign(tuple, list[place])
    } else {
      if (step.focus !== undefined) tuple[step.focus] = list[place]
      else tuple['@'] = list[place]
      if (step.index !== undefined) tuple[step.index] = place
      if (step.ancestor !== undefined) tuple[step.ancestor] = source['@']
    }
    result.push(tuple)
  }
}

/** The predicates and `#` bindings after a step, in order. */
export function stages(list: readonly Stage[], input: unknown): Sequence {
  let result = input
  for (const stage of list) {
    if (typeof stage === 'number') result = at(result, stage)
    else if (typeof stage === 'function') result = filter(result, stage)
    else for (let place = 0; place < (result as Tuple[]).length; place++) ((result as Tuple[])[place] as Tuple)[stage.index] = place
  }
  return result as Sequence
}

/** The values of a finished tuple stream. */
export function valuesOf(tuples: Sequence): Sequence {
  const result = createSequence()
  for (const tuple of tuples as Tuple[]) result.push(tuple['@'])
  return result
}

/** Keeps a path's single result a list, as `[]` on one of its steps demands. */
export function keepSingleton(result: unknown[]): unknown[] {
  const list = result as Sequence
  if (list.cons && !list.sequence) {
    const wrapped = createSequence(list)
    wrapped.keepSingleton = true
    return wrapped
  }
  if (list.sequence) list.keepSingleton = true
  return list
}

/** The items of a value between two steps: none for undefined. */
export function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined ? NO_ITEMS : [value]
}

/** One shared list: the callers only read it. */
const NO_ITEMS: unknown[] = Object.freeze([]) as unknown as unknown[]

/** Whether a value is a list of strings, of numbers, of objects: checks of some functions' signatures. */
export function areStrings(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  for (let index = 0; index < value.length; index++) if (typeof value[index] !== 'string') return false
  return true
}

export function areAllNumbers(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  for (let index = 0; index < value.length; index++) if (typeof value[index] !== 'number') return false
  return true
}

export function areObjects(value: unknown): boolean {
  if (!Array.isArray(value)) return false
  for (let index = 0; index < value.length; index++) {
    const item: unknown = value[index]
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return false
  }
  return true
}

/** The same as a new sequence. */
export function sequenceFrom(value: unknown): Sequence {
  return sequenceOf([...listOf(value)])
}

/** Marks a list that compiled code made as a sequence. */
export function sequenceOf(list: unknown[]): Sequence {
  ;(list as Sequence).sequence = true
  return list
}

/** The value of a list that compiled code made: undefined if empty, a single member itself, else a sequence. */
export function loneOf(list: unknown[]): unknown {
  return list.length > 1 ? sequenceOf(list) : list[0]
}

/** The same for a function that takes a list: undefined if empty. */
export function someOf(list: unknown[]): unknown[] | undefined {
  return list.length > 0 ? list : undefined
}

/** The value of a path with `[]` for one value: a list, or undefined. */
export function keptOf(value: unknown): unknown {
  if (value === undefined) return undefined
  return Array.isArray(value) ? keptList(value) : keptFound([value])
}

/** The same for a list of results that compiled code made. */
export function keptFound(list: unknown[]): unknown {
  if (list.length === 0) return undefined
  const sequence = list as Sequence
  // The mark matters only while a list has fewer than two items.
  if (list.length === 1) sequence.sequence = sequence.keepSingleton = true
  return list
}

/** The same for a sequence, or an array that is a value itself. */
export function keptList(list: unknown[]): unknown {
  return collapse(keepSingleton(list))
}

/** A single value that `[]` kept as a list is no longer one when a further step returns it. */
export function unkept(value: unknown): unknown {
  return isSequence(value) && value.length === 1 && !value.tupleStream ? value[0] : value
}

/** An argument that a signature takes as an array: a single value becomes an array of it. */
export function arrayOf(value: unknown): unknown[] | undefined {
  return value === undefined || Array.isArray(value) ? value : [value]
}

/** `$count` of anything. */
export function countOf(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return value === undefined ? 0 : 1
}
