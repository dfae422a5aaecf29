// The behaviour of the simulated model and its connection, independent of dialects.

import { createHash } from 'node:crypto'
import { isObject } from '../../engine/core/members.js'
import { toJson } from '../../engine/jsonata/json.js'
import type { SimulatorScenarioScript } from '../../schemas/config/types.js'

/** A script with its defaults. A program may give bytes as `raw`. */
export type FilledScript = Omit<SimulatorScenarioScript, 'raw'> & { raw?: string | Uint8Array }

type Tool = NonNullable<FilledScript['tools']>[number]

/** One answer, as a program or a file writes it: `{}` is a short text. */
export type Script = Partial<Omit<FilledScript, 'usage' | 'error' | 'tools'>> & {
  usage?: Partial<FilledScript['usage']>
  error?: Partial<FilledScript['error']>
  tools?: (Pick<Tool, 'name'> & Partial<Tool>)[]
}

export type State = 'queued' | 'in_progress' | 'completed' | 'failed'

/** A task, for the expressions of a dialect file. */
export type TaskView = {
  id: string
  state: State
  model: string
  /** The id of the task that it continues, if there is one. */
  from: string | undefined
  /** The options of the request that began it. */
  asked: Options
}

/** The facts that a dialect file reads from a request. */
export type Asked = {
  tools: { name: string; schema: unknown }[]
  /** Only those at the end of the conversation: older ones have been answered. */
  results: { text: string }[]
  /** The number of calls in the conversation so far, so that ids are unique. */
  calls: number
  /** Differs from one request of a conversation to the next, and is the same for equal ones. */
  turn: string
  /** The client allows one call at a time. */
  serial: boolean
  schema: unknown
  text: string
}

/** A script with all that it leaves open, for the expressions of a dialect file. */
export type WholeScript = {
  id: string
  created: number
  model: string
  text: string
  chunks: string[]
  reasoning: string
  thoughts: string[]
  signature: string | undefined
  tools: { number: number; id: string | undefined; name: string; input: unknown; arguments: string; pieces: string[] }[]
  interleave: boolean
  usage: { input: number; output: number; cached: number; cache_write: number; reasoning: number }
  finish: 'stop' | 'length' | 'tool' | 'filter'
  /** The requested number of bytes, if any. */
  bytes: number | undefined
  /** The address that the client used. */
  base: string
  /** The task of the request, and all tasks, if the dialect has tasks. */
  task?: TaskView
  tasks?: TaskView[]
  options: Options
}

/**
 * The values that a dialect file reads for its own expressions. All dialects know `reasoning`: `sealed` keeps only the
 * signature.
 */
export type Options = { reasoning?: 'shown' | 'sealed' | 'none'; [name: string]: unknown }

const CREATED = 1_700_000_000
const PIECE = 12

export const TEXT = 'The simulator answers: this text depends on nothing but the name of the model.'
// Base64, because one of the dialects carries signatures as bytes.
export const SIGNATURE = Buffer.from('signed by the simulator').toString('base64')

export function completed(
  script: FilledScript,
  model: string,
  options: Options,
  { calls, turn }: Pick<Asked, 'calls' | 'turn'>,
  base = '',
): WholeScript {
  const seen = options.reasoning ?? 'shown'
  const text = script.text ?? (Array.isArray(script.chunks) ? script.chunks.join('') : script.tools ? '' : TEXT)
  const chunks = Array.isArray(script.chunks) ? script.chunks : script.chunks === undefined ? words(text) : parts(text, script.chunks)
  const reasoning = seen === 'shown' ? (script.reasoning ?? '') : ''
  const thoughts = words(reasoning)
  const tools = (script.tools ?? []).map((tool, index) => {
    const given = tool.arguments
    const written = typeof given === 'string' ? given : (toJson(given) ?? '{}')
    return {
      number: calls + index + 1,
      id: tool.id,
      name: tool.name,
      input: read(given),
      arguments: written,
      pieces: parts(written, Math.ceil(written.length / PIECE)),
    }
  })
  const thinking = script.usage.reasoning ?? (seen === 'none' ? 0 : words(script.reasoning ?? '').length)
  return {
    // A new id when the conversation continues: some clients treat equal ids as the same item.
    id: createHash('sha256').update(model).update(JSON.stringify(options)).update(turn).digest('hex').slice(0, 24),
    created: CREATED,
    model,
    text,
    chunks,
    reasoning,
    thoughts,
    signature: seen === 'none' ? undefined : (script.signature ?? (script.reasoning === undefined ? undefined : SIGNATURE)),
    tools,
    interleave: script.interleave,
    usage: {
      input: script.usage.input,
      output: script.usage.output ?? chunks.length + thinking + tools.reduce((sum, tool) => sum + tool.pieces.length, 0),
      cached: script.usage.cached,
      cache_write: script.usage.cache_write,
      reasoning: thinking,
    },
    finish: script.finish ?? (tools.length > 0 ? 'tool' : 'stop'),
    bytes: script.bytes,
    base,
    options,
  }
}

/** Arguments as a value, which some dialects need; a text that is not a JSON object becomes an empty one. */
function read(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    const value: unknown = JSON.parse(given)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function words(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []
}

/** Splits a text into `count` pieces of similar length, or into its characters if there are fewer. Surrogate pairs stay whole. */
function parts(text: string, count: number): string[] {
  const characters = [...text]
  const pieces = Math.min(Math.max(count, 1), characters.length)
  return Array.from({ length: pieces }, (_, index) =>
    characters.slice(Math.floor((index * characters.length) / pieces), Math.floor(((index + 1) * characters.length) / pieces)).join(''),
  )
}
