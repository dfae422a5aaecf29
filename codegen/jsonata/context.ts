// What every part of the compiler is handed: where it is, what it may see, and where its lines go.

import type { FunctionNode, Node } from './ast.js'
import { both } from './facts.js'
import type { Acts, ReadsOf } from './growth.js'
import { arrow, type Js, joined, js } from './js.js'
import { withNamedParts } from './json-text.js'
import { bindsOf, type Scope, Scope as ScopeClass } from './scope.js'
import { ANY, type Facts, FUN, NOTHING, type Operand, type Result, type Shape } from './types.js'
import { type Line, Lines, type Unit } from './unit.js'

export interface Finding {
  rule: string
  detail: string
  /** Offset in the expression's text. */
  position: number
}

/** A variable that is there from outside: its JavaScript text, or a function that is called by name. */
export interface Global {
  /** It came from JSON: nothing in it is a function or a marked sequence. */
  clean?: boolean
  code: Js
  shape?: Shape
  bits?: number
  /** A function of the module: called directly with so many parameters. */
  arity?: number
  /** What is known of its values; absent: nothing, not even whether they are collapsed. */
  result?: Result
  /** All that is known of it. */
  operand?: Operand
  /** Its own text, where it stays the same for a whole stream. */
  lasting?: Js
}

export interface Options {
  /** Variables from outside, by name. */
  globals?: ReadonlyMap<string, Global>
  /** Any undeclared name is looked up in the bindings at run time; `$eval` and non-deterministic functions are allowed. */
  open?: boolean
  /** The value goes to JSON text only, where a member that is absent and one that is undefined look the same. */
  isSerialised?: boolean
  /** What functions that are called by name may read of what they are given. */
  readsOf?: ReadsOf
  /** What some nodes of the tree do beside what they say. */
  acts?: Acts
}

/** How nodes compile each other, so that the file of one kind of node needs no other's that needs it. */
export interface Compilers {
  /** A node's value: never a sequence of none or of a lone member, unless `[]` asked for it. */
  node(node: Node, env: Env): Operand
  /** A call, whose value may be a raw sequence; `context` is what a built-in takes for a missing argument. */
  call(node: FunctionNode, env: Env, first: Operand | undefined, context: Operand): Operand
}

export interface Env {
  compilers: Compilers
  unit: Unit
  options: Options
  findings: Finding[]
  scope: Scope
  /** The context, `$`: always stable. */
  ctx: Operand
  root: Operand
  out: Lines
  /** No condition or loop between the frame's beginning and here. */
  isStraight: boolean
  /** How many functions deep. */
  level: number
  /** The lambda being compiled whose result may be a tail call. */
  mayTailCall?: boolean
  /** Set when a tail call was compiled. */
  tailCalls?: { found: boolean; isRaw: boolean }
  /** The value goes straight into the output. */
  isOutput?: boolean
  /** The value of the call goes to whoever calls the function around it, and is not collapsed before. */
  isTail?: boolean
  /** Where there is nothing, something else is taken. */
  hasDefault?: boolean
  /** What the conditions around tell. */
  facts?: Facts
  /** What some nodes do beside what they say. */
  acts?: Acts
  position: number
}

/** A node's value: never a sequence of none or of a lone member, unless `[]` asked for it. */
export function compile(node: Node, env: Env): Operand {
  return env.compilers.node(node, env)
}

/** The value of one of some arguments; one that is not there is nothing. */
export function compileAt(nodes: readonly Node[], index: number, env: Env): Operand {
  const node = nodes[index]
  return node ? compile(node, env) : NOTHING
}

/** The name of a run-time function, imported where it is used. */
export function rt(env: Env, module: string, name: string): Js {
  return env.unit.use(module, name)
}

export function report(env: Env, rule: string, detail: string, node: Node): Operand {
  // A call stands where its name does, not where its arguments begin.
  const named = node.type === 'function' ? node.procedure : node
  env.findings.push({
    rule,
    detail,
    position: named.position ?? (named.type === 'path' ? named.steps[0].position : undefined) ?? node.position ?? env.position,
  })
  return NOTHING
}

