// Grouping, and objects with computed keys.

import type { Pair } from '../ast.js'
import { type Env, rt, value } from '../context.js'
import { type Js, joined, js } from '../js.js'
import { PATHS } from '../runtime.js'
import { OBJ, type Operand } from '../types.js'
import { itemFunction } from './predicate.js'

/** Compiles a grouping, or an object with computed keys. */
export function compileGroup(pairs: Pair[], input: Operand, env: Env, bind?: (inner: Env, tuple: Js) => Env): Operand {
  const made = pairs.map(([key, item]) => js`[${itemFunction(env, 'key', key, bind)}, ${itemFunction(env, 'member', item, bind)}]`)
  return value(js`${rt(env, PATHS, 'group')}(${input.code}, [${joined(made, ', ')}])`, OBJ)
}
