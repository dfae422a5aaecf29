// Lists the fields that a mapping with `rest: drop` neither reads nor lists.

import type { Project } from '../read/project.js'
import { ledgerOf } from './ledger.js'

/** The reason that a client gets. */
const WHY = 'the provider has no counterpart'

/** Adds a rule for each of these fields to the mappings that are not settled. Returns the project. */
export function dropRest(project: Project): Project {
  for (const mapping of project.mappings.values()) {
    const { name, data, document } = mapping
    if (data.fields.rest !== 'drop' || project.settled.has(document)) continue
    const missing = ledgerOf(mapping, project).filter(({ verdict }) => verdict === 'missing')
    const dropped = { ...data.fields.dropped, ...Object.fromEntries(missing.map(({ path }) => [path, WHY])) }
    project.mappings.set(name, { ...mapping, data: { ...data, fields: { ...data.fields, dropped } } })
  }
  return project
}
