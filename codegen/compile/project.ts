// Compiles a project to modules: each format, each mapping and each dialect's schemas is a unit, which is compiled only if
// neither the base nor the cache has it.

import { compileCatalogue } from '../catalogue/compile.js'
import { checkPrices } from '../catalogue/prices.js'
import { printCatalogue } from '../catalogue/print.js'
import { type ComposedLedger, checkLedger, checkRows, type Field, fieldsOf, ledgerOf } from '../check/ledger.js'
import { checkMade } from '../check/made.js'
import { checkProject } from '../check/references.js'
import { topMembers } from '../jsonata/top-members.js'
import { OBJ, type Shape } from '../jsonata/types.js'
import type { Exports } from '../print/modules.js'
import { printPlan } from '../print/plan.js'
import { DataError } from '../read/findings.js'
import { namesIn } from '../read/named.js'
import { sayingOf } from '../read/parts.js'
import type { Entry, FormatData, MappingData, Project, ProviderData } from '../read/project.js'
import { looseId, loosened, type Schema, type SchemaSet, schemaId, shapeOf } from '../read/schemas.js'
import type { YamlDocument } from '../read/yaml.js'
import { type DialectUse, hashOfAll, type KnownUnits, type Unit, type UnitCache, UnitKeys } from '../units.js'
import { composedPairs, composeLedger } from './composed.js'
import { compileFormat } from './format.js'
import { identifier } from './identifier.js'
import { compileMapping, libraryFor, tablesOf } from './mapping.js'
import { Module } from './module.js'
import { Normalisers } from './normalise.js'
import { compileProviders, providerFunctions } from './providers.js'
import { compileRoutes, routeFunctions } from './routes.js'
import { printUnnamed } from './unnamed.js'
import { printValidators } from './validators.js'

/** The result of compiling a project. */
export interface Compiled {
  project: Project
  /** The text of each file, by its path in the output. */
  files: Map<string, string>
  /** The verdict of each field of a mapping's requests; missing for units that were reused. */
  ledger: ReadonlyMap<string, readonly Field[]>
  /** The same for composed pairs. */
  composed: ReadonlyMap<string, ComposedLedger & { via: string }>
  units: KnownUnits
}

/** Where the output is, and which part of it exists already. */
export interface Placement {
  /** The prefix of the path of a Sluice module in a file of the output, as in `../engine/`. */
  sluice(path: string): string
  /** Existing output of the settled documents. */
  base?: { url: string; units: KnownUnits }
  cache?: UnitCache
}

