// Calls, lambdas, partial application. A built-in that is named is called directly, with its signature checked here
// where types allow; the higher-order ones with a literal lambda become loops.

import { builtins } from '../../engine/jsonata/signature.js'
import type { Node } from './ast.js'
import { BUILTIN_NAMES, CALLS, compile, compileBlock, compileCondition, FUNCTIONS, GROWTH, PATHS, rt, SIGNATURE, truth } from './compile.js'
import { branch, closure, type Env, emit, emitLoop, inOrder, named, report, value } from './context.js'
import { factOf, factsIn, told, whereTrue } from './facts.js'
import { type Act, type Growths, growthsOf, TRUSTED } from './growth.js'
import { cannotFail, loopOf, noteLoop, openLoop, putInto, standIn } from './loops.js'
import { listCode } from './path.js'
import { bindsOf, Scope, type Variable } from './scope.js'
import { searched } from './search.js'
import {
  ANY,
  ARR,
  BOOL,
  eachOf,
  type Facts,
  FUN,
  itemOf,
  listShape,
  literal,
  NOTHING,
  NULL,
  NUM,
  OBJ,
  type Operand,
  type Result,
  resultOf,
  type Shape,
  STR,
  UNDEF,
} from './types.js'
import { type Line, Lines } from './unit.js'

/** Functions beside JSONata's own: by the name of the run-time module and its export. */
const EXTENSIONS: Readonly<Record<string, { export: string; arity: number; bits: number }>> = {
  parse_json: { export: 'parseJson', arity: 1, bits: ANY & ~FUN },
  to_json: { export: 'toJson', arity: 1, bits: STR | UNDEF },
  json_scan: { export: 'jsonScan', arity: 2, bits: NUM },
}

/** Built-ins whose results are sequences that are still to be collapsed. */
const COLLAPSING = new Set([
  'map',
  'filter',
  'keys',
  'lookup',
  'spread',
  'each',
  'match',
  'append',
  'distinct',
  'reverse',
  'reduce',
  'single',
  'sort',
  'shuffle',
])

/** What the results of built-ins may be. */
const RESULTS: Readonly<Record<string, number>> = {
  count: NUM,
  exists: BOOL,
  not: BOOL | UNDEF,
  boolean: BOOL | UNDEF,
  type: STR | UNDEF,
  string: STR | UNDEF,
  length: NUM | UNDEF,
  join: STR | UNDEF,
  substring: STR | UNDEF,
  substringBefore: STR | UNDEF,
  substringAfter: STR | UNDEF,
  lowercase: STR | UNDEF,
  uppercase: STR | UNDEF,
  trim: STR | UNDEF,
  pad: STR | UNDEF,
  replace: STR | UNDEF,
  contains: BOOL | UNDEF,
  split: ARR | UNDEF,
  number: NUM | UNDEF,
  sum: NUM | UNDEF,
  floor: NUM | UNDEF,
  ceil: NUM | UNDEF,
  round: NUM | UNDEF,
  abs: NUM | UNDEF,
  max: NUM | UNDEF,
  min: NUM | UNDEF,
  base64encode: STR | UNDEF,
  base64decode: STR | UNDEF,
  merge: OBJ | UNDEF,
  sift: OBJ | UNDEF,
  zip: ARR,
}

const CHANCE = new Set(['now', 'millis', 'random', 'shuffle'])

// Calls ----------------------------------------------------------------------------------------------------------

/** A call; `first` is the argument that `~>` puts before the others. */
export function compileCall(node: Node, env: Env, first: Operand | undefined): Operand {
  return callOf(node, env, first, env.ctx)
}

function callOf(node: Node, env: Env, first: Operand | undefined, context: Operand): Operand {
  const procedure = node.procedure as Node
  const args = node.arguments ?? []
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const { grow } = env.acts?.get(node) ?? {}
  if (grow) return grown(node, grow, quiet)
  if (procedure.type === 'variable' && !procedure.predicate && !procedure.group) {
    const name = String(procedure.value)
    const variable = findVariable(name, env)
    if (variable === undefined) {
      const global = env.options.globals?.get(name)
      if (global?.arity !== undefined) {
        const operands = argumentsOf(args, quiet, first)
        checkTable(operands, node, env)
        while (operands.length < global.arity) operands.push(NOTHING)
        return called(
          `${global.code}(${operands
            .slice(0, global.arity)
            .map(operand => operand.code)
            .join(', ')})`,
          global.result ?? { bits: ANY & ~FUN, raw: true },
        )
      }
      if (global === undefined) {
        const known = namedCall(name, node, env, first, context)
        if (known) return known
      }
    } else if (variable.lambda && variable.isConstant && !variable.lambda.mayTailCall && !variable.lambda.takesContext) {
      const operands = argumentsOf(args, quiet, first)
      while (operands.length < variable.lambda.arity) operands.push(NOTHING)
      const code = `${variable.js}(${operands
        .slice(0, variable.lambda.arity)
        .map(operand => operand.code)
        .join(', ')})`
      return called(code, variable.lambda.result ?? { bits: ANY, raw: true })
    }
  }
  if (procedure.type === 'path' && procedure.steps?.length === 1 && procedure.steps[0]?.type === 'name') {
    const name = String(procedure.steps[0].value)
    if (BUILTIN_NAMES.has(name) || env.scope.find(name)) {
      if (!env.options.open) return report(env, 'jsonata/call', `${name}(…) is no call: write $${name}(…)`, node)
    }
  }
  const operands = inOrder(quiet, [
    () => compile(procedure, quiet),
    ...(first ? [() => first] : []),
    ...args.map(arg => () => compile(arg, quiet)),
  ])
  const [callee, ...given] = operands as [Operand, ...Operand[]]
  const list = `[${given.map(operand => operand.code).join(', ')}]`
  if (procedure.type === 'path' && procedure.steps?.[0]?.type === 'name') {
    const name = String(procedure.steps[0].value)
    if (BUILTIN_NAMES.has(name) || env.scope.find(name))
      return value(`${rt(env, CALLS, 'callForgotten')}(${callee.code}, ${list}, ${context.code})`, ANY, { raw: true })
  }
  return value(`${rt(env, CALLS, 'call')}(${callee.code}, ${list}, ${context.code})`, ANY, { raw: true })
}

