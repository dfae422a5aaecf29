// A mapping as a module: request, response and carry are functions of one expression each; the stream is a reducer
// whose steps become plain statements over a state of one shape.

import type { LibraryData, MappingData, MappingStep as Step } from '../../schemas/config/types.js'
import type { Node } from '../jsonata/ast.js'
import { children } from '../jsonata/ast.js'
import { truth } from '../jsonata/compile.js'
import { emitLoop, type Global } from '../jsonata/context.js'
import { type Act, fieldsOf, type Growing, growingIn, sharesOf, spokenOf, TRUSTED } from '../jsonata/growth.js'
import { listCode } from '../jsonata/path.js'
import { ANY, ARR, BOOL, FUN, itemOf, NOTHING, NULL, NUM, OBJ, type Operand, type Shape, STR, UNDEF, UNKNOWN } from '../jsonata/types.js'
import { access, Lines, propertyKey } from '../jsonata/unit.js'
import type { Finding } from '../read/findings.js'
import type { Entry, Hold, Library, Project, Source } from '../read/project.js'
import type { Pointer, YamlDocument } from '../read/yaml.js'
import { emitEvents, literalPairs } from './emit.js'
import { printFieldChecks, sentAs } from './fields.js'
import { Module, objectInput, printValue } from './module.js'

export interface MappingInput {
  data: MappingData
  document: YamlDocument
  library: Library
  /** What the source request's schema says of it, which has been checked by then. */
  requestShape: Shape
  /** The member of the provider's events that names their kind. */
  eventKind: string | undefined
  /** The same of the client's events. */
  eventLine: string | undefined
  findings: Finding[]
}

const CONTEXT: Shape = {
  bits: OBJ,
  members: new Map<string, Shape>([
    ['model', { bits: STR }],
    ['requested', { bits: STR }],
    ['provider', { bits: STR }],
    ['stream', { bits: BOOL }],
    ['max_output', { bits: NUM }],
    ['id', { bits: STR }],
    ['created', { bits: NUM }],
    ['tag', { bits: STR }],
    ['traits', { bits: OBJ }],
    ['task', { bits: STR | UNDEF }],
    ['fetched', { bits: OBJ | UNDEF }],
  ]),
}

/** What has functions, and uses those of others. */
type FunctionUser = { data: Pick<MappingData, 'uses' | 'define'>; document: YamlDocument }

/**
 * The functions that a mapping sees by name, and where in it each comes from: those of the library, of the parts of it that
 * the mapping uses, and its own.
 */
export function* functionsSeen(
  { data, document }: FunctionUser,
  { library, parts }: Pick<Project, 'library' | 'parts'>,
): Generator<[name: string, source: Source, from: Pointer]> {
  for (const [name, source] of library) yield [name, source, []]
  for (const [index, used] of (data.uses ?? []).entries()) {
    const part = parts.get(used)
    for (const [name, text] of Object.entries(part?.data.functions ?? {}))
      yield [name, { document: (part as Entry<LibraryData>).document, pointer: ['functions', name], text }, ['uses', index]]
  }
  for (const [name, text] of Object.entries(data.define)) yield [name, { document, pointer: ['define', name], text }, ['define', name]]
}

/** The same, for what is compiled with them. */
export function libraryFor(mapping: FunctionUser, project: Pick<Project, 'library' | 'parts'>): Library {
  return new Map([...functionsSeen(mapping, project)].map(([name, source]) => [name, source]))
}

/** What functions that a mapping sees can see of it. */
export function tablesOf(tables: MappingData['tables']): ReadonlyMap<string, Global> {
  return new Map([['tables', { code: 'tables', shape: shapeOfTables(tables) }]])
}

