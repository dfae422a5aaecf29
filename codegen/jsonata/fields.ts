// What an expression reads of its input: the fields, as paths without lists.

import type { BindNode, LambdaNode, NameNode, Node } from './ast.js'

/** A variable's expression, and the variables that it sees. */
export interface Bound {
  node: Node
  scope: Scope
}

export type Scope = ReadonlyMap<string, Bound>

const NONE: Scope = new Map()

/** What an object literal has under a name that it does not have: it comes from no field. */
const NOTHING: Bound = { node: { type: 'string', value: '' }, scope: NONE }

/** The parameters of a function that is called by a mapping's expression. */
export function parameters(lambda: LambdaNode, nodes: readonly Node[]): [string, Bound][] {
  return lambda.arguments.flatMap(({ value }, index): [string, Bound][] => {
    const argument = nodes[index]
    return argument ? [[value, { node: argument, scope: NONE }]] : []
  })
}

/** A binding sees those before it, never itself. */
export function bound(scope: Scope, { lhs, rhs }: BindNode): Scope {
  return new Map(scope).set(lhs.value, { node: rhs, scope })
}

/** Adds the request's fields that an expression reads. Returns false if it may read any of them. */
export function fieldsIn(node: Node, scope: Scope, found: Set<string>): boolean {
  const all = (nodes: readonly Node[]): boolean => nodes.map(one => fieldsIn(one, scope, found)).every(isKnown => isKnown)
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
      if (head.type === 'variable' && names.length > 0 && !head.predicate && !head.stages) {
        const known = memberOf(head.value, names, scope)
        if (known) return fieldsIn(known.node, known.scope, found)
      }
      return fieldsIn(head, scope, found)
    }
    case 'name':
      found.add(node.value)
      return true
    case 'variable': {
      if (node.value === '' || node.value === '$') return false
      const known = scope.get(node.value)
      return known === undefined || fieldsIn(known.node, known.scope, found)
    }
    case 'lambda': {
      const own = new Map(scope)
      for (const { value } of node.arguments) own.delete(value)
      return fieldsIn(node.body, own, found)
    }
    case 'block': {
      let own = scope
      let isKnown = true
      for (const expression of node.expressions) {
        if (expression.type === 'bind') own = bound(own, expression)
        else isKnown = fieldsIn(expression, own, found) && isKnown
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
      return fieldsIn(node.rhs, scope, found)
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

/** The plain names that continue a path. */
function namesFrom(steps: readonly Node[]): string[] {
  const names: string[] = []
  for (const step of steps) {
    if (step.type !== 'name') break
    names.push(step.value)
  }
  return names
}
