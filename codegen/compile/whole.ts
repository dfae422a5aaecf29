// Compiles whole answers that are written by the steps of a stream (`whole` of a mapping): one function, in which the state
// lives, and which returns at the step that has the answer.

import type { Global } from '../jsonata/context.js'
import { js, json } from '../jsonata/js.js'
import type { Operand, Shape } from '../jsonata/types.js'
import type { Lines } from '../jsonata/unit.js'
import type { MappingData } from '../read/parts.js'
import { growingMembers } from './growing.js'
import { liveMembers } from './live.js'
import type { Module } from './module.js'
import { settledShape, stateOf } from './reducer.js'
import { compileSteps, placed, type Shared, type Stream } from './steps.js'

/** The parts of such a function. */
export interface Telling {
  module: Module
  whole: NonNullable<MappingData['whole']>
  seen: ReadonlyMap<string, Global>
  source: Shared['source']
  /** Compiles the value that is told. */
  read: (module: Module, into: Lines) => Operand
}

export function compileTelling({ module, ...telling }: Telling): void {
  const { whole } = telling
  const trial = { ...telling, module: module.trial() }
  const shape = settledShape(whole.state, shape => compileInto(trial, shape))
  compileInto({ ...telling, module }, shape)
}

/** Exports `response`; returns the shapes that its steps assign to members of the state. */
function compileInto({ module, whole, seen, source, read }: Telling, shape: Shape): Shape[] {
  const sets: Shape[] = []
  module.export('response', ['input', 'ctx', 'carry'], into => {
    const answer = read(module, into)
    const told = module.unit.name('told')
    into.add(js`const ${told} = ${answer.code}`)
    into.add(js`const state = ${json(whole.state)}`)
    const globals = new Map([...seen, ['state', stateOf(shape)] as const])
    const of: Stream = {
      module,
      source,
      growing: growingMembers(module, whole.steps),
      kind: js``,
      line: undefined,
      sets,
      isWhole: true,
      live: liveMembers(whole.steps, 'whole', [], module),
    }
    compileSteps(placed(whole.steps, ['whole', 'steps']), {
      of,
      pointer: ['whole'],
      globals,
      root: { ...answer, code: told, stable: true },
      into,
    })
    return undefined
  })
  return sets
}
