// From a JSONata tree to JavaScript statements, node by node. The interpreter's `evaluate` is the model for what each
// node means; what it decides per value and call is decided here where the tree or a type already tells.
//
// A node compiles to an Operand: a JavaScript expression to be evaluated once, at this place, after the lines it
// emitted. Nothing of an expression's text can become code: names are made anew, strings are printed as JSON.

import { builtins } from '../../engine/jsonata/signature.js'
import { type Node, parse, some } from './ast.js'
import { compileApply, compileCall, compileLambda, compilePartial, compileTail, compileTransform } from './call.js'
import { branch, closure, type Env, emit, type Finding, frame, inOrder, knowing, named, type Options, report, value } from './context.js'
import { both, branchOf, factOf, factsIn, told, whereTrue } from './facts.js'
import { noteArray, noteObject, objectCode } from './json-text.js'
import { loopOf, noteLoop } from './loops.js'
import { applyStages, compilePath } from './path.js'
import { Scope } from './scope.js'
import {
  ANY,
  ARR,
  BOOL,
  eachOf,
  FUN,
  isLiteral,
  itemOf,
  literal,
  NOTHING,
  NULL,
  NUM,
  OBJ,
  type Operand,
  ownItems,
  PLAIN,
  type Shape,
  STR,
  UNDEF,
} from './types.js'
import { access, Lines, type Unit } from './unit.js'

export const OPERATORS = 'operators'
export const PATHS = 'paths'
export const CALLS = 'calls'
export const SEQUENCE = 'sequence'
export const FUNCTIONS = 'functions'
export const SIGNATURE = 'signature'
export const GROWTH = 'growth'
export const SEARCH = 'search'

/** The name of a run-time function, imported where it is used. */
export function rt(env: Env, module: string, name: string): string {
  return env.unit.use(module, name)
}

/** A node's value: never a sequence of none or of a lone member, unless `[]` asked for it. */
export function compile(node: Node, env: Env): Operand {
  const position = node.position ?? env.position
  const inner = position === env.position ? env : { ...env, position }
  for (const line of env.acts?.get(node)?.share ?? []) emit(inner, line)
  let result = compileRaw(node, inner)
  // What `[]` keeps is the sequence that a predicate gives, which a plain item would not be.
  if (node.predicate) result = applyStages(node.keepArray ? { ...result, raw: true } : result, node.predicate, inner, node)
  if (node.group && node.type !== 'path') result = compileGroup(node.group.lhs, result, inner)
  return finish(result, node.keepArray === true && !node.keepSingletonArray, inner)
}

/** Collapses what may be a raw sequence. */
export function finish(operand: Operand, keepArray: boolean, env: Env): Operand {
  if (keepArray && (operand.bits & ARR) !== 0)
    return { ...operand, code: `${rt(env, PATHS, 'keepArray')}(${operand.code})`, stable: false, raw: false }
  if (!operand.raw) return operand
  if (operand.nested) return { code: `${rt(env, PATHS, 'collapse')}(${operand.code})`, bits: ANY, stable: false, raw: true, nested: true }
  const own = operand.stable ? undefined : operand.list
  const code = own === undefined ? `${rt(env, PATHS, 'collapse')}(${operand.code})` : `${rt(env, PATHS, 'loneOf')}(${own})`
  const each = eachOf(operand)
  if (each === undefined) return { code, bits: ANY, stable: false }
  const known = { code, bits: UNDEF | ARR | each.shape.bits, stable: false, each, clean: own !== undefined && each.clean }
  return own === undefined ? known : noteLoop(known, loopOf(operand))
}

/** Nodes that hand their value on to the output as it is made. */
const TRANSPARENT = new Set(['path', 'unary', 'condition', 'block', 'function'])