/** The module of a mapping. Needs the names `ctx`, `carry` and `state` for itself. */
export function compileMapping(input: MappingInput): Module {
  const { data, document, findings } = input
  const source = (pointer: Pointer, text: string): Source => ({ document, pointer, text })
  const ctx: Global = { code: 'ctx', shape: CONTEXT }
  const module = new Module(findings, input.library, tablesOf(data.tables))
  // What the module exports, and what its functions are handed, must not be the name of anything defined.
  for (const name of [
    'tables',
    'ctx',
    'carry',
    'input',
    'state',
    'out',
    'start',
    'event',
    'done',
    'step',
    'finish',
    'hold_apart',
    'hold_when',
    'hold_part',
    'request',
    'response',
    'split',
    'join',
    'failure',
    'location',
    'answers',
    'fetch',
    'dropped',
    'refused',
    'sent',
  ])
    module.unit.name(name)
  module.lines.add(`const tables = ${printValue(data.tables)}`)

  const request = objectInput('input', input.requestShape)
  let carried: Shape | undefined
  if (data.carry !== undefined) {
    module.export('carry', ['input', 'ctx'], body => {
      const operand = module.compile(source(['carry'], data.carry as string), request, new Map([['ctx', ctx]]), body, {
        isSerialised: false,
      })
      carried = operand.shape && operand.bits === OBJ ? { ...operand.shape, bits: OBJ } : undefined
      return operand
    })
  }
  const carry: Global = { code: 'carry', clean: false, ...(carried ? { shape: carried } : data.carry === undefined ? { bits: UNDEF } : {}) }
  const seen = new Map([
    ['ctx', ctx],
    ['carry', carry],
  ])

  if (data.fetch !== undefined)
    module.export('fetch', ['input', 'ctx'], body =>
      module.compile(source(['fetch'], data.fetch as string), request, new Map([['ctx', ctx]]), body),
    )
  if (data.split !== undefined)
    module.export('split', ['input', 'ctx'], body =>
      module.compile(source(['split'], data.split as string), request, new Map([['ctx', ctx]]), body),
    )
  const { request: rendered } = data
  if (rendered !== undefined)
    module.export('request', ['input', 'ctx', 'carry'], body => module.compile(source(['request'], rendered), request, seen, body))
  for (const name of ['response', 'failure', 'location'] as const) {
    const text = data[name]
    if (text !== undefined)
      module.export(name, ['input', 'ctx', 'carry'], body => module.compile(source([name], text), objectInput('input'), seen, body))
  }
  if (data.join !== undefined)
    module.export('join', ['answers', 'ctx', 'carry'], body =>
      module.compile(source(['join'], data.join as string), { code: 'answers', bits: ARR, stable: true, clean: true }, seen, body),
    )
  if (data.stream) checkKinds(data.stream.steps, ['stream', 'steps'], input.eventKind, document, findings)
  if (data.stream) compileReducer({ module, stream: data.stream, seen, input, source })
  for (const kind of ['dropped', 'refused'] as const) {
    for (const [path, rule] of Object.entries(data.fields[kind])) {
      if (sentAs(rule) === undefined || (kind === 'dropped' && (rule as { when?: string }).when === undefined)) continue
      findings.push({
        ...document.at(['fields', kind, path, 'sent']),
        rule: 'mapping/sent',
        detail: `${path} is ${kind} for what is sent of it, and for something else`,
        remedy: 'say `sent` of a dropped field, and `when` of a field for which nothing is sent',
      })
    }
  }
  printFieldChecks(module, data.fields, request, ctx, source)
  module.defineAll(Object.keys(data.define))
  return module
}

// The reducer ----------------------------------------------------------------------------------------------------

type SourceOf = (pointer: Pointer, text: string) => Source

/** What the steps of a reducer share. */
interface Told {
  /** The name of what holds the kind of the provider's event. */
  kind: string
  /** The member that tells the client what kind of event it is. */
  line: string | undefined
  /** What the members of the state are set to. */
  sets: Shape[]
  /** The members that grow from event to event. */
  growing: Growing
}

/** What a reducer is made of. */
interface Reducer {
  module: Module
  stream: NonNullable<MappingData['stream']>
  seen: ReadonlyMap<string, Global>
  input: MappingInput
  source: SourceOf
}

function compileReducer(reducer: Reducer): void {
  const { module, stream } = reducer
  const shape = stateShape(reducer)
  const waiting = stream.hold === undefined ? {} : { $held: null }
  module.export('start', [], () => ({ code: printValue({ ...stream.state, ...waiting }), bits: OBJ, stable: false }))
  compileEvents(reducer, shape)
  if (stream.hold) compileHold(reducer, stream.hold, shape)
}

