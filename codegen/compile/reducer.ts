// Compiles the stream of a mapping to a reducer: plain statements over a state with fixed members, for each event and for
// the end.

import type { MappingData, MappingStep as Step } from '../../schemas/config/types.js'
import { kindsOf } from '../check/steps.js'
import type { Global } from '../jsonata/context.js'
import { access, exactName, joined, js, json, propertyKey } from '../jsonata/js.js'
import { NOTHING, OBJ, type Shape, UNDEF } from '../jsonata/types.js'
import type { Finding } from '../read/findings.js'
import type { Hold } from '../read/project.js'
import type { Pointer, SourcePosition } from '../read/yaml.js'
import { growingMembers } from './growing.js'
import { liveMembers } from './live.js'
import { type Module, objectInput } from './module.js'
import { shapeOfValue } from './shapes.js'
import { compileKept, compileLets, compileSteps, type Placed, placed, type Shared, type Site } from './steps.js'

/** The parts of a reducer. */
export interface Reducer {
  module: Module
  stream: NonNullable<MappingData['stream']>
  /** The variables of all its expressions beside the event and the state. */
  seen: ReadonlyMap<string, Global>
  source: Shared['source']
  /** The member of the provider's events with their kind. */
  eventKind: string | undefined
  /** The same of the client's events. */
  eventLine: string | undefined
  /** The names in the provider's events, for a check of what steps read. */
  eventNames?: Shape
}

/** Exports `start`, `event` and `done`. Returns the shape of the state; `shape` is that shape, if it is already known. */
export function compileReducer(reducer: Reducer, shape = stateShape(reducer)): Shape {
  const { module, stream } = reducer
  const waiting = stream.hold === undefined ? {} : { $held: null }
  module.export('start', [], () => ({ code: json({ ...stream.state, ...waiting }), bits: OBJ, stable: false }))
  compileEvents(reducer, shape)
  if (stream.hold) compileHold(reducer, stream.hold, shape)
  return shape
}

export function stateOf(shape: Shape): Global {
  return { code: js`state`, lasting: js`state`, shape, clean: false }
}

/** Compiles the `hold` rule, which inspects each event before a step sees it, and the reducer around it. */
function compileHold({ module, stream, seen, source }: Reducer, hold: Hold, shape: Shape): void {
  const asked = (['apart', 'when', 'part'] as const).filter(name => hold[name] !== undefined)
  const growing = growingMembers(module, stream.steps ?? [])
  for (const name of asked) {
    const text = hold[name] as string
    module.export(`hold_${name}`, ['state', 'input', 'ctx', 'carry'], into => {
      const globals = new Map([...seen, ['state', stateOf(shape)] as const])
      const site: Site = { of: { module, source, growing }, pointer: ['stream'], globals, root: objectInput(js`input`), into }
      compileLets(stream.let, site, namesIn([text], stream.let ?? {}))
      return compileKept(text, ['hold', name], site)
    })
  }
  const given = joined(
    asked.map(name => js`${propertyKey(name)}: ${exactName(`hold_${name}`)}`),
    ', ',
  )
  module.lines.add(js`const turns = ${module.unit.use('turns', 'inTurn')}({ step, finish, ${given} })`)
  module.exportCall('event', ['state', 'input', 'ctx', 'carry', 'out'], js`turns.event(state, input, ctx, carry, out)`)
  module.exportCall('done', ['state', 'ctx', 'carry', 'out'], js`turns.done(state, ctx, carry, out)`)
}

