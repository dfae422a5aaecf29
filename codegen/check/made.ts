// Holds what a mapping makes against the schema that it is for: the provider's request, and the client's answer and events. The
// check follows the expressions that a result is made of. What it does not understand, such as a value that is passed on, it
// lets pass.

import { calledName, type FunctionNode, type LambdaNode, type Node, type ObjectNode, some } from '../jsonata/ast.js'
import { RESULTS } from '../jsonata/builtins.js'
import { elementAt } from '../jsonata/element.js'
import { ANY, ARR, BOOL, FUN, NULL, NUM, OBJ, type Shape, STR, UNDEF } from '../jsonata/types.js'
import type { Finding } from '../read/findings.js'
import { Functions, type Library, type LibraryFunction, placeIn, type Source, treeOf } from '../read/functions.js'
import type { MappingData, Step } from '../read/project.js'
import { useOneOf } from '../read/suggest.js'
import type { Pointer } from '../read/yaml.js'
import { ObjectTarget, type Target, Targets } from './targets.js'

/** A mapping, and the schemas of what it makes. */
export interface Making {
  data: MappingData
  library: Library
  source: (pointer: Pointer, text: string) => Source
  /** The provider's request, the client's answer, and the client's events; undefined: there is no schema. */
  request: Shape | undefined
  response: Shape | undefined
  event: Shape | undefined
  /** Members that the engine adds to answers and events (`complete` of the format). */
  completed: ReadonlySet<string>
  findings: Finding[]
}

/** Reports members that the schema does not have, values of another kind, words that it does not know, and missing members. */
export function checkMade(making: Making): void {
  const { data, request, response, event, completed } = making
  const walker = new Walker(making.library, making.findings, OF_SCHEMA)
  const check = (
    pointer: Pointer,
    text: string | undefined,
    shape: Shape | undefined,
    given: ReadonlySet<string>,
    isItem = false,
  ): void => {
    if (text !== undefined && shape !== undefined) walker.whole(making.source(pointer, text), shape, given, isItem)
  }
  check(['request'], data.request, request, NONE)
  if (data.whole === undefined) check(['response'], data.response, response, completed)
  check(['join'], data.join, response, completed)
  const steps = (list: readonly Step[], pointer: Pointer, outer: Scope): void => {
    for (const [index, step] of list.entries()) {
      const here = [...pointer, index]
      const scope = walker.bound(outer, step.let, name => making.source([...here, 'let', name], step.let?.[name] as string))
      if (step.emit !== undefined && event) walker.whole(making.source([...here, 'emit'], step.emit), event, completed, true, scope)
      if (step.whole !== undefined && response)
        walker.whole(making.source([...here, 'whole'], step.whole), response, completed, false, scope)
      steps(step.steps ?? [], [...here, 'steps'], scope)
    }
  }
  const { stream } = data
  if (stream)
    steps(
      stream.steps,
      ['stream', 'steps'],
      walker.bound(new Map(), stream.let, name => making.source(['stream', 'let', name], stream.let[name] as string)),
    )
}

const NONE: ReadonlySet<string> = new Set()

/** What an expression sees by a name: another expression, or a parameter of the function that it is in. */
type Seen = Bound | Parameter | undefined

interface Bound {
  node: Node
  scope: Scope
  source: Source
}

interface Parameter {
  call: Call
  index: number
}

type Scope = ReadonlyMap<string, Seen>

/** A library function that gives a value for a target: which of its arguments become the value, or a part of it, and where. */
interface Call {
  results: { index: number; target: Target }[]
}

/** What the walk knows of where it is. */
interface Here {
  scope: Scope
  source: Source
  /** The kind of a value was asked for on the way: what is made here may be for another kind than the one that the target wants. */
  isTyped?: boolean
}

