// `a ? b : c`, and the parser's form of `a ?? b` and `a ?: b`.

import { type ConditionNode, calledName, type Node, some, withoutThunk } from '../ast.js'
import { compile, type Env, envWithFacts, named, operation } from '../context.js'
import { whereTrue } from '../facts.js'
import { js } from '../js.js'
import { choose, truthOf } from '../operands.js'
import { BOOL, isLiteral, NOTHING, NULL, type Operand, UNDEF } from '../types.js'

export function compileCondition(node: ConditionNode, env: Env, arm: (node: Node, env: Env) => Operand): Operand {
  const orElse = node.else
  const kept = sameValue(node)
  if (kept) {
    const operand = compile(kept.value, { ...env, isOutput: false, hasDefault: true })
    if (kept.test === 'exists' && (operand.bits & UNDEF) === 0) return operand
    const subject = named(env, operand)
    const test = kept.test === 'exists' ? operation(js`${subject.code} !== undefined`, [subject], BOOL) : truthOf(subject, env.unit)
    const left = { ...subject, bits: subject.bits & ~(kept.test === 'exists' ? UNDEF : UNDEF | NULL) }
    return choose(
      env,
      test,
      () => left,
      inner => (orElse ? arm(orElse, inner) : NOTHING),
    )
  }
  const asked = compile(node.condition, { ...env, isOutput: false })
  if (isLiteral(asked)) return asked.literal ? arm(node.then, env) : orElse ? arm(orElse, env) : NOTHING
  const test = truthOf(asked, env.unit)
  return choose(
    env,
    test,
    inner => arm(node.then, envWithFacts(inner, whereTrue(asked))),
    inner => (orElse ? arm(orElse, envWithFacts(inner, asked.whereFalse)) : NOTHING),
  )
}

/** The parser repeats `a` in `a ?? b` and `a ?: b`, like an author of `a ? a : b`; it is evaluated once. */
function sameValue(node: ConditionNode): { value: Node; test: 'exists' | 'truth' } | undefined {
  const condition = node.condition
  const then = withoutThunk(node.then)
  // The parser copies through JSON text, which turns a regex into `{}`: the original is the one to compile.
  const isSame = (left: Node): boolean => JSON.stringify(left) === JSON.stringify(then) || isSameRead(left, then)
  if (condition.type === 'function' && calledName(condition) === 'exists' && condition.procedure.position === undefined) {
    const subject = condition.arguments[0]
    return subject && isSame(subject) ? { value: then, test: 'exists' } : undefined
  }
  return condition.type !== 'value' && isSame(condition) ? { value: then, test: 'truth' } : undefined
}

/** Whether two nodes are the same expression without calls, which could return another value each time. */
function isSameRead(left: Node, right: Node): boolean {
  const isRead = (node: Node): boolean => node.type === 'path' || node.type === 'variable'
  const text = (node: Node): string => JSON.stringify(node, (key, part) => (key === 'position' ? undefined : part))
  return isRead(left) && isRead(right) && text(left) === text(right) && !some(right, node => !READS.has(node.type))
}

const READS = new Set(['path', 'variable', 'name', 'string', 'number', 'value', 'binary'])
