// Finds the members of the objects that an expression may make.

import { children, type Node, parse } from './ast.js'

/** The names that are written in it; none if it does not parse. */
export function madeMembers(text: string): string[] {
  const found = new Set<string>()
  const visit = (node: Node): void => {
    const pairs = node.type === 'unary' && node.value === '{' ? node.lhs : (node.group?.lhs ?? [])
    for (const [key] of pairs) if (key.type === 'string') found.add(key.value)
    for (const child of children(node)) visit(child)
  }
  try {
    visit(parse(text))
  } catch {
    return []
  }
  return [...found]
}