/** Kinds of the results of operators. */
const COMPARISONS = /^(?:=|!=|<|<=|>|>=|in|and|or)$/
/** Functions whose result is their first argument, less something. */
const SAME: ReadonlySet<string> = new Set(['filter', 'distinct', 'reverse', 'sort', 'single'])
/** Local functions that call each other are followed so deep. */
const DEEP = 40

/** How findings are put: the rule for a member that is not known, and what may be done beside a correction. */
interface Wording {
  member: string
  add: string
  correct: string
}

const OF_SCHEMA: Wording = { member: 'mapping/member', add: ', or add it to the schema', correct: ', or correct the schema' }

/** The schema is the one of the terms between halves, which is the same for all. */
export const OF_TERMS: Wording = { member: 'mapping/term', add: '', correct: '' }

export class Walker {
  private readonly targets = new Targets()
  private readonly functions: Functions
  private readonly calls = new Map<LambdaNode, Map<string, Call>>()
  private readonly reported = new Set<string>()
  private given: ReadonlySet<string> = NONE
  private depth = 0

  constructor(
    library: Library,
    private readonly findings: Finding[],
    private readonly wording: Wording,
  ) {
    this.functions = new Functions(library)
  }

  /** A scope with some more names. */
  bound(outer: Scope, lets: Readonly<Record<string, string>> | undefined, source: (name: string) => Source): Scope {
    const scope = new Map(outer)
    for (const name of Object.keys(lets ?? {})) {
      const from = source(name)
      const node = treeOf(from.text)
      scope.set(name, node && { node, scope: new Map(scope), source: from })
    }
    return scope
  }

  whole(source: Source, shape: Shape, given: ReadonlySet<string>, isItem: boolean, scope: Scope = new Map()): void {
    const node = treeOf(source.text)
    this.given = given
    if (node) this.walk(node, this.targets.target('', [shape], isItem), { scope, source })
  }

  /** Checks a value that is called by a name, or what a function gives that is written so. */
  term(source: Source, name: string, shape: Shape): void {
    const node = treeOf(source.text)
    const made = node?.type === 'lambda' && !node.thunk ? node.body : node
    if (made) this.walk(made, this.targets.target(name, [shape]), { scope: new Map(), source })
  }

  private walk(node: Node, whole: Target | undefined, here: Here): void {
    // A predicate picks some items of a list, or one.
    const target = whole && (node.predicate || node.stages) ? this.targets.results(whole) : whole
    if (target === undefined || node.group || target.shapes.some(isUnknown)) return
    switch (node.type) {
      case 'string':
        this.text(node.value, node, target, here)
        return
      case 'number':
        this.kind(NUM, `${node.value}`, node, target, here)
        return
      case 'value':
        this.kind(node.value === null ? NULL : BOOL, `${node.value}`, node, target, here)
        return
      case 'binary':
        if (node.value !== '..')
          this.kind(COMPARISONS.test(node.value) ? BOOL : node.value === '&' ? STR : NUM, `the result of ${node.value}`, node, target, here)
        return
      case 'unary':
        if (node.value === '-') this.kind(NUM, 'a number', node, target, here)
        else if (node.value === '{') this.object(node, target, here)
        else this.list(node.expressions, node, target, here)
        return
      case 'condition': {
        const inside = here.isTyped || !some(node.condition, child => calledName(child) === 'type') ? here : { ...here, isTyped: true }
        this.walk(node.then, target, inside)
        if (node.else) this.walk(node.else, target, inside)
        return
      }
      case 'block':
        this.block(node.expressions, target, here)
        return
      case 'variable':
        this.variable(node.value, target, here)
        return
      case 'function':
        this.called(node, target, here)
        return
      case 'lambda':
        // The parser wraps a call at the end of a function.
        if (node.thunk) this.walk(node.body, target, here)
        return
      case 'path': {
        const last = elementAt(node.steps, -1)
        if (node.steps.length === 1) this.walk(last, target, here)
        else if (last.type !== 'name' && last.type !== 'variable') this.walk(last, this.targets.results(target), here)
        return
      }
      default:
    }
  }

