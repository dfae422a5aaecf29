// Lists the fields that a mapping with `rest: drop` neither reads nor lists.

import { libraryOf } from '../read/functions.js'
import { membersOfEngine } from '../read/members-of-engine.js'
import { type Project, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { ledgerOf } from './ledger.js'

/** The reason that a client gets. */
const WHY = 'the provider has no counterpart'

/** Adds a rule for each of these fields to the mappings that are not settled. */
export function dropRest(project: Project): void {
  for (const mapping of project.mappings.values()) {
    const { name, data, document } = mapping
    if (data.fields.rest !== 'drop' || project.settled.has(document)) continue
    const { from } = sidesOf(name)
    const normalised = project.formats.get(from)?.data.normalise
    const library = libraryOf(mapping, project)
    const fields = ledgerOf(mapping, project.schemas, schemaId(from, 'request'), library, membersOfEngine(project, from), normalised)
    const rest = fields.filter(({ verdict }) => verdict === 'missing').map(({ path }) => [path, WHY])
    const dropped = { ...data.fields.dropped, ...Object.fromEntries(rest) }
    project.mappings.set(name, { ...mapping, data: { ...data, fields: { ...data.fields, dropped } } })
  }
}