/** Checks a project, and compiles it. Throws a DataError with every finding if something is wrong. */
export function compileProject(project: Project, placement: Placement): Compiled {
  const { findings, settled } = project
  const { sluice, base, cache } = placement
  checkProject(project)
  const keys = new UnitKeys(project)
  const files = new Map<string, string>()
  const units: KnownUnits = {
    formats: {},
    mappings: {},
    dialects: {},
    routes: [],
    providers: [],
    gateway: keys.gateway(),
    catalogue: '',
    plan: {},
  }
  const inBase = (path: string): string => `${base?.url}/${path}`

  const print = (path: string, module: Module, from: string): Unit => {
    const { text, places } = module.print(`Made from ${from} by codegen; do not edit.`, name =>
      name === 'pictures' ? `${sluice(path)}codegen/jsonata/number-and-date-formats.js` : `${sluice(path)}engine/jsonata/${name}.js`,
    )
    return { files: { [path]: text, [`${path}.map.json`]: places }, names: { own: [...module.exported] } }
  }
  /** Compiles a unit that neither the base nor the cache has, and tells whether it is the base's. */
  const unit = (kind: 'formats' | 'mappings' | 'dialects', name: string, key: string, make: () => Unit): { isBase: boolean } & Unit => {
    const known = base?.units[kind][name]
    if (known?.key === key) {
      units[kind][name] = known
      return { isBase: true, files: {}, names: known.names }
    }
    const before = findings.length
    const cached = cache?.get(key)
    const made = cached ?? make()
    if (cached === undefined && findings.length === before) cache?.set(key, made)
    for (const [path, text] of Object.entries(made.files)) files.set(path, text)
    units[kind][name] = { key, names: made.names }
    return { isBase: false, ...made }
  }
  const exportsOf = (path: string, { isBase, names }: { isBase: boolean } & Unit): Exports => ({
    from: isBase ? inBase(path) : `./${path}`,
    names: new Set(names.own),
  })

  let allLoose: SchemaSet | undefined
  const loose = (): SchemaSet => {
    allLoose ??= loosened(project.schemas)
    return allLoose
  }
  const formats = new Map<string, Exports>()
  for (const [name, format] of project.formats) {
    const path = `formats/${name}.js`
    const made = unit('formats', name, keys.format(format), () =>
      print(path, compileFormat(format, shapeOfRequest(project, name, loose()), project.library, findings), format.document.file),
    )
    formats.set(name, exportsOf(path, made))
  }
  const mappings = new Map<string, Exports>()
  const ledger = new Map<string, readonly Field[]>()
  for (const [name, mapping] of project.mappings) {
    const { data, document } = mapping
    const [from, to] = name.split('-to-') as [string, string]
    const ofEngine = membersOfEngine(project, from)
    const path = `mappings/${name}.js`
    const query = queryOf(mapping, project)
    const made = unit('mappings', name, keys.mapping(mapping, ofEngine, query), () => {
      const library = libraryFor(mapping, project)
      const known = findings.length
      const module = compileMapping({
        data,
        document,
        library,
        sayingOf: pointer => sayingOf(mapping, project.parts, pointer),
        requestShape: shapeOfRequest(project, from),
        ...(project.schemas.has(schemaId(to, 'response')) && { responseNames: namesIn(project.schemas, schemaId(to, 'response')) }),
        ...(project.schemas.has(schemaId(to, 'event')) && { eventNames: namesIn(project.schemas, schemaId(to, 'event')) }),
        query,
        eventKind: project.formats.get(to)?.data.stream?.event_line,
        eventLine: project.formats.get(from)?.data.stream?.event_line,
        findings,
      })
      const printed = print(path, module, document.file)
      const fields = ledgerOf(
        mapping,
        project.schemas,
        schemaId(from, 'request'),
        library,
        ofEngine,
        project.formats.get(from)?.data.normalise,
      )
      checkMade({
        data,
        library,
        source: (pointer, text) => ({ ...sayingOf(mapping, project.parts, pointer), text }),
        ...(project.schemas.has(schemaId(to, 'request')) && { request: shapeOf(project.schemas, schemaId(to, 'request')) }),
        ...(project.schemas.has(schemaId(from, 'response')) && { response: shapeOf(project.schemas, schemaId(from, 'response')) }),
        ...(project.schemas.has(schemaId(from, 'event')) && { event: shapeOf(project.schemas, schemaId(from, 'event')) }),
        completed: completedIn(project.formats.get(from)?.data.complete),
        findings,
      })
      // The names that a broken expression reads are unknown.
      if (findings.length === known) checkLedger(mapping, fields, findings)
      checkRows(mapping, fieldsOf(project.schemas, schemaId(from, 'request')), findings)
      ledger.set(name, fields)
      return printed
    })
    mappings.set(name, exportsOf(path, made))
  }
  // Library functions that no module calls are checked here, those of a part as its first user sees them, with the tables of all.
  const isNew = ({ document }: { document: YamlDocument }): boolean => !settled.has(document)
  new Module(findings, project.library).checkAll([...project.library].filter(([, source]) => isNew(source)).map(([name]) => name))
  for (const [name, part] of project.parts) {
    if (!isNew(part)) continue
    const users = [...project.mappings.values()].filter(({ data }) => data.uses?.includes(name))
    const user = users[0] ?? { data: { uses: [name], define: {}, tables: part.data.tables ?? {} }, document: part.document }
    const tables = Object.assign({}, ...users.map(({ data }) => data.tables), user.data.tables) as typeof user.data.tables
    new Module(findings, libraryFor(user, project), tablesOf(tables)).checkAll(Object.keys(part.data.functions))
  }
  const routes = new Map<string, string>()
  const imports = new Map<string, string>()
  const settledRoutes = new Set(project.routes.filter(route => !isNew(route)).flatMap(({ name }) => routeFunctions(name)))
  for (const name of base?.units.routes ?? []) if (settledRoutes.has(name)) routes.set(name, 'routes')
  const newRoutes = print('routes.js', compileRoutes(project.routes.filter(isNew), project), 'routes/')
  for (const name of newRoutes.names.own ?? []) routes.set(name, base ? 'own_routes' : 'routes')
  for (const [path, text] of Object.entries(newRoutes.files)) files.set(path, text)
  units.routes = [...routes.keys()]
  const providers = new Map<string, string>()
  const functionsOf = (of: Entry<ProviderData>[]): string[] => of.flatMap(({ name, data }) => providerFunctions(name, data))
  const allProviders = [...project.providers.values()]
  const settledProviders = new Set(functionsOf(allProviders.filter(provider => !isNew(provider))))
  for (const name of base?.units.providers ?? []) if (settledProviders.has(name)) providers.set(name, 'providers')
  const newProviders = print('providers.js', compileProviders(allProviders.filter(isNew), project), 'providers/')
  for (const name of newProviders.names.own ?? []) providers.set(name, base ? 'own_providers' : 'providers')
  for (const [path, text] of Object.entries(newProviders.files)) files.set(path, text)
  units.providers = [...providers.keys()]
  const catalogue = compileCatalogue(project.catalogue, {
    providers: project.providers,
    dialects: project.formats,
    names: [...project.providers.values()].flatMap(({ data }) => data.models),
    findings,
  })
  checkPrices(project.catalogue, findings)
  if (findings.length > 0) throw new DataError(findings)
  const models = printCatalogue(catalogue)
  units.catalogue = hashOfAll(models)
  const isOwnCatalogue = units.catalogue !== base?.units.catalogue
  if (isOwnCatalogue) files.set('models.js', models)

  const found = { validators: new Map<string, string>(), normalisers: new Map<string, string>(), unnamed: new Map<string, string>() }
  const shapes = new Map<string, string>()
  const noted = (names: Unit['names'], local: (module: string) => string): void => {
    for (const kind of ['validators', 'normalisers', 'unnamed'] as const)
      for (const name of names[kind] ?? []) found[kind].set(name, local(FILES[kind]))
  }
  const uses = usesOf(project)
  const useOf = ({ name }: Entry<FormatData>): DialectUse => uses(name)
  if (base === undefined) {
    // These modules hold what the schemas of several dialects share.
    const all = compileDialects(project, [...project.formats.values()], useOf, loose(), '', sluice('plan.js'))
    for (const [path, text] of Object.entries(all.files)) files.set(path, text)
    for (const module of Object.values(FILES)) if (module !== 'shapes') imports.set(module, `./${module}.js`)
    imports.set('routes', './routes.js').set('providers', './providers.js')
    noted(all.names, module => module)
    for (const name of all.names.shapes ?? []) shapes.set(name, './shapes.js')
    for (const format of project.formats.values())
      units.dialects[format.name] = { key: keys.dialect(format, useOf(format)), names: namesOf(all.names, format.name) }
  } else {
    for (const module of Object.values(FILES)) if (module !== 'shapes') imports.set(module, inBase(`${module}.js`))
    imports.set('routes', inBase('routes.js')).set('own_routes', './routes.js')
    imports.set('providers', inBase('providers.js')).set('own_providers', './providers.js')
    for (const format of project.formats.values()) {
      const { name } = format
      const folder = `dialects/${name}/`
      const { isBase, names } = unit('dialects', name, keys.dialect(format, useOf(format)), () =>
        compileDialects(project, [format], useOf, loose(), folder, sluice(`${folder}x`)),
      )
      const local = (module: string): string => (isBase ? module : `${module}_${identifier(name)}`)
      if (!isBase) for (const module of Object.values(FILES)) if (module !== 'shapes') imports.set(local(module), `./${folder}${module}.js`)
      noted(names, local)
      for (const shape of names.shapes ?? []) shapes.set(shape, isBase ? inBase('shapes.js') : `./${folder}shapes.js`)
    }
  }
  // The configuration is checked against its spec, which also fills in defaults.
  const gateway = project.configSchemas.get('gateway')
  const isOwnGateway = gateway !== undefined && units.gateway !== base?.units.gateway
  if (isOwnGateway)
    files.set(
      'gateway.js',
      printValidators(new Map([['gateway', gateway]]), new Map([['gateway', 'gateway']]), `${sluice('gateway.js')}engine`, true),
    )
  const plan = printPlan(project, {
    formats,
    mappings,
    imports: new Map([...imports].sort(([one], [other]) => (one < other ? -1 : 1))),
    ...found,
    routes,
    providers,
    shapes,
    gateway: gateway === undefined ? undefined : isOwnGateway ? './gateway.js' : inBase('gateway.js'),
    catalogue: isOwnCatalogue ? './models.js' : inBase('models.js'),
    compose: `${sluice('plan.js')}engine/snapshot/compose.js`,
    ...(base && { base: { from: inBase('plan.js'), entries: base.units.plan } }),
  })
  files.set('plan.js', plan.text)
  units.plan = plan.entries
  return { project, files, ledger, composed: composedLedgers(project, ledger), units }
}

