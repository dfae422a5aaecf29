// A loop over the items of a value that puts what it finds for each into a list.

import type { Node } from '../ast.js'
import { branch, type Env, emit, emitLoop, named } from '../context.js'
import { type Js, js } from '../js.js'
import { cannotFail, type Loop, openLoop, putInto, standIn } from '../loops.js'
import { listCode } from '../operands.js'
import { itemOf, type Operand, UNDEF } from '../types.js'
import { type Line, Lines } from '../unit.js'

interface Gathered {
  /** The name of the list. */
  list: Js
  loop: Loop
  /** What is known of what was put into it; it may still be nothing. */
  found: Operand
}

/**
 * A loop over the items of a value that puts what `find` gives for each, as the context, into a list. `node` is what is
 * evaluated there: where the items come from a loop that may run turn by turn with it, it takes place in that one.
 */
export function gather(operand: Operand, node: Node | undefined, env: Env, find: (inner: Env) => Operand): Gathered {
  const list = env.unit.name('found')
  const open = openLoop(operand, node)
  let inner: Env
  let made: Line
  if (open) {
    made = open.made
    inner = standIn(open, js`const ${list} = []`, env)
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
  const loop = putInto(list, inner, { item: { ...found, bits: found.bits & ~UNDEF }, test, made, isSafe })
  return { list, loop, found }
}