/** A call of a function of whose values this is known. */
function called(code: string, { bits, ...known }: Result): Operand {
  return value(code, bits, known)
}

function findVariable(name: string, env: Env): Variable | undefined {
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    const variable = scope.variables.get(name)
    if (variable) return variable
    if (scope.binds.has(name) && scope.level < env.level) return { js: '', isAssigned: false, isConstant: false }
  }
  return undefined
}

function argumentsOf(nodes: Node[], env: Env, first: Operand | undefined): Operand[] {
  return inOrder(env, [...(first ? [() => first] : []), ...nodes.map(node => () => compile(node, env))])
}

function namedCall(name: string, node: Node, env: Env, first: Operand | undefined, context: Operand): Operand | undefined {
  const args = node.arguments ?? []
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const extension = EXTENSIONS[name]
  if (extension && Object.hasOwn(EXTENSIONS, name) && !env.options.open) {
    const operands = argumentsOf(args, quiet, first)
    while (operands.length < extension.arity) operands.push(NOTHING)
    return value(`${rt(env, 'json', extension.export)}(${operands.map(operand => operand.code).join(', ')})`, extension.bits, {
      clean: name === 'parse_json',
    })
  }
  if (name === 'eval' && env.options.open) {
    const operands = argumentsOf(args, quiet, first)
    return value(
      `evaluate(${operands[0]?.code ?? 'undefined'}, ${operands[1]?.code ?? 'undefined'}, ${context.code}, ${visible(env)})`,
      ANY,
      { raw: true },
    )
  }
  if (!Object.hasOwn(builtins, name)) return undefined
  if (!env.options.open) {
    if (CHANCE.has(name))
      return report(env, 'jsonata/chance', `$${name} is not deterministic; what an exchange needs of time and chance is in $ctx`, node)
  }
  const shortcut = inlined(name, args, env, first)
  if (shortcut) return shortcut
  const operands = argumentsOf(args, quiet, first)
  checkTable(operands, node, env)
  return builtinCall(name, operands, env, context)
}

/** The row of a table for all values that have none. */
const OTHERS = '_'

/**
 * A constant table that is handed over together with one of so many words has a row for each of these: a word that comes
 * to the schema later would give nothing, and nobody would know.
 */
function checkTable([table, key]: Operand[], node: Node, env: Env): void {
  const { values, bits } = key?.shape ?? {}
  const members = table?.shape?.closed && table.bits === OBJ ? table.shape.members : undefined
  if (env.hasDefault || members === undefined || members.has(OTHERS) || values === undefined) return
  if (((bits as number) & ~(STR | NULL | UNDEF)) !== 0) return
  const missing = values.filter(word => !members.has(word))
  if (missing.length > 0) report(env, 'jsonata/table', `the table has no row for ${missing.join(', ')}`, node)
}

function visible(env: Env): string {
  const seen = new Map<string, string>()
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    for (const [name, variable] of scope.variables) if (!seen.has(name)) seen.set(name, variable.js)
  }
  return `{ ...bindings, ${[...seen].map(([name, js]) => `${JSON.stringify(name)}: ${js}`).join(', ')} }`
}

/** Kinds that satisfy a letter of a signature without a check. */
const LETTERS: Readonly<Record<string, number>> = { s: STR, n: NUM, b: BOOL, l: NULL, o: OBJ, a: ANY, f: FUN, j: ANY & ~FUN, x: ANY }
const GUARDS: Readonly<Record<string, (name: string) => string>> = {
  s: name => `typeof ${name} === 'string'`,
  n: name => `typeof ${name} === 'number'`,
  b: name => `typeof ${name} === 'boolean'`,
  o: name => `(typeof ${name} === 'object' && ${name} !== null && !isArray(${name}))`,
  f: name => `typeof ${name} === 'function'`,
}