/** What is asked of each event before a step sees it, and the reducer that asks. */
function compileHold({ module, stream, seen, source }: Reducer, hold: Hold, shape: Shape): void {
  const asked = (['apart', 'when', 'part'] as const).filter(name => hold[name] !== undefined)
  const growing = growingMembers(module, stream.steps ?? [])
  for (const name of asked) {
    const text = hold[name] as string
    module.export(`hold_${name}`, ['state', 'input', 'ctx', 'carry'], body => {
      const globals = new Map([...seen, ['state', { code: 'state', shape, clean: false }] as const])
      const lets = stream.let ?? {}
      compileLets(module, lets, ['stream', 'let'], globals, objectInput('input'), body, source, growing, namesIn([text], lets))
      return compileKept(module, source(['stream', 'hold', name], text), objectInput('input'), globals, body, growing)
    })
  }
  const given = asked.map(name => `${name}: hold_${name}`).join(', ')
  module.lines.add(`const turns = ${module.unit.use('turns', 'inTurn')}({ step, finish, ${given} })`)
  module.lines.add('export function event(state, input, ctx, carry, out) { return turns.event(state, input, ctx, carry, out) }')
  module.lines.add('export function done(state, ctx, carry, out) { return turns.done(state, ctx, carry, out) }')
}

/** The functions of a reducer for an event and for the end; gives what they set members of the state to. */
function compileEvents({ module, stream, seen, input: { eventKind, eventLine }, source }: Reducer, shape: Shape): Shape[] {
  const state: Global = { code: 'state', shape, clean: false }
  const sets: Shape[] = []
  const steps = stream.steps ?? []
  const growing = growingMembers(module, steps)
  const isDone = (step: Step): boolean => kindsOf(step).includes('done')
  const [event, done] = stream.hold ? ['step', 'finish'] : ['event', 'done']
  module.export(event, ['state', 'input', 'ctx', 'carry', 'out'], body => {
    const globals = new Map([...seen, ['state', state] as const])
    const used = namesUsed(
      steps.filter(step => !isDone(step)),
      stream.let ?? {},
    )
    compileLets(module, stream.let ?? {}, ['stream', 'let'], globals, objectInput('input'), body, source, growing, used)
    const usesKind = steps.some(step => step.on !== undefined && !isDone(step))
    const kind = module.unit.name('kind')
    if (usesKind && eventKind !== undefined) body.add(`const ${kind} = input.${eventKind}`)
    compileSteps(
      module,
      steps.map((step, index) => ({ step, pointer: ['stream', 'steps', index] })).filter(({ step }) => !isDone(step)),
      globals,
      objectInput('input'),
      { kind, line: eventLine, sets, growing },
      body,
      source,
    )
    return undefined
  })
  module.export(done, ['state', 'ctx', 'carry', 'out'], body => {
    const globals = new Map([...seen, ['state', state] as const])
    const root: Operand = { code: 'undefined', bits: UNDEF, stable: true, clean: true }
    for (const name of Object.keys(stream.let ?? {})) globals.set(name, { code: 'undefined', bits: UNDEF })
    compileSteps(
      module,
      steps
        .map((step, index) => ({ step: { ...step, on: [] }, pointer: ['stream', 'steps', index], isDone: isDone(step) }))
        .filter(({ isDone: is }) => is),
      globals,
      root,
      { kind: '', line: eventLine, sets, growing },
      body,
      source,
    )
    return undefined
  })
  return sets
}

/** Kinds that no event has, and the end where it cannot be looked for. */
function checkKinds(steps: Step[], pointer: Pointer, eventKind: string | undefined, document: YamlDocument, findings: Finding[]): void {
  steps.forEach((step, index) => {
    const here = [...pointer, index]
    const kinds = kindsOf(step)
    const find = (detail: string, remedy: string): void => {
      findings.push({ ...document.at([...here, 'on']), rule: 'mapping/on', detail, remedy })
    }
    if (kinds.includes('done') && pointer.length > 2) find('the end is no event of a loop', 'put the step beside the loop')
    else if (kinds.includes('done') && kinds.length > 1) find('the end is no event like others', 'write a step for done alone')
    else if (kinds.length > 0 && !kinds.includes('done') && eventKind === undefined)
      find('events of this provider have no kind', 'say when: instead, or give the format its event_line')
    checkKinds(step.steps ?? [], [...here, 'steps'], eventKind, document, findings)
  })
}

