// The tree of jsonata's own parser (its `processAST`), typed as far as the compiler reads it.

import jsonata from 'jsonata'

/** Members that a node of any type may have. */
interface Common {
  position?: number
  /** `[]` behind it. */
  keepArray?: boolean
  /** `[]` behind one of a path's steps. */
  keepSingletonArray?: boolean
  /** An array that a path must not flatten. */
  consarray?: boolean
  /** Predicates; a step of a path has them as `stages`. */
  predicate?: Stage[]
  stages?: Stage[]
  group?: { lhs: Pair[]; position?: number }
  /** A step that binds variables, so that the path yields a stream of tuples. */
  tuple?: boolean
  /** `@$name` */
  focus?: string
  /** `#$name` */
  index?: string
  /** A later `%` means the item that this step was taken from. */
  ancestor?: { label: string }
}

export type Stage = { type: 'filter'; expr: Node; position?: number } | { type: 'index'; value: string; position?: number }

/** A key and its value, in an object or a grouping. */
export type Pair = [key: Node, value: Node]

export interface PathNode extends Common {
  type: 'path'
  steps: [Node, ...Node[]]
}

/** `^(…)`, a step. */
export interface SortNode extends Common {
  type: 'sort'
  terms: { descending: boolean; expression: Node }[]
}

export interface NameNode extends Common {
  type: 'name'
  value: string
}

interface VariableNode extends Common {
  type: 'variable'
  /** `$` is '', `$$` is '$'. */
  value: string
}

export interface StringNode extends Common {
  type: 'string'
  value: string
}

export interface NumberNode extends Common {
  type: 'number'
  value: number
}

export interface ValueNode extends Common {
  type: 'value'
  value: boolean | null
}

export interface RegexNode extends Common {
  type: 'regex'
  value: RegExp
}

/** `*`, `**`, and the `?` for an open argument of a partial application. */
export interface SignNode extends Common {
  type: 'wildcard' | 'descendant' | 'operator'
  value: string
}

/** `%` */
interface ParentNode extends Common {
  type: 'parent'
  slot: { label: string }
}

export interface BinaryNode extends Common {
  type: 'binary'
  value: '+' | '-' | '*' | '/' | '%' | '=' | '!=' | '<' | '<=' | '>' | '>=' | '&' | '..' | 'in' | 'and' | 'or'
  lhs: Node
  rhs: Node
}

export interface NegationNode extends Common {
  type: 'unary'
  value: '-'
  expression: Node
}

export interface ArrayNode extends Common {
  type: 'unary'
  value: '['
  expressions: Node[]
}

export interface ObjectNode extends Common {
  type: 'unary'
  value: '{'
  lhs: Pair[]
}

/** `a ? b : c`; the parser turns `a ?? b` and `a ?: b` into one, too. */
export interface ConditionNode extends Common {
  type: 'condition'
  condition: Node
  then: Node
  else?: Node
}

export interface BlockNode extends Common {
  type: 'block'
  expressions: Node[]
}

export interface BindNode extends Common {
  type: 'bind'
  lhs: VariableNode
  rhs: Node
}

export interface FunctionNode extends Common {
  type: 'function'
  procedure: Node
  arguments: Node[]
}

export interface PartialNode extends Common {
  type: 'partial'
  procedure: Node
  arguments: Node[]
}

export interface LambdaNode extends Common {
  type: 'lambda'
  arguments: VariableNode[]
  signature?: { definition: string }
  body: Node
  thunk?: never
}

/** The parser's wrapper of a call at the end of a function. */
export interface ThunkNode extends Common {
  type: 'lambda'
  thunk: true
  arguments: VariableNode[]
  signature?: never
  body: FunctionNode
}

/** The node inside that wrapper. */
export function withoutThunk(node: Node): Node {
  return node.type === 'lambda' && node.thunk ? node.body : node
}

export interface ApplyNode extends Common {
  type: 'apply'
  lhs: Node
  rhs: Node
}

export interface TransformNode extends Common {
  type: 'transform'
  pattern: Node
  update: Node
  delete?: Node
}

export type Node =
  | PathNode
  | SortNode
  | NameNode
  | VariableNode
  | StringNode
  | NumberNode
  | ValueNode
  | RegexNode
  | SignNode
  | ParentNode
  | BinaryNode
  | NegationNode
  | ArrayNode
  | ObjectNode
  | ConditionNode
  | BlockNode
  | BindNode
  | FunctionNode
  | PartialNode
  | LambdaNode
  | ThunkNode
  | ApplyNode
  | TransformNode

export type NodeOf<Type extends Node['type']> = Extract<Node, { type: Type }>

/** Cached trees. A project parses most of its expressions several times, and nothing changes a tree. */
const parsed = new Map<string, Node>()
/** Trees in the cache. */
const MOST = 4096

