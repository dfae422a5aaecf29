// YAML with positions: values as js-yaml constructs them, and for each of them where it stands in the file.

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

export interface Place {
  file: string
  line: number
  column: number
}

export interface YamlDocument {
  file: string
  value: unknown
  /** Where a value begins; of one that is not there, where the nearest thing around it begins. */
  at(pointer: Pointer): Place
  /** Where a member's key stands. */
  key(pointer: Pointer): Place
  /** Where a character of a string value stands in the file. */
  inside(pointer: Pointer, offset: number): Place
}

interface Entry {
  start: number
  key?: number
  scalar?: ScalarEvent
}

/** The documents of a file; a file that is no YAML is one finding and no documents. */
export function parseYaml(file: string, text: string, findings: Finding[]): YamlDocument[] {
  try {
    const values = loadAll(text)
    const entries = locate(parseEvents(text, {}), text)
    return values.map((value, index) => yamlDocument(file, text, value, entries[index] ?? new Map()))
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const mark = (error as { mark?: { line: number; column: number } }).mark
    findings.push({
      file,
      line: (mark?.line ?? 0) + 1,
      column: (mark?.column ?? 0) + 1,
      rule: 'yaml/syntax',
      detail: String((error as { reason?: string }).reason ?? error.message.split('\n')[0]),
      remedy: 'mend the YAML at this place',
    })
    return []
  }
}

function pointerKey(pointer: Pointer): string {
  return pointer.map(part => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function locate(events: Event[], text: string): Map<string, Entry>[] {
  const documents: Map<string, Entry>[] = []
  let entries = new Map<string, Entry>()
  // For each open collection: its pointer, and for a mapping the key that waits for its value.
  const open: { pointer: (string | number)[]; isMapping: boolean; key: { name: string; start: number } | undefined; count: number }[] = []

  const place = (start: number, scalar?: ScalarEvent): (string | number)[] | undefined => {
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
        place(event.valueStart, event)
        break
      case EVENT_ALIAS:
        place((event as unknown as { start?: number }).start ?? 0)
        break
      case EVENT_MAPPING:
      case EVENT_SEQUENCE:
        open.push({ pointer: place(event.start) ?? [], isMapping: event.type === EVENT_MAPPING, key: undefined, count: 0 })
        break
      case EVENT_POP:
        open.pop()
        break
    }
  }
  return documents
}

function yamlDocument(file: string, text: string, value: unknown, entries: Map<string, Entry>): YamlDocument {
  const placeOf = (offset: number): Place => {
    const before = text.slice(0, offset)
    const line = before.split('\n').length
    return { file, line, column: offset - before.lastIndexOf('\n') }
  }
  const nearest = (pointer: Pointer): Entry => {
    for (let length = pointer.length; length >= 0; length--) {
      const entry = entries.get(pointerKey(pointer.slice(0, length)))
      if (entry) return entry
    }
    return { start: 0 }
  }
  return {
    file,
    value,
    at: pointer => placeOf(nearest(pointer).start),
    key: pointer => {
      const entry = nearest(pointer)
      return placeOf(entry.key ?? entry.start)
    },
    inside: (pointer, offset) => {
      const { start, scalar } = nearest(pointer)
      if (scalar?.style !== SCALAR_STYLE_LITERAL_BLOCK) return placeOf(Math.min(start + offset, scalar?.valueEnd ?? start))
      return insideBlock(text, scalar, String(getScalarValue(text, scalar)), offset, file)
    },
  }
}

/** In a block scalar every line of the value stands behind the block's indentation. */
function insideBlock(text: string, scalar: ScalarEvent, value: string, offset: number, file: string): Place {
  const before = value.slice(0, offset)
  const rows = before.split('\n').length - 1
  const raw = text.slice(scalar.valueStart, scalar.valueEnd)
  const indent = /^(?:[ \t]*\n)*( *)/.exec(raw)?.[1]?.length ?? 0
  const firstLine = text.slice(0, scalar.valueStart).split('\n').length
  return { file, line: firstLine + rows, column: before.length - (before.lastIndexOf('\n') + 1) + indent + 1 }
}