export function emit(env: Env, text: Js): Line {
  return env.out.add(text, env.position)
}

/** Gives an operand a name, unless it is as good as one already. */
export function named(env: Env, operand: Operand, wish = 't'): Operand {
  if (operand.stable) return operand
  const name = env.unit.name(wish)
  emit(env, js`const ${name} = ${operand.code}`)
  return { ...operand, code: name, stable: true }
}

/** Compiles operands in order, so that what one of them emits comes after the values of those before it. */
export function inOrder(env: Env, makers: (() => Operand)[]): Operand[] {
  const done: Operand[] = []
  const marks: number[] = []
  for (const make of makers) {
    const before = env.out.length
    const operand = make()
    if (env.out.length > before) {
      let shift = 0
      for (let index = 0; index < done.length; index++) {
        const earlier = done[index] as Operand
        if (earlier.stable) continue
        const insert = (part: Operand): Operand => {
          const name = env.unit.name('t')
          env.out.insert((marks[index] as number) + shift, js`const ${name} = ${part.code}`, env.position)
          shift++
          return { ...part, code: name, stable: true }
        }
        done[index] = withNamedParts(earlier, insert) ?? insert(earlier)
      }
    }
    done.push(operand)
    marks.push(env.out.length)
  }
  return done
}

/**
 * Emits a loop over a list of which `body` is done for each item, under the name `item`; gives the names of the list and of
 * the place in it. By places: what an iterator gives is an object for each item, which engines do not always spare.
 */
export function emitLoop(out: Lines, list: Js, item: Js, body: Lines, unit: Unit, position?: number): { items: Js; index: Js } {
  // A name of its own: what a variable stands for may be changed by the body.
  const items = unit.name('items')
  out.add(js`const ${items} = ${list}`, position)
  const index = unit.name('i')
  out.add(js`for (let ${index} = 0; ${index} < ${items}.length; ${index}++) {`, position)
  body.insert(0, js`const ${item} = ${items}[${index}]`, position)
  out.entries.push(body)
  out.add(js`}`, position)
  return { items, index }
}

/** An environment for lines of their own, inside a condition or a loop. */
export function branch(env: Env, out: Lines, changes: Partial<Env> = {}): Env {
  return { ...env, out, isStraight: false, ...changes }
}

/** An environment where more is known. */
export function knowing(env: Env, facts: Facts | undefined): Env {
  const known = both(env.facts, facts)
  return known === undefined ? env : { ...env, facts: known }
}

/** A new frame of variables in the same JavaScript function. */
export function frame(env: Env, nodes: Node[]): Env {
  const binds = bindsOf(nodes)
  const scope = new ScopeClass(env.scope, binds, binds.size > 0 ? env.out.declarations() : undefined, env.level)
  return { ...env, scope, isStraight: true }
}

/** Emits a JavaScript function as a constant; `build` compiles its body and gives what it returns. */
export function closure(env: Env, wish: string, params: Js[], build: (inner: Env) => Js): Js {
  const out = new Lines()
  const inner: Env = { ...env, out, level: env.level + 1, isStraight: false }
  delete inner.mayTailCall
  delete inner.tailCalls
  const result = build(inner)
  const name = env.unit.name(wish)
  if (out.isEmpty()) {
    emit(env, js`const ${name} = ${arrow(params, result)}`)
  } else {
    emit(env, js`const ${name} = (${joined(params, ', ')}) => {`)
    out.add(js`return ${result}`, env.position)
    env.out.entries.push(out)
    emit(env, js`}`)
  }
  return name
}

/** A value made of some others by operators of JavaScript alone. */
export function operation(code: Js, of: readonly Operand[], bits: number, more: Partial<Operand> = {}): Operand {
  return value(code, bits, { ...more, made: { code, of } })
}

export function value(code: Js, bits = ANY, more: Partial<Operand> = {}): Operand {
  return { code, bits: more.clean ? bits & ~FUN : bits, stable: false, ...more }
}
