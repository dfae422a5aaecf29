// YAML → generated/. START HERE. Reads and checks the data, compiles it, and writes modules that the engine executes.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkLedger, type Field, ledgerOf } from './check/ledger.js'
import { checkProject } from './check/references.js'
import { compileFormat } from './compile/format.js'
import { compileMapping, libraryFor, tablesOf } from './compile/mapping.js'
import { Module } from './compile/module.js'
import { Normalisers } from './compile/normalise.js'
import { printUnnamed } from './compile/unnamed.js'
import { printValidators } from './compile/validators.js'
import { OBJ, type Shape } from './jsonata/types.js'
import { compileRoutes, identifier, printPlan, topMembers } from './print/plan.js'
import { DataError, type Finding } from './read/findings.js'
import { type Project, readProject } from './read/project.js'
import { looseId, loosened, type SchemaSet, schemaId, shapeOf } from './read/schemas.js'

/** The folder of the compiled engine, which generated modules import. */
const ENGINE = fileURLToPath(new URL('../engine/', import.meta.url))
const PICTURES = fileURLToPath(new URL('./jsonata/number-and-date-formats.js', import.meta.url))

/** Compiles the data of some roots into a folder. Throws a DataError with every finding where something is wrong. */
export function generate(roots: readonly string[], output: string): Project & { ledger: ReadonlyMap<string, readonly Field[]> } {
  const project = readProject(roots)
  const { findings } = project
  checkProject(project)

  const files = new Map<string, string>()
  const addModule = (path: string, module: Module, from: string): ReadonlySet<string> => {
    const header = `// Made from ${from} by codegen; do not edit.`
    const { text, places } = module.print(header, name =>
      importPath(join(output, path), name === 'pictures' ? PICTURES : join(ENGINE, 'jsonata', `${name}.js`)),
    )
    files.set(path, text)
    files.set(`${path}.map.json`, places)
    return new Set([...text.matchAll(/^export function ([\w$]+)/gm)].map(match => match[1] as string))
  }

  const loose = loosened(project.schemas)
  const formats = new Map<string, ReadonlySet<string>>()
  for (const [name, format] of project.formats) {
    formats.set(
      name,
      addModule(
        `formats/${name}.js`,
        compileFormat(format, shapeOfRequest(project, name, loose), project.library, findings),
        format.document.file,
      ),
    )
  }
  const mappings = new Map<string, ReadonlySet<string>>()
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
    mappings.set(name, addModule(`mappings/${name}.js`, module, document.file))
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
  const routes = addModule('routes.js', compileRoutes(project, findings), 'routes/')
  if (findings.length > 0) throw new DataError(findings)

  const validators = new Map<string, string>()
  const shapes = new Map<string, string>()
  const schemas = new Map(project.schemas)
  const normalisers = new Normalisers(project.schemas)
  const normalised = new Set<string>()
  const noted = (name: string): string => {
    normalised.add(name)
    return name
  }
  const providersOf = (part: 'response' | 'stream'): Set<string> =>
    new Set([...project.mappings].filter(([, { data }]) => data[part]).map(([name]) => name.split('-to-')[1] as string))
  const translated = providersOf('response')
  const streamed = providersOf('stream')
  for (const [name, { data }] of project.formats) {
    const local = identifier(name)
    const id = schemaId(name, 'request')
    if (schemas.has(id)) {
      validators.set(`${local}_request`, id)
      shapes.set(name, looseId(name, 'request'))
      if (data.normalise) normalisers.addRequest(noted(`${local}_request`), id, data.normalise)
    }
    const answer = schemaId(name, 'response')
    if (translated.has(name) && schemas.has(answer))
      normalisers.addAnswer(noted(`${local}_response`), answer, data.usage === undefined ? [] : (topMembers(data.usage) ?? []))
    const event = schemaId(name, 'event')
    if (streamed.has(name) && schemas.has(event))
      normalisers.addEvent(noted(`${local}_event`), event, topMembers(data.stream?.watch?.usage?.read ?? '') ?? [])
  }
  const engine = importPath(join(output, 'plan.js'), ENGINE).replace(/\/$/, '')
  files.set('validators.js', printValidators(schemas, validators, engine))
  // The operator's file is checked and completed by what its spec says.
  const gateway = project.configSchemas.get('gateway')
  if (gateway !== undefined)
    files.set('gateway.js', printValidators(new Map([['gateway', gateway]]), new Map([['gateway', 'gateway']]), engine, true))
  files.set('shapes.js', printValidators(loose, new Map([...shapes].map(([name, id]) => [identifier(name), id])), engine))
  files.set('normalise.js', normalisers.print(engine))
  // Only where a request is translated does it matter what its schema does not name.
  const clients = new Set([...project.mappings.keys()].map(name => name.split('-to-')[0] as string))
  const requests = new Map(
    [...clients].map(name => [identifier(name), schemaId(name, 'request')] as const).filter(([, id]) => schemas.has(id)),
  )
  const unnamed = printUnnamed(schemas, requests)
  files.set('unnamed.js', unnamed.text)
  files.set(
    'plan.js',
    printPlan(project, {
      formats,
      mappings,
      validators: new Set(validators.keys()),
      shapes: new Set(shapes.keys()),
      normalisers: normalised,
      unnamed: unnamed.names,
      routes,
      hasGateway: gateway !== undefined,
    }),
  )

  rmSync(output, { recursive: true, force: true })
  for (const [path, text] of files) {
    mkdirSync(dirname(join(output, path)), { recursive: true })
    writeFileSync(join(output, path), text)
  }
  return { ...project, ledger }
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

function importPath(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

export type { Finding }