function compileRaw(node: Node, outer: Env): Operand {
  const env = outer.isOutput && !TRANSPARENT.has(node.type) ? { ...outer, isOutput: false } : outer
  switch (node.type) {
    case 'path':
      return compilePath(node, env)
    case 'binary':
      return compileBinary(node, env)
    case 'unary':
      return compileUnary(node, env)
    case 'string':
    case 'number':
    case 'value':
      return literal(node.value)
    case 'name':
      return value(`${rt(env, PATHS, 'lookup')}(${env.ctx.code}, ${JSON.stringify(node.value)})`, ANY, { raw: true })
    case 'wildcard':
      return value(`${rt(env, PATHS, 'wildcard')}(${env.ctx.code})`, ANY, { raw: true })
    case 'descendant':
      return value(`${rt(env, PATHS, 'descendants')}(${env.ctx.code})`, ANY, { raw: true })
    case 'parent':
      return readVariable(node.slot?.label as string, node, env)
    case 'condition':
      return compileCondition(node, env, compile)
    case 'block':
      return compileBlock(node, env, compile)
    case 'bind':
      return compileBind(node, env)
    case 'regex':
      return compileRegex(node, env)
    case 'variable':
      return readVariable(String(node.value), node, env)
    case 'lambda':
      return node.thunk ? compileTail(node, env) : compileLambda(node, env)
    case 'function':
      return compileCall(node, env, undefined)
    case 'partial':
      return compilePartial(node, env)
    case 'apply':
      return compileApply(node, env)
    case 'transform':
      return compileTransform(node, env)
    default:
      return report(env, 'jsonata/node', `the compiler does not know a node of type ${node.type}`, node)
  }
}

function compileRegex(node: Node, env: Env): Operand {
  const { source, flags } = node.value as RegExp
  const make = rt(env, FUNCTIONS, 'regex')
  const name = env.unit.constant('pattern', `${make}(${JSON.stringify(source)}, ${JSON.stringify(flags)})`)
  return { code: name, bits: FUN, stable: true }
}

// Variables ------------------------------------------------------------------------------------------------------

export function readVariable(name: string, node: Node, env: Env): Operand {
  if (name === '') {
    if ((env.ctx.bits & ARR) === 0 || env.ctx.clean) return told(env.ctx, env.facts)
    return value(`${rt(env, PATHS, 'self')}(${env.ctx.code})`, env.ctx.bits, { raw: true })
  }
  if (name === '$') return env.root
  for (let scope: Scope | undefined = env.scope; scope; scope = scope.parent) {
    let variable = scope.variables.get(name)
    if (variable === undefined && scope.binds.has(name) && scope.level < env.level) {
      // An inner function reads what its frame assigns later: it may run after that.
      variable = { js: env.unit.name(name), isAssigned: false, isConstant: false }
      scope.variables.set(name, variable)
      scope.declarations?.names.push(variable.js)
    }
    if (variable === undefined) continue
    if (variable.isAssigned || !isKnownOutside(name, scope.parent, env)) {
      const known = variable.operand
      if (!variable.isConstant) return { code: variable.js, bits: ANY, stable: false }
      return told({ ...(known ?? { bits: ANY }), code: variable.js, stable: true }, env.facts)
    }
    // Assigned on some ways only, and there is another variable of that name further out.
    const outer = readVariable(name, node, { ...env, scope: scope.parent ?? EMPTY })
    return value(`(${variable.js} === undefined ? ${outer.code} : ${variable.js})`)
  }
  const global = env.options.globals?.get(name)
  if (global) {
    if (global.operand) return told(global.operand, env.facts)
    if (global.arity !== undefined) return { code: global.code, bits: FUN, stable: true }
    const clean = global.clean ?? true
    const bits = global.bits ?? global.shape?.bits ?? (clean ? ANY & ~FUN : ANY)
    return told({ code: global.code, bits, stable: true, clean, ...(global.shape && { shape: global.shape }) }, env.facts)
  }
  return builtinAsValue(name, node, env)
}

function isKnownOutside(name: string, scope: Scope | undefined, env: Env): boolean {
  return scope?.find(name) !== undefined || env.options.globals?.has(name) === true || env.options.open === true || BUILTIN_NAMES.has(name)
}

