// What a mapping takes from the parts of the library that it uses beside functions: tables, and what becomes of fields.

import type { LibraryData, MappingData } from '../../schemas/config/types.js'
import type { Finding } from './findings.js'
import type { Pointer, YamlDocument } from './yaml.js'

/** What a file says, and the file. */
interface Said<Data> {
  data: Data
  document: YamlDocument
}

/**
 * The data of a mapping with that of its parts: their tables and their rules of fields stand beside its own. A rule of the
 * mapping's takes the place of a part's rule for the same field: it is what this pair does otherwise. A table has one
 * definition, and so has a rule among the parts; another one is a finding.
 */
export function withParts(
  { data, document }: Said<MappingData>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  findings: Finding[],
): MappingData {
  const used = (data.uses ?? []).flatMap((name, index) => ({ part: parts.get(name)?.data, index }))
  const tables: MappingData['tables'] = { ...data.tables }
  const rules = { dropped: new Map<string, Rule>(), refused: new Map<string, Rule>() }
  for (const { part, index } of used) {
    const twice = (what: string, name: string): void =>
      void findings.push({
        ...document.at(['uses', index]),
        rule: 'names/shared',
        detail: `${what} ${name} is there already, of the mapping's own or of another part`,
        remedy: 'say it once',
      })
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
  const fields = Object.fromEntries(
    KINDS.map(kind => [kind, { ...Object.fromEntries(rules[kind]), ...data.fields[kind] }]),
  ) as unknown as MappingData['fields']
  const rest = data.fields.rest ?? used.map(({ part }) => part?.fields?.rest).find(said => said !== undefined)
  return { ...data, tables, fields: rest === undefined ? fields : { ...fields, rest } }
}

/** The file that says a rule of a field: the mapping's, or that of a part. */
export function documentOf(
  { data, document }: Said<Pick<MappingData, 'uses'>>,
  parts: ReadonlyMap<string, Said<LibraryData>>,
  [section, kind, path]: Pointer,
): YamlDocument {
  if (section !== 'fields') return document
  const own = document.value as { fields?: Record<string, Record<string, unknown>> }
  if (own.fields?.[kind as string]?.[path as string] !== undefined) return document
  const part = data.uses?.map(name => parts.get(name)).find(one => one?.data.fields?.[kind as 'dropped']?.[path as string] !== undefined)
  return part?.document ?? document
}

type Rule = MappingData['fields']['dropped'][string]

const KINDS = ['dropped', 'refused'] as const
