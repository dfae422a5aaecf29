// `| pattern | update, delete |`.

import type { Node, TransformNode } from '../ast.js'
import { closure, compile, type Env, rt, value } from '../context.js'
import { type Js, js } from '../js.js'
import { CALLS, SIGNATURE } from '../runtime.js'
import { ANY, FUN, type Operand } from '../types.js'

export function compileTransform(node: TransformNode, env: Env): Operand {
  const part = (wish: string, child: Node): Js => {
    const item = env.unit.name('match')
    return closure(
      env,
      wish,
      [item],
      inner => compile(child, { ...inner, ctx: { code: item, bits: ANY, stable: true }, isOutput: false }).code,
    )
  }
  const pattern = part('pattern_of', node.pattern)
  const update = part('update', node.update)
  const remove = node.delete ? part('remove', node.delete) : js`undefined`
  const validate = env.unit.constant('arguments_of', js`${rt(env, SIGNATURE, 'signature')}("<(oa):o>")`)
  return value(js`${rt(env, CALLS, 'signed')}(${validate}, ${rt(env, CALLS, 'transform')}(${pattern}, ${update}, ${remove}))`, FUN)
}
