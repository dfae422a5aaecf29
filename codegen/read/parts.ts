// Merges a mapping with the parts that it uses: those of the library that it names, and the halves of its two dialects. A
// part may have functions, tables, steps of the stream, rules of fields, and expressions for mappings that have none.

import type { LibraryData, MappingData as MappingFile } from '../../schemas/config/types.js'
import type { Finding } from './findings.js'
import { type Writer, type Writes, type Written, writtenAt, writtenOut } from './tellings.js'
import type { Pointer, YamlDocument } from './yaml.js'

/**
 * A mapping's data, merged with that of its parts. `whole`: its whole answers are written by the steps that write its streams. What
 * `response` returns is told to them, and one of them has the answer.
 */
export type MappingData = MappingFile & { whole?: { state: Stream['state']; steps: Step[] } }

/** A file's data, and its document. */
interface Said<Data> {
  data: Data
  document: YamlDocument
}

/** The half of a dialect: as the client's, or as the provider's. It is a folder beside the dialect's format. */
export type Half = 'client' | 'provider'

export const HALVES: readonly Half[] = ['client', 'provider']

/** The name of a file of a half. */
export function halfName(dialect: string, half: Half, file = ''): string {
  return `${dialect}/${half}/${file}`
}

/** Whether a part is a file of a half, and not of the library. */
export function isOfHalf(name: string): boolean {
  return name.includes('/')
}

/**
 * The names of the parts of a mapping: of the halves of its dialects, if both have one, and of those that it names itself.
 */
export function usesOf(
  { from, to }: { from: string; to: string },
  own: readonly string[],
  parts: ReadonlyMap<string, Said<LibraryData>>,
): string[] {
  const halves = [halfName(from, 'client'), halfName(to, 'provider')].map(half => [...parts.keys()].filter(name => name.startsWith(half)))
  return withUsed([...(halves.every(half => half.length > 0) ? halves.flat() : []), ...own], parts)
}

/** The names of parts, each after those that it uses. */
export function withUsed(names: readonly string[], parts: ReadonlyMap<string, Said<LibraryData>>): string[] {
  const found = new Set<string>()
  const seen = new Set<string>()
  const visit = (name: string): void => {
    if (seen.has(name)) return
    seen.add(name)
    for (const used of parts.get(name)?.data.uses ?? []) visit(used)
    found.add(name)
  }
  for (const name of names) visit(name)
  return [...found]
}

/** The expressions that a mapping takes from its parts if it has none itself. */
const EXPRESSIONS = ['carry', 'fetch', 'split', 'join', 'request', 'failure', 'response'] as const

/**
 * The data of a mapping with that of its parts, whose names `uses` lists: their tables and field rules are added to its own.
 * A mapping's rule for a field overrides a part's, and so do its expressions. Two definitions of a table, or two parts' rules
 * for one field, are a finding.
 */