const EMPTY = new Scope(undefined, new Map(), undefined, 0)

export const BUILTIN_NAMES: ReadonlySet<string> = new Set([...Object.keys(builtins), 'eval'])

function builtinAsValue(name: string, node: Node, env: Env): Operand {
  if (BUILTIN_NAMES.has(name)) {
    const isPicture = builtins[name]?.module === 'pictures'
    const make = isPicture ? rt(env, 'pictures', 'pictureValue') : rt(env, SIGNATURE, 'builtinValue')
    const code = env.unit.constant(`${name}_value`, `${make}(${JSON.stringify(name)})`)
    if (!env.options.open) return { code, bits: FUN, stable: true }
    return value(`(${JSON.stringify(name)} in bindings ? bindings[${JSON.stringify(name)}] : ${code})`)
  }
  if (env.options.open) return value(`bindings[${JSON.stringify(name)}]`)
  return report(env, 'jsonata/undeclared', `$${name} is not declared`, node)
}

function compileBind(node: Node, env: Env): Operand {
  const name = String((node.lhs as Node).value)
  const { scope } = env
  const isOnce = scope.binds.get(name) === 1 && env.isStraight && scope.level === env.level
  if (isOnce && (node.rhs as Node).type === 'lambda' && !(node.rhs as Node).thunk) return compileLambda(node.rhs as Node, env, name)
  const operand = compile(node.rhs as Node, env)
  const known = scope.variables.get(name)
  if (isOnce && known === undefined) {
    const js = env.unit.name(name)
    emit(env, `const ${js} = ${operand.code}`)
    const items = ownItems(operand)
    scope.variables.set(name, { js, isAssigned: true, isConstant: true, operand: { ...operand, ...(items && { items }) } })
    return { ...operand, code: js, stable: true }
  }
  let variable = known
  if (variable === undefined) {
    variable = { js: env.unit.name(name), isAssigned: false, isConstant: false }
    scope.variables.set(name, variable)
    scope.declarations?.names.push(variable.js)
  }
  emit(env, `${variable.js} = ${operand.code}`)
  if (env.isStraight) variable.isAssigned = true
  return { ...operand, code: variable.js, stable: false }
}

export function compileBlock(node: Node, env: Env, last: (node: Node, env: Env) => Operand): Operand {
  const nodes = node.expressions ?? []
  if (nodes.length === 0) return NOTHING
  const inner = frame(env, nodes)
  for (const statement of nodes.slice(0, -1)) {
    const operand = compile(statement, { ...inner, isOutput: false })
    // Without the word, a line that begins with a bracket would belong to the one before it.
    if (!operand.stable && !isVariableRead(operand.code)) emit(inner, `void ${operand.code}`)
  }
  return last(nodes.at(-1) as Node, inner)
}

function isVariableRead(code: string): boolean {
  return /^[A-Za-z_]\w*$/.test(code)
}

// Conditions -----------------------------------------------------------------------------------------------------

export function compileCondition(node: Node, env: Env, arm: (node: Node, env: Env) => Operand): Operand {
  const orElse = node.else
  const kept = sameValue(node)
  if (kept) {
    const operand = compile(kept.value, { ...env, isOutput: false, hasDefault: true })
    if (kept.test === 'exists' && (operand.bits & UNDEF) === 0) return operand
    const subject = named(env, operand)
    const test = kept.test === 'exists' ? `${subject.code} !== undefined` : truth(subject, env.unit)
    const left = { ...subject, bits: subject.bits & ~(kept.test === 'exists' ? UNDEF : UNDEF | NULL) }
    return choose(
      env,
      test,
      () => left,
      inner => (orElse ? arm(orElse, inner) : NOTHING),
    )
  }
  const asked = compile(node.condition as Node, { ...env, isOutput: false })
  const test = truth(asked, env.unit)
  if (test === 'true') return arm(node.then as Node, env)
  if (test === 'false') return orElse ? arm(orElse, env) : NOTHING
  return choose(
    env,
    test,
    inner => arm(node.then as Node, knowing(inner, whereTrue(asked))),
    inner => (orElse ? arm(orElse, knowing(inner, asked.whereFalse)) : NOTHING),
  )
}

