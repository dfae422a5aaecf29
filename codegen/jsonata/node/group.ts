// Grouping, and objects with computed keys.

import type { Node, Pair } from '../ast.js'
import { closure, compile, type Env, rt, value } from '../context.js'
import { type Js, joined, js } from '../js.js'
import { PATHS } from '../runtime.js'
import { ANY, OBJ, type Operand } from '../types.js'

/** Compiles a grouping, or an object with computed keys. */
export function compileGroup(pairs: Pair[], input: Operand, env: Env, bind?: (inner: Env, tuple: Js) => Env): Operand {
  const made = pairs.map(([key, item]) => {
    const functionOf = (wish: string, node: Node): Js => {
      const param = env.unit.name('item')
      const tuple = env.unit.name('tuple')
      return closure(env, wish, bind ? [param, tuple] : [param], inner => {
        const base: Env = { ...inner, ctx: { code: param, bits: ANY, stable: true }, isOutput: false }
        return compile(node, bind ? bind(base, tuple) : base).code
      })
    }
    return js`[${functionOf('key', key)}, ${functionOf('member', item)}]`
  })
  return value(js`${rt(env, PATHS, 'group')}(${input.code}, [${joined(made, ', ')}])`, OBJ)
}
