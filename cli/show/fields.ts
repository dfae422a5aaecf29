// `sluice fields`: what becomes of each field of a client's request where the provider speaks another dialect.

import { type Field, ledgerOf } from '../../codegen/check/ledger.js'
import { libraryFor } from '../../codegen/compile/mapping.js'
import { membersOfEngine } from '../../codegen/compile/project.js'
import { DataError } from '../../codegen/read/findings.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { projectOf } from '../project.js'
import { count, type Told, UsageError } from '../told.js'
import { columns } from './table.js'

/** The ledger of a pair. Throws a UsageError for a pair that is not there. */
export async function showFields(folder: string, client: string, upstream: string): Promise<Told> {
  const project = projectOf(folder)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const pair = `${client}-to-${upstream}`
  const mapping = project.mappings.get(pair)
  if (mapping === undefined) {
    for (const dialect of [client, upstream])
      if (!project.formats.has(dialect))
        throw new UsageError(`There is no dialect ${dialect}; there are: ${[...project.formats.keys()].sort().join(', ')}.`)
    if (client === upstream)
      return { json: { pair, fields: [] }, text: `${client} to ${upstream}: the bytes pass as they are; nothing is lost.`, findings: [] }
    const others = [...project.mappings.keys()]
      .filter(name => name.startsWith(`${client}-to-`))
      .map(name => name.split('-to-')[1] as string)
    throw new UsageError(`${client} is not translated to ${upstream}${others.length > 0 ? `, but to: ${others.join(', ')}` : ''}.`)
  }
  const fields = ledgerOf(
    mapping,
    project.schemas,
    schemaId(client, 'request'),
    libraryFor(mapping, project),
    membersOfEngine(project, client),
    project.formats.get(client)?.data.normalise,
  )
  return { json: { pair, fields }, text: textOf(pair, fields), findings: [] }
}

function textOf(pair: string, fields: readonly Field[]): string {
  const rows = fields.flatMap(({ path, verdict, cases, why = '' }) =>
    (cases?.map(one => [path, one.becomes, `${one.why} (when ${flat(one.when)})`]) ?? [[path, verdict, why]]).map(row => row.map(flat)),
  )
  return `${pair}: ${count(fields.length, 'field')}\n${columns(rows)}`
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