function kindsOf(step: Step): string[] {
  return step.on === undefined ? [] : Array.isArray(step.on) ? step.on : [step.on]
}

/** The `let`s that some step mentions, and those that these mention. */
function namesUsed(steps: Step[], lets: Record<string, string>): Set<string> {
  const texts: string[] = []
  const visit = (step: Step): void => {
    for (const text of [step.when, step.set, step.emit, step.fail, step.for, ...Object.values(step.let ?? {})])
      if (text !== undefined) texts.push(text)
    for (const inner of step.steps ?? []) visit(inner)
  }
  for (const step of steps) visit(step)
  return namesIn(texts, lets)
}

function namesIn(texts: readonly string[], lets: Record<string, string>): Set<string> {
  const used = new Set<string>()
  const add = (text: string): void => {
    for (const name of Object.keys(lets)) {
      if (!used.has(name) && new RegExp(`\\$${name}\\b`).test(text)) {
        used.add(name)
        add(lets[name] as string)
      }
    }
  }
  for (const text of texts) add(text)
  return used
}

function compileLets(
  module: Module,
  lets: Record<string, string>,
  pointer: Pointer,
  globals: Map<string, Global>,
  root: Operand,
  body: Lines,
  source: SourceOf,
  growing: Growing,
  used?: ReadonlySet<string>,
): void {
  for (const [name, text] of Object.entries(lets)) {
    const isUsed = used === undefined || used.has(name)
    // What nobody uses is compiled for what is wrong in it.
    const operand = compileKept(module, source([...pointer, name], text), root, globals, isUsed ? body : new Lines(), growing)
    if (!isUsed) continue
    const js = module.unit.name(name)
    body.add(`const ${js} = ${operand.code}`)
    globals.set(name, { code: js, operand: { ...operand, code: js, stable: true } })
  }
}

interface Placed {
  step: Step
  pointer: Pointer
}

function compileSteps(
  module: Module,
  steps: Placed[],
  globals: ReadonlyMap<string, Global>,
  root: Operand,
  told: Told,
  body: Lines,
  source: SourceOf,
): void {
  for (const { step, pointer } of steps) {
    const kinds = kindsOf(step)
    let into = body
    if (step.name !== undefined) body.add(`// ${step.name.replace(/\s+/g, ' ')}`)
    if (kinds.length > 0) {
      body.add(`if (${kinds.map(name => `${told.kind} === ${JSON.stringify(name)}`).join(' || ')}) {`)
      into = new Lines()
      body.entries.push(into)
    }
    compileStep(module, step, pointer, globals, root, told, into, source)
    if (kinds.length > 0) body.add('}')
  }
}

