// Follows values of a known shape through expressions, and reports members that are read of them and that their schema does not
// have. The walk is static, so every branch counts; what it does not understand, it knows nothing of, and lets pass.

import type { FunctionNode, LambdaNode, Node, Pair, PathNode, Stage } from '../jsonata/ast.js'
import type { Shape } from '../jsonata/types.js'
import { Functions, type Library, type Source, treeOf } from '../read/functions.js'
import { Members } from './members.js'

/** The known facts about a value. */
export interface Value {
  /** What it may be, or each of its items; undefined: nothing is known of it. */
  shapes?: readonly Shape[]
  /** What it is called, as in `ask.turns`. */
  path?: string
  /** The members of an object that an expression makes. */
  members?: ReadonlyMap<string, Value>
  call?: (args: readonly Value[]) => Value
}

type Scope = ReadonlyMap<string, Value>

/** Told of each member that is read of a value whose schema does not have it. */
export type Missing = (node: Node, source: Source, of: string, name: string, known: readonly string[]) => void

const UNKNOWN: Value = {}
const NOTHING: Value = { shapes: [] }
/** Functions inside functions that are followed, and calls in one expression. */
const DEEP = 24
const MOST = 5_000
/** Functions that give items of their first argument, or all of it. */
const SAME: ReadonlySet<string> = new Set(['filter', 'single', 'distinct', 'reverse', 'shuffle', 'sort'])

export class Reader {
  private readonly functions: Functions
  private readonly numbers = new Map<object, number>()
  private readonly members = new Members()
  private readonly known = new Map<string, Value>()
  private followed = 0
  private depth = 0

  /** `results`: what functions give that other files have. */
  constructor(
    library: Library,
    private readonly results: ReadonlyMap<string, Value>,
    private readonly missing: Missing,
  ) {
    this.functions = new Functions(library)
  }

  /** Reads an expression that sees some variables, and an input; returns what it gives. */
  read(source: Source, scope: Scope, input = UNKNOWN): Value {
    const node = treeOf(source.text)
    this.followed = 0
    return node ? this.value(node, input, { scope, source }) : UNKNOWN
  }

  /** The same for a function, with what it is given. */
  call(source: Source, args: readonly Value[]): void {
    this.applied(this.read(source, new Map()), args)
  }

  private value(node: Node, context: Value, here: Here): Value {
    const own = this.bare(node, context, here)
    for (const stage of [...(node.stages ?? []), ...(node.predicate ?? [])]) this.stage(stage, own, here)
    if (node.group) {
      this.pairs(node.group.lhs, own, here)
      return UNKNOWN
    }
    return own
  }

  private stage(stage: Stage, value: Value, here: Here): void {
    if (stage.type === 'filter') this.value(stage.expr, value, here)
  }

  private bare(node: Node, context: Value, here: Here): Value {
    switch (node.type) {
      case 'path':
        return this.path(node, context, here)
      case 'name':
        return this.member(context, node.value, node, here)
      case 'variable':
        return this.variable(node.value, context, here)
      case 'unary':
        if (node.value === '{') return { members: this.pairs(node.lhs, context, here) }
        if (node.value === '[') return merged(node.expressions.map(one => this.value(one, context, here)))
        return this.unknown([node.expression], context, here)
      case 'binary':
        return this.unknown([node.lhs, node.rhs], context, here)
      case 'condition': {
        this.value(node.condition, context, here)
        return merged([node.then, ...(node.else ? [node.else] : [])].map(one => this.value(one, context, here)))
      }
      case 'block':
        return this.block(node.expressions, context, here)
      case 'bind':
        return this.value(node.rhs, context, here)
      case 'function':
        return this.called(node, context, here)
      case 'lambda':
        // The parser wraps a call at the end of a function.
        return node.thunk ? this.value(node.body, context, here) : this.lambda(node, context, here)
      case 'apply':
        return this.applied(this.value(node.rhs, context, here), [this.value(node.lhs, context, here)])
      case 'partial':
        return this.unknown(node.arguments, context, here)
      case 'string':
      case 'number':
      case 'value':
        return NOTHING
      default:
        return UNKNOWN
    }
  }

  private unknown(nodes: readonly Node[], context: Value, here: Here): Value {
    for (const node of nodes) this.value(node, context, here)
    return UNKNOWN
  }

  private path(node: PathNode, context: Value, here: Here): Value {
    let value = context
    for (const step of node.steps) {
      if (step.type === 'sort') {
        for (const { expression } of step.terms) this.value(expression, value, here)
        continue
      }
      const found = this.value(step, value, here)
      // Variables that are bound on the way are not followed.
      value = step.tuple || step.focus !== undefined ? UNKNOWN : found
    }
    return value
  }

