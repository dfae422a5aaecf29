// The grammar of the simulator's own YAML. It is closed: an unknown key is an error.

import { readFileSync } from 'node:fs'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import type { Schema } from '../../codegen/read/schemas.js'
import { parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import type { Script } from './script.js'

/** The content of an error beside its status. */
export type Refusal = { message: string; type?: string; code?: string; param?: string }

export type PathEntry =
  | string
  | { path: string; query?: Record<string, string>; stream?: boolean; framing?: 'sse' | 'ndjson' | 'json_array' }

/** A file of `simulator/`, as written. */
export type DialectFile = {
  title: string
  source: string
  paths: PathEntry[]
  body?: 'json' | 'multipart' | 'either' | 'none'
  /** The path of the model's name, if the format has none; or the name itself, if no request has one. */
  model?: string
  named?: string
  bytes?: boolean
  task?: { does: 'begin' | 'look' | 'fetch' | 'end' | 'list'; id?: string; early?: { status: number; message: string } }
  socket?: boolean
  headers?: Record<string, string>
  /** The error of a request for a model, if there is one. */
  refuses?: string
  options?: string
  read?: string
  /** A client's request about `text`, without the model and the stream flag, which have their own paths. */
  ask?: string
  answer: string
  stream?: string
  reply?: string
  /** A provider's refusals: the content of an error of status 400, by reason. */
  refusals?: Record<string, Refusal>
  error: { like?: string; body?: string; event?: string }
}

/** A document of a scenario file, as written. */
export type Scene = { name?: string; match: { model?: string; path?: string; text?: string }; answers: Script | Script[] }

// Findings print these descriptions as remedies.
const text = { type: 'string', description: 'write a text' }
const flag = { type: 'boolean', description: 'write true or false' }
const count = { type: 'integer', minimum: 0, description: 'write a whole number from 0 on' }
export const closed = (properties: object, required: string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
})
const texts = { type: 'object', additionalProperties: text }

/** The keys of a script, for grammars with more keys. */
export const scriptProperties = {
  text,
  chunks: {
    anyOf: [
      { type: 'integer', minimum: 1 },
      { type: 'array', items: { type: 'string', minLength: 1 } },
    ],
  },
  reasoning: text,
  signature: text,
  tools: { type: 'array', items: closed({ name: text, arguments: {}, id: text }, ['name']) },
  interleave: flag,
  bytes: count,
  polls: count,
  failed: flag,
  close: { type: 'integer', minimum: 1000, maximum: 4999 },
  usage: closed({ input: count, output: count, cached: count, cache_write: count, reasoning: count }),
  finish: { enum: ['stop', 'length', 'tool', 'filter'] },
  delay: count,
  pace: count,
  delays: { type: 'array', items: count, minItems: 1 },
  status: { type: 'integer', minimum: 200, maximum: 599 },
  error: closed({ message: text, type: text, code: text, param: text, status: { type: 'integer' }, retry_after: count, details: {} }),
  headers: texts,
  body: {},
  events: { type: 'array' },
  raw: { anyOf: [text, { type: 'object' }] },
  fail_after: count,
  cut_after: count,
  torn_after: count,
  stall_after: count,
  malformed_at: { type: 'integer', minimum: 1 },
  no_end: flag,
  line_end: { enum: ['lf', 'crlf'] },
  split: { type: 'integer', minimum: 1 },
  keep_alive: flag,
}
const script = closed(scriptProperties)

const dialect = closed(
  {
    title: text,
    source: text,
    paths: {
      type: 'array',
      minItems: 1,
      items: {
        if: { type: 'string' },
        then: text,
        else: closed({ path: text, query: texts, stream: flag, framing: { enum: ['sse', 'ndjson', 'json_array'] } }, ['path']),
      },
    },
    body: { enum: ['json', 'multipart', 'either', 'none'] },
    model: text,
    named: text,
    bytes: flag,
    task: closed(
      {
        does: { enum: ['begin', 'look', 'fetch', 'end', 'list'] },
        id: text,
        early: closed({ status: { type: 'integer', minimum: 400, maximum: 599 }, message: text }, ['status', 'message']),
      },
      ['does'],
    ),
    socket: flag,
    headers: texts,
    refuses: text,
    options: text,
    read: text,
    ask: text,
    answer: text,
    stream: text,
    reply: text,
    refusals: { type: 'object', additionalProperties: closed({ message: text, type: text, code: text, param: text }, ['message']) },
    error: { ...closed({ like: text, body: text, event: text }), anyOf: [{ required: ['like'] }, { required: ['body'] }] },
  },
  ['title', 'source', 'paths', 'answer', 'error'],
)

const scene = closed(
  {
    name: text,
    match: { ...closed({ model: text, path: text, text }), minProperties: 1 },
    answers: { if: { type: 'array' }, then: { minItems: 1, items: script }, else: script },
  },
  ['match', 'answers'],
)

const grammars = new Map<string, Schema>(Object.entries({ dialect, scene, script }))

export function dialectFile(path: string): DialectFile {
  return readYaml(path, 'dialect')[0] as DialectFile
}

export function sceneFile(path: string): Scene[] {
  return readYaml(path, 'scene') as Scene[]
}

/** The documents of a file of faults, by their own grammar. */
export function readFaults(path: string, grammar: Schema): unknown[] {
  return checked(path, readFileSync(path, 'utf8'), 'fault', new Map([['fault', grammar]]))
}

/** Checks a script from a program by the grammar of written ones. */
export function checkScript(given: Script, name: string): void {
  const { raw: _, ...rest } = given
  checked(`scenario ${name}`, JSON.stringify(rest), 'script')
}

/** The documents of a file; all its errors are thrown as one. */
export function readYaml(path: string, grammar?: string): unknown[] {
  return checked(path, readFileSync(path, 'utf8'), grammar)
}

function checked(file: string, written: string, grammar: string | undefined, configSchemas = grammars): unknown[] {
  const findings: Finding[] = []
  const documents: YamlDocument[] = parseYaml(file, written, findings)
  if (grammar !== undefined) for (const document of documents) checkGrammar({ configSchemas, findings }, grammar, document)
  if (findings.length > 0) throw new DataError(findings)
  return documents.map(document => document.value)
}
