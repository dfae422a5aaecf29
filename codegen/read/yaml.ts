// YAML with positions: values as js-yaml constructs them, and the position of each in the file.

import {
  EVENT_ALIAS,
  EVENT_DOCUMENT,
  EVENT_MAPPING,
  EVENT_POP,
  EVENT_SCALAR,
  EVENT_SEQUENCE,
  type Event,
  getScalarValue,
  loadAll,
  parseEvents,
  SCALAR_STYLE_LITERAL_BLOCK,
  type ScalarEvent,
  YAMLException,
} from 'js-yaml'
import type { Finding } from './findings.js'

export type Pointer = readonly (string | number)[]

export interface SourcePosition {
  file: string
  line: number
  column: number
}

export interface YamlDocument {
  file: string
  value: unknown
  /** What is wrong in the file and was left out of the value. */
  without?: readonly Pointer[]
  /** The position of a value; of a missing value, that of its nearest parent. */
  at(pointer: Pointer): SourcePosition
  /** The position of a member's key. */
  key(pointer: Pointer): SourcePosition
  /** The position in the file of a character of a string value. */
  inside(pointer: Pointer, offset: number): SourcePosition
}

/** The part of a value that a pointer leads to; undefined if there is none. */
export function valueAt(value: unknown, pointer: Pointer): unknown {
  return pointer.reduce((current, part) => Object(current)[part], value)
}

interface Entry {
  start: number
  key?: number
  scalar?: ScalarEvent
}

/** The documents of a file; a file that is not YAML gives one finding and no documents. */
export function parseYaml(file: string, text: string, findings: Finding[]): YamlDocument[] {
  // A byte order mark takes no column.
  const whole = text.replace(/^\uFEFF/, '')
  try {
    // Most documents are asked for no position.
    let entries: Map<string, Entry>[] | undefined
    const entriesOf = (index: number): Map<string, Entry> => {
      entries ??= locate(parseEvents(whole, {}), whole)
      return entries[index] ?? new Map()
    }
    return loadAll(whole).map((value, index) => yamlDocument(file, whole, value, () => entriesOf(index)))
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const twice = duplicatesIn(file, whole)
    if (twice.length > 0) {
      findings.push(...twice)
      return []
    }
    const mark = (error as { mark?: { line: number; column: number } }).mark
    const detail = String((error as { reason?: string }).reason ?? error.message.split('\n')[0])
    findings.push({
      file,
      line: (mark?.line ?? 0) + 1,
      column: (mark?.column ?? 0) + 1,
      rule: 'yaml/syntax',
      detail,
      remedy: `correct the YAML syntax at this position${quotesFor(detail)}`,
    })
    return []
  }
}

/** Expressions are texts, and often lack the quotes that they need. */
function quotesFor(detail: string): string {
  if (detail.includes('flow collection entries')) return ', or put a text with `,`, `[`, `]`, `{` or `}` in quotes'
  return detail === 'bad indentation of a mapping entry' ? ', or put a text with `: ` in quotes' : ''
}

/** A finding for each key that its mapping has already; none where the text is not even read so far. */
function duplicatesIn(file: string, text: string): Finding[] {
  const found: Finding[] = []
  let events: Event[]
  try {
    events = parseEvents(text, {})
  } catch {
    return []
  }
  locate(events, text, (name, first, second) => {
    const { line, column } = positionIn(file, text, first)
    found.push({
      ...positionIn(file, text, second),
      rule: 'yaml/syntax',
      detail: `the key "${name}" is here twice: the first one is at ${line}:${column}`,
      remedy: 'merge the two, or remove one',
    })
  })
  return found
}