  private variable(name: string, context: Value, { scope }: Here): Value {
    if (name === '') return context
    const own = scope.get(name)
    if (own) return own
    const found = this.functions.find(name)
    return found ? { call: args => this.ofLibrary(found.lambda, found.source, args) } : UNKNOWN
  }

  private block(expressions: readonly Node[], context: Value, here: Here): Value {
    let inner = here
    let last = NOTHING
    for (const one of expressions) {
      last = this.value(one, context, inner)
      if (one.type === 'bind') inner = { ...inner, scope: new Map([...inner.scope, [one.lhs.value, last]]) }
    }
    return last
  }

  private lambda(node: LambdaNode, context: Value, here: Here): Value {
    return {
      call: args => this.value(node.body, context, { ...here, scope: withArguments(here.scope, node, args) }),
    }
  }

  private ofLibrary(lambda: LambdaNode, source: Source, args: readonly Value[]): Value {
    const key = `${source.document.file} ${source.pointer.join('.')} ${args.map(one => this.keyOf(one)).join(' ')}`
    const before = this.known.get(key)
    if (before) return before
    // Nothing is known of what calls itself.
    this.known.set(key, UNKNOWN)
    const found = this.value(lambda.body, UNKNOWN, { scope: withArguments(new Map(), lambda, args), source })
    this.known.set(key, found)
    return found
  }

  private applied({ call }: Value, args: readonly Value[]): Value {
    if (call === undefined || this.depth > DEEP || ++this.followed > MOST) return UNKNOWN
    this.depth++
    const found = call(args)
    this.depth--
    return found
  }

  private called(node: FunctionNode, context: Value, here: Here): Value {
    const args = node.arguments.map(one => this.value(one, context, here))
    const { procedure } = node
    if (procedure.type !== 'variable') return this.applied(this.value(procedure, context, here), args)
    const name = procedure.value
    const result = here.scope.has(name) ? undefined : this.results.get(name)
    const seen = this.variable(name, context, here)
    if (seen.call) {
      const found = this.applied(seen, args)
      return result ?? found
    }
    return result ?? (here.scope.has(name) ? UNKNOWN : this.builtIn(name, args, node, here))
  }

  private builtIn(name: string, args: readonly Value[], node: FunctionNode, here: Here): Value {
    const [first = UNKNOWN, second = UNKNOWN] = args
    if (SAME.has(name)) {
      if (second.call) this.applied(second, name === 'sort' ? [first, first] : [first])
      return first
    }
    if (name === 'map') return this.applied(second, [first])
    if (name === 'append') return merged(args)
    if (name === 'lookup' && node.arguments[1]?.type === 'string')
      return this.member(first, node.arguments[1].value, node.arguments[1], here)
    // What else takes a function gives it values of which nothing is known.
    for (const one of args) if (one.call) this.applied(one, [])
    return UNKNOWN
  }

  private pairs(pairs: readonly Pair[], context: Value, here: Here): ReadonlyMap<string, Value> {
    return new Map(
      pairs.map(([key, value]): [string, Value] => {
        if (key.type !== 'string') this.value(key, context, here)
        return [key.type === 'string' ? key.value : '', this.value(value, context, here)]
      }),
    )
  }

  private member(value: Value, name: string, node: Node, { source }: Here): Value {
    if (value.members) return value.members.get(name) ?? UNKNOWN
    // A text has no members, but the walk does not see what an expression makes sure of before.
    const found = value.shapes && this.members.of(value.shapes, name)
    if (found === undefined) return UNKNOWN
    const path = value.path ?? ''
    if ('shapes' in found) return { shapes: found.shapes, path: `${path}.${name}` }
    this.missing(node, source, path, name, found.known)
    return UNKNOWN
  }

  private keyOf(value: Value): string {
    if (value.call) return `#${this.numberOf(value)}`
    if (value.members) return `{${[...value.members].map(([name, member]) => `${name}=${this.keyOf(member)}`).join()}}`
    return `${value.path ?? ''}:${value.shapes?.map(shape => this.numberOf(shape)).join() ?? '?'}`
  }

  private numberOf(one: object): number {
    const number = this.numbers.get(one) ?? this.numbers.size
    this.numbers.set(one, number)
    return number
  }
}

/** Where the walk is. */
interface Here {
  scope: Scope
  source: Source
}

function withArguments(scope: Scope, { arguments: names }: LambdaNode, args: readonly Value[]): Scope {
  return new Map([...scope, ...names.map(({ value }, index): [string, Value] => [value, args[index] ?? UNKNOWN])])
}

/** One of several values. */
function merged(values: readonly Value[]): Value {
  const said = values.filter(({ shapes }) => shapes?.length !== 0)
  const [first = NOTHING] = said
  if (said.length <= 1) return first
  if (said.some(({ shapes }) => shapes === undefined)) return UNKNOWN
  return { shapes: [...new Set(said.flatMap(({ shapes }) => shapes ?? []))], path: first.path ?? '' }
}
