// Literals, and the steps `*` and `**`.

import type { NameNode, NumberNode, RegexNode, SignNode, StringNode, ValueNode } from '../ast.js'
import { type Env, rt, value } from '../context.js'
import { js, json } from '../js.js'
import { FUNCTIONS, PATHS } from '../runtime.js'
import { ANY, FUN, literal, type Operand } from '../types.js'

export function compileLiteral(node: StringNode | NumberNode | ValueNode): Operand {
  return literal(node.value)
}

export function compileRegex(node: RegexNode, env: Env): Operand {
  const { source, flags } = node.value
  const make = rt(env, FUNCTIONS, 'regex')
  const name = env.unit.constant('pattern', js`${make}(${json(source)}, ${json(flags)})`)
  return { code: name, bits: FUN, stable: true }
}

export function compileName(node: NameNode, env: Env): Operand {
  return value(js`${rt(env, FUNCTIONS, 'lookup')}(${env.ctx.code}, ${json(node.value)})`, ANY, { raw: true })
}

/** `*`: the members of the context. */
export function compileWildcard(_: SignNode, env: Env): Operand {
  return value(js`${rt(env, PATHS, 'wildcard')}(${env.ctx.code})`, ANY, { raw: true })
}

/** `**`: all descendants of the context. */
export function compileDescendants(_: SignNode, env: Env): Operand {
  return value(js`${rt(env, PATHS, 'descendants')}(${env.ctx.code})`, ANY, { raw: true })
}