/** `a ?? b` and `a ?: b` come from the parser with `a` twice, as who writes `a ? a : b` does; it is evaluated once. */
function sameValue(node: Node): { value: Node; test: 'exists' | 'truth' } | undefined {
  const condition = node.condition as Node
  const then = unthunk(node.then as Node)
  // The parser copies through JSON text, where a pattern is `{}`: the copy is not the one to compile.
  const isSame = (left: Node): boolean => JSON.stringify(left) === JSON.stringify(then) || isSameRead(left, then)
  if (condition.type === 'function' && condition.procedure?.value === 'exists' && condition.procedure.position === undefined) {
    const subject = condition.arguments?.[0]
    return subject && isSame(subject) ? { value: then, test: 'exists' } : undefined
  }
  return condition.type !== 'value' && isSame(condition) ? { value: then, test: 'truth' } : undefined
}

/** Whether two nodes read the same, wherever they stand: nothing is called, which could give something else each time. */
function isSameRead(left: Node, right: Node): boolean {
  const isRead = (node: Node): boolean => node.type === 'path' || node.type === 'variable'
  const text = (node: Node): string => JSON.stringify(node, (key, part) => (key === 'position' ? undefined : part))
  return isRead(left) && isRead(right) && text(left) === text(right) && !some(right, node => !READS.has(node.type))
}

const READS = new Set(['path', 'variable', 'name', 'string', 'number', 'value', 'binary'])

function unthunk(node: Node): Node {
  return node.thunk ? (node.body as Node) : node
}

/** The value of one of two arms: a conditional expression if neither needs lines, else a statement. */
export function choose(env: Env, test: string, then: (inner: Env) => Operand, orElse: (inner: Env) => Operand): Operand {
  const thenOut = new Lines()
  const elseOut = new Lines()
  const left = then(branch(env, thenOut))
  const right = orElse(branch(env, elseOut))
  const known: Partial<Operand> = {
    raw: left.raw === true || right.raw === true,
    nested: left.nested === true || right.nested === true,
    clean: left.clean === true && right.clean === true,
  }
  const shape = eitherShape(left, right)
  if (shape) known.shape = shape
  const bits = left.bits | right.bits
  if (thenOut.isEmpty() && elseOut.isEmpty()) return value(`(${test} ? ${left.code} : ${right.code})`, bits, known)
  const name = env.unit.name('t')
  emit(env, `let ${name}`)
  thenOut.add(`${name} = ${left.code}`, env.position)
  emit(env, `if (${test}) {`)
  env.out.entries.push(thenOut)
  if (right.code !== 'undefined' || !elseOut.isEmpty()) {
    elseOut.add(`${name} = ${right.code}`, env.position)
    emit(env, '} else {')
    env.out.entries.push(elseOut)
  }
  emit(env, '}')
  return { code: name, bits, stable: true, ...known }
}

/** What is known of a value that is one of two. */
function eitherShape(left: Operand, right: Operand): Shape | undefined {
  if (left.shape === right.shape || (right.bits & ~(UNDEF | NULL)) === 0) return left.shape
  if ((left.bits & ~(UNDEF | NULL)) === 0) return right.shape
  const isKnown = (operand: Operand): boolean => operand.shape !== undefined || isLiteral(operand)
  return isKnown(left) && isKnown(right) ? { bits: left.bits | right.bits } : undefined
}

/** JavaScript text that is true where the operand is, in JSONata's sense. */
export function truth(operand: Operand, unit: Unit): string {
  if (isLiteral(operand)) return String(Boolean(operand.literal))
  if ((operand.bits & ~PLAIN) === 0) return operand.code
  return `${unit.use(SEQUENCE, 'truthy')}(${operand.code})`
}