/** The tests of lists whose members are all of one kind. */
const LISTS: Readonly<Record<string, string | undefined>> = { s: 'areStrings', n: 'areAllNumbers', o: 'areObjects' }

interface Parameter {
  letters: string
  optional: boolean
  contextual: boolean
  isArray: boolean
  subtype: string | undefined
  repeats: boolean
}

const parameters = new Map<string, Parameter[]>()

function parametersOf(name: string): Parameter[] {
  let found = parameters.get(name)
  if (found) return found
  found = []
  // What is between the first bracket and the type of the result, or the last bracket where there is none.
  const text = /^<(.*?)(?::[^:]*)?>$/.exec((builtins[name] as { signature: string }).signature)?.[1] ?? ''
  const pattern = /(\(([a-z]+)\)|([a-z]))(<[^>]*>)?([-?+]*)/g
  for (const part of text.matchAll(pattern)) {
    const letters = part[2] ?? (part[3] as string)
    const marks = part[5] ?? ''
    found.push({
      letters,
      optional: marks.includes('?'),
      contextual: marks.includes('-'),
      isArray: letters === 'a',
      subtype: part[4]?.slice(1, -1),
      repeats: marks.includes('+'),
    })
  }
  parameters.set(name, found)
  return found
}

function builtinCall(name: string, given: Operand[], env: Env, context: Operand): Operand {
  const entry = builtins[name] as { module?: string }
  const module = moduleOf(entry.module)
  const params = parametersOf(name)
  const known = { raw: COLLAPSING.has(name), nested: name === 'map' || name === 'each' }
  const bits = RESULTS[name] ?? ANY
  const isSimple =
    !params.some(param => param.repeats) &&
    given.length <= params.length &&
    params.every((param, index) => index < given.length || (param.optional && !param.contextual))
  if (isSimple) {
    const direct: string[] = []
    const checks: string[] = []
    let canBeDirect = true
    given.forEach((operand, index) => {
      const param = params[index] as Parameter
      if (param.isArray) {
        if (param.subtype === undefined) {
          direct.push((operand.bits & ~(ARR | UNDEF)) === 0 ? operand.code : `${rt(env, PATHS, 'arrayOf')}(${operand.code})`)
          return
        }
        const each = eachOf(operand)
        const isKnown = each !== undefined && (each.shape.bits & ~(LETTERS[param.subtype] ?? 0)) === 0
        const list = operand.stable ? undefined : each?.list
        if (isKnown && list !== undefined) direct.push(`${rt(env, PATHS, 'someOf')}(${list})`)
        else if ((operand.bits & ~(ARR | UNDEF)) === 0) direct.push(operand.code)
        else direct.push(`${rt(env, PATHS, 'arrayOf')}(${operand.code})`)
        if (isKnown) return
        if (LISTS[param.subtype] === undefined) canBeDirect = false
        else checks.push(String(index))
        return
      }
      // Among others in a union, an array is only that: nothing is wrapped.
      const kindOf = (letter: string): number => (letter === 'a' ? ARR : (LETTERS[letter] ?? 0))
      const allowed = [...param.letters].reduce((sum, letter) => sum | kindOf(letter), 0) | (param.letters === 'f' ? 0 : UNDEF)
      direct.push(operand.code)
      if ((operand.bits & ~allowed) !== 0) {
        const guard = param.letters.length === 1 ? GUARDS[param.letters] : undefined
        if (guard === undefined) canBeDirect = false
        else checks.push(String(index))
      }
    })
    if (canBeDirect && checks.length === 0) {
      return value(`${rt(env, module, name)}(${direct.join(', ')})`, tighten(name, bits, given), known)
    }
    if (canBeDirect) {
      const checked = checkedFunction(name, module, params, given.length, checks, env)
      return value(`${checked}(${[...direct, context.code].join(', ')})`, tighten(name, bits, given), known)
    }
  }
  const validate = env.unit.constant(
    `${name}_arguments`,
    `${rt(env, SIGNATURE, 'signature')}(${JSON.stringify((builtins[name] as { signature: string }).signature)})`,
  )
  return value(`${rt(env, module, name)}(...${validate}([${given.map(operand => operand.code).join(', ')}], ${context.code}))`, bits, known)
}

/** A built-in of whose first arguments is nothing gives nothing: with an argument that is there, so is the result. */
function tighten(name: string, bits: number, given: Operand[]): number {
  const strict = new Set([
    'not',
    'boolean',
    'type',
    'string',
    'length',
    'lowercase',
    'uppercase',
    'trim',
    'substring',
    'substringBefore',
    'substringAfter',
    'join',
    'replace',
    'contains',
    'split',
    'base64encode',
    'base64decode',
    'merge',
  ])
  if (!strict.has(name)) return bits
  return given.every(operand => (operand.bits & (UNDEF | FUN)) === 0) && given.length > 0 ? bits & ~UNDEF : bits
}

function moduleOf(module: string | undefined): string {
  if (module === undefined || module.includes('functions')) return FUNCTIONS
  return module.includes('chance') ? 'chance' : 'pictures'
}