/** The most levels of a tree: what walks over it needs a part of the stack for each. */
const DEEPEST = 500

/** The tree of an expression. Throws `{ code, position, token, message }` as the parser does. */
export function parse(source: string): Node {
  const known = parsed.get(source)
  if (known !== undefined) return known
  const tree = parsedBy(source)
  const deep = deeperThan(DEEPEST, tree)
  if (deep !== undefined) throw tooDeep(deep.position)
  if (parsed.size >= MOST) parsed.clear()
  parsed.set(source, tree)
  return tree
}

function parsedBy(source: string): Node {
  try {
    return withoutBlock(jsonata(source).ast() as unknown as Node)
  } catch (error) {
    // The parser itself calls itself for each level.
    throw error instanceof RangeError ? tooDeep() : error
  }
}

/** A function whose body is one expression in parentheses is the same without them, and tells its shape. */
function withoutBlock(tree: Node): Node {
  if (tree.type !== 'lambda' || tree.thunk || tree.body.type !== 'block' || tree.body.predicate !== undefined) return tree
  const [only, ...more] = tree.body.expressions
  return only === undefined || only.type === 'bind' || more.length > 0 ? tree : { ...tree, body: only }
}

function tooDeep(position = 0): object {
  const message = `the expression has more than ${DEEPEST} levels: split it with variables or functions, or use $join for a long chain of &`
  return { code: 'depth', token: '', position, message }
}

/** A node below a number of levels of a tree. */
function deeperThan(levels: number, tree: Node): Node | undefined {
  let level: readonly Node[] = [tree]
  const seen = new Set<Node>(level)
  for (let depth = 0; depth < levels && level.length > 0; depth++) {
    const next = level.flatMap(children).filter(node => !seen.has(node))
    for (const node of next) seen.add(node)
    level = next
  }
  return level[0]
}

/** The children of the nodes that were asked for them: most are asked many times, and nothing changes a tree. */
const known = new WeakMap<Node, readonly Node[]>()

/** Every direct child of a node. */
export function children(node: Node): readonly Node[] {
  let found = known.get(node)
  if (found === undefined) {
    found = [...ownChildren(node), ...childrenBehind(node)]
    known.set(node, found)
  }
  return found
}

/** The children in its predicates and groupings. */
export function childrenBehind(node: Node): Node[] {
  const found: Node[] = []
  for (const stage of [...(node.stages ?? []), ...(node.predicate ?? [])]) if (stage.type === 'filter') found.push(stage.expr)
  for (const pair of node.group?.lhs ?? []) found.push(...pair)
  return found
}

/** The children that its type defines. */
function ownChildren(node: Node): Node[] {
  switch (node.type) {
    case 'path':
      return [...node.steps]
    case 'sort':
      return node.terms.map(term => term.expression)
    case 'binary':
    case 'bind':
    case 'apply':
      return [node.rhs, node.lhs]
    case 'unary':
      return node.value === '-' ? [node.expression] : node.value === '[' ? [...node.expressions] : node.lhs.flat()
    case 'condition':
      return [node.condition, node.then, ...(node.else ? [node.else] : [])]
    case 'block':
      return [...node.expressions]
    case 'function':
    case 'partial':
      return [...node.arguments, node.procedure]
    case 'lambda':
      return [...node.arguments, node.body]
    case 'transform':
      return [node.pattern, node.update, ...(node.delete ? [node.delete] : [])]
    default:
      return []
  }
}

/** Whether a tree contains a node that passes a test. */
export function some(node: Node, test: (node: Node) => boolean): boolean {
  if (test(node)) return true
  for (const child of children(node)) if (some(child, test)) return true
  return false
}

/** The name of the function that a node calls, if it calls one by name. */
export function calledName(node: Node): string | undefined {
  return node.type === 'function' && node.procedure.type === 'variable' ? node.procedure.value : undefined
}

/** Whether a node has a predicate or a grouping behind it. */
export function isQualified(node: Node): boolean {
  return node.predicate !== undefined || node.group !== undefined
}

/** The members of an object literal with known keys. */
export function literalPairs(node: Node): [string, Node][] | undefined {
  if (node.type !== 'unary' || node.value !== '{' || isQualified(node)) return undefined
  const pairs: [string, Node][] = []
  for (const [key, value] of node.lhs) {
    if (key.type !== 'string') return undefined
    pairs.push([key.value, value])
  }
  return pairs
}

/** The parser reports the end of a token; for an expression that ends too soon, the end. */
export function tokenStart(text: string, position: number): number {
  return position - (/(?:\$?\w+|`[^`]*`|"[^"]*"|[:!<>]=|\.\.|\*\*|~>|\?[?:]|[^\s\w])$/.exec(text.slice(0, position))?.[0].length ?? 0)
}
