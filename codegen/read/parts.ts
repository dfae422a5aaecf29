// Merges a mapping with the library parts that it uses: beside functions a part may have tables, steps of the stream, and
// rules of fields.

import type { LibraryData, MappingData } from '../../schemas/config/types.js'
import type { Finding } from './findings.js'
import { type Writer, type Writes, type Written, writtenAt, writtenOut } from './tellings.js'
import type { Pointer, YamlDocument } from './yaml.js'

/** A file's data, and its document. */
interface Said<Data> {
  data: Data
  document: YamlDocument
}

/**
 * The data of a mapping with that of its parts: their tables and field rules are added to its own. A mapping's rule for a
 * field overrides a part's. Two definitions of a table, or two parts' rules for one field, are a finding.
 */
export function withParts(
  { data, document }: Said<MappingData>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  findings: Finding[],
): MappingData {
  const used = (data.uses ?? []).flatMap((name, index) => ({ part: parts.get(name)?.data, index }))
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
    for (const kind of KINDS) {
      for (const [path, rule] of Object.entries(part?.fields?.[kind] ?? {})) {
        if (rules[kind].has(path)) twice('a rule for', path)
        else rules[kind].set(path, rule)
      }
    }
  }
  const stream =
    data.stream &&
    withSteps(
      data.stream,
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
  const steps = [...parts.flatMap(({ stream }) => stream?.steps ?? []), ...own.steps]
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
  { data, document }: Said<Pick<MappingData, 'uses'>>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  pointer: Pointer,
): Written {
  const [section, kind, key] = pointer
  const used = (data.uses ?? []).map(name => parts.get(name))
  const own = document.value as {
    fields?: Record<string, Record<string, unknown>>
    stream?: { hold?: unknown; writes?: Writes; steps?: Step[] }
  }
  if (section === 'fields' && own.fields?.[kind as string]?.[key as string] === undefined) {
    const part = used.find(one => one?.data.fields?.[kind as 'dropped']?.[key as string] !== undefined)
    return { document: part?.document ?? document, pointer }
  }
  if (section === 'stream' && kind === 'hold' && own.stream?.hold === undefined)
    return { document: used.find(one => one?.data.stream?.hold)?.document ?? document, pointer }
  if (section === 'stream' && kind === 'let') {
    const part = used.find(one => one?.data.stream?.let[key as string] !== undefined)
    return { document: part?.document ?? document, pointer }
  }
  if (section === 'stream' && kind === 'steps') {
    const writer: Writer = word => {
      const at = ['stream', 'writes', word]
      const mine = own.stream?.writes?.[word]
      if (mine !== undefined) return { document, pointer: at, steps: mine }
      const part = used.find(one => one?.data.stream?.writes?.[word] !== undefined)
      return part && { document: part.document, pointer: at, steps: part.data.stream?.writes[word] ?? [] }
    }
    const files = used.flatMap(part => (part ? [{ document: part.document, steps: part.data.stream?.steps ?? [] }] : []))
    let index = key as number
    for (const file of [...files, { document, steps: own.stream?.steps ?? [] }]) {
      const step = file.steps[index]
      if (step) return writtenAt(step, { document: file.document, pointer: [section, kind, index] }, pointer.slice(3), writer)
      index -= file.steps.length
    }
  }
  return { document, pointer }
}

type Stream = NonNullable<MappingData['stream']>
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
