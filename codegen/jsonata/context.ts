// The environment of every part of the compiler: its position, the variables in scope, and the target of its lines.

import type { FunctionNode, Node } from './ast.js'
import type { LambdaOf } from './copies.js'
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

/** A variable from outside: its JavaScript text, or a function that is called by name. */
export interface Global {
  /** It came from JSON: it contains no function and no marked sequence. */
  clean?: boolean
  code: Js
  shape?: Shape
  bits?: number
  /** A function of the module: called directly with this many parameters. */
  arity?: number
  /** The facts about its values; undefined: nothing, not even whether they are collapsed. */
  result?: Result
  /** All known facts about it. */
  operand?: Operand
  /** Its own text, if its value lasts for a whole stream. */
  lasting?: Js
}

export interface Options {
  /** Variables from outside, by name. */
  globals?: ReadonlyMap<string, Global>
  /** Any undeclared name is looked up in the bindings at run time; `$eval` and non-deterministic functions are allowed. */
  open?: boolean
  /** The value is only serialised to JSON, where an absent member equals an undefined one. */
  isSerialised?: boolean
  /** The value is written out directly, and so need not be collapsed. Default: true. */
  isOutput?: boolean
  /** The members that called functions may read of their arguments. */
  readsOf?: ReadsOf
  /** The functions that expressions call by name. */
  lambdaOf?: LambdaOf
  /** Additional actions at some nodes of the tree. */
  acts?: Acts
}

/** The functions through which nodes compile each other, so that their files need not import each other. */
interface Compilers {
  /** A node's value: never an empty sequence or one with a single member, unless `[]` asked for it. */
  node(node: Node, env: Env): Operand
  /** A call, whose value may be a raw sequence; `context` replaces a missing argument of a built-in. */
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
  /** There is no condition or loop between the beginning of the frame and here. */
  isStraight: boolean
  /** The nesting depth of functions. */
  level: number
  /** Set inside a lambda whose result may be a tail call. */
  mayTailCall?: boolean
  /** Marked when a tail call was compiled. */
  tailCalls?: { found: boolean; isRaw: boolean }
  /** The value is written out directly. */
  isOutput?: boolean
  /** The call's value is returned to the caller of the surrounding function, uncollapsed. */
  isTail?: boolean
  /** An undefined value has a replacement. */
  hasDefault?: boolean
  /** The facts from the surrounding conditions. */
  facts?: Facts
  /** Additional actions at some nodes. */
  acts?: Acts
  position: number
}

/** A node's value: never an empty sequence or one with a single member, unless `[]` asked for it. */
export function compile(node: Node, env: Env): Operand {
  return env.compilers.node(node, env)
}

/** The value of an argument by index; a missing argument is undefined. */
export function compileAt(nodes: readonly Node[], index: number, env: Env): Operand {
  const node = nodes[index]
  return node ? compile(node, env) : NOTHING
}

/** The local name of a run-time function, imported where it is used. */
export function rt(env: Env, module: string, name: string): Js {
  return env.unit.use(module, name)
}

export function report(env: Env, rule: string, detail: string, node: Node): Operand {
  // A call's position is that of its name, not of its arguments.
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

/** Binds an operand to a name, unless it is already as cheap as one. */
export function named(env: Env, operand: Operand, wish = 't'): Operand {
  if (operand.stable) return operand
  const name = env.unit.name(wish)
  emit(env, js`const ${name} = ${operand.code}`)
  return { ...operand, code: name, stable: true }
}

type Maker = () => Operand

/** Compiles operands in order, so that lines of a later one come after the values of the earlier ones. */
export function inOrder(env: Env, makers: readonly [Maker, Maker]): [Operand, Operand]
export function inOrder(env: Env, makers: readonly [Maker, ...Maker[]]): [Operand, ...Operand[]]
export function inOrder(env: Env, makers: readonly Maker[]): Operand[]
export function inOrder(env: Env, makers: readonly Maker[]): Operand[] {
  /** Each operand, and how many lines there were when it was compiled. */
  const done: { operand: Operand; lines: number }[] = []
  for (const make of makers) {
    const before = env.out.length
    const operand = make()
    if (env.out.length > before) {
      let shift = 0
      for (const earlier of done) {
        if (earlier.operand.stable) continue
        const insert = (part: Operand): Operand => {
          const name = env.unit.name('t')
          env.out.insert(earlier.lines + shift, js`const ${name} = ${part.code}`, env.position)
          shift++
          return { ...part, code: name, stable: true }
        }
        earlier.operand = withNamedParts(earlier.operand, insert) ?? insert(earlier.operand)
      }
    }
    done.push({ operand, lines: env.out.length })
  }
  return done.map(({ operand }) => operand)
}

/**
 * Emits a loop over a list with `body` for each item, which is bound to `item`; returns the names of the list and of the
 * index. It counts the index, because an iterator may allocate an object for each item.
 */
export function emitLoop(out: Lines, list: Js, item: Js, body: Lines, unit: Unit, position?: number): { items: Js; index: Js } {
  // A new name, because the body may reassign the variable.
  const items = unit.name('items')
  out.add(js`const ${items} = ${list}`, position)
  const index = unit.name('i')
  out.add(js`for (let ${index} = 0; ${index} < ${items}.length; ${index}++) {`, position)
  body.insert(0, js`const ${item} = ${items}[${index}]`, position)
  out.entries.push(body)
  out.add(js`}`, position)
  return { items, index }
}

/** An environment with its own lines, inside a condition or a loop. */
export function branch(env: Env, out: Lines, changes: Partial<Env> = {}): Env {
  return { ...env, out, isStraight: false, ...changes }
}

/** An environment with additional facts. */
export function envWithFacts(env: Env, facts: Facts | undefined): Env {
  const known = both(env.facts, facts)
  return known === undefined ? env : { ...env, facts: known }
}

/** A new frame of variables in the same JavaScript function. */
export function frame(env: Env, nodes: Node[]): Env {
  const binds = bindsOf(nodes)
  const scope = new ScopeClass(env.scope, binds, binds.size > 0 ? env.out.declarations() : undefined, env.level)
  return { ...env, scope, isStraight: true }
}

/** Emits a JavaScript function as a constant; `build` compiles its body and returns its result. */
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

/** A value computed from others by JavaScript operators alone. */
export function operation(code: Js, of: readonly Operand[], bits: number, more: Partial<Operand> = {}): Operand {
  return value(code, bits, { ...more, made: { code, of } })
}

export function value(code: Js, bits = ANY, more: Partial<Operand> = {}): Operand {
  return { code, bits: more.clean ? bits & ~FUN : bits, stable: false, ...more }
}