export function withParts(
  { data: own, document }: Said<MappingData>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  findings: Finding[],
): MappingData {
  const used = (own.uses ?? []).flatMap((name, index) => ({ part: parts.get(name)?.data, index }))
  const data = { ...own }
  const tables: MappingData['tables'] = { ...data.tables }
  const rules = { dropped: new Map<string, Rule>(), refused: new Map<string, Rule>() }
  const twiceAt = (index: number, what: string, name: string): Finding => ({
    ...document.at(['uses', index]),
    rule: 'names/shared',
    detail: `the mapping or another part already defines ${what} ${name}`,
    remedy: 'define it once',
  })
  for (const { part, index } of used) {
    const twice = (what: string, name: string): void => void findings.push(twiceAt(index, what, name))
    for (const [name, table] of Object.entries(part?.tables ?? {})) {
      if (Object.hasOwn(tables, name)) twice('the table', name)
      else tables[name] = table
    }
    for (const name of EXPRESSIONS) {
      if (part?.[name] === undefined || own[name] !== undefined) continue
      if (data[name] !== undefined) twice('the expression', name)
      else data[name] = part[name]
    }
    for (const kind of KINDS) {
      for (const [path, rule] of Object.entries(part?.fields?.[kind] ?? {})) {
        if (rules[kind].has(path)) twice('a rule for', path)
        else rules[kind].set(path, rule)
      }
    }
  }
  const isTold = used.some(({ part }) => (part?.stream?.steps.length ?? 0) > 0)
  const isWritten = used.some(({ part }) => Object.keys(part?.stream?.writes ?? {}).length > 0)
  const ownStream = own.stream ?? (isTold && isWritten ? NO_STEPS : undefined)
  const stream =
    ownStream &&
    withSteps(
      ownStream,
      used.map(({ part, index }) => ({ stream: part?.stream, index })),
      (index, what, name) => findings.push(twiceAt(index, what, name)),
    )
  const missing = (word: string, pointer: Pointer): void => {
    const said = sayingOf({ data, document }, parts, pointer)
    findings.push({
      ...said.document.key(said.pointer),
      rule: 'mapping/tell',
      detail: `nothing writes "${word}" to the client`,
      remedy: "use the half of the client's dialect, or define the term under `writes`",
    })
  }
  const told = used.find(({ part }) => part?.whole !== undefined)?.part?.whole
  if (told && stream && own.response === undefined && hasWhole(Object.values(stream.writes).flat())) {
    const writing = used.filter(({ part }) => Object.keys(part?.stream?.writes ?? {}).length > 0)
    const state = Object.assign({}, ...writing.map(({ part }) => part?.stream?.state), told.state)
    data.response = told.read
    data.whole = { state, steps: writtenOut(told.steps, ['whole', 'steps'], stream.writes, missing) }
  }
  const fields = Object.fromEntries(
    KINDS.map(kind => [kind, { ...Object.fromEntries(rules[kind]), ...data.fields[kind] }]),
  ) as unknown as MappingData['fields']
  const rest = data.fields.rest ?? used.map(({ part }) => part?.fields?.rest).find(said => said !== undefined)
  return {
    ...data,
    tables,
    fields: rest === undefined ? fields : { ...fields, rest },
    ...(stream && { stream: { ...stream, steps: writtenOut(stream.steps, ['stream', 'steps'], stream.writes, missing) } }),
  }
}

/**
 * A stream with the steps of its parts, which come before its own, in the order of the parts, and use members of its state.
 * The mapping may define `hold` itself.
 */
function withSteps(
  own: Stream,
  parts: readonly { stream: LibraryData['stream']; index: number }[],
  twice: (index: number, what: string, name: string) => void,
): Stream {
  const state: Stream['state'] = {}
  const lets: Stream['let'] = {}
  const writes: Record<string, Step[]> = {}
  let { hold } = own
  for (const { stream, index } of parts) {
    if (own.alone && (stream?.steps.length ?? 0) > 0) continue
    for (const [name, value] of Object.entries(stream?.state ?? {})) {
      if (Object.hasOwn(state, name) || Object.hasOwn(own.state, name)) twice(index, 'the member of the state', name)
      else state[name] = value
    }
    for (const [name, value] of Object.entries(stream?.let ?? {})) {
      if (Object.hasOwn(lets, name) || Object.hasOwn(own.let, name)) twice(index, 'the variable', name)
      else lets[name] = value
    }
    for (const [word, steps] of Object.entries(stream?.writes ?? {})) {
      if (Object.hasOwn(writes, word)) twice(index, 'the steps for the term', word)
      else writes[word] = steps
    }
    hold ??= stream?.hold
  }
  const steps = [...(own.alone ? [] : parts.flatMap(({ stream }) => stream?.steps ?? [])), ...own.steps]
  return {
    ...own,
    state: { ...state, ...own.state },
    let: { ...lets, ...own.let },
    writes: { ...writes, ...own.writes },
    steps,
    ...(hold && { hold }),
  }
}

