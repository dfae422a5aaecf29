// Reads `simulator/*.yaml` and the framing of streams from the format of the same name in `schemas/`.

import { existsSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Loaded, load } from '../../codegen/jsonata/load.js'
import { mergedOver, OF_FORMATS } from '../../codegen/read/like.js'
import type { FramingName } from '../../engine/plan.js'
import type { FormatData, SimulatorData } from '../../schemas/config/types.js'
import { dialectFile, readYaml } from './grammar.js'

export type Framing = {
  kind: FramingName
  eventLine: string | undefined
  sentinel: string | undefined
  keepAlive: string
  /** Whether an event may be the last of a good stream. */
  ends: (event: unknown) => boolean
}

type Path = {
  method: string
  pattern: RegExp
  /** The query parameters that select this entry. */
  query: [string, string][]
  stream: boolean | undefined
  framing: Framing | undefined
}

export type Dialect = {
  name: string
  paths: Path[]
  body: SimulatorData['body']
  headers: [string, string][]
  /** The paths of the model's name and the stream flag, like `body.model`. */
  model: string | undefined
  named: string | undefined
  flag: { member: string; default?: boolean } | undefined
  answersBytes: boolean
  task:
    | (Pick<NonNullable<SimulatorData['task']>, 'does'> & { id: Loaded | undefined; early: NonNullable<SimulatorData['task']>['early'] })
    | undefined
  /** A socket: `answer` is its first frame, `reply` its answer to a frame. */
  isSocket: boolean
  reply: Loaded | undefined
  /** The member that the model does not accept, if there is one; sees `$traits`. */
  refuses: Loaded | undefined
  options: Loaded
  read: Loaded
  /** A client's request about `text`; undefined if clients cannot begin. */
  ask: Loaded | undefined
  answer: Loaded
  stream: Loaded | undefined
  error: Loaded
  failure: Loaded
  refusals: SimulatorData['refusals']
}

/** The folder with the data: the source folder, also for the built code. */
export function home(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'simulator')) || !existsSync(join(folder, 'schemas'))) {
    if (dirname(folder) === folder) throw new Error('the folders simulator/ and schemas/ are not beside the program')
    folder = dirname(folder)
  }
  return folder
}

const known = new Map<string, Dialect[]>()

export function dialects(folder = home()): Dialect[] {
  const found = known.get(folder) ?? build(folder)
  known.set(folder, found)
  return found
}

function build(folder: string): Dialect[] {
  const fileOf = (name: string): string => join(folder, 'simulator', `${name}.yaml`)
  const files = readdirSync(join(folder, 'simulator')).filter(file => file.endsWith('.yaml'))
  const written = new Map(files.map(file => basename(file, '.yaml')).map(name => [name, dialectFile(fileOf(name))]))
  return [...written].map(([name, file]) => dialect(name, file, written, fileOf(name), formatOf(name, folder)))
}

/** A format's data, merged with the one that it is like; empty if there is none. */
function formatOf(name: string, folder: string): Partial<FormatData> {
  const path = join(folder, 'schemas', name, 'format.yaml')
  const own = (existsSync(path) ? readYaml(path)[0] : {}) as Partial<FormatData> & Record<string, unknown>
  const { like } = own
  return like === undefined || like === name ? own : mergedOver({ ...formatOf(like, folder) }, own, OF_FORMATS)
}

function dialect(
  name: string,
  file: SimulatorData,
  written: ReadonlyMap<string, SimulatorData>,
  path: string,
  format: Partial<FormatData>,
): Dialect {
  const expression = (key: string, source: string): Loaded => {
    try {
      return load(source)
    } catch (error) {
      throw new Error(`${path}  ${key}  ${error instanceof Error ? error.message : JSON.stringify(error)}`)
    }
  }
  const like = file.error.like === undefined ? undefined : written.get(file.error.like)?.error
  const body = file.error.body ?? like?.body
  if (body === undefined) throw new Error(`${path}  error.like  there is no file of this name that has an error.body`)
  return {
    name,
    paths: file.paths.map(entry => pathOf(entry, format, expression)),
    body: file.body,
    headers: Object.entries(file.headers),
    model: file.model ?? format.model,
    named: file.named,
    flag: typeof format.stream?.flag === 'string' ? { member: format.stream.flag } : format.stream?.flag,
    answersBytes: file.bytes ?? format.response === 'bytes',
    task: file.task && {
      does: file.task.does,
      id: file.task.id === undefined ? undefined : expression('task.id', file.task.id),
      early: file.task.early,
    },
    isSocket: file.socket,
    reply: file.reply === undefined ? undefined : expression('reply', file.reply),
    refuses: file.refuses === undefined ? undefined : expression('refuses', file.refuses),
    options: expression('options', file.options),
    read: expression('read', file.read),
    ask: file.ask === undefined ? undefined : expression('ask', file.ask),
    answer: expression('answer', file.answer),
    stream: file.stream === undefined ? undefined : expression('stream', file.stream),
    error: expression('error.body', body),
    failure: expression('error.event', file.error.event ?? body),
    refusals: file.refusals,
  }
}

function pathOf(
  { path, query, stream, framing }: SimulatorData['paths'][number],
  format: Partial<FormatData>,
  expression: (key: string, source: string) => Loaded,
): Path {
  const [method = '', template = ''] = path.split(' ')
  const literal = (text: string): string => text.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  const pattern = template.split(/(\{\+?\w+\})/).map(part => {
    const [, open, variable] = /^\{(\+?)(\w+)\}$/.exec(part) ?? []
    return variable === undefined ? literal(part) : `(?<${variable}>${open ? '.+' : '[^/]+'})`
  })
  return {
    method,
    pattern: new RegExp(`^${pattern.join('')}$`),
    query: Object.entries(query),
    stream,
    framing: framingOf(format, framing, expression),
  }
}

function framingOf(
  format: Partial<FormatData>,
  kind: Framing['kind'] | undefined,
  expression: (key: string, source: string) => Loaded,
): Framing | undefined {
  if (!format.stream) return undefined
  const { event_line, sentinel, keep_alive = '', watch, framing } = format.stream
  const proofs = [watch?.end, watch?.finish].flatMap(one => (one ? [proven(one, source => expression('stream.watch', source))] : []))
  return {
    kind: kind ?? framing,
    eventLine: event_line,
    sentinel,
    keepAlive: keep_alive,
    ends: event => proofs.some(proof => proof(event)),
  }
}

/** The format's watch rule; without a condition the marker alone decides. */
function proven(
  { when, marker }: { when?: string; marker: string | string[] },
  expression: (source: string) => Loaded,
): (event: unknown) => boolean {
  if (when === undefined) return event => [marker].flat().some(text => JSON.stringify(event).includes(text))
  const holds = expression(when)
  return event => holds(event) === true
}

export type Match = { dialect: Dialect; path: Path; variables: Record<string, string>; query: Record<string, string> }

/** The entry for a path; or, if it only has other methods, those. */
export function match(all: Dialect[], method: string, path: string, search: string): Match | string[] {
  const query = Object.fromEntries(new URLSearchParams(search))
  const others: string[] = []
  for (const dialect of all) {
    for (const entry of dialect.paths) {
      const found = entry.pattern.exec(path)
      if (!found || entry.query.some(([name, value]) => query[name] !== value)) continue
      if (entry.method !== method) others.push(entry.method)
      else return { dialect, path: entry, variables: mapped(found.groups ?? {}, decoded), query }
    }
  }
  return others
}

function mapped(values: Record<string, string>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
