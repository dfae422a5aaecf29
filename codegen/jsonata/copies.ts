// Finds what a fold, or a reducer's step, copies each time: a list or an object that it collects in, and that something else
// than a growing call adds to (growth.ts). The cost then grows with the square of what is collected.

import { calledName, children, type LambdaNode, type Node } from './ast.js'

/** The function of a name, if its text is known. */
export type LambdaOf = (name: string) => LambdaNode | undefined

export interface Copy {
  /** Of the call, in the text of the expression. */
  position: number | undefined
  /** The function that adds, as it is called, and what it adds to. */
  call: string
  to: string
}

/** `names` are those of the accumulator, `growing` the calls that add to it in place; `entered` are the functions around. */
export function copiesIn(
  body: Node,
  names: readonly string[],
  growing: { has(node: Node): boolean },
  lambdaOf: LambdaOf,
  entered: ReadonlySet<string> = new Set(),
): Copy[] {
  const found: Copy[] = []
  const visit = (node: Node): void => {
    // Inside of it the name is another variable's.
    if (node.type === 'lambda' && node.arguments.some(({ value }) => names.includes(value))) return
    const to = growing.has(node) ? undefined : addedTo(node, names, lambdaOf, entered)
    if (node.type === 'function' && to !== undefined) found.push({ position: node.procedure.position, call: `$${calledName(node)}`, to })
    for (const child of children(node)) visit(child)
  }
  visit(body)
  return found
}

/** What a call adds to, if that is one of these variables or a member of it: `$sum.done`. */
function addedTo(node: Node, names: readonly string[], lambdaOf: LambdaOf, entered: ReadonlySet<string>): string | undefined {
  if (node.type !== 'function') return undefined
  const name = calledName(node)
  const [first] = node.arguments
  if (name === 'append') return first && memberOf(first, names)
  if (name === 'merge') return first && mergedWith(first, names)
  for (const [index, argument] of node.arguments.entries()) {
    const passed = memberOf(argument, names)
    const added = name === undefined || passed === undefined ? undefined : addedIn(name, index, lambdaOf, entered)
    if (added !== undefined) return `${passed}${added}`
  }
  return undefined
}

/** What a function adds to in one of its arguments: '' is the argument itself, `.done` a member of it. */
function addedIn(name: string, index: number, lambdaOf: LambdaOf, entered: ReadonlySet<string>): string | undefined {
  const key = `${name} ${index}`
  const lambda = entered.has(key) ? undefined : lambdaOf(name)
  const parameter = lambda?.arguments[index]?.value
  if (lambda === undefined || parameter === undefined) return undefined
  const [first] = copiesIn(lambda.body, [parameter], new Set(), lambdaOf, new Set([...entered, key]))
  return first?.to.slice(1 + parameter.length)
}

/** What a list of objects to merge begins with, if another one has names that are computed: it may become large. */
function mergedWith(list: Node, names: readonly string[]): string | undefined {
  if (list.type !== 'unary' || list.value !== '[') return undefined
  const [head, ...more] = list.expressions
  return head && more.some(isComputed) ? memberOf(head, names) : undefined
}

function isComputed(node: Node): boolean {
  return node.type === 'unary' && node.value === '{' && node.lhs.some(([key]) => key.type !== 'string')
}

/** A variable, or a member of one, as it is written; undefined if it is neither. */
function memberOf(node: Node, names: readonly string[]): string | undefined {
  if (isChanged(node)) return undefined
  const [variable, member, ...more] = node.type === 'path' ? node.steps : [node]
  if (variable.type !== 'variable' || !names.includes(variable.value) || isChanged(variable) || more.length > 0) return undefined
  if (member === undefined) return `$${variable.value}`
  return member.type === 'name' && !isChanged(member) ? `$${variable.value}.${member.value}` : undefined
}

/** Whether only a part of the value is taken. */
function isChanged({ predicate, stages, group }: Node): boolean {
  return predicate !== undefined || stages !== undefined || group !== undefined
}
