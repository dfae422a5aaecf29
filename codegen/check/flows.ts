// Traces the fields of a client's request into the provider's: for each member that the request's expression makes, the
// fields that its value comes from. The trace is static, so every branch counts.

import type { FunctionNode, Node, Pair, Stage } from '../jsonata/ast.js'
import { parse } from '../jsonata/ast.js'
import { elementAt } from '../jsonata/element.js'
import type { Library } from '../read/functions.js'
import type { MappingData } from '../read/project.js'
import type { FieldNode } from './ledger.js'

/** One member of the provider's request that a field flows into. */
export interface Flow {
  /** As in `messages[].content`; a list that a loop makes has no brackets. */
  to: string
  /**
   * The value is the field's own; or it is made from the field; or the field is one of those that decide whether and how
   * the member is set.
   */
  kind: 'same' | 'made' | 'decides'
  /** The functions that made the value from it, in alphabetical order. */
  by: readonly string[]
}

/** The fields that a value comes from, with the functions that were applied. */
type Origins = Map<string, ReadonlySet<string>>

/**
 * The known facts about a value: the fields that it comes from, those that decided on it, its members, and what a call of
 * it does.
 */
interface Value {
  origins: Origins
  controls: ReadonlySet<string>
  members?: ReadonlyMap<string, Value>
  call?: (args: Value[]) => Value
}

type Scope = ReadonlyMap<string, Value>

const NONE: ReadonlySet<string> = new Set()
const NOTHING: Value = { origins: new Map(), controls: NONE }
/** Levels of functions and members that are traced. */
const DEEP = 8
const INSIDE = 8
/** Function calls that are traced in one mapping; beyond them, a result counts as made from all of its arguments. */
const MOST = 3_000

/** The flows of each field of a request, by path. */
export function flowsOf(data: MappingData, library: Library, fields: readonly FieldNode[]): ReadonlyMap<string, readonly Flow[]> {
  const flows = new Map<string, Map<string, Flow>>()
  const tell = (path: string, flow: Flow): void => {
    const known = flows.get(path) ?? new Map<string, Flow>()
    flows.set(path, known)
    const before = known.get(flow.to)
    const rank = { decides: 0, made: 1, same: 2 }
    if (before === undefined || rank[before.kind] < rank[flow.kind]) known.set(flow.to, flow)
    else if (before.kind === flow.kind && flow.kind === 'made')
      known.set(flow.to, { ...flow, by: [...new Set([...before.by, ...flow.by])].sort() })
  }
  const spread = (value: Value, to: string, depth: number): void => {
    for (const [path, by] of value.origins) tell(path, { to, kind: by.size === 0 ? 'same' : 'made', by: [...by].sort() })
    for (const path of value.controls) tell(path, { to, kind: 'decides', by: [] })
    if (depth < INSIDE) for (const [name, member] of value.members ?? []) spread(member, to === '' ? name : `${to}.${name}`, depth + 1)
  }
  if (data.request !== undefined) spread(new Tracer(data, library, fields).whole(data.request), '', 0)
  return new Map([...flows].map(([path, found]) => [path, [...found.values()].filter(({ to }) => to !== '')]))
}

/** Traces the expressions of one mapping. */
class Tracer {
  private readonly nodes = new Map<string, FieldNode>()
  private readonly root: Value
  private readonly globals: Map<string, Value>
  private depth = 0
  private readonly open = new Set<string>()
  private readonly known = new Map<string, Value>()
  private readonly numbers = new Numbers()
  private readonly trees = new Map<string, Node>()
  private followed = 0

  constructor(
    data: MappingData,
    private readonly library: Library,
    fields: readonly FieldNode[],
  ) {
    const index = (nodes: readonly FieldNode[]): void => {
      for (const node of nodes) {
        this.nodes.set(node.path, node)
        index(node.members)
      }
    }
    index(fields)
    this.root = { ...NOTHING, members: new Map(fields.map(({ name, path }) => [name, field(path)])) }
    this.globals = new Map([['$', this.root]])
    if (data.carry !== undefined) this.globals.set('carry', this.whole(data.carry))
  }

  private tree(text: string): Node {
    const tree = this.trees.get(text) ?? parse(text)
    this.trees.set(text, tree)
    return tree
  }

  whole(text: string): Value {
    try {
      return this.value(this.tree(text), this.root, new Map())
    } catch {
      // The compiler reports the error.
      return NOTHING
    }
  }

  private value(node: Node, context: Value, scope: Scope): Value {
    const own = this.bare(node, context, scope)
    const behind = [...(node.stages ?? []), ...(node.predicate ?? [])]
    const filtered = behind.reduce((value, stage) => this.filtered(value, stage, scope), own)
    return node.group ? this.object(node.group.lhs, filtered, scope) : filtered
  }