/** The ledgers of composed pairs whose two mappings have a ledger. */
function composedLedgers(project: Project, ledger: ReadonlyMap<string, readonly Field[]>): Compiled['composed'] {
  return new Map(
    composedPairs(project).flatMap(pair => {
      const [first, second] = [ledger.get(pair.first.name), ledger.get(pair.second.name)]
      if (first === undefined || second === undefined) return []
      return [[pair.name, { via: pair.via, ...composeLedger(pair, first, second, libraryFor(pair.first, project)) }]]
    }),
  )
}

/** The file of each kind of module that schemas become. */
const FILES = { validators: 'validators', normalisers: 'normalise', unnamed: 'unnamed', shapes: 'shapes' } as const

/** Which of each dialect's schemas mappings read. */
function usesOf({ mappings, routes }: Project): (dialect: string) => DialectUse {
  const providersOf = (part: 'response' | 'stream'): Set<string> =>
    new Set([...mappings].filter(([, { data }]) => data[part]).map(([name]) => name.split('-to-')[1] as string))
  const translated = providersOf('response')
  const streamed = providersOf('stream')
  // Unnamed members matter only where a request is translated.
  const clients = new Set([...mappings.keys()].map(name => name.split('-to-')[0] as string))
  const checked = new Set(routes.flatMap(({ data }) => (data.validate === undefined ? [] : [data.dialect])))
  return dialect => ({
    isTranslated: translated.has(dialect),
    isStreamed: streamed.has(dialect),
    isMapped: clients.has(dialect),
    isChecked: checked.has(dialect),
  })
}

