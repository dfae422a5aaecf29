// The variables that a stream of tuples carries (`@`, `#`, `%`).

import type { Node } from '../ast.js'
import type { Env } from '../context.js'
import { access, type Js, js, json } from '../js.js'
import { Scope } from '../scope.js'

/** The names that a tuple stream carries after a node. */
export function carried(node: Node, into = new Set<string>()): Set<string> {
  for (const step of node.type === 'path' ? node.steps : [node]) {
    if (step.focus) into.add(step.focus)
    if (step.index) into.add(step.index)
    if (step.ancestor) into.add(step.ancestor.label)
    for (const stage of step.stages ?? []) if (stage.type === 'index') into.add(stage.value)
    if (step.tuple && step.type === 'path') carried(step, into)
    if (step.tuple && step.type === 'block') {
      const last = step.expressions.at(-1)
      if (last) carried(last, into)
    }
  }
  return into
}

/** A frame with the variables of a tuple. */
export function withTuple(names: ReadonlySet<string>): (inner: Env, tuple: Js) => Env {
  return (inner, tuple) => {
    const scope = new Scope(inner.scope, new Map(), undefined, inner.level)
    for (const name of names) {
      const outer = outerValue(name, inner)
      const code = outer === undefined ? js`${tuple}${access(name)}` : js`(${json(name)} in ${tuple} ? ${tuple}${access(name)} : ${outer})`
      scope.variables.set(name, { js: code, isAssigned: true, isConstant: false })
    }
    return { ...inner, scope }
  }
}

function outerValue(name: string, env: Env): Js | undefined {
  const found = env.scope.find(name)
  if (found) return found.variable.js
  return env.options.open ? js`bindings[${json(name)}]` : undefined
}
