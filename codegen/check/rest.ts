// Lists the fields that a mapping with `rest: drop` neither reads nor lists.

import { type Project, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { ledgerOf } from './ledger.js'

/** The reason that a client gets. */
const WHY = 'the provider has no counterpart'

/** Adds a rule for each of these fields to the mappings that are not settled, or whose requests are not. Returns the project. */
export function dropRest(project: Project): Project {
  const { settled, schemaFiles } = project
  for (const mapping of project.mappings.values()) {
    const { name, data, document } = mapping
    const request = schemaFiles.get(schemaId(sidesOf(name).from, 'request'))
    const isSettled = settled.has(document) && (request === undefined || settled.has(request))
    if (data.fields.rest !== 'drop' || isSettled) continue
    const missing = ledgerOf(mapping, project).filter(({ verdict }) => verdict === 'missing')
    const dropped = { ...data.fields.dropped, ...Object.fromEntries(missing.map(({ path }) => [path, WHY])) }
    project.mappings.set(name, { ...mapping, data: { ...data, fields: { ...data.fields, dropped } } })
  }
  return project
}