/** A wrapper that takes the direct way where the arguments' types allow, and checks the signature otherwise. */
function checkedFunction(name: string, module: string, params: Parameter[], count: number, checks: string[], env: Env): string {
  const names = Array.from({ length: count }, (_, index) => `a${index}`)
  const validate = env.unit.constant(
    `${name}_arguments`,
    `${rt(env, SIGNATURE, 'signature')}(${JSON.stringify((builtins[name] as { signature: string }).signature)})`,
  )
  const tests = checks.map(index => {
    const param = params[Number(index)] as Parameter
    const list = param.isArray ? LISTS[param.subtype as string] : undefined
    if (list !== undefined) return `(${rt(env, PATHS, list)}(a${index}) || a${index} === undefined)`
    const guard = (GUARDS[param.letters] as (name: string) => string)(`a${index}`)
    return param.letters === 'f' ? guard : `(${guard} || a${index} === undefined)`
  })
  const callee = rt(env, module, name)
  const text = `(${[...names, 'context'].join(', ')}) => ${tests.join(' && ')} ? ${callee}(${names.join(', ')}) : ${callee}(...${validate}([${names.join(', ')}], context))`
  return env.unit.constant(`${name}_checked`, text)
}

// Built-ins that become code --------------------------------------------------------------------------------------

function inlined(name: string, args: Node[], env: Env, first: Operand | undefined): Operand | undefined {
  const quiet: Env = { ...env, isOutput: false, isTail: false }
  const count = args.length + (first ? 1 : 0)
  const one = (): Operand => first ?? compile(args[0] as Node, quiet)
  switch (name) {
    case 'exists': {
      if (count !== 1) return undefined
      const operand = one()
      const facts = factsIn(factOf(operand, { bits: ~UNDEF }), factOf(operand, { bits: UNDEF }))
      return value(`(${operand.code} !== undefined)`, BOOL, { clean: true, ...facts })
    }
    case 'not': {
      if (count !== 1) return undefined
      const operand = one()
      const known = { clean: true, ...factsIn(operand.whereFalse, whereTrue(operand)) }
      if ((operand.bits & UNDEF) === 0) return value(`!${truth(operand, env.unit)}`, BOOL, known)
      const subject = named(env, operand)
      return value(`(${subject.code} === undefined ? undefined : !${truth(subject, env.unit)})`, BOOL | UNDEF, { clean: true })
    }
    case 'boolean': {
      if (count !== 1) return undefined
      const operand = one()
      if (operand.bits === BOOL) return operand
      return builtinCall(name, [operand], env, env.ctx)
    }
    case 'string': {
      if (count !== 1) return undefined
      const operand = one()
      if (operand.bits === STR) return operand
      return builtinCall(name, [operand], env, env.ctx)
    }
    case 'type': {
      if (count !== 1) return undefined
      const subject = one()
      return { ...builtinCall(name, [subject], env, env.ctx), typeOf: subject }
    }
    case 'count': {
      if (count !== 1) return undefined
      const operand = one()
      const shape = { bits: NUM }
      if (operand.bits === ARR) return value(`${operand.code}.length`, NUM, { clean: true, shape })
      return value(`${rt(env, PATHS, 'countOf')}(${operand.code})`, NUM, { clean: true, shape })
    }
    case 'join': {
      const [given, between] = first ? [undefined, args[0]] : args
      if (count > 2 || count < 1 || (between !== undefined && (between.type !== 'string' || between.predicate))) return undefined
      const operand = first ?? compile(given as Node, quiet)
      const separator = between && literal(between.value)
      return joined(operand, separator, env) ?? builtinCall(name, separator ? [operand, separator] : [operand], env, env.ctx)
    }
    case 'merge':
      return count === 1 && !first ? merged(args[0] as Node, quiet) : undefined
    case 'map':
    case 'filter':
    case 'reduce':
      return loop(name, args, env, first)
    default:
      return undefined
  }
}

/** A call of `$append` or `$merge` whose result takes the place of what it is given first. */
function grown(node: Node, grow: NonNullable<Act['grow']>, env: Env): Operand {
  const [first, second] = node.arguments as [Node, Node?]
  if (second !== undefined) {
    const [left, right] = inOrder(env, [() => compile(first, env), () => compile(second, env)]) as [Operand, Operand]
    return value(`${grow.append}${left.code}, ${right.code})`, ANY, { raw: true })
  }
  const [head, ...more] = first.expressions as [Node, ...Node[]]
  const rest: Node = { type: 'unary', value: '[', expressions: more }
  const [left, right] = inOrder(env, [() => compile(head, env), () => compile(rest, env)]) as [Operand, Operand]
  const merge = checkedFunction('merge', FUNCTIONS, parametersOf('merge'), 1, ['0'], env)
  return value(`${grow.merge}${left.code}, ${right.code}, ${merge})`, OBJ | UNDEF)
}

