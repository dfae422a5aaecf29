// `sluice fields`: shows the fate of each field of a client's request for a provider of another dialect.

import { type Field, ledgerOf } from '../../codegen/check/ledger.js'
import { DataError } from '../../codegen/read/findings.js'
import type { Project } from '../../codegen/read/project.js'
import { useOneOf } from '../../codegen/read/suggest.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import { type CommandResult, count, UsageError } from '../output.js'
import { folderOf } from '../overlay.js'
import { projectOf } from '../project.js'
import { columns } from '../table.js'

/** The ledger of a pair. Throws a UsageError for an unknown pair. */
export async function showFields(folder: string, client: string, upstream: string): Promise<CommandResult> {
  const project = projectOf(folderOf(folder))
  if (project.findings.length > 0) throw new DataError(project.findings)
  const pair = pairOf(client, upstream)
  const mapping = project.mappings.get(pair)
  if (mapping === undefined) {
    for (const dialect of [client, upstream])
      if (!project.formats.has(dialect))
        throw new UsageError(`There is no dialect ${dialect}: ${useOneOf([...project.formats.keys()].sort(), dialect)}.`)
    if (client === upstream)
      return { json: { pair, fields: [] }, text: `${client} to ${upstream}: the bytes pass unchanged; no field is lost.`, findings: [] }
    const others = [...project.mappings.keys()]
      .filter(name => name.startsWith(`${client}-to-`))
      .map(name => name.split('-to-')[1] as string)
    throw new UsageError(`${client} is not translated to ${upstream}${others.length > 0 ? `, but to: ${others.join(', ')}` : ''}.`)
  }
  const fields = ledgerOf(mapping, project)
  return { json: { pair, fields }, text: textOf(pair, fields), findings: [] }
}

/** The ledger of a pair, by its name; nothing where there is no such pair. */
export function fieldsOfPair(project: Project, pair: string): readonly Field[] {
  const mapping = project.mappings.get(pair)
  return mapping ? ledgerOf(mapping, project) : []
}

/** Why a pair drops the field at a path of its rules; undefined if none of its rules does. */
export function whyDropped(fields: readonly Field[], path: string): string | undefined {
  const plain = (one: string): string => `${one.replaceAll('[]', '')}.`
  // The ledger has the elements of a list, or the members of an object, in place of a field that is dropped as a whole.
  const field = fields.find(one => one.path === path) ?? fields.find(one => plain(one.path).startsWith(plain(path)))
  return field?.cases?.find(({ becomes }) => becomes === 'dropped')?.why ?? field?.why
}

function textOf(pair: string, fields: readonly Field[]): string {
  return `${pair}: ${count(fields.length, 'field')}\n${columns(rowsOf(fields))}`
}

function rowsOf(fields: readonly Field[]): string[][] {
  return fields.flatMap(({ path, verdict, cases, why = '' }) =>
    (cases?.map(one => [path, one.becomes, `${one.why} (when ${flat(one.when)})`]) ?? [[path, verdict, why]]).map(row => row.map(flat)),
  )
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
