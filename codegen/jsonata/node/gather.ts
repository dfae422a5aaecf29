// A loop over the items of a value that collects its results in a list.

import type { Node } from '../ast.js'
import { branch, type Env, emit, emitLoop, named } from '../context.js'
import { type Js, js } from '../js.js'
import { cannotFail, endLoop, fusedEnv, type Loop, openLoop } from '../loops.js'
import { listCode } from '../operands.js'
import { itemOf, type Operand, UNDEF } from '../types.js'
import { type Line, Lines } from '../unit.js'

interface Gathered {
  /** The name of the list. */
  list: Js
  loop: Loop
  /** The facts about the collected items; an item may still be undefined. */
  found: Operand
}

/**
 * A loop over the items of a value that collects the result of `find` for each, with the item as context. `node` is the
 * expression that is evaluated there: if the items come from a loop that it may be fused with, it runs in that loop.
 */
export function gather(operand: Operand, node: Node | undefined, env: Env, find: (inner: Env) => Operand): Gathered {
  const list = env.unit.name('found')
  const open = openLoop(operand, node)
  let inner: Env
  let made: Line
  if (open) {
    made = open.made
    inner = fusedEnv(open, js`const ${list} = []`, env)
    inner.ctx = named(inner, open.item, 'item')
  } else {
    const ctx = itemOf(operand, env.unit.name('item'))
    made = emit(env, js`const ${list} = []`)
    inner = branch(env, new Lines(), { ctx })
    emitLoop(env.out, listCode(operand, env.unit), ctx.code, inner.out, env.unit, env.position)
  }
  let found = find(inner)
  const mayMiss = (found.bits & UNDEF) !== 0
  if (mayMiss) found = named(inner, found)
  const test = mayMiss ? js`${found.code} !== undefined` : undefined
  const isSafe = (open?.isSafe ?? true) && (node === undefined || cannotFail(node))
  const loop = endLoop(list, inner, { item: { ...found, bits: found.bits & ~UNDEF }, test, made, isSafe })
  return { list, loop, found }
}