  private block(expressions: readonly Node[], target: Target, here: Here): void {
    const scope = new Map(here.scope)
    for (const one of expressions)
      if (one.type === 'bind') scope.set(one.lhs.value, { node: one.rhs, scope: new Map(scope), source: here.source })
    const last = expressions.at(-1)
    if (last) this.walk(last.type === 'bind' ? last.rhs : last, target, { ...here, scope })
  }

  private variable(name: string, target: Target, here: Here): void {
    const seen = here.scope.get(name)
    if (seen === undefined || this.depth > DEEP) return
    if ('call' in seen) {
      seen.call.results.push({ index: seen.index, target })
      return
    }
    this.depth++
    this.walk(seen.node, target, seen)
    this.depth--
  }

  private called(node: FunctionNode, target: Target, here: Here): void {
    const { procedure, arguments: given } = node
    const [first, second] = given
    if (procedure.type !== 'variable') return
    const name = procedure.value
    const local = here.scope.get(name)
    if (local !== undefined) {
      if ('node' in local && local.node.type === 'lambda' && !local.node.thunk) this.local(local.node, local, given, target, here)
      return
    }
    if (here.scope.has(name)) return
    const found = this.functions.find(name)
    if (found) this.ofLibrary(found, given, target, here)
    else if (name === 'merge' && first?.type === 'unary' && first.value === '[')
      for (const one of first.expressions) this.walk(one, this.targets.part(target), here)
    else if (name === 'append') for (const one of given) this.walk(one, this.targets.results(target), here)
    else if (name === 'map' || name === 'each') this.looped(second, this.targets.results(target), here)
    else if (SAME.has(name) && first) this.walk(first, target, here)
    else if (RESULTS[name] !== undefined) this.kind(RESULTS[name] as number, `the result of $${name}`, node, target, here)
  }

  /** What a loop makes of each item. */
  private looped(node: Node | undefined, target: Target | undefined, here: Here): void {
    if (node === undefined || target === undefined) return
    if (node.type === 'lambda' && !node.thunk) this.local(node, here, [], target, here)
    else if (node.type === 'variable') {
      const local = here.scope.get(node.value)
      const found = here.scope.has(node.value) ? undefined : this.functions.find(node.value)
      if (found) this.ofLibrary(found, [], target, here)
      else if (local && 'node' in local && local.node.type === 'lambda' && !local.node.thunk)
        this.local(local.node, local, [], target, here)
    }
  }

  /** A function that is written where it is called: it sees what is around it. */
  private local(lambda: LambdaNode, made: Here, given: readonly Node[], target: Target, here: Here): void {
    if (this.depth > DEEP) return
    const scope = new Map(made.scope)
    for (const [index, { value }] of lambda.arguments.entries()) {
      const node = given[index]
      scope.set(value, node && { node, scope: here.scope, source: here.source })
    }
    this.depth++
    this.walk(lambda.body, target, { scope, source: made.source })
    this.depth--
  }

  /** A library function sees its arguments alone: its body is followed once for each target. */
  private ofLibrary({ lambda, source }: LibraryFunction, given: readonly Node[], target: Target, here: Here): void {
    const known = this.calls.get(lambda) ?? new Map<string, Call>()
    this.calls.set(lambda, known)
    let call = known.get(target.key)
    if (call === undefined) {
      known.set(target.key, (call = { results: [] }))
      const own = call
      const scope = new Map(lambda.arguments.map(({ value }, index): [string, Seen] => [value, { call: own, index }]))
      this.walk(lambda.body, target, { scope, source })
    }
    for (const result of [...call.results]) {
      const node = given[result.index]
      if (node) this.walk(node, result.target, here)
    }
  }