/** Compiles the functions for an event and for the end; returns the shapes that they assign to members of the state. */
function compileEvents({ module, stream, seen, source, eventKind, eventLine, eventNames }: Reducer, shape: Shape): Shape[] {
  const sets: Shape[] = []
  const steps = placed(stream.steps, ['stream', 'steps'])
  const isDone = ({ step }: Placed): boolean => kindsOf(step).includes('done')
  const ofEvents = steps.filter(step => !isDone(step))
  const { apart, when, part } = stream.hold ?? {}
  const others = [apart, when, part, ...Object.values(stream.let ?? {})].filter(text => text !== undefined)
  const live = liveMembers(stream.steps ?? [], 'emit', others, module)
  const shared = { module, source, growing: growingMembers(module, stream.steps ?? []), line: eventLine, sets, isWhole: false, live }
  const [event, done] = stream.hold ? ['step', 'finish'] : ['event', 'done']
  module.export(event, ['state', 'input', 'ctx', 'carry', 'out'], into => {
    const globals = new Map([...seen, ['state', stateOf(shape)] as const])
    const site = { of: shared, pointer: ['stream'], globals, root: objectInput(js`input`, eventNames), into }
    compileLets(stream.let, site, namesUsed(ofEvents, stream.let ?? {}))
    const usesKind = ofEvents.some(({ step }) => step.on !== undefined)
    const kind = module.unit.name('kind')
    if (usesKind && eventKind !== undefined) into.add(js`const ${kind} = input${access(eventKind)}`)
    compileSteps(ofEvents, { ...site, of: { ...shared, kind } })
    return undefined
  })
  module.export(done, ['state', 'ctx', 'carry', 'out'], into => {
    const globals = new Map([...seen, ['state', stateOf(shape)] as const])
    for (const name of Object.keys(stream.let ?? {})) globals.set(name, { code: NOTHING.code, bits: UNDEF })
    const atEnd = steps.filter(isDone).map(({ step, pointer }) => ({ step: { ...step, on: [] }, pointer }))
    compileSteps(atEnd, { of: { ...shared, kind: js`` }, pointer: ['stream'], globals, root: NOTHING, into })
    return undefined
  })
  return sets
}

function stateShape(reducer: Reducer): Shape {
  const trial = { ...reducer, module: reducer.module.trial() }
  return settledShape(reducer.stream.state, shape => compileEvents(trial, shape))
}

/**
 * The shape of the state: its members' initial and assigned values. The assigned shapes, which `compile` returns, depend on it, so
 * it is computed until it no longer changes.
 */
export function settledShape(state: Readonly<Record<string, unknown>> = {}, compile: (shape: Shape) => Shape[]): Shape {
  const members = new Map(Object.entries(state).map(([name, value]) => [name, { ...shapeOfValue(value), clean: true }]))
  const missing = { rule: 'jsonata/state', words: 'the state has no member' }
  const shape: Shape = { bits: OBJ, members, isNamed: true, missing }
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false
    for (const set of compile(shape)) {
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

/** The `let` bindings that some step uses, directly or through others. */
function namesUsed(steps: readonly Placed[], lets: Record<string, string>): Set<string> {
  const texts: string[] = []
  const visit = (step: Step): void => {
    for (const text of [step.when, step.set, step.emit, step.fail, step.for, ...Object.values(step.let ?? {})])
      if (text !== undefined) texts.push(text)
    for (const inner of step.steps ?? []) visit(inner)
  }
  for (const { step } of steps) visit(step)
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

/** Reports kinds that no event has, and steps for the end that can never run. */
export function checkKinds(
  steps: Step[],
  pointer: Pointer,
  eventKind: string | undefined,
  positionOf: (pointer: Pointer) => SourcePosition,
  findings: Finding[],
): void {
  steps.forEach((step, index) => {
    const here = [...pointer, index]
    const kinds = kindsOf(step)
    const find = (detail: string, remedy: string): void => {
      findings.push({ ...positionOf([...here, 'on']), rule: 'mapping/on', detail, remedy })
    }
    if (kinds.includes('done') && pointer.length > 2) find('`done` is not an event of a loop', 'move the step out of the loop')
    else if (kinds.includes('done') && kinds.length > 1) find('`done` cannot be combined with other kinds', 'write a step for done alone')
    else if (kinds.length > 0 && !kinds.includes('done') && eventKind === undefined)
      find('the events of this provider have no kinds', 'use when: instead, or add event_line to the format')
    checkKinds(step.steps ?? [], [...here, 'steps'], eventKind, positionOf, findings)
  })
}