/** Compiles the schemas of some dialects to modules in a folder of the output, which is '' or ends with a slash. */
function compileDialects(
  { schemas }: Project,
  dialects: readonly Entry<FormatData>[],
  useOf: (dialect: Entry<FormatData>) => DialectUse,
  loose: SchemaSet,
  folder: string,
  sluice: string,
): Unit {
  const validators = new Map<string, string>()
  const shapes = new Map<string, string>()
  const requests = new Map<string, string>()
  /** Schemas of requests that are still incomplete. */
  const partial = new Map<string, Schema>()
  const normalisers = new Normalisers(schemas)
  const normalised: string[] = []
  const noted = (name: string): string => {
    normalised.push(name)
    return name
  }
  for (const dialect of dialects) {
    const { name, data } = dialect
    const { isTranslated, isStreamed, isMapped, isChecked } = useOf(dialect)
    const local = identifier(name)
    const id = schemaId(name, 'request')
    if (schemas.has(id)) {
      validators.set(`${local}_request`, id)
      shapes.set(name, looseId(name, 'request'))
      if (isChecked) {
        const { required, ...rest } = schemas.get(id) as Record<string, unknown>
        const fields = schemaId(name, 'request_fields')
        partial.set(fields, rest as Schema)
        validators.set(`${local}_fields`, fields)
      }
      if (isMapped) requests.set(local, id)
      if (data.normalise) normalisers.addRequest(noted(`${local}_request`), id, data.normalise)
    }
    const answer = schemaId(name, 'response')
    if (isTranslated && schemas.has(answer))
      normalisers.addAnswer(noted(`${local}_response`), answer, data.usage === undefined ? [] : (topMembers(data.usage) ?? []))
    const event = schemaId(name, 'event')
    if (isStreamed && schemas.has(event))
      normalisers.addEvent(noted(`${local}_event`), event, topMembers(data.stream?.watch?.usage?.read ?? '') ?? [])
  }
  const engine = `${sluice}engine`
  const unnamed = printUnnamed(schemas, requests)
  return {
    files: {
      [`${folder}validators.js`]: printValidators(new Map([...schemas, ...partial]), validators, engine),
      [`${folder}shapes.js`]: printValidators(loose, new Map([...shapes].map(([name, id]) => [identifier(name), id])), engine),
      [`${folder}normalise.js`]: normalisers.print(engine),
      [`${folder}unnamed.js`]: unnamed.text,
    },
    names: { validators: [...validators.keys()], normalisers: normalised, unnamed: [...unnamed.names], shapes: [...shapes.keys()] },
  }
}