  private list(expressions: readonly Node[], node: Node, target: Target, here: Here): void {
    if (!target.isItem && !this.kind(ARR, 'a list', node, target, here)) return
    const items = this.targets.items(target)
    if (items === undefined) return
    for (const one of expressions) {
      const isList = one.type === 'unary' && one.value === '['
      // A list that is written inside of a list stays one; others are joined to it.
      this.walk(one, isList ? this.targets.target(items.path, items.shapes) : items, here)
    }
  }

  private object(node: ObjectNode, target: Target, here: Here): void {
    if (!this.kind(OBJ, 'an object', node, target, here)) return
    const said = new Map(
      node.lhs.flatMap(([key, value]) => (key.type === 'string' && value.type === 'string' ? [[key.value, value.value] as const] : [])),
    )
    const object = new ObjectTarget(target, this.targets, said)
    for (const [key, value] of node.lhs) {
      if (key.type !== 'string') continue
      const member = object.member(key.value)
      if (member === undefined)
        this.find(
          key,
          here,
          this.wording.member,
          `${nameOf(target)} has no member "${key.value}"`,
          `${useOneOf(object.names(), key.value)}${this.wording.add}`,
        )
      else if (member !== 'open') this.walk(value, member, here)
    }
    if (!target.isPart) this.missing(node, object, target, here)
  }

  private missing(node: ObjectNode, object: ObjectTarget, target: Target, here: Here): void {
    const names = new Set<string>()
    for (const [key] of node.lhs) {
      if (key.type !== 'string') return
      names.add(key.value)
    }
    const missing = object.required().filter(name => !names.has(name) && !this.given.has(name))
    if (missing.length > 0)
      this.find(
        node,
        here,
        'mapping/missing',
        `${nameOf(target)} has no ${missing.join(', ')}, which the schema requires`,
        `add it${this.wording.correct}`,
      )
  }

  private text(value: string, node: Node, target: Target, here: Here): void {
    if (!this.kind(STR, `"${value}"`, node, target, here)) return
    const texts = target.shapes.filter(({ bits }) => bits & STR)
    if (texts.some(({ values }) => values === undefined || values.includes(value))) return
    const words = new Set(texts.flatMap(({ values }) => values ?? []))
    this.find(node, here, 'mapping/value', `${nameOf(target)} cannot be "${value}"`, `${useOneOf(words, value)}${this.wording.add}`)
  }

  /** Whether a value of these kinds is accepted at all. */
  private kind(bits: number, what: string, node: Node, target: Target, here: Here): boolean {
    const accepted = target.shapes.reduce((sum, shape) => sum | shape.bits, 0)
    if (accepted & bits & ~UNDEF) return true
    if (here.isTyped) return false
    const kinds = KINDS.filter(([bit]) => accepted & bit).map(([, word]) => word)
    this.find(
      node,
      here,
      'mapping/type',
      `${nameOf(target)} cannot be ${what}`,
      `give ${kinds.join(' or ') || 'nothing'}${this.wording.correct}`,
    )
    return false
  }

  private find(node: Node, { source }: Here, rule: string, detail: string, remedy: string): void {
    const position = placeIn(source, node.position)
    const key = `${position.file}:${position.line}:${position.column} ${rule} ${detail}`
    if (this.reported.has(key)) return
    this.reported.add(key)
    this.findings.push({ ...position, rule, detail, remedy })
  }
}

const KINDS: readonly [bit: number, word: string][] = [
  [STR, 'a text'],
  [NUM, 'a number'],
  [BOOL, 'a boolean'],
  [NULL, 'null'],
  [ARR, 'a list'],
  [OBJ, 'an object'],
]

const JSON_VALUE = ANY & ~UNDEF & ~FUN

/** Whether nothing is known of a value, so that anything is accepted. */
function isUnknown({ bits, members, items, rest, branches }: Shape): boolean {
  return (bits & JSON_VALUE) === JSON_VALUE && !members && !items && !rest && !branches
}

function nameOf({ path }: Target): string {
  return path === '' ? 'the whole' : path
}