/** What is done at the nodes of a fold, for what grows in it; emits the lines that it needs before the loop. */
function actsIn({ calls, shares }: Growths, env: Env): Map<Node, Act> {
  const growers = new Map<string, string>()
  for (const field of calls.values()) {
    if (growers.has(field)) continue
    const name = env.unit.name(field === '' ? 'own' : `own_${field}`)
    emit(env, `const ${name} = ${rt(env, GROWTH, 'grower')}()`)
    growers.set(field, name)
  }
  const acts = new Map<Node, Act>(env.acts)
  const add = (node: Node, act: Act): void => void acts.set(node, { ...acts.get(node), ...act })
  for (const [node, field] of calls) {
    const own = growers.get(field)
    add(node, { grow: { append: `${rt(env, GROWTH, 'grow')}(${own}, `, merge: `${rt(env, GROWTH, 'growMerged')}(${own}, ` } })
  }
  for (const [node, fields] of shares) {
    const share = fields.map(field => `${growers.get(field)}.own = undefined`)
    add(node, { share: [...(acts.get(node)?.share ?? []), ...share] })
  }
  return acts
}

/** An object with some of its members replaced, where it is known to have all of them. */
function merged(list: Node, env: Env): Operand | undefined {
  const [left, right] = list.expressions ?? []
  const isPlain = list.type === 'unary' && list.value === '[' && !list.predicate && !list.group && !list.consarray
  if (!isPlain || list.expressions?.length !== 2 || right?.type !== 'unary' || right.value !== '{') return undefined
  if (left?.type !== 'path' && left?.type !== 'variable') return undefined
  if (compile(left, { ...env, out: new Lines(), findings: [] }).bits !== OBJ) return undefined
  const whole = compile(left, env)
  const members = new Map(whole.shape?.members)
  const part = compile(right, env)
  const isSure = (shape: Shape | undefined): boolean => shape !== undefined && (shape.bits & UNDEF) === 0
  const changes = [...(part.shape?.members ?? [])]
  if (changes.length === 0 || !part.code.startsWith('{ ') || !changes.every(([key, shape]) => isSure(members.get(key)) && isSure(shape)))
    return builtinCall('merge', [value(`[${whole.code}, ${part.code}]`, ARR, { shape: { bits: ARR, items: { bits: OBJ } } })], env, env.ctx)
  for (const [key, shape] of changes) members.set(key, shape)
  return value(`{ ...${whole.code}, ${part.code.slice(2)}`, OBJ, {
    clean: whole.clean === true && part.clean === true,
    shape: { bits: OBJ, members },
  })
}

/** The texts that a loop comes by, one behind the other. */
function joined(operand: Operand, separator: Operand | undefined, env: Env): Operand | undefined {
  const open = openLoop(operand, undefined)
  if (open === undefined || open.item.bits !== STR) return undefined
  const text = env.unit.name('text')
  const inner = standIn(open, `let ${text}`, env)
  const item = named(inner, open.item, 'item')
  const between = separator === undefined || separator.literal === '' ? '' : `${separator.code} + `
  emit(inner, `${text} = ${text} === undefined ? ${item.code} : ${text} + ${between}${item.code}`)
  return { code: text, bits: STR | UNDEF, stable: true, clean: true }
}

/** `$map`, `$filter` and `$reduce` with a literal lambda. */
function loop(name: string, args: Node[], { isTail, ...env }: Env, first: Operand | undefined): Operand | undefined {
  const lambda = args[first ? 0 : 1]
  const initial = name === 'reduce' ? args[first ? 1 : 2] : undefined
  const expected = 2 + (initial ? 1 : 0) - (first ? 1 : 0)
  if (lambda?.type !== 'lambda' || lambda.signature || lambda.predicate || args.length !== expected) return undefined
  const params = (lambda.arguments ?? []).map(param => String(param.value))
  if (new Set(params).size !== params.length) return undefined
  const quiet: Env = { ...env, isOutput: false }
  const body = lambda.body as Node
  if (name === 'reduce') {
    // The start value must be no function, which only a call that checks its arguments would tell.
    const types = ['variable', 'lambda', 'partial', 'apply', 'transform', 'regex', 'function', 'block']
    if (initial !== undefined && types.includes(initial.type) && env.options.open) return undefined
    if (params.length < 2 || params.length > 4) return undefined
    const operand = named(env, first ?? compile(args[0] as Node, quiet), 'items')
    return reduceLoop(body, params, operand, initial ? named(env, compile(initial, quiet), 'start') : undefined, env)
  }
  if (params.length > 3) return undefined
  const given = first ?? compile(args[0] as Node, quiet)
  if (!isTail || (given.bits & UNDEF) === 0) return itemsLoop(name === 'map', body, params, given, env)
  // Of nothing comes nothing, which is not the same as an empty list to a loop that lists what its turns give.
  const items = named(env, given, 'items')
  const { code, ...result } = itemsLoop(name === 'map', body, params, items, env)
  return { ...result, code: `(${items.code} === undefined ? undefined : ${code})`, bits: result.bits | UNDEF }
}