function compileStep(
  module: Module,
  step: Step,
  pointer: Pointer,
  outer: ReadonlyMap<string, Global>,
  root: Operand,
  told: Told,
  body: Lines,
  source: SourceOf,
): void {
  let into = body
  const isGuarded = step.when !== undefined
  if (step.when !== undefined) {
    const test = module.compile(source([...pointer, 'when'], step.when), root, outer, body, { isSerialised: false })
    body.add(`if (${truth(test, module.unit)}) {`)
    into = new Lines()
    body.entries.push(into)
  }
  const globals = new Map(outer)
  if (step.for !== undefined) {
    const list = compileKept(module, source([...pointer, 'for'], step.for), root, globals, into, told.growing)
    const item = module.unit.name('item')
    const inner = new Lines()
    globals.set('item', { code: item, operand: itemOf(list, item) })
    compileLets(module, step.let ?? {}, [...pointer, 'let'], globals, root, inner, source, told.growing)
    compileSteps(
      module,
      (step.steps ?? []).map((child, index) => ({ step: child, pointer: [...pointer, 'steps', index] })),
      globals,
      root,
      told,
      inner,
      source,
    )
    emitLoop(into, listCode(list, module.unit), item, inner, module.unit)
  } else {
    compileLets(module, step.let ?? {}, [...pointer, 'let'], globals, root, into, source, told.growing)
    const text = step.emit === undefined ? undefined : source([...pointer, 'emit'], step.emit)
    const emitted = text && module.parse(text)
    if (step.set !== undefined) compileSet(module, source([...pointer, 'set'], step.set), emitted, globals, root, told, into)
    if (!globals.has('was')) globals.set('was', globals.get('state') as Global)
    // What holds the whole state is text before a later step changes it.
    if (text && emitted) emitEvents(emitted, { module, source: text, globals, root, into }, told.line)
    if (step.fail !== undefined) {
      const failure = module.compile(source([...pointer, 'fail'], step.fail), root, globals, into)
      into.add(`return ${failure.code}`)
    }
    if (step.steps)
      compileSteps(
        module,
        step.steps.map((child, index) => ({ step: child, pointer: [...pointer, 'steps', index] })),
        globals,
        root,
        told,
        into,
        source,
      )
  }
  if (isGuarded) body.add('}')
}

/** Assigns the members that `set` names. `$was` is kept where what is emitted looks at it. */
function compileSet(
  module: Module,
  text: Source,
  emitted: Node | undefined,
  globals: Map<string, Global>,
  root: Operand,
  { sets, growing }: Told,
  into: Lines,
): void {
  const node = module.parse(text)
  if (node === undefined) return
  const acts = actsIn(module, node, growing)
  // What was is to be seen as it was.
  for (const name of emitted === undefined ? [] : spokenOf(emitted, 'was', growing, module.readsOf)) into.add(shareOf(module, name))
  const state = globals.get('state') as Global
  const members = emitted === undefined ? [] : membersOf('was', emitted)
  if (members === undefined || members.length > 0) {
    const was = module.unit.name('was')
    into.add(
      `const ${was} = ${members ? `{ ${members.map(name => `${propertyKey(name)}: state${access(name)}`).join(', ')} }` : '{ ...state }'}`,
    )
    globals.set('was', { ...state, code: was })
  }
  const pairs = literalPairs(node)
  const known = new Map(globals)
  keepState(module, node, known, into)
  if (pairs === undefined) {
    const operand = module.compileTree(node, text, root, known, into, { isSerialised: false, acts })
    into.add(`Object.assign(state, ${operand.code})`)
    sets.push(operand.shape?.closed ? operand.shape : { bits: OBJ, rest: UNKNOWN })
    return
  }
  const assignments: string[] = []
  const assigned = new Map<string, Shape>()
  sets.push({ bits: OBJ, members: assigned })
  for (const [key, valueNode] of pairs) {
    const operand = module.compileTree(valueNode, text, root, known, into, { isSerialised: false, acts })
    assigned.set(key, { bits: operand.bits, clean: operand.clean === true })
    const name = module.unit.name('next')
    into.add(`const ${name} = ${operand.code}`)
    const target = /^[A-Za-z_]\w*$/.test(key) ? `state.${key}` : `state[${JSON.stringify(key)}]`
    assignments.push(operand.bits & UNDEF ? `if (${name} !== undefined) ${target} = ${name}` : `${target} = ${name}`)
  }
  for (const assignment of assignments) into.add(assignment)
}

/** The members of the state that grow: what is added to them goes into what is there, where nobody else holds it. */
function growingMembers(module: Module, steps: Step[]): Growing {
  const growing = new Map<string, boolean>()
  if ([...TRUSTED].some(name => module.has(name))) return growing
  const visit = (step: Step): void => {
    const node = step.set === undefined ? undefined : module.tree(step.set)
    if (node) fieldsOf(growingIn(node, module.readsOf), growing)
    for (const inner of step.steps ?? []) visit(inner)
  }
  for (const step of steps) visit(step)
  return growing
}

