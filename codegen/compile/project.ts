// All data as modules: a module for each format and each mapping, and one for the routes.

import type { Catalogue } from '../../engine/plan.js'
import { compileCatalogue } from '../catalogue/compile.js'
import { metersOf } from '../catalogue/meters.js'
import { checkPrices } from '../catalogue/prices.js'
import { checkLedger, type Field, ledgerOf } from '../check/ledger.js'
import { OBJ, type Shape } from '../jsonata/types.js'
import { DataError } from '../read/findings.js'
import type { Project } from '../read/project.js'
import { looseId, loosened, type SchemaSet, schemaId, shapeOf } from '../read/schemas.js'
import { compileFormat } from './format.js'
import { compileMapping, libraryFor, tablesOf } from './mapping.js'
import { Module } from './module.js'
import { compileRoutes } from './routes.js'

/** What the data has been compiled to, by the names of dialects and of pairs. */
export interface Compiled {
  formats: ReadonlyMap<string, Module>
  mappings: ReadonlyMap<string, Module>
  routes: Module
  /** What is known of models. */
  catalogue: Catalogue
  /** Of each pair, what becomes of each field of a request. */
  ledger: ReadonlyMap<string, readonly Field[]>
}

/** Compiles all that has been read. Throws a DataError with every finding, those of reading and checking too, where there is one. */
export function compileProject(project: Project): Compiled {
  const { findings } = project
  const loose = loosened(project.schemas)
  const formats = new Map<string, Module>()
  for (const [name, format] of project.formats) {
    formats.set(name, compileFormat(format, shapeOfRequest(project, name, loose), project.library, findings))
  }
  const mappings = new Map<string, Module>()
  const ledger = new Map<string, readonly Field[]>()
  for (const [name, mapping] of project.mappings) {
    const { data, document } = mapping
    const [from, to] = name.split('-to-') as [string, string]
    const library = libraryFor(mapping, project)
    const known = findings.length
    const module = compileMapping({
      data,
      document,
      library,
      requestShape: shapeOfRequest(project, from),
      eventKind: project.formats.get(to)?.data.stream?.event_line,
      eventLine: project.formats.get(from)?.data.stream?.event_line,
      findings,
    })
    mappings.set(name, module)
    const fields = ledgerOf(mapping, project.schemas, schemaId(from, 'request'), library, membersOfEngine(project, from))
    // What an expression reads that does not compile is not known.
    if (findings.length === known) checkLedger(mapping, fields, findings)
    ledger.set(name, fields)
  }
  // Functions of the library that no module calls are looked at here, those of a part as its first user sees them.
  new Module(findings, project.library).defineAll(project.library.keys())
  for (const [name, part] of project.parts) {
    const user = [...project.mappings.values()].find(({ data }) => data.uses?.includes(name)) ?? {
      data: { uses: [name], define: {}, tables: {} },
      document: part.document,
    }
    new Module(findings, libraryFor(user, project), tablesOf(user.data.tables)).defineAll(Object.keys(part.data.functions))
  }
  const routes = compileRoutes(project)
  const catalogue = compileCatalogue(project.catalogue, {
    providers: project.providers,
    dialects: project.formats,
    names: [...project.providers.values()].flatMap(({ data }) => data.models),
    findings,
  })
  checkPrices(project.catalogue, metersOf(project.configSchemas), findings)
  if (findings.length > 0) throw new DataError(findings)
  return { formats, mappings, routes, catalogue, ledger }
}

/** What is known of a dialect's requests, or of those that its shape alone was asked of; of those without a schema, that they are objects. */
function shapeOfRequest(project: Project, dialect: string, loose?: SchemaSet): Shape {
  const id = loose ? looseId(dialect, 'request') : schemaId(dialect, 'request')
  const set = loose ?? project.schemas
  return set.has(id) ? shapeOf(set, id) : { bits: OBJ }
}

/** The members of a dialect's requests that the engine reads: the model's name, the wish for a stream, the form of vectors, a minted id. */
export function membersOfEngine(project: Project, dialect: string): ReadonlySet<string> {
  const format = project.formats.get(dialect)?.data
  const followed = project.routes.filter(({ data }) => data.dialect === dialect).map(({ data }) => data.follow)
  return new Set(
    [format?.model, format?.stream?.flag, format?.vectors?.form, ...followed].flatMap(place => place?.match(/^body\.(\w+)$/)?.[1] ?? []),
  )
}