  private filtered(value: Value, stage: Stage, scope: Scope): Value {
    return stage.type === 'filter' ? decidedBy(value, this.value(stage.expr, value, scope)) : value
  }

  private bare(node: Node, context: Value, scope: Scope): Value {
    switch (node.type) {
      case 'path':
        return this.path(node.steps, context, scope)
      case 'name':
        return this.member(context, node.value)
      case 'variable':
        return node.value === '' ? context : (scope.get(node.value) ?? this.globals.get(node.value) ?? NOTHING)
      case 'wildcard':
      case 'descendant':
        return merged([...(context.members?.values() ?? [])])
      case 'unary':
        if (node.value === '{') return this.object(node.lhs, context, scope)
        if (node.value === '[') return merged(node.expressions.map(one => this.value(one, context, scope)))
        return turned([this.value(node.expression, context, scope)], '-')
      case 'binary': {
        const sides = [this.value(node.lhs, context, scope), this.value(node.rhs, context, scope)]
        // A comparison yields a boolean, so its operands only decide.
        if (/^(?:=|!=|<|<=|>|>=|in|and|or)$/.test(node.value)) return { ...NOTHING, controls: everythingIn(sides) }
        return turned(sides, node.value === '&' ? 'text' : node.value)
      }
      case 'condition': {
        const asked = this.value(node.condition, context, scope)
        const branches = [node.then, ...(node.else ? [node.else] : [])].map(one => this.value(one, context, scope))
        return decidedBy(merged(branches), asked)
      }
      case 'block': {
        let inner = scope
        let last = NOTHING
        for (const one of node.expressions) {
          if (one.type === 'bind') inner = new Map([...inner, [one.lhs.value, this.value(one.rhs, context, inner)]])
          else last = this.value(one, context, inner)
        }
        return last
      }
      case 'bind':
        return this.value(node.rhs, context, scope)
      case 'function':
        return this.called(node, context, scope)
      case 'lambda': {
        // The parser wraps a call at the end of a function.
        if (node.thunk) return this.value(node.body, context, scope)
        const names = node.arguments.map(({ value }) => value)
        const { body } = node
        return {
          ...NOTHING,
          call: args =>
            this.value(body, context, new Map([...scope, ...names.map((name, at): [string, Value] => [name, args[at] ?? NOTHING])])),
        }
      }
      case 'apply':
        return this.applied(this.value(node.rhs, context, scope), [this.value(node.lhs, context, scope)], 'apply')
      case 'sort':
        return context
      default:
        return NOTHING
    }
  }

  private path(steps: readonly Node[], context: Value, scope: Scope): Value {
    return steps.reduce((value, step) => {
      if (step.type === 'sort') return value
      const found = this.value(step, value, scope)
      return step === steps[0] || step.type === 'name' ? found : withControls(found, value.controls)
    }, context)
  }

  /** A member of a value: the field's member, or the field itself if its schema is open there. */
  private member(value: Value, name: string): Value {
    const found: Value[] = []
    const known = value.members?.get(name)
    if (known) found.push(known)
    for (const [path, by] of value.origins) {
      const node = this.nodes.get(path)
      const inner = node?.members.find(member => member.name === name)
      if (inner) found.push({ origins: new Map([[inner.path, by]]), controls: NONE })
      else if (node && node.members.length === 0)
        found.push({ origins: new Map([[path, new Set([...by, 'a part of it'])]]), controls: NONE })
    }
    return withControls(merged(found), value.controls)
  }

  private object(pairs: readonly Pair[], context: Value, scope: Scope): Value {
    const members = new Map<string, Value>()
    for (const [key, value] of pairs) {
      const made = this.value(value, context, scope)
      const name = key.type === 'string' ? key.value : '*'
      const named = key.type === 'string' ? made : withControls(made, everythingIn([this.value(key, context, scope)]))
      const before = members.get(name)
      members.set(name, before ? merged([before, named]) : named)
    }
    return { ...NOTHING, members }
  }

  private called(node: FunctionNode, context: Value, scope: Scope): Value {
    const args = node.arguments.map(one => this.value(one, context, scope))
    if (node.procedure.type !== 'variable') return this.applied(this.value(node.procedure, context, scope), args, 'function')
    const name = node.procedure.value
    const own = scope.get(name)
    if (own?.call) return this.applied(own, args, name)
    const source = this.library.get(name)
    if (source !== undefined) return this.ofLibrary(name, source.text, args)
    return this.builtIn(name, args)
  }

  private ofLibrary(name: string, text: string, args: Value[]): Value {
    const key = `${name}(${args.map(one => this.numbers.of(one)).join()})`
    const before = this.known.get(key)
    if (before) return before
    if (this.open.has(key) || this.open.size > DEEP || this.followed > MOST) return turned(args, `$${name}`)
    this.open.add(key)
    const made = this.applied(this.value(this.tree(text), this.root, new Map()), args, name)
    this.open.delete(key)
    this.known.set(key, made)
    return made
  }