// Operators ------------------------------------------------------------------------------------------------------

function compileBinary(node: Node, env: Env): Operand {
  const operator = String(node.value)
  if (operator === 'and' || operator === 'or') return compileLogic(node, operator, env)
  const inner = { ...env, isOutput: false }
  const [left, right] = inOrder(inner, [() => compile(node.lhs as Node, inner), () => compile(node.rhs as Node, inner)]) as [
    Operand,
    Operand,
  ]
  switch (operator) {
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
      return arithmetic(operator, left, right, env)
    case '=':
    case '!=':
      return equality(operator === '=', left, right, env)
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const same = (left.bits === NUM && right.bits === NUM) || (left.bits === STR && right.bits === STR)
      if (same) return value(`(${left.code} ${operator} ${right.code})`, BOOL, { clean: true })
      const name = { '<': 'less', '<=': 'lessOrEqual', '>': 'greater', '>=': 'greaterOrEqual' }[operator] as string
      return value(`${rt(env, OPERATORS, name)}(${left.code}, ${right.code})`, BOOL | UNDEF, { clean: true })
    }
    case '&':
      return value(`${asText(left, env)} + ${asText(right, env)}`, STR, {
        clean: true,
        code: `(${asText(left, env)} + ${asText(right, env)})`,
      })
    case '..':
      return value(`${rt(env, OPERATORS, 'range')}(${left.code}, ${right.code})`, ARR | UNDEF, { raw: true })
    case 'in':
      return value(`${rt(env, OPERATORS, 'includes')}(${left.code}, ${right.code})`, BOOL, { clean: true })
    default:
      return report(env, 'jsonata/operator', `the compiler does not know the operator ${operator}`, node)
  }
}

function compileLogic(node: Node, operator: 'and' | 'or', env: Env): Operand {
  const inner = { ...env, isOutput: false }
  const first = compile(node.lhs as Node, inner)
  const left = asBoolean(first, env)
  const out = new Lines()
  const rightEnv = knowing(branch(inner, out), operator === 'and' ? whereTrue(first) : first.whereFalse)
  const second = compile(node.rhs as Node, rightEnv)
  const right = asBoolean(second, rightEnv)
  const facts =
    operator === 'and'
      ? factsIn(both(whereTrue(first), whereTrue(second)), undefined)
      : factsIn(undefined, both(first.whereFalse, second.whereFalse))
  const known: Partial<Operand> = { clean: true, ...facts }
  if (out.isEmpty()) return value(`(${left} ${operator === 'and' ? '&&' : '||'} ${right})`, BOOL, known)
  const name = env.unit.name('t')
  emit(env, `let ${name} = ${left}`)
  emit(env, operator === 'and' ? `if (${name}) {` : `if (!${name}) {`)
  out.add(`${name} = ${right}`, env.position)
  env.out.entries.push(out)
  emit(env, '}')
  return { code: name, bits: BOOL, stable: true, ...known }
}

/** JavaScript text that is true or false, and nothing else. */
function asBoolean(operand: Operand, env: Env): string {
  if (operand.bits === BOOL || isLiteral(operand) || (operand.bits & ~PLAIN) !== 0) return truth(operand, env.unit)
  return `Boolean(${operand.code})`
}

const ARITHMETIC: Record<string, string> = { '+': 'add', '-': 'subtract', '*': 'multiply', '/': 'divide', '%': 'remainder' }

function arithmetic(operator: string, left: Operand, right: Operand, env: Env): Operand {
  const isSmall = (operand: Operand): boolean =>
    operand.shape?.bits === NUM || (typeof operand.literal === 'number' && Math.abs(operand.literal) < 2 ** 31)
  if (left.bits === NUM && right.bits === NUM && isSmall(left) && isSmall(right) && (operator === '+' || operator === '-')) {
    return value(`(${left.code} ${operator} ${right.code})`, NUM, { clean: true, shape: { bits: NUM } })
  }
  const bits = left.bits === NUM && right.bits === NUM ? NUM : NUM | UNDEF
  return value(`${rt(env, OPERATORS, ARITHMETIC[operator] as string)}(${left.code}, ${right.code})`, bits, { clean: true })
}

