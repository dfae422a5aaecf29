// The tree that jsonata's own parser gives, typed as far as the compiler reads it.

import jsonata from 'jsonata'

export interface Node {
  type: string
  value?: unknown
  position?: number
  keepArray?: boolean
  keepSingletonArray?: boolean
  consarray?: boolean
  tuple?: boolean
  focus?: string
  index?: string
  ancestor?: { label: string }
  slot?: { label: string }
  thunk?: boolean
  steps?: Node[]
  stages?: Stage[]
  predicate?: Stage[]
  group?: { lhs: [Node, Node][]; position?: number }
  lhs?: Node | [Node, Node][]
  rhs?: Node
  expression?: Node
  expressions?: Node[]
  condition?: Node
  then?: Node
  else?: Node
  procedure?: Node
  arguments?: Node[]
  signature?: { definition: string }
  body?: Node
  terms?: { descending: boolean; expression: Node }[]
  pattern?: Node
  update?: Node
  delete?: Node
}

export type Stage = { type: 'filter'; expr: Node; position?: number } | { type: 'index'; value: string; position?: number }

/** The tree of an expression. Throws `{ code, position, token, message }` as the parser does. */
export function parse(source: string): Node {
  return jsonata(source).ast() as unknown as Node
}

/** Every node directly below one. */
export function children(node: Node): Node[] {
  const found: (Node | undefined)[] = [
    ...(node.steps ?? []),
    ...(node.expressions ?? []),
    ...(node.arguments ?? []),
    node.rhs,
    node.expression,
    node.condition,
    node.then,
    node.else,
    node.procedure,
    node.body,
    node.pattern,
    node.update,
    node.delete,
  ]
  if (Array.isArray(node.lhs)) found.push(...node.lhs.flat())
  else found.push(node.lhs)
  for (const stage of [...(node.stages ?? []), ...(node.predicate ?? [])]) if (stage.type === 'filter') found.push(stage.expr)
  for (const pair of node.group?.lhs ?? []) found.push(...pair)
  for (const term of node.terms ?? []) found.push(term.expression)
  return found.filter(child => child !== undefined)
}

/** Whether some node in a tree is one that is looked for. */
export function some(node: Node, test: (node: Node) => boolean): boolean {
  return test(node) || children(node).some(child => some(child, test))
}