/** The names of one dialect in modules that all dialects share. */
function namesOf(all: Unit['names'], dialect: string): Unit['names'] {
  const local = identifier(dialect)
  const own = new Set(['request', 'response', 'event', 'fields'].map(part => `${local}_${part}`))
  return {
    validators: all.validators?.filter(name => own.has(name)) ?? [],
    normalisers: all.normalisers?.filter(name => own.has(name)) ?? [],
    unnamed: all.unnamed?.filter(name => name === local) ?? [],
    shapes: all.shapes?.filter(name => name === dialect) ?? [],
  }
}

/** The shape of a dialect's requests, full or loose; of those without a schema, that they are objects. */
function shapeOfRequest(project: Project, dialect: string, loose?: SchemaSet): Shape {
  const id = loose ? looseId(dialect, 'request') : schemaId(dialect, 'request')
  const set = loose ?? project.schemas
  return set.has(id) ? shapeOf(set, id) : { bits: OBJ }
}

/** The members that the engine adds to answers and events. */
function completedIn(complete: FormatData['complete']): ReadonlySet<string> {
  const rules = [...(complete?.response ?? []), ...Object.values(complete?.events ?? {}).flat()]
  return new Set(rules.flatMap(({ members }) => Object.keys(members)))
}

/**
 * The members of the query that a mapping may see: those that routes of its client's dialect pass on, and of dialects that come
 * by way of it. None of a mapping that does not look at the query, so that a route more is nothing new to it.
 */
function queryOf({ name, data }: Entry<MappingData>, { routes, mappings }: Project): string[] {
  if (!/\$query\b|\$ctx\.query\b/.test(JSON.stringify(data))) return []
  const from = name.split('-to-')[0] as string
  const clients = new Set([from, ...[...mappings.keys()].filter(pair => pair.endsWith(`-to-${from}`)).map(pair => pair.split('-to-')[0])])
  return [...new Set(routes.flatMap(route => (clients.has(route.data.dialect) ? route.data.forward_query : [])))].sort()
}

/** The members of a dialect's requests that the engine reads: the model's name, the wish for a stream, the form of vectors, a minted id. */
export function membersOfEngine(project: Project, dialect: string): ReadonlySet<string> {
  const format = project.formats.get(dialect)?.data
  const asks = format?.stream?.flag
  const flag = typeof asks === 'object' ? asks.member : asks
  const followed = project.routes.filter(({ data }) => data.dialect === dialect).map(({ data }) => data.follow)
  return new Set([format?.model, flag, format?.vectors?.form, ...followed].flatMap(place => place?.match(/^body\.(\w+)$/)?.[1] ?? []))
}