/** An expression whose value is kept while the state changes. */
function compileKept(
  module: Module,
  source: Source,
  root: Operand,
  globals: ReadonlyMap<string, Global>,
  into: Lines,
  growing: Growing,
): Operand {
  const node = module.parse(source)
  if (node === undefined) return NOTHING
  const acts = actsOf(module, sharesOf(node, growing, module.readsOf))
  return module.compileTree(node, source, root, globals, into, { isSerialised: false, acts })
}

/** What is done in what the state is set to, for what grows. */
function actsIn(module: Module, node: Node, growing: Growing): Map<Node, Act> {
  const acts = actsOf(module, sharesOf(node, growing, module.readsOf))
  for (const [call, field] of growingIn(node, module.readsOf)) {
    if (!growing.has(field)) continue
    const [append, merge] = ['growState', 'growMergedState'].map(name => `${module.unit.use('growth', name)}(`) as [string, string]
    acts.set(call, { ...acts.get(call), grow: { append, merge } })
  }
  return acts
}

function actsOf(module: Module, shares: ReadonlyMap<Node, string[]>): Map<Node, Act> {
  return new Map([...shares].map(([node, fields]) => [node, { share: fields.map(field => shareOf(module, field)) }]))
}

function shareOf(module: Module, name: string): string {
  return `${module.unit.use('growth', 'share')}(state${access(name)})`
}

/** The members of a variable that an expression looks at; nothing where it looks at the whole. */
function membersOf(name: string, node: Node): string[] | undefined {
  const members = new Set<string>()
  let isWhole = false
  const visit = (child: Node): void => {
    const [first, second] = child.type === 'path' ? (child.steps ?? []) : []
    if (first?.type === 'variable' && first.value === name && second?.type === 'name' && !first.stages && !first.predicate) {
      members.add(String(second.value))
      for (const part of children({ ...child, steps: child.steps?.slice(1) ?? [] })) visit(part)
      return
    }
    if (child.type === 'variable' && child.value === name) isWhole = true
    for (const part of children(child)) visit(part)
  }
  visit(node)
  return isWhole ? undefined : [...members]
}

/** A state that holds the whole state holds it as it is now: later steps change the one that goes on. */
function keepState(module: Module, node: Node, globals: Map<string, Global>, into: Lines): void {
  if (['state', 'was'].every(name => membersOf(name, node) !== undefined)) return
  const name = module.unit.name('now')
  into.add(`const ${name} = { ...state }`)
  for (const [key, global] of globals) if (global.code === 'state') globals.set(key, { ...global, code: name })
}

/**
 * The shape of the state: what its members are at first, and what they are set to. That depends on what they are, so it is
 * asked again until it does not change any more.
 */
function stateShape(reducer: Reducer): Shape {
  const members = new Map(
    Object.entries(reducer.stream.state ?? {}).map(([name, value]) => [name, { ...shapeOfValue(value), clean: true }]),
  )
  const shape: Shape = { bits: OBJ, members }
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false
    for (const set of compileEvents({ ...reducer, module: reducer.module.trial() }, shape)) {
      for (const [name, known] of members) {
        const next = set.members?.get(name) ?? set.rest
        if (next === undefined) continue
        const bits = known.bits | (next.bits & ~UNDEF)
        const clean = known.clean === true && next.clean === true
        if (bits === known.bits && clean === known.clean) continue
        members.set(name, { bits, clean })
        hasChanged = true
      }
    }
  }
  return shape
}

/** Tables have no other rows than those that are written down. */
function shapeOfTables(tables: Record<string, Record<string, unknown>>): Shape {
  const members = Object.entries(tables).map(([name, table]): [string, Shape] => [name, { ...shapeOfValue(table), closed: true }])
  return { bits: OBJ, members: new Map(members), closed: true }
}

/** What is known of a constant. */
export function shapeOfValue(value: unknown): Shape {
  if (value === null) return { bits: NULL }
  if (Array.isArray(value)) return { bits: ARR }
  if (typeof value === 'object')
    return { bits: OBJ, members: new Map(Object.entries(value).map(([name, item]) => [name, shapeOfValue(item)])) }
  const bits: Record<string, number> = { string: STR, number: NUM, boolean: BOOL }
  return { bits: bits[typeof value] ?? ANY & ~FUN }
}