function reduceLoop(node: Node, params: string[], operand: Operand, start: Operand | undefined, outer: Env): Operand {
  const isTrusted = [...TRUSTED].every(name => findVariable(name, outer) === undefined && !outer.options.globals?.has(name))
  const readsOf = (name: string, place: number): ReadonlySet<string> | undefined =>
    findVariable(name, outer) === undefined ? outer.options.readsOf?.(name, place) : undefined
  const growths = isTrusted ? growthsOf(node, params[0] as string, readsOf) : undefined
  const env = growths ? { ...outer, acts: actsIn(growths, outer) } : outer
  const result = env.unit.name('sum')
  const mayMiss = (operand.bits & UNDEF) !== 0
  const body = new Lines()
  const inner: Env = mayMiss ? branch(env, body) : env
  if (mayMiss) emit(env, `let ${result}`)
  const list = operand.bits === ARR ? operand : named(inner, value(listCode(operand, env.unit), ARR), 'list')
  const one = `${list.code}[0]`
  const mayStart = start !== undefined && (start.bits & UNDEF) !== 0
  const begin =
    start === undefined || start.code === 'undefined' ? one : mayStart ? `${start.code} === undefined ? ${one} : ${start.code}` : start.code
  emit(inner, `${mayMiss ? '' : 'let '}${result} = ${begin}`)
  const from = start === undefined ? '1' : mayStart ? `${start.code} === undefined ? 1 : 0` : '0'
  const index = env.unit.name('i')
  emit(inner, `for (let ${index} = ${from}; ${index} < ${list.code}.length; ${index}++) {`)
  const out = new Lines()
  const item = itemOf(operand, env.unit.name(params[1] as string))
  out.add(`const ${item.code} = ${list.code}[${index}]`, env.position)
  // The sum changes from turn to turn: what a closure made in this turn sees must not.
  const sum = env.unit.name(params[0] as string)
  out.add(`const ${sum} = ${result}`, env.position)
  const bodyEnv = turn(
    node,
    params,
    [{ code: sum, bits: ANY, stable: true }, item, indexOf(index), list],
    branch({ ...env, isOutput: false }, out),
  )
  out.add(`${result} = ${bodyOf(node, bodyEnv).code}`, env.position)
  inner.out.entries.push(out)
  emit(inner, '}')
  if (mayMiss) {
    emit(env, `if (${operand.code} !== undefined) {`)
    env.out.entries.push(body)
    emit(env, '}')
  }
  return value(result, ANY, { raw: true })
}

/** `$map` and `$filter`. An empty list and nothing are the same to both, and to whoever gets their results collapsed. */
function itemsLoop(isMap: boolean, node: Node, params: string[], whole: Operand, env: Env): Operand {
  // Whoever asks for a place, or for the list, is not handed a part of it.
  const isSearch = !isMap && params.length === 1 && loopOf(whole) === undefined
  const given = isSearch ? searched(whole, node, params[0] as string, env) : whole
  const list = env.unit.name(isMap ? 'mapped' : 'kept')
  // Whoever asks for its place is not handed an item from within another loop.
  const open = params.length < 2 ? openLoop(given, node) : undefined
  let out: Env
  let made: Line
  let item: Operand
  let others: Operand[] = []
  if (open) {
    made = open.made
    out = standIn(open, `const ${list} = []`, env)
    item = named(out, open.item, params[0] ?? 'item')
  } else {
    made = emit(env, `const ${list} = []`)
    out = branch(env, new Lines())
    item = itemOf(given, env.unit.name(params[0] ?? 'item'))
    const { items, index } = emitLoop(env.out, listCode(given, env.unit), item.code, out.out, env.unit, env.position)
    const all: Operand = { code: items, bits: ARR, stable: true }
    others = [indexOf(index), given.bits === ARR ? { ...given, ...all, raw: false } : all]
  }
  const inner = turn(node, params, [item, ...others], { ...out, isOutput: isMap && env.isOutput === true })
  let found = bodyOf(node, inner)
  let test: string | undefined
  let facts: Facts | undefined
  if (!isMap) {
    test = truth(found, inner.unit)
    facts = whereTrue(found)
    found = told(item, facts)
  } else if (found.bits & UNDEF) {
    found = named(inner, found)
    test = `${found.code} !== undefined`
  }
  const loop = putInto(list, out, {
    item: { ...found, bits: found.bits & ~UNDEF },
    test,
    facts,
    made,
    isSafe: (open?.isSafe ?? true) && cannotFail(node),
  })
  const known: Partial<Operand> = {
    raw: true,
    nested: found.raw === true,
    list,
    clean: found.clean === true && !found.raw,
    ...(!found.raw && { shape: listShape(found) }),
  }
  const result = value(`${rt(env, PATHS, 'sequenceOf')}(${list})`, ARR, known)
  return found.raw ? result : noteLoop(result, loop)
}

function indexOf(name: string): Operand {
  return { code: name, bits: NUM, stable: true, clean: true, shape: { bits: NUM } }
}

