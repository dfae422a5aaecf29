// Finds the members of its input that an expression may read.

import { children, type Node, parse } from './ast.js'

/** The names of these members; undefined if it may read any, or does not parse. */
export function topMembers(text: string): string[] | undefined {
  const found = new Set<string>()
  let isKnown = true
  const visit = (node: Node): void => {
    if (node.type === 'path') {
      const [first, ...rest] = node.steps
      if (first.type === 'name') found.add(first.value)
      else visit(first)
      // After the first step the context is another value.
      if (first.type !== 'name' && rest.length > 0) isKnown = false
      return
    }
    if (['name', 'wildcard', 'descendant', 'parent', 'lambda', 'transform', 'partial'].includes(node.type)) isKnown = false
    if (node.type === 'variable' && (node.value === '' || node.value === '$')) isKnown = false
    for (const child of children(node)) visit(child)
  }
  try {
    visit(parse(text))
  } catch {
    return undefined
  }
  return isKnown ? [...found] : undefined
}
