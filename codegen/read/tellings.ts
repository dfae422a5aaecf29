// What a provider's half of a stream tells of the conversation, and the client's half writes: in key of each word that a step tells
// stand the steps that write it. Nothing is handed over at run time; the reducer is compiled as if it had been written so.

import type { MappingStep as Step } from '../../schemas/config/types.js'
import { elementAt } from '../jsonata/element.js'
import type { Pointer, YamlDocument } from './yaml.js'

/** Steps for each word that is told. */
export type Writes = Readonly<Record<string, readonly Step[]>>

/** Where something is written. */
export interface Written {
  document: YamlDocument
  pointer: Pointer
}

/** The steps that write a word, and where they are; undefined: nobody writes it. */
export type Writer = (word: string) => (Written & { steps: readonly Step[] }) | undefined

/**
 * The steps with what they tell written out. A step that tells has a step inside for each word, which has the value as the variable
 * `told`, and the steps that write the word inside. Where none do, it does nothing. `missing` is called for each word that nobody writes, with where it is told.
 */
export function writtenOut(
  steps: readonly Step[],
  pointer: Pointer,
  writes: Writes,
  missing: (word: string, pointer: Pointer) => void,
): Step[] {
  return steps.map((step, index) => {
    const here = [...pointer, index]
    const { tell, ...rest } = step
    const inner = step.steps && writtenOut(step.steps, [...here, 'steps'], writes, missing)
    if (tell === undefined) return inner ? idleOr({ ...rest, steps: inner }) : step
    const told = Object.entries(tell).map(([word, text]) => {
      if (!Object.hasOwn(writes, word)) missing(word, [...here, 'tell', word])
      const written = writes[word] ?? []
      return written.length > 0 ? { let: { told: text }, steps: [...written] } : IDLE
    })
    return idleOr({ ...rest, steps: told })
  })
}

/** What is left of a step, in its place, where the client is told nothing of what it would tell. */
const IDLE: Step = { steps: [] }

function idleOr(step: Step): Step {
  const acts = step.set !== undefined || step.emit !== undefined || step.fail !== undefined || step.whole !== undefined
  return acts || step.steps?.some(inner => inner !== IDLE) ? step : IDLE
}

/**
 * Where something inside a step is written, by where it is in the step that was written out: what follows its own pointer. `writer`
 * says where the steps of a word are.
 */
export function writtenAt(step: Step, { document, pointer }: Written, [member, key, ...rest]: Pointer, writer: Writer): Written {
  if (member !== 'steps')
    return { document, pointer: member === undefined ? pointer : [...pointer, member, ...(key === undefined ? [] : [key]), ...rest] }
  if (step.tell === undefined) {
    const inner = step.steps?.[key as number]
    const at = { document, pointer: [...pointer, 'steps', key as number] }
    return inner ? writtenAt(inner, at, rest, writer) : at
  }
  const word = elementAt(Object.keys(step.tell), Number(key))
  const [part, index, ...more] = rest
  const writes = part === 'steps' ? writer(word) : undefined
  const inner = writes?.steps[index as number]
  if (writes === undefined || inner === undefined) return { document, pointer: [...pointer, 'tell', word] }
  return writtenAt(inner, { document: writes.document, pointer: [...writes.pointer, index as number] }, more, writer)
}