  private applied(value: Value, args: Value[], name: string): Value {
    if (!value.call || this.depth > DEEP * 3 || ++this.followed > MOST) return turned(args, `$${name}`)
    this.depth++
    const made = value.call(args)
    this.depth--
    return made
  }

  private builtIn(name: string, args: Value[]): Value {
    const [first = NOTHING, second = NOTHING, third = NOTHING] = args
    switch (name) {
      case 'map':
      case 'each':
        return withControls(
          this.applied(second, [name === 'each' ? merged([first, ...(first.members?.values() ?? [])]) : first], name),
          first.controls,
        )
      case 'filter':
      case 'sift':
      case 'single':
        return decidedBy(first, this.applied(second, [first], name))
      case 'reduce': {
        const once = this.applied(second, [third, first], name)
        return merged([third, once, this.applied(second, [merged([third, once]), first], name)])
      }
      case 'append':
      case 'merge':
      case 'reverse':
      case 'distinct':
      case 'spread':
      case 'sort':
        return merged(args)
      case 'exists':
      case 'not':
      case 'boolean':
      case 'type':
      case 'count':
      case 'contains':
      case 'keys':
        return { ...NOTHING, controls: everythingIn(args) }
      case 'lookup':
        return merged([
          ...(first.members ? [merged([...first.members.values()])] : []),
          turned([second, { ...first, members: new Map() }], '$lookup'),
        ])
      default:
        return turned(args, `$${name}`)
    }
  }
}

const field = (path: string): Value => ({ origins: new Map([[path, NONE]]), controls: NONE })

function merged(values: readonly Value[]): Value {
  if (values.length === 1) return elementAt(values, 0)
  const origins: Origins = new Map()
  const controls = new Set<string>()
  const members = new Map<string, Value>()
  let call: Value['call']
  for (const value of values) {
    for (const [path, by] of value.origins) {
      const before = origins.get(path)
      // A field that is also copied unchanged is reported as such.
      origins.set(path, before === undefined || by.size === 0 ? by : before.size === 0 ? before : new Set([...before, ...by]))
    }
    for (const path of value.controls) controls.add(path)
    for (const [name, member] of value.members ?? []) {
      const before = members.get(name)
      members.set(name, before && before !== member ? merged([before, member]) : member)
    }
    call ??= value.call
  }
  return { origins, controls, ...(members.size > 0 && { members }), ...(call && { call }) }
}

/** The result of a function: it comes from everything in its arguments. */
function turned(values: readonly Value[], by: string): Value {
  const origins: Origins = new Map()
  const controls = new Set<string>()
  const visit = (value: Value, depth: number): void => {
    for (const [path, before] of value.origins) origins.set(path, new Set([...(origins.get(path) ?? []), ...before, by]))
    for (const path of value.controls) controls.add(path)
    if (depth < INSIDE) for (const member of value.members?.values() ?? []) visit(member, depth + 1)
  }
  for (const value of values) visit(value, 0)
  return { origins, controls }
}

function withControls(value: Value, controls: ReadonlySet<string>): Value {
  return controls.size === 0 ? value : { ...value, controls: new Set([...value.controls, ...controls]) }
}

const decidedBy = (value: Value, asked: Value): Value => withControls(value, everythingIn([asked]))

/** All fields that values come from or were decided by. */
function everythingIn(values: readonly Value[]): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (value: Value, depth: number): void => {
    for (const path of value.origins.keys()) found.add(path)
    for (const path of value.controls) found.add(path)
    if (depth < 2) for (const member of value.members?.values() ?? []) visit(member, depth + 1)
  }
  for (const value of values) visit(value, 0)
  return found
}

/** Numbers the distinct values, so that a call with known arguments is not traced again. */
class Numbers {
  private readonly ofText = new Map<string, number>()
  private readonly ofValue = new WeakMap<Value, number>()
  private readonly ofCall = new WeakMap<object, number>()
  private last = 0

  of(value: Value): number {
    const known = this.ofValue.get(value)
    if (known !== undefined) return known
    const origins = [...value.origins].map(([path, by]) => `${path}/${[...by].sort().join('+')}`).sort()
    const members = [...(value.members ?? [])].map(([name, member]) => `${name}:${this.of(member)}`).sort()
    const text = `${origins.join()};${[...value.controls].sort().join()};${members.join()};${value.call ? this.ofFunction(value.call) : ''}`
    const number = this.ofText.get(text) ?? ++this.last
    this.ofText.set(text, number)
    this.ofValue.set(value, number)
    return number
  }

  private ofFunction(call: object): number {
    const known = this.ofCall.get(call) ?? ++this.last
    this.ofCall.set(call, known)
    return known
  }
}
