// Compiles the steps of a stream to plain statements over its state.

import type { MappingStep as Step } from '../../schemas/config/types.js'
import { kindsOf } from '../check/steps.js'
import { literalPairs, type Node } from '../jsonata/ast.js'
import { emitLoop, type Global } from '../jsonata/context.js'
import { copiesIn } from '../jsonata/copies.js'
import { type Growing, growingIn, growingMembersUsed, readsOfVariable } from '../jsonata/growth.js'
import { access, comment, type Js, joined, js, json, propertyKey } from '../jsonata/js.js'
import { listCode, truth } from '../jsonata/operands.js'
import { itemOf, NOTHING, OBJ, type Operand, type Shape, UNDEF, UNKNOWN } from '../jsonata/types.js'
import { Lines } from '../jsonata/unit.js'
import { placeIn, type Source } from '../read/functions.js'
import type { Pointer } from '../read/yaml.js'
import { emitEvents } from './emit.js'
import { actsIn, actsOf, shareOf } from './growing.js'
import type { Module } from './module.js'

/** What all expressions of a reducer share. */
export interface Shared {
  module: Module
  source: (pointer: Pointer, text: string) => Source
  /** The members of the state that grow from event to event. */
  growing: Growing
}

/** What the steps of a reducer share. */
export interface Stream extends Shared {
  /** The name of the variable with the kind of the provider's event. */
  kind: Js
  /** The member with the kind of the client's event. */
  line: string | undefined
  /** The shapes that are assigned to members of the state. */
  sets: Shape[]
  /** Whether the steps write a whole answer: they emit nothing, and one of them returns the answer. */
  isWhole: boolean
  /** The members of the state that something reads; undefined: perhaps all. */
  live: ReadonlySet<string> | undefined
}

/** The context of a part of a reducer: what its expressions see, and where its lines go. */
export interface Site<Of extends Shared = Shared> {
  of: Of
  pointer: Pointer
  globals: Map<string, Global>
  root: Operand
  into: Lines
}

/** A step, and its position in the file. */
export interface Placed {
  step: Step
  pointer: Pointer
}

/** Steps of a list, with their positions. */
export function placed(steps: readonly Step[] = [], pointer: Pointer): Placed[] {
  return steps.map((step, index) => ({ step, pointer: [...pointer, index] }))
}

/** Compiles an expression whose value survives changes of the state. */
export function compileKept(
  text: string,
  member: Pointer,
  { of: { module, source, growing }, pointer, root, globals, into }: Site,
): Operand {
  const from = source([...pointer, ...member], text)
  const node = module.parse(from)
  if (node === undefined) return NOTHING
  return module.compileTree(node, from, root, globals, into, { isSerialised: false, acts: actsOf(module, node, growing) })
}

/** Binds names to values for the rest of a site. Only the `used` ones become code. */
export function compileLets(lets: Record<string, string> = {}, site: Site, used?: ReadonlySet<string>): void {
  // An unused binding is compiled only for its errors; it may use other unused ones.
  const seen = new Map(site.globals)
  for (const [name, text] of Object.entries(lets)) {
    const isUsed = used === undefined || used.has(name)
    const operand = compileKept(text, ['let', name], isUsed ? site : { ...site, globals: seen, into: new Lines() })
    const local = site.of.module.unit.name(name)
    const known: Global = { code: local, operand: { ...operand, code: local, stable: true } }
    seen.set(name, known)
    if (!isUsed) continue
    site.into.add(js`const ${local} = ${operand.code}`)
    site.globals.set(name, known)
  }
}

/** Compiles steps in sequence, each for its kinds of event. */
export function compileSteps(steps: readonly Placed[], site: Site<Stream>): void {
  const { into, of } = site
  for (const { step, pointer } of steps) {
    const kinds = kindsOf(step)
    if (step.name !== undefined) into.add(comment(step.name))
    if (kinds.length === 0) {
      compileStep(step, { ...site, pointer })
      continue
    }
    const tests = kinds.map(name => js`${of.kind} === ${json(name)}`)
    into.add(js`if (${joined(tests, ' || ')}) {`)
    compileStep(step, { ...site, pointer, into: into.nested() })
    into.add(js`}`)
  }
}

function compileStep(step: Step, outer: Site<Stream>): void {
  const { of, pointer, root } = outer
  const globals = new Map(outer.globals)
  if (step.when === undefined) {
    compileBody(step, { ...outer, globals })
    return
  }
  const test = of.module.compile(of.source([...pointer, 'when'], step.when), root, globals, outer.into, { isSerialised: false })
  outer.into.add(js`if (${truth(test, of.module.unit)}) {`)
  compileBody(step, { ...outer, globals, into: outer.into.nested() })
  outer.into.add(js`}`)
}

