// What the simulated model says and how its connection behaves, in no dialect's words.

import { createHash } from 'node:crypto'
import { toJson } from '../../engine/jsonata/json.js'

/** One answer. Everything may be left out; `{}` is a short text. The keys are those of a scenario file. */
export type Script = {
  text?: string
  /** Into how many pieces a stream cuts the text, or the pieces themselves. Absent: word by word. */
  chunks?: number | string[]
  reasoning?: string
  signature?: string
  /** Arguments are a value, or a text that is sent as it is, JSON or not. */
  tools?: { name: string; arguments?: unknown; id?: string }[]
  /** Whether the pieces of several calls are mixed, where the dialect can do so. */
  interleave?: boolean
  usage?: { input?: number; output?: number; cached?: number; cache_write?: number; reasoning?: number }
  finish?: 'stop' | 'length' | 'tool' | 'filter'

  /** How many bytes an answer of bytes has, or a socket gives. */
  bytes?: number
  /** How often a task is looked at until it is finished; whether it fails then. */
  polls?: number
  failed?: boolean
  /** The code that ends a socket, once the client has said something. */
  close?: number

  /** Milliseconds before the headers; between events. No pace: the whole stream in one write. 0: a write for each event. */
  delay?: number
  pace?: number
  /** Milliseconds before each event; the last one holds for those that follow. Goes before `pace`. */
  delays?: number[]

  /** From 400 on an error in the dialect's shape. */
  status?: number
  error?: { message?: string; type?: string; code?: string; param?: string; status?: number; retry_after?: number; details?: unknown }

  /** In place of what the dialect would say: headers, a JSON value or a text, stream events (a text is sent as data), bare bytes. */
  headers?: Record<string, string>
  body?: unknown
  events?: unknown[]
  raw?: string | Uint8Array

  /** After so many events: an in-stream error; the socket destroyed; the same in the middle of the next event; silence. */
  fail_after?: number
  cut_after?: number
  torn_after?: number
  stall_after?: number
  /** The event of this number, counted from 1, holds broken JSON. */
  malformed_at?: number
  /** The body ends well, but the event that proves the end is missing. */
  no_end?: boolean

  line_end?: 'lf' | 'crlf'
  /** The stream goes out in pieces of so many bytes, whatever they cut in two. */
  split?: number
  /** The dialect's sign of life stands before each event. */
  keep_alive?: boolean
}

export type State = 'queued' | 'in_progress' | 'completed' | 'failed'

/** A task as the expressions of a dialect file see it. */
export type TaskView = {
  id: string
  state: State
  model: string
  /** The id of the task that it was made from, if there is one. */
  from: string | undefined
  /** The options of the request that began it. */
  asked: Options
}

/** What a dialect file reads from a request. */
export type Asked = {
  tools: { name: string; schema: unknown }[]
  /** Only those that the conversation ends with: older ones have had their answer. */
  results: { text: string }[]
  /** How many calls the conversation already holds, so that ids are not used twice. */
  calls: number
  /** One call at a time, please. */
  serial: boolean
  schema: unknown
  text: string
}

/** A script without gaps, as the expressions of a dialect file see it. */
export type Told = {
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
  /** The bytes that were wished for, if any were. */
  bytes: number | undefined
  /** The address under which the simulator was asked. */
  base: string
  /** What the request is about, and all that there is, where the dialect knows tasks. */
  task?: TaskView
  tasks?: TaskView[]
  options: Options
}

/** What a dialect file reads for its own expressions. `reasoning` is known to all: `sealed` keeps the signature alone. */
export type Options = { reasoning?: 'shown' | 'sealed' | 'none'; [name: string]: unknown }

const CREATED = 1_700_000_000
const PIECE = 12

export const TEXT = 'The simulator answers: this text depends on nothing but the name of the model.'
// Base64, because one of the dialects carries signatures as bytes.
export const SIGNATURE = Buffer.from('signed by the simulator').toString('base64')

export function tell(script: Script, model: string, options: Options, calls: number, base = ''): Told {
  const seen = options.reasoning ?? 'shown'
  const text = script.text ?? (Array.isArray(script.chunks) ? script.chunks.join('') : script.tools ? '' : TEXT)
  const chunks = Array.isArray(script.chunks) ? script.chunks : script.chunks === undefined ? words(text) : parts(text, script.chunks)
  const reasoning = seen === 'shown' ? (script.reasoning ?? '') : ''
  const thoughts = words(reasoning)
  const tools = (script.tools ?? []).map((tool, index) => {
    const given = tool.arguments ?? {}
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
  const thinking = script.usage?.reasoning ?? (seen === 'none' ? 0 : words(script.reasoning ?? '').length)
  return {
    // Another one when the conversation goes on: there are clients that take what has an id twice for the same.
    id: createHash('sha256')
      .update(model)
      .update(JSON.stringify(options))
      .update(calls === 0 ? '' : `${calls}`)
      .digest('hex')
      .slice(0, 24),
    created: CREATED,
    model,
    text,
    chunks,
    reasoning,
    thoughts,
    signature: seen === 'none' ? undefined : (script.signature ?? (script.reasoning === undefined ? undefined : SIGNATURE)),
    tools,
    interleave: script.interleave ?? true,
    usage: {
      input: script.usage?.input ?? 12,
      output: script.usage?.output ?? chunks.length + thinking + tools.reduce((sum, tool) => sum + tool.pieces.length, 0),
      cached: script.usage?.cached ?? 0,
      cache_write: script.usage?.cache_write ?? 0,
      reasoning: thinking,
    },
    finish: script.finish ?? (tools.length > 0 ? 'tool' : 'stop'),
    bytes: script.bytes,
    base,
    options,
  }
}

/** Arguments as the value that some dialects want; a text that is no JSON object cannot be one there. */
function read(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    const value: unknown = JSON.parse(given)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}

function words(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []
}

/** So many pieces of about one length, or as many as there are characters. Characters of two UTF-16 units stay whole. */
export function parts(text: string, count: number): string[] {
  const characters = [...text]
  const pieces = Math.min(Math.max(count, 1), characters.length)
  return Array.from({ length: pieces }, (_, index) =>
    characters.slice(Math.floor((index * characters.length) / pieces), Math.floor(((index + 1) * characters.length) / pieces)).join(''),
  )
}