function equality(isEqual: boolean, left: Operand, right: Operand, env: Env): Operand {
  const isPlain = (operand: Operand): boolean => (operand.bits & ~PLAIN) === 0
  const mayMiss = (operand: Operand): boolean => (operand.bits & UNDEF) !== 0
  const told = isLiteral(right) ? toldBy(isEqual, left, right) : isLiteral(left) ? toldBy(isEqual, right, left) : {}
  const known = { clean: true, ...told }
  if (
    (isLiteral(left) && isPlain(left)) ||
    (isLiteral(right) && isPlain(right)) ||
    (isPlain(left) && isPlain(right) && !(mayMiss(left) && mayMiss(right)))
  ) {
    const asked = typeTest(left, right) ?? typeTest(right, left)
    if (asked !== undefined && isEqual) return value(asked, BOOL, known)
    if (isEqual) return value(`(${left.code} === ${right.code})`, BOOL, known)
    const [subject, other] = mayMiss(left) ? [left, right] : [right, left]
    if (!mayMiss(subject)) return value(`(${left.code} !== ${right.code})`, BOOL, known)
    const name = named(env, subject)
    return value(`(${name.code} !== undefined && ${name.code} !== ${other.code})`, BOOL, known)
  }
  return value(`${rt(env, OPERATORS, isEqual ? 'equals' : 'differs')}(${left.code}, ${right.code})`, BOOL, known)
}

const KINDS: Readonly<Record<string, number>> = {
  null: NULL,
  string: STR,
  number: NUM,
  boolean: BOOL,
  array: ARR,
  object: OBJ,
  function: FUN,
}

/** What a comparison with a literal tells of the other side. */
function toldBy(isEqual: boolean, subject: Operand, { literal: word, bits }: Operand): Partial<Operand> {
  if (subject.typeOf) {
    const kind = KINDS[String(word)]
    if (kind === undefined) return {}
    const [is, isNot] = [factOf(subject.typeOf, { bits: kind }), factOf(subject.typeOf, { bits: ~kind })]
    return isEqual ? factsIn(is, isNot) : factsIn(both(isNot, factOf(subject.typeOf, { bits: ~UNDEF })), undefined)
  }
  const isNot = word === null ? factOf(subject, { bits: ~NULL }) : undefined
  if (!isEqual) return factsIn(both(isNot, factOf(subject, { bits: ~UNDEF })), undefined)
  return factsIn(both(factOf(subject, { bits }), branchOf(subject, word)), isNot)
}

/** `$type(x) = "string"` as JavaScript asks it, where one test says the same. */
function typeTest(type: Operand, word: Operand): string | undefined {
  if (type.typeOf === undefined) return undefined
  const { code, bits } = type.typeOf
  if (word.literal === 'object' && (bits & ~(OBJ | NULL | UNDEF)) === 0) return `(${code} != null)`
  if (word.literal === 'string' || word.literal === 'boolean') return `(typeof ${code} === ${word.code})`
  return word.literal === 'array' ? `isArray(${code})` : undefined
}

export function asText(operand: Operand, env: Env): string {
  if (operand.bits === STR) return operand.code
  return `${rt(env, OPERATORS, 'text')}(${operand.code})`
}

function compileUnary(node: Node, env: Env): Operand {
  if (node.value === '[') return compileArray(node, env)
  if (node.value === '{') return compileObject(node, env)
  const operand = compile(node.expression as Node, { ...env, isOutput: false })
  return value(`${rt(env, OPERATORS, 'negate')}(${operand.code})`, NUM | (operand.bits & UNDEF), { clean: true })
}

// Constructors ---------------------------------------------------------------------------------------------------