/** Compiles a step under its condition. */
function compileBody(step: Step, site: Site<Stream>): void {
  const { of, pointer, globals, root, into } = site
  const { module } = of
  const inner = placed(step.steps, [...pointer, 'steps'])
  if (step.for !== undefined) {
    const list = compileKept(step.for, ['for'], site)
    const item = module.unit.name('item')
    const body = new Lines()
    globals.set('item', { code: item, operand: itemOf(list, item) })
    compileLets(step.let, { ...site, into: body })
    compileSteps(inner, { ...site, into: body })
    emitLoop(into, listCode(list, module.unit), item, body, module.unit)
    return
  }
  compileLets(step.let, site)
  const member = of.isWhole ? 'whole' : 'emit'
  const text = step[member] === undefined ? undefined : of.source([...pointer, member], step[member])
  const emitted = text && module.parse(text)
  if (step.set !== undefined) compileSet(step.set, emitted, site)
  if (!globals.has('was')) globals.set('was', globals.get('state') as Global)
  // An event that contains the whole state is serialised before a later step changes the state.
  if (text && emitted) {
    if (of.isWhole) into.add(js`return ${module.compileTree(emitted, text, root, globals, into).code}`)
    else emitEvents(emitted, { module, source: text, globals, root, into }, of.line)
  }
  if (step.fail !== undefined && of.isWhole) {
    const from = of.source([...pointer, 'fail'], '')
    module.findings.push({
      ...from.document.at(from.pointer),
      rule: 'mapping/whole',
      detail: 'a step that also writes whole answers cannot fail',
      remedy: 'report the failure in `failure`, or write the whole answer by `write_answer`',
    })
  } else if (step.fail !== undefined) {
    const failure = module.compile(of.source([...pointer, 'fail'], step.fail), root, globals, into)
    into.add(js`return ${failure.code}`)
  }
  // Each step inside says for itself what was before it.
  globals.delete('was')
  compileSteps(inner, site)
}

/** Reports the members of the state that each event copies, though it only adds to them. */
function reportCopies(set: Node, growing: ReadonlyMap<Node, string>, source: Source, module: Module): void {
  for (const [member, value] of literalPairs(set) ?? [])
    for (const { position, call, to } of copiesIn(value, ['state', 'was'], growing, module.lambdaOf))
      if (to === `$state.${member}` || to === `$was.${member}`)
        module.findings.push({
          ...placeIn(source, position),
          rule: 'mapping/copies',
          detail: `${call} copies ${to} at each event`,
          remedy: 'append in `set` itself, `{ "seen": $append($state.seen, [text]) }`, where nothing else reads the list',
        })
}

/** Assigns the members that `set` names. `$was` is kept if the emitted expression reads it. */
function compileSet(set: string, emitted: Node | undefined, { of, pointer, globals, root, into }: Site<Stream>): void {
  const { module, sets, growing, live } = of
  const text = of.source([...pointer, 'set'], set)
  const node = module.parse(text)
  if (node === undefined) return
  const acts = actsIn(module, node, growing)
  const calls = growingIn(node, module.readsOf)
  const grown = new Set(calls.values())
  reportCopies(node, calls, text, module)
  for (const name of emitted === undefined ? [] : growingMembersUsed(emitted, 'was', growing, module.readsOf)) {
    if (grown.has(name)) {
      const from = of.source([...pointer, of.isWhole ? 'whole' : 'emit'], '')
      module.findings.push({
        ...from.document.at(from.pointer),
        rule: 'mapping/copies',
        detail: `$was.${name} is read where the step adds to ${name}, so each event copies all of it`,
        remedy: `read $state.${name}, which has the new item already`,
      })
    }
    // `$was` must show the old values.
    into.add(shareOf(module, name))
  }
  const state = globals.get('state') as Global
  // A function gets all members, however few it reads: objects of several shapes would make its reads slow.
  const members = emitted === undefined ? new Set<string>() : readsOfVariable('was', emitted, () => undefined)
  if (members === undefined || members.size > 0) {
    const was = module.unit.name('was')
    const parts = members && [...members].map(name => js`${propertyKey(name)}: state${access(name)}`)
    into.add(js`const ${was} = { ${parts ? joined(parts, ', ') : js`...state`} }`)
    globals.set('was', { ...state, code: was })
  }
  const pairs = literalPairs(node)?.filter(([key]) => live === undefined || live.has(key))
  const known = new Map(globals)
  keepState(module, node, known, into)
  if (pairs === undefined) {
    const operand = module.compileTree(node, text, root, known, into, { isSerialised: false, acts })
    into.add(js`Object.assign(state, ${operand.code})`)
    sets.push(operand.shape?.closed ? operand.shape : { bits: OBJ, rest: UNKNOWN })
    return
  }
  const assignments: Js[] = []
  const assigned = new Map<string, Shape>()
  sets.push({ bits: OBJ, members: assigned })
  for (const [key, valueNode] of pairs) {
    const operand = module.compileTree(valueNode, text, root, known, into, { isSerialised: false, acts })
    assigned.set(key, { bits: operand.bits, clean: operand.clean === true })
    const name = module.unit.name('next')
    into.add(js`const ${name} = ${operand.code}`)
    const target = js`state${access(key)}`
    assignments.push(operand.bits & UNDEF ? js`if (${name} !== undefined) ${target} = ${name}` : js`${target} = ${name}`)
  }
  for (const assignment of assignments) into.add(assignment)
}

/** A state that contains the whole state gets a copy: later steps change the original. */
function keepState(module: Module, node: Node, globals: Map<string, Global>, into: Lines): void {
  if (['state', 'was'].every(name => readsOfVariable(name, node, module.readsOf) !== undefined)) return
  const name = module.unit.name('now')
  into.add(js`const ${name} = { ...state }`)
  for (const [key, global] of globals) if (global.code === 'state') globals.set(key, { ...global, code: name })
}