/** The environment of a lambda's body in a loop, its parameters bound. */
function turn(node: Node, params: string[], operands: Operand[], env: Env): Env {
  const scope = new Scope(env.scope, bindsOf([node]), env.out.declarations(), env.level)
  const inner: Env = { ...env, scope, isStraight: true }
  delete inner.mayTailCall
  params.forEach((param, place) => {
    const operand = operands[place]
    if (operand === undefined) return
    // A parameter that the body assigns anew needs a variable of its own.
    if (scope.binds.has(param)) {
      const js = env.unit.name(param)
      emit(env, `let ${js} = ${operand.code}`)
      scope.variables.set(param, { js, isAssigned: true, isConstant: false })
    } else {
      scope.variables.set(param, { js: operand.code, isAssigned: true, isConstant: true, operand })
    }
  })
  return inner
}

/** A lambda's body where it stands: its tail calls are plain calls whose results are not collapsed. */
function bodyOf(node: Node, env: Env): Operand {
  if (node.thunk) return callOf(node.body as Node, { ...env, isTail: true }, undefined, literal(null))
  if (node.type === 'condition' && !node.predicate && !node.group) return finishRaw(compileCondition(node, env, bodyOf), node, env)
  if (node.type === 'block' && !node.predicate && !node.group) return finishRaw(compileBlock(node, env, bodyOf), node, env)
  return compile(node, env)
}

function finishRaw(operand: Operand, node: Node, env: Env): Operand {
  return node.keepArray ? value(`${rt(env, PATHS, 'keepArray')}(${operand.code})`, operand.bits) : operand
}

// Lambdas --------------------------------------------------------------------------------------------------------

/** A lambda as a constant; `name` is the variable that it is bound to, which it may call itself by. */
export function compileLambda(node: Node, env: Env, name?: string): Operand {
  const params = (node.arguments ?? []).map(param => String(param.value))
  const js = env.unit.name(name ?? 'lambda')
  let variable: Variable | undefined
  if (name !== undefined) {
    const known = env.scope.variables.get(name)
    if (known) {
      // It was read by an inner function before: its declaration stands at the frame's beginning.
      const operand = compileLambda(node, env)
      emit(env, `${known.js} = ${operand.code}`)
      known.isAssigned = true
      return { ...operand, code: known.js, stable: false }
    }
    variable = { js, isAssigned: true, isConstant: true, operand: { code: js, bits: FUN, stable: true } }
    if (!node.signature)
      variable.lambda = {
        arity: params.length,
        mayTailCall: false,
        takesContext: tailTakesContext(node.body as Node),
      }
    env.scope.variables.set(name, variable)
  }
  const attempt = (mayTailCall: boolean): { out: Lines; code: string; found: boolean; result: Result; names: string[] } => {
    const out = new Lines()
    const scope = new Scope(env.scope, bindsOf([node.body as Node]), out.declarations(), env.level + 1)
    const names = params.map((param, index) => {
      const unique = env.unit.name(param)
      if (params.indexOf(param) === index || params.lastIndexOf(param) === index) {
        scope.variables.set(param, {
          js: unique,
          isAssigned: true,
          isConstant: !scope.binds.has(param),
          operand: { code: unique, bits: ANY, stable: true },
        })
      }
      return unique
    })
    const tailCalls = { found: false, isRaw: false }
    const inner: Env = { ...env, out, scope, level: env.level + 1, isStraight: true, isOutput: false, mayTailCall, tailCalls }
    const result = lambdaBody(node.body as Node, inner)
    const known = resultOf(result)
    return { out, code: result.code, found: tailCalls.found, result: { ...known, raw: known.raw === true || tailCalls.isRaw }, names }
  }
  const { out, code, found, result, names } = attempt(true)
  if (variable?.lambda) {
    variable.lambda.result = result
    variable.lambda.mayTailCall = found
  }
  const before = found ? `${rt(env, CALLS, 'trampolined')}(` : ''
  const after = found ? ')' : ''
  const bodyName = node.signature ? env.unit.name(`${js}_body`) : js
  if (out.isEmpty()) {
    emit(env, `const ${bodyName} = ${before}(${names.join(', ')}) => ${code.startsWith('{') ? `(${code})` : code}${after}`)
  } else {
    emit(env, `const ${bodyName} = ${before}(${names.join(', ')}) => {`)
    out.add(`return ${code}`, env.position)
    env.out.entries.push(out)
    emit(env, `}${after}`)
  }
  if (node.signature) {
    const validate = env.unit.constant('arguments_of', `${rt(env, SIGNATURE, 'signature')}(${JSON.stringify(node.signature.definition)})`)
    emit(env, `const ${js} = ${rt(env, CALLS, 'signed')}(${validate}, ${bodyName})`)
  }
  return { code: js, bits: FUN, stable: true, ...(!found && !node.signature && { returns: result }) }
}