function positionIn(file: string, text: string, offset: number): SourcePosition {
  const before = text.slice(0, offset)
  return { file, line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** The same for a file that must have content: an editor or a shell may have emptied it before it writes it again. */
export function parseFilled(file: string, text: string, findings: Finding[]): YamlDocument[] {
  const known = findings.length
  const documents = parseYaml(file, text, findings)
  if (findings.length > known || documents.some(({ value }) => value !== null)) return documents
  findings.push({ file, line: 1, column: 1, rule: 'yaml/empty', detail: 'the file has no content', remedy: 'write it, or remove the file' })
  return []
}

function pointerKey(pointer: Pointer): string {
  return pointer.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The positions of the values of each document. `twice` is told where a mapping has a key for the second time. */
function locate(
  events: Event[],
  text: string,
  twice: (name: string, first: number, second: number) => void = () => undefined,
): Map<string, Entry>[] {
  const documents: Map<string, Entry>[] = []
  let entries = new Map<string, Entry>()
  // For each open collection: its pointer, and for a mapping the key whose value follows.
  const open: { pointer: (string | number)[]; isMapping: boolean; key: { name: string; start: number } | undefined; count: number }[] = []

  const record = (start: number, scalar?: ScalarEvent): (string | number)[] | undefined => {
    const parent = open.at(-1)
    const entry: Entry = { start, ...(scalar && { scalar }) }
    if (parent === undefined) {
      entries.set('', entry)
      return []
    }
    if (!parent.isMapping) {
      const pointer = [...parent.pointer, parent.count++]
      entries.set(pointerKey(pointer), entry)
      return pointer
    }
    if (parent.key === undefined) {
      parent.key = { name: scalar ? String(getScalarValue(text, scalar)) : '', start }
      return undefined
    }
    const pointer = [...parent.pointer, parent.key.name]
    const known = entries.get(pointerKey(pointer))
    if (known?.key !== undefined) twice(parent.key.name, known.key, parent.key.start)
    entries.set(pointerKey(pointer), { ...entry, key: parent.key.start })
    parent.key = undefined
    return pointer
  }

  for (const event of events) {
    switch (event.type) {
      case EVENT_DOCUMENT:
        entries = new Map()
        documents.push(entries)
        break
      case EVENT_SCALAR:
        // The position of an empty value is that of its key.
        record(event.valueStart < 0 ? (open.at(-1)?.key?.start ?? 0) : event.valueStart, event)
        break
      case EVENT_ALIAS:
        record(event.anchorStart - 1)
        break
      case EVENT_MAPPING:
      case EVENT_SEQUENCE:
        open.push({ pointer: record(event.start) ?? [], isMapping: event.type === EVENT_MAPPING, key: undefined, count: 0 })
        break
      case EVENT_POP:
        open.pop()
        break
    }
  }
  return documents
}

function yamlDocument(file: string, text: string, value: unknown, entriesOf: () => Map<string, Entry>): YamlDocument {
  const positionOf = (offset: number): SourcePosition => positionIn(file, text, offset)
  const nearest = (pointer: Pointer): Entry => {
    const entries = entriesOf()
    for (let length = pointer.length; length >= 0; length--) {
      const entry = entries.get(pointerKey(pointer.slice(0, length)))
      if (entry) return entry
    }
    return { start: 0 }
  }
  return {
    file,
    value,
    at: pointer => positionOf(nearest(pointer).start),
    key: pointer => {
      const entry = nearest(pointer)
      return positionOf(entry.key ?? entry.start)
    },
    inside: (pointer, offset) => {
      const { start, scalar } = nearest(pointer)
      if (scalar === undefined || scalar.valueStart < 0) return positionOf(start)
      return positionOf(
        scalar.style === SCALAR_STYLE_LITERAL_BLOCK ? offsetInBlock(text, scalar, offset) : offsetInText(text, scalar, offset),
      )
    },
  }
}

/** In a block scalar every line begins behind the block's indentation. */
function offsetInBlock(text: string, scalar: ScalarEvent, offset: number): number {
  let from = scalar.valueStart
  let left = offset
  for (;;) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end < 0 ? scalar.valueEnd : end).replace(/\r$/, '')
    const length = Math.max(line.length - scalar.indent, 0)
    if (left <= length || end < 0 || end >= scalar.valueEnd) return from + Math.min(line.length, scalar.indent) + Math.min(left, length)
    left -= length + 1
    from = end + 1
  }
}

/** In other scalars, the prefix of the source that decodes to the prefix of the value. */
function offsetInText(text: string, scalar: ScalarEvent, offset: number): number {
  const raw = text.slice(scalar.valueStart, scalar.valueEnd)
  if (raw === getScalarValue(text, scalar)) return scalar.valueStart + Math.min(offset, raw.length)
  for (let end = scalar.valueStart + 1; end <= scalar.valueEnd; end++) {
    let decoded: string
    try {
      decoded = getScalarValue(text, { ...scalar, valueEnd: end, fast: false })
    } catch {
      // Inside an escape.
      continue
    }
    if (/\S/.test(decoded.charAt(offset))) return end - 1
  }
  return scalar.valueEnd
}

/** The document of a file that must have exactly one; each further one is a finding. */
export function onlyDocument([document, ...more]: readonly YamlDocument[], findings: Finding[]): YamlDocument | undefined {
  for (const other of more)
    findings.push({
      ...other.at([]),
      rule: 'yaml/documents',
      detail: 'this file may have only one document',
      remedy: 'move it to a file of its own',
    })
  return document
}
