// Finds the members of a reducer's state that grow from event to event, and the code for them (jsonata/growth.ts).

import type { MappingStep as Step } from '../../schemas/config/types.js'
import type { Node } from '../jsonata/ast.js'
import { type Act, fieldsOf, type Growing, growingIn, sharesOf, TRUSTED } from '../jsonata/growth.js'
import { access, type Js, js } from '../jsonata/js.js'
import { treeOf } from '../read/functions.js'
import type { Module } from './module.js'

/** The members of the state that grow: values are appended in place while nothing else refers to them. */
export function growingMembers(module: Module, steps: Step[]): Growing {
  const growing = new Map<string, boolean>()
  if ([...TRUSTED].some(name => module.has(name))) return growing
  const visit = (step: Step): void => {
    const node = step.set === undefined ? undefined : treeOf(step.set)
    if (node) fieldsOf(growingIn(node, module.readsOf), growing)
    for (const inner of step.steps ?? []) visit(inner)
  }
  for (const step of steps) visit(step)
  return growing
}

/** The actions at the nodes of a `set` expression. */
export function actsIn(module: Module, node: Node, growing: Growing): Map<Node, Act> {
  const acts = actsOf(module, node, growing)
  for (const [call, field] of growingIn(node, module.readsOf)) {
    if (!growing.has(field)) continue
    const [append, merge] = [module.unit.use('growth', 'growState'), module.unit.use('growth', 'growMergedState')]
    acts.set(call, { ...acts.get(call), grow: { append, merge, into: [] } })
  }
  return acts
}

/** The actions at the nodes of an expression that reads the state. */
export function actsOf(module: Module, node: Node, growing: Growing): Map<Node, Act> {
  const shares = sharesOf(node, growing, module.readsOf)
  return new Map([...shares].map(([at, fields]) => [at, { share: fields.map(field => shareOf(module, field)) }]))
}

/** JavaScript that marks a member of the state as shared. */
export function shareOf(module: Module, name: string): Js {
  return js`${module.unit.use('growth', 'share')}(state${access(name)})`
}
