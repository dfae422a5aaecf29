// Prints docs/reference: every page that is generated from the data and checked in.

import type { Compiled } from '../compile/project.js'
import type { Project } from '../read/project.js'
import { flowsOfPair, printFields } from './fields-md.js'
import { printReference } from './reference-md.js'
import { printRoutes } from './routes-md.js'

/** The text of each page of docs/reference, by file name. */
export function printPages(project: Project & Pick<Compiled, 'ledger'>): Map<string, string> {
  return new Map([
    ...printReference(project.configSchemas),
    ['ROUTES.md', printRoutes(project)],
    ['FIELDS.md', printFields(project.ledger, name => flowsOfPair(project, name))],
  ])
}
