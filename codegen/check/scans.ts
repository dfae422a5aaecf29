// Where an expression goes through a list from outside of a loop at each turn of the loop, and no index answers instead:
// that costs the product of both. What is found is for somebody to look at; a test holds the list of what has been.

import { children, type Node, parse } from '../jsonata/ast.js'
import { searchIn } from '../jsonata/search.js'

/** Built-ins that call a function for each item of a list. */
const LOOPS = new Set(['map', 'filter', 'reduce', 'each', 'sift', 'single', 'sort'])
/** What does not grow with a request: it is written in files. */
const SMALL = new Set(['ctx', 'tables'])

/** A reducer's expressions are evaluated for each event: all that they see is the event's, but for this. */
const OF_EVENT = { has: (name: string): boolean => !['state', 'was', 'carry'].includes(name) }

/** What is bound inside of the innermost loop; nothing outside of loops. */
type Bound = { has(name: string): boolean } | undefined

/** The lists that are gone through in loops, as they are written; `isRepeated` where the whole expression is evaluated again and again. */
export function scansIn(text: string, isRepeated = false): string[] {
  const found: string[] = []
  const note = (list: Node, condition: Node | undefined, item: string | undefined, bound: Bound): void => {
    const [first, ...names] = list.type === 'path' ? (list.steps as [Node, ...Node[]]) : [list]
    const root = first?.type === 'variable' ? String(first.value) : ''
    if (bound === undefined || root === '' || bound.has(root) || SMALL.has(root) || (condition && isIndexed(condition, item))) return
    found.push(`$${[root, ...names.map(({ value }) => String(value))].join('.')}`)
  }
  const visit = (node: Node, bound: Bound): void => {
    if (node.type === 'path') {
      path(node, bound)
      return
    }
    for (const stage of node.predicate ?? []) if (stage.type === 'filter') note(node, stage.expr, undefined, bound)
    const name = node.type === 'function' && node.procedure?.type === 'variable' ? String(node.procedure.value) : undefined
    const [list, lambda, ...more] = node.arguments ?? []
    if (name !== undefined && LOOPS.has(name) && list && lambda?.type === 'lambda') {
      const params = (lambda.arguments ?? []).map(param => String(param.value))
      if (name === 'filter') note(list, params.length === 1 ? (lambda.body as Node) : undefined, params[0], bound)
      for (const other of [list, ...more]) visit(other, bound)
      visit(lambda.body as Node, new Set([...params, ...bindsIn(lambda.body as Node)]))
      return
    }
    for (const child of children({ ...node, predicate: [] } as unknown as Node)) visit(child, bound)
    predicates(node.predicate, bound)
  }
  const predicates = (stages: Node['predicate'], bound: Bound): void => {
    for (const stage of stages ?? []) if (stage.type === 'filter' && !isPlace(stage.expr)) visit(stage.expr, bindsIn(stage.expr))
    for (const stage of stages ?? []) if (stage.type === 'filter' && isPlace(stage.expr)) visit(stage.expr, bound)
  }
  const path = (node: Node, bound: Bound): void => {
    const steps = node.steps as Node[]
    steps.forEach((step, index) => {
      const stages = [...(step.stages ?? []), ...(step.predicate ?? [])]
      for (const stage of stages)
        if (stage.type === 'filter') note({ type: 'path', steps: steps.slice(0, index + 1) }, stage.expr, undefined, bound)
      predicates(stages, bound)
      if (step.type !== 'name') visit({ ...step, stages: [], predicate: [] }, index === 0 ? bound : bindsIn(step))
    })
    for (const child of children({ ...node, steps: [] })) visit(child, bound)
  }
  visit(parse(text), isRepeated ? OF_EVENT : undefined)
  return found
}

/** What gives one item at once, or a part that an index knows. */
function isIndexed(condition: Node, item: string | undefined): boolean {
  if (isPlace(condition)) return true
  const search = searchIn(condition, item)
  return search !== undefined && search.value.type !== 'string'
}

function isPlace({ type, value }: Node): boolean {
  return (
    type === 'number' ||
    type === 'variable' ||
    (type === 'unary' && value === '-') ||
    (type === 'binary' && (value === '-' || value === '+'))
  )
}

function bindsIn(whole: Node): Set<string> {
  const bound = new Set<string>()
  const visit = (node: Node): void => {
    if (node.type === 'bind') bound.add(String((node.lhs as Node).value))
    if (node.type === 'lambda') for (const param of node.arguments ?? []) bound.add(String(param.value))
    for (const child of children(node)) visit(child)
  }
  visit(whole)
  return bound
}
