// Finds loops that scan a list from outside of the loop at each iteration without an index: the cost is the product of both
// lengths. A test holds the list of accepted ones.

import { calledName, children, childrenBehind, type Node, type PathNode, parse, type Stage } from '../../codegen/jsonata/ast.js'
import { searchIn } from '../../codegen/jsonata/search.js'

/** Built-ins that call a function for each item of a list. */
const LOOPS = new Set(['map', 'filter', 'reduce', 'each', 'sift', 'single', 'sort'])
/** Values that do not grow with a request, because they come from files. */
const SMALL = new Set(['ctx', 'tables'])

/** A reducer's expressions run for each event: all their variables belong to the event, except these. */
const OF_EVENT = { has: (name: string): boolean => !['state', 'was', 'carry'].includes(name) }

/** The variables bound inside the innermost loop; undefined outside of loops. */
type Bound = { has(name: string): boolean } | undefined

/** The lists that are scanned in loops, as written; `isRepeated` if the whole expression is evaluated repeatedly. */
export function scansIn(text: string, isRepeated = false): string[] {
  const found: string[] = []
  const note = (list: Node, condition: Node | undefined, item: string | undefined, bound: Bound): void => {
    const [first, ...names] = list.type === 'path' ? list.steps : [list]
    const root = first?.type === 'variable' ? first.value : ''
    if (bound === undefined || root === '' || bound.has(root) || SMALL.has(root) || (condition && isIndexed(condition, item))) return
    found.push(`$${[root, ...names.map(step => ('value' in step ? String(step.value) : step.type))].join('.')}`)
  }
  const visit = (node: Node, bound: Bound): void => {
    if (node.type === 'path') {
      path(node, bound)
      return
    }
    for (const stage of node.predicate ?? []) if (stage.type === 'filter') note(node, stage.expr, undefined, bound)
    const name = calledName(node)
    const [list, lambda, ...more] = node.type === 'function' ? node.arguments : []
    if (name !== undefined && LOOPS.has(name) && list && lambda?.type === 'lambda') {
      const params = lambda.arguments.map(param => param.value)
      if (name === 'filter') note(list, params.length === 1 ? lambda.body : undefined, params[0], bound)
      for (const other of [list, ...more]) visit(other, bound)
      visit(lambda.body, new Set([...params, ...bindsIn(lambda.body)]))
      return
    }
    for (const child of children({ ...node, predicate: [] })) visit(child, bound)
    predicates(node.predicate, bound)
  }
  const predicates = (stages: Stage[] | undefined, bound: Bound): void => {
    for (const stage of stages ?? []) if (stage.type === 'filter' && !isIndex(stage.expr)) visit(stage.expr, bindsIn(stage.expr))
    for (const stage of stages ?? []) if (stage.type === 'filter' && isIndex(stage.expr)) visit(stage.expr, bound)
  }
  const path = (node: PathNode, bound: Bound): void => {
    const { steps } = node
    steps.forEach((step, index) => {
      const stages = [...(step.stages ?? []), ...(step.predicate ?? [])]
      for (const stage of stages)
        if (stage.type === 'filter') note({ type: 'path', steps: [steps[0], ...steps.slice(1, index + 1)] }, stage.expr, undefined, bound)
      predicates(stages, bound)
      if (step.type !== 'name') visit({ ...step, stages: [], predicate: [] }, index === 0 ? bound : bindsIn(step))
    })
    for (const child of childrenBehind(node)) visit(child, bound)
  }
  visit(parse(text), isRepeated ? OF_EVENT : undefined)
  return found
}

/** Whether a predicate selects one item at once, or can use an index. */
function isIndexed(condition: Node, item: string | undefined): boolean {
  if (isIndex(condition)) return true
  const search = searchIn(condition, item)
  return search !== undefined && search.value.type !== 'string'
}

function isIndex(node: Node): boolean {
  if (node.type === 'unary') return node.value === '-'
  if (node.type === 'binary') return node.value === '-' || node.value === '+'
  return node.type === 'number' || node.type === 'variable'
}

function bindsIn(whole: Node): Set<string> {
  const bound = new Set<string>()
  const visit = (node: Node): void => {
    if (node.type === 'bind') bound.add(node.lhs.value)
    if (node.type === 'lambda') for (const param of node.arguments) bound.add(param.value)
    for (const child of children(node)) visit(child)
  }
  visit(whole)
  return bound
}
