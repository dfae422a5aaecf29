// Compiles a project to modules: each format, each mapping and each dialect's schemas is a unit, which is compiled only if
// neither the base nor the cache has it. The plan, which imports them, is printed afterwards (print/project.ts).

import { once } from '../../engine/core/once.js'
import type { CatalogueEntry } from '../../engine/plan.js'
import type { Field } from '../check/ledger.js'
import { checkPrices } from '../check/prices.js'
import { DataError } from '../read/findings.js'
import { libraryOf } from '../read/functions.js'
import { isOfHalf, withUsed } from '../read/parts.js'
import type { Project } from '../read/project.js'
import { loosened, type SchemaSet } from '../read/schemas.js'
import type { YamlDocument } from '../read/yaml.js'
import { UnitKeys } from '../units.js'
import { compileCatalogue } from './catalogue.js'
import { compileSchemas } from './dialects.js'
import { type ExpressionModules, placeExpressions } from './expressions.js'
import { compileFormat } from './format.js'
import { tablesOf } from './mapping.js'
import { compileMappings } from './mappings.js'
import { Module } from './module.js'
import type { Exports, Modules } from './modules.js'
import { Output, type Placement } from './output.js'
import { compileProviders, providerFunctions } from './providers.js'
import { compileRoutes, routeFunctions } from './routes.js'
import { looseShapeOfRequest } from './shapes.js'

/** The result of compiling a project. */
export interface Compiled {
  project: Project
  /** The files and units of the modules. */
  output: Output
  keys: UnitKeys
  modules: Omit<Modules, 'gateway' | 'catalogue' | 'base'>
  /** The facts about models; undefined if they were compiled before. */
  catalogue: readonly CatalogueEntry[] | undefined
  /** The verdict of each field of a mapping's requests; missing for units that were reused. */
  ledger: ReadonlyMap<string, readonly Field[]>
}

/** Compiles a project that was checked. Throws a DataError with every finding, also those of before, if something is wrong. */
export function compileProject(project: Project, placement: Placement): Compiled {
  const output = new Output(placement, project.findings)
  const keys = new UnitKeys(project)
  const loose = once(() => loosened(project.schemas))

  const formats = compileFormats(project, output, keys, loose)
  const mappings = compileMappings(project, output, keys)
  checkUncalled(project)
  const routes = compileRouteExpressions(project, output)
  const providers = compileProviderExpressions(project, output)
  const models = isCatalogueKnown(project, output) ? undefined : checkedCatalogue(project)
  // What follows relies on names and schemas that are right.
  if (project.findings.length > 0) throw new DataError(project.findings)

  const { imports, ...schemas } = compileSchemas(project, output, keys, loose())
  const all = [...imports, ...routes.imports, ...providers.imports]
  const modules = {
    formats,
    mappings: mappings.modules,
    imports: new Map(all.sort(([one], [other]) => (one < other ? -1 : 1))),
    ...schemas,
    routes: routes.functions,
    providers: providers.functions,
  }
  return { project, output, keys, modules, catalogue: models, ledger: mappings.ledger }
}

/** The modules of formats, by dialect. */
function compileFormats(project: Project, output: Output, keys: UnitKeys, loose: () => SchemaSet): Map<string, Exports> {
  const { formats, library, findings } = project
  return new Map(
    [...formats].map(([name, format]) => {
      const path = `formats/${name}.js`
      const unit = output.unit('formats', name, keys.format(format), () =>
        output.print(path, compileFormat(format, looseShapeOfRequest(loose(), name), library, findings), format.document.file),
      )
      return [name, output.exportsOf(path, unit)]
    }),
  )
}

/** A function that decides whether a file is not among the settled ones. */
function newIn({ settled }: Project): (file: { document: YamlDocument }) => boolean {
  return ({ document }) => !settled.has(document)
}

/** Checks library functions that no module calls; those of a part as its first user sees them, with the tables of all users. */
function checkUncalled(project: Project): void {
  const { findings, library, mappings, parts } = project
  const isNew = newIn(project)
  new Module(findings, library).checkAll([...library].filter(([, source]) => isNew(source)).map(([name]) => name))
  const ofHalves = new Set(withUsed([...parts.keys()].filter(isOfHalf), parts))
  for (const [name, part] of parts) {
    if (!isNew(part)) continue
    const users = [...mappings.values()].filter(({ data }) => data.uses?.includes(name))
    // A half calls functions of the other one: without a mapping, nothing is known of them.
    if (users.length === 0 && ofHalves.has(name)) continue
    const user = users[0] ?? {
      data: { uses: withUsed([name], parts), define: {}, tables: part.data.tables ?? {} },
      document: part.document,
    }
    const tables = Object.assign({}, ...users.map(({ data }) => data.tables), user.data.tables) as typeof user.data.tables
    new Module(findings, libraryOf(user, project), tablesOf(tables)).checkAll(Object.keys(part.data.functions))
  }
}

function compileRouteExpressions(project: Project, output: Output): ExpressionModules {
  const isNew = newIn(project)
  const settled = project.routes.filter(route => !isNew(route)).flatMap(({ name }) => routeFunctions(name))
  return placeExpressions('routes', settled, compileRoutes(project.routes.filter(isNew), project), output)
}

function compileProviderExpressions(project: Project, output: Output): ExpressionModules {
  const isNew = newIn(project)
  const all = [...project.providers.values()]
  const settled = all.filter(provider => !isNew(provider)).flatMap(({ name, data }) => providerFunctions(name, data))
  return placeExpressions('providers', settled, compileProviders(all.filter(isNew), project), output)
}

/** Whether the catalogue was compiled before: neither its files nor the providers whose models it describes are new. */
function isCatalogueKnown(project: Project, { placement }: Output): boolean {
  return placement.base !== undefined && ![...project.catalogue, ...project.providers.values()].some(newIn(project))
}

function checkedCatalogue({ catalogue, formats, providers, findings }: Project): CatalogueEntry[] {
  const names = [...providers.values()].flatMap(({ data }) => data.models)
  const compiled = compileCatalogue(catalogue, { providers, dialects: formats, names, findings })
  checkPrices(catalogue, findings)
  return compiled
}