/** Where a pointer into the merged data was defined: in the mapping's own file, or in that of a part. */
export function sayingOf(
  { data, document }: Said<Pick<MappingData, 'uses' | 'fields' | 'whole'>>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  pointer: Pointer,
): Written {
  const [section, kind, key] = pointer
  const used = (data.uses ?? []).map(name => parts.get(name))
  const own = document.value as Partial<Record<(typeof EXPRESSIONS)[number], string>> & {
    fields?: Record<string, Record<string, unknown>>
    stream?: { alone?: boolean; hold?: unknown; writes?: Writes; steps?: Step[] }
  }
  if (section === 'fields' && own.fields?.[kind as string]?.[key as string] === undefined) {
    const part = used.find(one => one?.data.fields?.[kind as 'dropped']?.[key as string] !== undefined)
    return part
      ? { document: part.document, pointer }
      : (lackOf(data.fields[kind as 'dropped'][key as string], used) ?? { document, pointer })
  }
  const expression = EXPRESSIONS.find(name => name === section)
  if (expression !== undefined && own[expression] === undefined) {
    const told = expression === 'response' && data.whole ? used.find(one => one?.data.whole) : undefined
    if (told) return { document: told.document, pointer: ['whole', 'read'] }
    return { document: used.find(one => one?.data[expression] !== undefined)?.document ?? document, pointer }
  }
  const writer: Writer = word => {
    const at = ['stream', 'writes', word]
    const mine = own.stream?.writes?.[word]
    if (mine !== undefined) return { document, pointer: at, steps: mine }
    const part = used.find(one => one?.data.stream?.writes?.[word] !== undefined)
    return part && { document: part.document, pointer: at, steps: part.data.stream?.writes[word] ?? [] }
  }
  if (section === 'whole' && kind === 'steps') {
    const part = used.find(one => one?.data.whole)
    const step = part?.data.whole?.steps[key as number]
    if (part && step) return writtenAt(step, { document: part.document, pointer: [section, kind, key as number] }, pointer.slice(3), writer)
  }
  if (section === 'stream' && kind === 'hold' && own.stream?.hold === undefined)
    return { document: used.find(one => one?.data.stream?.hold)?.document ?? document, pointer }
  if (section === 'stream' && kind === 'let') {
    const part = used.find(one => one?.data.stream?.let[key as string] !== undefined)
    return { document: part?.document ?? document, pointer }
  }
  if (section === 'stream' && kind === 'steps') {
    const told = own.stream?.alone ? [] : used
    const files = told.flatMap(part => (part ? [{ document: part.document, steps: part.data.stream?.steps ?? [] }] : []))
    let index = key as number
    for (const file of [...files, { document, steps: own.stream?.steps ?? [] }]) {
      const step = file.steps[index]
      if (step) return writtenAt(step, { document: file.document, pointer: [section, kind, index] }, pointer.slice(3), writer)
      index -= file.steps.length
    }
  }
  return { document, pointer }
}

/** Where the reason of a rule that a provider's half made is: its condition is part of that of the rule. */
function lackOf(rule: Rule | undefined, used: readonly (Said<LibraryData> | undefined)[]): Written | undefined {
  if (typeof rule !== 'object') return undefined
  for (const part of used)
    for (const [term, lack] of Object.entries(part?.data.lacks ?? {}))
      if (part && typeof lack === 'object' && lack.when !== undefined && rule.when?.includes(lack.when))
        return { document: part.document, pointer: ['lacks', term, 'when'] }
  return undefined
}

/** Whether a step among these, or inside one, has the whole answer. */
function hasWhole(steps: readonly Step[]): boolean {
  return steps.some(step => step.whole !== undefined || hasWhole(step.steps ?? []))
}

type Stream = NonNullable<MappingFile['stream']>

/** The stream of a mapping that leaves it to its parts. */
const NO_STEPS: Stream = { alone: false, state: {}, let: {}, writes: {}, steps: [] }

type Step = Stream['steps'][number]

type Rule = MappingData['fields']['dropped'][string]

const KINDS = ['dropped', 'refused'] as const

/**
 * A part with the functions that its rule for names generates: `is_name`, whether the provider accepts a name, and
 * `as_name`, the nearest accepted name, with room behind it for `_` and four digits. The beginning of a name tells where a
 * tool comes from and the end which one it is, so that a long name is cut in the middle.
 */
export function withNames(data: LibraryData): LibraryData {
  if (data.names === undefined) return data
  const { letters, first = letters, length } = data.names
  const room = length - 5
  const clean = `$replace($name, /[^${letters}]/, "_")`
  const begun = first === letters ? clean : `($contains($name, /^[${first}]/) ? "" : "_") & ${clean}`
  const functions = {
    is_name: `function($name) { $contains($name, /^[${first}][${letters}]{0,${length - 1}}$/) }`,
    as_name: `function($name) {(
      $clean := ${begun};
      $length($clean) > ${room} ? $substring($clean, 0, 20) & "_" & $substring($clean, -${room - 21}) : $clean
    )}`,
  }
  return { ...data, functions: { ...functions, ...data.functions } }
}
