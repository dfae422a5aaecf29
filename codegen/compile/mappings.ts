// Compiles the mappings of a project, each to a module, and checks what each one reads and writes against the schemas.

import { checkLedger, checkRows, type Field, fieldsOf, ledgerOf } from '../check/ledger.js'
import { checkMade } from '../check/made.js'
import { forwardedQuery } from '../check/references.js'
import type { Shape } from '../jsonata/types.js'
import { type Library, libraryOf } from '../read/functions.js'
import { membersOfEngine } from '../read/members-of-engine.js'
import { namesIn } from '../read/named.js'
import { sayingOf } from '../read/parts.js'
import { type Entry, type FormatData, isOfBroken, type MappingData, type Project, sidesOf } from '../read/project.js'
import { schemaId, shapeOf } from '../read/schemas.js'
import type { UnitKeys } from '../units.js'
import { compileMapping } from './mapping.js'
import type { Module } from './module.js'
import type { Exports } from './modules.js'
import type { Output } from './output.js'
import { shapeOfRequest } from './shapes.js'

/** The modules of mappings, and the verdict of each field of their requests; a mapping that was reused has no verdicts. */
export interface CompiledMappings {
  modules: Map<string, Exports>
  ledger: Map<string, readonly Field[]>
}

export function compileMappings(project: Project, output: Output, keys: UnitKeys): CompiledMappings {
  const modules: CompiledMappings['modules'] = new Map()
  const ledger: CompiledMappings['ledger'] = new Map()
  for (const [name, mapping] of project.mappings) {
    // It lacks what is wrong, which is found already.
    if (isOfBroken(project, name)) continue
    const path = `mappings/${name}.js`
    const query = queryOf(mapping, project)
    const key = keys.mapping(mapping, membersOfEngine(project, sidesOf(name).from), query)
    const unit = output.unit('mappings', name, key, () => {
      const library = libraryOf(mapping, project)
      const known = project.findings.length
      const printed = output.print(path, moduleOf(mapping, library, query, project), mapping.document.file)
      checkWritten(mapping, library, project)
      // The names that a broken expression reads are unknown, and so are the terms of a dialect that does not exist.
      const { from, to } = sidesOf(name)
      const isSound = project.findings.length === known && project.dialects.has(from) && project.dialects.has(to)
      ledger.set(name, checkedLedger(mapping, library, isSound, project))
      return printed
    })
    modules.set(name, output.exportsOf(path, unit))
  }
  return { modules, ledger }
}

function moduleOf(mapping: Entry<MappingData>, library: Library, query: readonly string[], project: Project): Module {
  const { name, data, document } = mapping
  const { formats, schemas, findings } = project
  const { from, to } = sidesOf(name)
  const namesOf = (part: string): Shape | undefined => (schemas.has(schemaId(to, part)) ? namesIn(schemas, schemaId(to, part)) : undefined)
  return compileMapping({
    data,
    document,
    library,
    sayingOf: pointer => sayingOf(mapping, project.parts, pointer),
    requestShape: shapeOfRequest(schemas, from),
    responseNames: namesOf('response'),
    eventNames: namesOf('event'),
    query,
    eventKind: formats.get(to)?.data.stream?.event_line,
    eventLine: formats.get(from)?.data.stream?.event_line,
    findings,
  })
}

/** Checks requests against the provider's schema, and answers and events against the client's. */
function checkWritten(mapping: Entry<MappingData>, library: Library, project: Project): void {
  const { schemas, findings } = project
  const { from, to } = sidesOf(mapping.name)
  const shape = (dialect: string, part: string): Shape | undefined => {
    const id = schemaId(dialect, part)
    return schemas.has(id) ? shapeOf(schemas, id) : undefined
  }
  checkMade({
    data: mapping.data,
    library,
    source: (pointer, text) => ({ ...sayingOf(mapping, project.parts, pointer), text }),
    request: shape(to, 'request'),
    response: shape(from, 'response'),
    event: shape(from, 'event'),
    completed: completedIn(project.formats.get(from)?.data.complete),
    findings,
  })
}

/** The ledger of a mapping. Checks that each field has a verdict if the mapping is sound, and that each row names a field. */
function checkedLedger(mapping: Entry<MappingData>, library: Library, isSound: boolean, project: Project): readonly Field[] {
  const { schemas, findings } = project
  const { from } = sidesOf(mapping.name)
  const fields = ledgerOf(mapping, project, library)
  if (isSound) checkLedger(mapping, fields, findings)
  checkRows(mapping, fieldsOf(schemas, schemaId(from, 'request')), findings)
  return fields
}

/** The members that the engine adds to answers and events. */
function completedIn(complete: FormatData['complete']): ReadonlySet<string> {
  const rules = [...(complete?.response ?? []), ...Object.values(complete?.events ?? {}).flat()]
  return new Set(rules.flatMap(({ members }) => Object.keys(members)))
}

/**
 * The members of the query that a mapping may see: those that routes of its client's dialect pass on. None of a mapping that does
 * not look at the query, so that a new route does not change the mapping's unit.
 */
function queryOf({ name, data }: Entry<MappingData>, { routes }: Project): string[] {
  if (!/\$query\b|\$ctx\.query\b/.test(JSON.stringify(data))) return []
  const { from } = sidesOf(name)
  return [...new Set(routes.flatMap(route => (route.data.dialect === from ? forwardedQuery(route.data) : [])))].sort()
}