/** Whether a lambda may end in a built-in that takes its caller's context for a missing argument. */
function tailTakesContext(node: Node): boolean {
  if (node.thunk) {
    const call = node.body as Node
    const name = call.procedure?.type === 'variable' ? String(call.procedure.value) : ''
    return (
      Object.hasOwn(builtins, name) &&
      parametersOf(name).some(param => param.contextual) &&
      (call.arguments ?? []).length < parametersOf(name).length
    )
  }
  if (node.type === 'condition') return [node.then, node.else].some(arm => arm !== undefined && tailTakesContext(arm))
  if (node.type === 'block') return node.expressions?.at(-1) !== undefined && tailTakesContext(node.expressions.at(-1) as Node)
  return false
}

function lambdaBody(node: Node, env: Env): Operand {
  if (node.thunk) return compileTail(node, env)
  if (node.type === 'condition' && !node.predicate && !node.group) return finishRaw(compileCondition(node, env, lambdaBody), node, env)
  if (node.type === 'block' && !node.predicate && !node.group) return finishRaw(compileBlock(node, env, lambdaBody), node, env)
  return compile(node, env)
}

/** The last call of a lambda: what is not known to end is left to the caller, so that it needs no stack. */
export function compileTail(node: Node, env: Env): Operand {
  const call = node.body as Node
  const procedure = call.procedure as Node
  const name = procedure.type === 'variable' ? String(procedure.value) : undefined
  const variable = name === undefined ? undefined : findVariable(name, env)
  const isBuiltin = name !== undefined && variable === undefined
  // A built-in that takes the context for a missing argument takes that of whoever called this lambda.
  const takesContext =
    isBuiltin &&
    Object.hasOwn(builtins, name) &&
    parametersOf(name).some(param => param.contextual) &&
    (call.arguments ?? []).length < parametersOf(name).length
  const isPlain = variable?.lambda?.result !== undefined && variable.isConstant && !variable.lambda.mayTailCall
  if (!env.mayTailCall || (isBuiltin && !takesContext) || isPlain) {
    const operand = callOf(call, { ...env, isTail: true }, undefined, literal(null))
    if (operand.raw && env.tailCalls) env.tailCalls.isRaw = true
    return operand
  }
  const quiet: Env = { ...env, isOutput: false }
  delete quiet.mayTailCall
  const operands = inOrder(quiet, [() => compile(procedure, quiet), ...(call.arguments ?? []).map(arg => () => compile(arg, quiet))])
  const [callee, ...given] = operands as [Operand, ...Operand[]]
  if (env.tailCalls) {
    env.tailCalls.found = true
    env.tailCalls.isRaw = true
  }
  return value(`new (${rt(env, CALLS, 'TailCall')})(${callee.code}, [${given.map(operand => operand.code).join(', ')}])`, ANY, {
    raw: true,
  })
}

// Application ----------------------------------------------------------------------------------------------------

export function compileApply(node: Node, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const right = node.rhs as Node
  if (right.type === 'function' && !right.predicate && !right.group) {
    const left = compile(node.lhs as Node, quiet)
    const result = callOf(right, quiet, left.stable ? left : named(env, left), env.ctx)
    return result
  }
  const [left, callee] = inOrder(quiet, [() => compile(node.lhs as Node, quiet), () => compile(right, quiet)]) as [Operand, Operand]
  return value(`${rt(env, CALLS, 'apply')}(${left.code}, ${callee.code})`, ANY, { raw: true })
}

export function compilePartial(node: Node, env: Env): Operand {
  const quiet: Env = { ...env, isOutput: false }
  const open = rt(env, CALLS, 'OPEN')
  const procedure = node.procedure as Node
  const args = node.arguments ?? []
  const operands = inOrder(quiet, [
    ...args.map(
      arg => () => (arg.type === 'operator' && arg.value === '?' ? { code: open, bits: ANY, stable: true } : compile(arg, quiet)),
    ),
    () => compile(procedure, quiet),
  ])
  const callee = operands.pop() as Operand
  const isForgotten =
    procedure.type === 'path' &&
    procedure.steps?.[0]?.type === 'name' &&
    (BUILTIN_NAMES.has(String(procedure.steps[0].value)) || env.scope.find(String(procedure.steps[0].value)) !== undefined)
  const name = isForgotten ? 'partialForgotten' : 'partial'
  return value(`${rt(env, CALLS, name)}(${callee.code}, [${operands.map(operand => operand.code).join(', ')}])`, FUN)
}

export function compileTransform(node: Node, env: Env): Operand {
  const part = (wish: string, child: Node): string => {
    const item = env.unit.name('match')
    return closure(
      env,
      wish,
      [item],
      inner => compile(child, { ...inner, ctx: { code: item, bits: ANY, stable: true }, isOutput: false }).code,
    )
  }
  const pattern = part('pattern_of', node.pattern as Node)
  const update = part('update', node.update as Node)
  const remove = node.delete ? part('remove', node.delete) : 'undefined'
  const validate = env.unit.constant('arguments_of', `${rt(env, SIGNATURE, 'signature')}("<(oa):o>")`)
  return value(`${rt(env, CALLS, 'signed')}(${validate}, ${rt(env, CALLS, 'transform')}(${pattern}, ${update}, ${remove}))`, FUN)
}
