// The scenarios of the fault suite: the actions of upstreams, and the expected result. They are data,
// `simulator/faults/*.yaml`.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '../../codegen/read/kinds.js'
import type { Kind } from '../../engine/plan.js'
import { closed, readFaults, scriptProperties } from '../simulator/grammar.js'
import type { Script } from '../simulator/script.js'

/** An upstream's action for one request, beyond a simulator script, and the expected result. */
export interface Fault extends Script {
  /** The connection is reset before the answer, or after its headers. */
  reset?: 'before' | 'after'
  /** Silence from the beginning, or after the headers, until the other side hangs up. */
  hang?: 'before' | 'after'
  /** The body ends well before its announced length. */
  short?: true
  /** Status 400 for a reason in `refusals` of the dialect's file. */
  refusal?: string
  /** The head of the answer has this status in place of `status`. */
  as?: number
  /** The client must see neither its status nor its message. */
  hidden?: true
  /** The kind of failure before anything was sent to the client; undefined if the answer is good. */
  fails?: Kind
  /** The kind of failure after the beginning of a stream: the stream reports it. */
  breaks?: Kind
  /** No other target may be called then. */
  final?: true
}

/** The written form: `json` and `stream` are the differences between both modes. */
export interface WrittenFault extends Fault {
  json?: Fault
  stream?: Fault
}

export interface Scenario {
  name: string
  title: string
  /** The number of requests of the client, one after the other. */
  rounds?: number
  /** The answers of the first target, call by call; the last one repeats. */
  first: WrittenFault[]
  /** The same for every other target; undefined: whole answers. */
  others?: WrittenFault[]
}

const kind = { enum: Object.keys(KINDS), description: `write one of ${Object.keys(KINDS).join(', ')}` }
const when = { enum: ['before', 'after'], description: 'write before or after' }
const yes = { const: true, description: 'write true, or leave it out' }
const own = {
  reset: when,
  hang: when,
  short: yes,
  refusal: { type: 'string' },
  as: { type: 'integer', minimum: 200, maximum: 599 },
  hidden: yes,
  fails: kind,
  breaks: kind,
  final: yes,
}
const fault = closed({ ...scriptProperties, ...own })
const faults = {
  type: 'array',
  minItems: 1,
  description: 'write a list of answers',
  items: closed({ ...scriptProperties, ...own, json: fault, stream: fault }),
}
const text = { type: 'string', minLength: 1, description: 'write a text' }
const grammar = closed(
  {
    name: { ...text, pattern: '^[a-z0-9-]+$', description: 'write small letters, digits and hyphens' },
    title: text,
    rounds: { type: 'integer', minimum: 1, description: 'write a whole number from 1 on' },
    first: faults,
    others: faults,
  },
  ['name', 'title', 'first'],
)

/**
 * Reads the scenarios of a folder's `simulator/faults`, in the order of the file.
 *
 * @param home the folder with `simulator/`
 * @throws DataError with every finding if a file is invalid
 */
export function readScenarios(home: string): Scenario[] {
  const folder = join(home, 'simulator', 'faults')
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return files.sort().flatMap(name => readFaults(join(folder, name), grammar) as Scenario[])
}

/** A fault for a whole answer, or for a stream. */
export function faultFor({ json, stream, ...common }: WrittenFault, streams: boolean): Fault {
  return { ...common, ...(streams ? stream : json) }
}
