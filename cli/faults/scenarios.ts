// The scenarios of the fault suite: what upstreams do, and what is to become of it. They are data, `simulator/faults/*.yaml`.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '../../codegen/compile/format.js'
import type { Kind } from '../../engine/plan.js'
import { closed, readFaults, scriptProperties } from '../simulator/grammar.js'
import type { Script } from '../simulator/script.js'

/** What an upstream does with one request beyond what a script of the simulator can say, and what is to become of it. */
export interface Fault extends Script {
  /** The connection is reset before any byte of the answer, or behind its headers. */
  reset?: 'before' | 'after'
  /** Nothing more is said, from the beginning or behind the headers, until the other side hangs up. */
  hang?: 'before' | 'after'
  /** The body ends well before the length that the headers told. */
  short?: true
  /** Status 400 for a reason that the dialect's file names under `refusals`. */
  refusal?: string
  /** Another status than that of `status` stands in the head of the answer. */
  as?: number
  /** Neither its status nor its words are the client's business. */
  hidden?: true
  /** The kind of failure before anything was sent to the client; absent where the answer is good. */
  fails?: Kind
  /** The kind of failure behind the beginning of a stream: it is told inside it. */
  breaks?: Kind
  /** No other target may be asked then. */
  final?: true
}

/** As it is written: `json` and `stream` say what differs between the two. */
export interface WrittenFault extends Fault {
  json?: Fault
  stream?: Fault
}

export interface Scenario {
  name: string
  title: string
  /** How often the client asks, one request after the other. */
  rounds?: number
  /** What the target that is asked first answers, call by call; the last one goes on. */
  first: WrittenFault[]
  /** The same of every other target; absent: whole answers. */
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
 * @param home the folder that holds `simulator/`
 * @throws DataError with every finding where a file is not written as it should be
 */
export function readScenarios(home: string): Scenario[] {
  const folder = join(home, 'simulator', 'faults')
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return files.sort().flatMap(name => readFaults(join(folder, name), grammar) as Scenario[])
}

/** What a written fault says for a whole answer, or for a stream. */
export function faultFor({ json, stream, ...common }: WrittenFault, streams: boolean): Fault {
  return { ...common, ...(streams ? stream : json) }
}