function compileArray(node: Node, env: Env): Operand {
  const items = node.expressions ?? []
  const operands = inOrder(
    env,
    items.map(item => () => compile(item, env)),
  )
  const isLone = (index: number): boolean => (items[index] as Node).value === '[' || ((operands[index] as Operand).bits & ARR) === 0
  let code: string
  let shape: Shape = { bits: ARR }
  const first = operands[0]
  const isStatic = operands.every((operand, index) => isLone(index) && (operand.bits & UNDEF) === 0)
  if (isStatic) {
    code = `[${operands.map(operand => operand.code).join(', ')}]`
    if (first) {
      const bits = operands.reduce((sum, operand) => sum | operand.bits, 0)
      shape = { bits: ARR, items: operands.length === 1 ? { ...first.shape, bits } : { bits } }
    }
  } else if (operands.length === 1 && first && !isLone(0) && ownItems(first) !== undefined) {
    code = ownItems(first) as string
    shape = { bits: ARR, items: itemOf(first, '').shape as Shape }
  } else {
    code = env.unit.name('list')
    let lead = 0
    while (lead < operands.length && isLone(lead) && ((operands[lead] as Operand).bits & UNDEF) === 0) lead++
    emit(
      env,
      `const ${code} = [${operands
        .slice(0, lead)
        .map(operand => operand.code)
        .join(', ')}]`,
    )
    for (let index = lead; index < operands.length; index++) {
      const operand = operands[index] as Operand
      if (operand.code === 'undefined') continue
      if (!isLone(index)) {
        emit(env, `${rt(env, PATHS, 'pushAll')}(${code}, ${ownItems(operand) ?? operand.code})`)
      } else if ((operand.bits & UNDEF) === 0) {
        emit(env, `${code}.push(${operand.code})`)
      } else {
        const item = named(env, operand)
        emit(env, `if (${item.code} !== undefined) ${code}.push(${item.code})`)
      }
    }
  }
  const isClean = operands.every(operand => operand.clean)
  if (node.consarray) return value(`${rt(env, PATHS, 'cons')}(${code})`, ARR, { clean: isClean })
  const array: Operand = { code, bits: ARR, stable: /^\w+$/.test(code), clean: isClean, shape }
  if (isStatic && env.isOutput) noteArray(array, operands)
  return array
}

function compileObject(node: Node, env: Env): Operand {
  const pairs = inKeyOrder(node.lhs as [Node, Node][])
  const keys = pairs.map(([key]) => (key.type === 'string' && !key.predicate ? String(key.value) : undefined))
  if (keys.some(key => key === undefined) || (env.ctx.bits & ARR && pairs.length === 0)) return compileGroup(pairs, env.ctx, env)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  const forbidden = keys.find(key => key === '_jsonata_lambda' || key === '_jsonata_function')
  if (twice !== undefined || forbidden !== undefined) {
    if (!env.options.open) report(env, 'jsonata/key', `the key "${twice ?? forbidden}" stands twice or is reserved`, node)
    return compileGroup(pairs, env.ctx, env)
  }
  let ctx = env.ctx
  if (ctx.bits & ARR) ctx = named(env, value(`${rt(env, PATHS, 'groupContext')}(${ctx.code})`, ANY))
  return objectOf(env, pairs, keys as string[], { ...env, ctx })
}

/** Keys that look like array indices come first in an object, so their values are evaluated first. */
function inKeyOrder(pairs: [Node, Node][]): [Node, Node][] {
  const indexOf = (pair: [Node, Node]): number => {
    const key = String(pair[0].value)
    return pair[0].type === 'string' && String(Number(key) >>> 0) === key && key !== '4294967295' ? Number(key) : Number.POSITIVE_INFINITY
  }
  return pairs.some(pair => indexOf(pair) < Number.POSITIVE_INFINITY)
    ? [...pairs].sort((left, right) => (indexOf(left) === indexOf(right) ? 0 : indexOf(left) - indexOf(right)))
    : pairs
}

