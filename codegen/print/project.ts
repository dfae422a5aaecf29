// All modules of a project as text, with the folder of the engine that they import from.

import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { printCatalogue } from '../catalogue/print.js'
import { identifier } from '../compile/identifier.js'
import type { Module } from '../compile/module.js'
import { Normalisers } from '../compile/normalise.js'
import type { Compiled } from '../compile/project.js'
import { printUnnamed } from '../compile/unnamed.js'
import { printValidators } from '../compile/validators.js'
import type { Project } from '../read/project.js'
import { looseId, loosened, schemaId } from '../read/schemas.js'
import { printPlan, topMembers } from './plan.js'

/** The folder of the compiled engine, which generated modules import. */
const ENGINE = fileURLToPath(new URL('../../engine/', import.meta.url))
const PICTURES = fileURLToPath(new URL('../jsonata/number-and-date-formats.js', import.meta.url))

/** The text of each file, by its path below the folder that it is written to. */
export function printProject(project: Project, compiled: Compiled, output: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const add = (path: string, module: Module, from: string): void => {
    const { text, places } = module.print(`Made from ${from} by codegen; do not edit.`, name =>
      importPath(join(output, path), name === 'pictures' ? PICTURES : join(ENGINE, 'jsonata', `${name}.js`)),
    )
    files.set(path, text)
    files.set(`${path}.map.json`, places)
  }
  for (const [name, { document }] of project.formats) add(`formats/${name}.js`, compiled.formats.get(name) as Module, document.file)
  for (const [name, { document }] of project.mappings) add(`mappings/${name}.js`, compiled.mappings.get(name) as Module, document.file)
  add('routes.js', compiled.routes, 'routes/')
  files.set('models.js', printCatalogue(compiled.catalogue))

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
  files.set(
    'shapes.js',
    printValidators(loosened(project.schemas), new Map([...shapes].map(([name, id]) => [identifier(name), id])), engine),
  )
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
      formats: exportsOf(compiled.formats),
      mappings: exportsOf(compiled.mappings),
      validators: new Set(validators.keys()),
      shapes: new Set(shapes.keys()),
      normalisers: normalised,
      unnamed: unnamed.names,
      routes: compiled.routes.exported,
      hasGateway: gateway !== undefined,
    }),
  )
  return files
}

/** The names of the functions that modules export. */
function exportsOf(modules: ReadonlyMap<string, Module>): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map([...modules].map(([name, { exported }]) => [name, exported]))
}

function importPath(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}