function objectOf(env: Env, pairs: [Node, Node][], keys: string[], inner: Env): Operand {
  const operands = inOrder(
    inner,
    pairs.map(
      ([, node]) =>
        () =>
          compile(node, inner),
    ),
  )
  const members = new Map<string, Shape>()
  operands.forEach(({ shape, bits, clean }, index) => {
    members.set(keys[index] as string, { ...shape, bits, ...(clean && { clean }) })
  })
  const known: Partial<Operand> = { clean: operands.every(operand => operand.clean), shape: { bits: OBJ, members, closed: true } }
  const isWhole = operands.every(operand => (operand.bits & UNDEF) === 0) || (env.isOutput === true && env.options.isSerialised === true)
  if (isWhole) {
    const object = value(objectCode(keys, operands), OBJ, known)
    if (env.isOutput) noteObject(object, keys, operands)
    return object
  }
  let lead = 0
  while (lead < operands.length && ((operands[lead] as Operand).bits & UNDEF) === 0) lead++
  const name = env.unit.name('object')
  emit(env, `const ${name} = ${objectCode(keys, operands.slice(0, lead))}`)
  // The values were to be evaluated in order; naming them keeps it so.
  const rest = operands.slice(lead).map(operand => (operand.code === 'undefined' ? operand : named(env, operand)))
  rest.forEach((operand, offset) => {
    if (operand.code === 'undefined') return
    const key = keys[lead + offset] as string
    const set =
      key === '__proto__'
        ? `${rt(env, FUNCTIONS, 'setKey')}(${name}, ${JSON.stringify(key)}, ${operand.code})`
        : `${name}${access(key)} = ${operand.code}`
    emit(env, operand.bits & UNDEF ? `if (${operand.code} !== undefined) ${set}` : set)
  })
  return { code: name, bits: OBJ, stable: true, ...known }
}

/** Grouping, and objects whose keys are computed. */
export function compileGroup(pairs: [Node, Node][], input: Operand, env: Env, bind?: (inner: Env, tuple: string) => Env): Operand {
  const made = pairs.map(([key, item]) => {
    const functionOf = (wish: string, node: Node): string => {
      const param = env.unit.name('item')
      const tuple = env.unit.name('tuple')
      return closure(env, wish, bind ? [param, tuple] : [param], inner => {
        const base: Env = { ...inner, ctx: { code: param, bits: ANY, stable: true }, isOutput: false }
        return compile(node, bind ? bind(base, tuple) : base).code
      })
    }
    return `[${functionOf('key', key)}, ${functionOf('member', item)}]`
  })
  return value(`${rt(env, PATHS, 'group')}(${input.code}, [${made.join(', ')}])`, OBJ)
}

// The entrance -------------------------------------------------------------------------------------------------------

export interface Compiled {
  lines: Lines
  result: Operand
  findings: Finding[]
}

/**
 * Compiles one expression to the body of a function. `root` is the JavaScript text of its input and what is known of
 * it. Throws what jsonata's parser throws for text that is no expression.
 */
export function compileExpression(source: string, unit: Unit, root: Operand, options: Options = {}): Compiled {
  return compileNode(parse(source), unit, root, options)
}

export function compileNode(node: Node, unit: Unit, root: Operand, options: Options): Compiled {
  const lines = new Lines()
  const findings: Finding[] = []
  const base: Env = {
    unit,
    options,
    findings,
    scope: EMPTY,
    ctx: root,
    root,
    out: lines,
    isStraight: true,
    level: 0,
    isOutput: true,
    position: node.position ?? 0,
    ...(options.acts && { acts: options.acts }),
  }
  const env = frame(base, [node])
  if (root.bits & ARR) {
    const name = unit.name('context')
    emit(env, `const ${name} = ${rt(env, PATHS, 'root')}(${root.code})`)
    env.ctx = { code: name, bits: ANY, stable: true }
  }
  const result = compile(node, env)
  return { lines, result, findings }
}
