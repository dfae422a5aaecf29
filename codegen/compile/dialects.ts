// Compiles the schemas of dialects to modules: validators of requests, functions that normalise answers and events, members
// that no schema names, and loose shapes.

import { topMembers } from '../jsonata/top-members.js'
import { type Entry, type FormatData, type Project, sidesOf } from '../read/project.js'
import { looseId, type Schema, type SchemaSet, schemaId } from '../read/schemas.js'
import type { DialectUse, Unit, UnitKeys } from '../units.js'
import { identifier } from './identifier.js'
import type { Modules } from './modules.js'
import { Normalisers } from './normalise.js'
import type { Output } from './output.js'
import { printUnnamed } from './unnamed.js'
import { printValidators } from './validators.js'

/** The modules of the dialects' schemas, as the plan imports them. */
export type SchemaModules = Pick<Modules, 'validators' | 'normalisers' | 'unnamed' | 'shapes' | 'imports'>

/** The same while they are gathered. */
type Gathered = { [Kind in keyof SchemaModules]: Map<string, string> }

/** What the schemas are compiled with. */
interface Compiling {
  project: Project
  output: Output
  keys: UnitKeys
  loose: SchemaSet
  useOf(dialect: Entry<FormatData>): DialectUse
}

/** The file of each kind of module that schemas become. */
const FILES = { validators: 'validators', normalisers: 'normalise', unnamed: 'unnamed', shapes: 'shapes' } as const
/** The kinds that the plan imports at once. */
const IMPORTED = ['validators', 'normalisers', 'unnamed'] as const

/** Compiles the schemas of all dialects together, or, where there is a base, of each dialect that the base does not have. */
export function compileSchemas(project: Project, output: Output, keys: UnitKeys, loose: SchemaSet): SchemaModules {
  const modules: Gathered = { validators: new Map(), normalisers: new Map(), unnamed: new Map(), shapes: new Map(), imports: new Map() }
  const uses = usesOf(project)
  const compiling: Compiling = { project, output, keys, loose, useOf: ({ name }) => uses(name) }
  if (output.placement.base === undefined) compileTogether(compiling, modules)
  else for (const format of project.formats.values()) compileApart(format, compiling, modules)
  return modules
}

/** All dialects in the same modules, which hold what their schemas share. */
function compileTogether(compiling: Compiling, modules: Gathered): void {
  const { project, output, keys, useOf } = compiling
  const formats = [...project.formats.values()]
  const { files, names } = compileDialects(formats, compiling, '', output.placement.sluice('plan.js'))
  output.add(files)
  note(modules, names, file => ({ local: file, from: `./${file}.js` }))
  for (const format of formats)
    output.units.dialects[format.name] = { key: keys.dialect(format, useOf(format)), names: namesOf(names, format.name) }
}

/** A dialect in modules of its own, or the base's modules if the base has the same dialect. */
function compileApart(format: Entry<FormatData>, compiling: Compiling, modules: Gathered): void {
  const { output, keys, useOf } = compiling
  const { name } = format
  const folder = `dialects/${name}/`
  const { isBase, names } = output.unit('dialects', name, keys.dialect(format, useOf(format)), () =>
    compileDialects([format], compiling, folder, output.placement.sluice(`${folder}x`)),
  )
  note(modules, names, file =>
    isBase ? { local: file, from: output.inBase(`${file}.js`) } : { local: `${file}_${identifier(name)}`, from: `./${folder}${file}.js` },
  )
}

/** Notes which module has each function. */
function note(modules: Gathered, names: Unit['names'], address: (file: string) => { local: string; from: string }): void {
  for (const kind of IMPORTED) {
    const { local, from } = address(FILES[kind])
    modules.imports.set(local, from)
    for (const name of names[kind] ?? []) modules[kind].set(name, local)
  }
  for (const name of names.shapes ?? []) modules.shapes.set(name, address(FILES.shapes).from)
}

/** Which of each dialect's schemas mappings read. */
function usesOf({ mappings, routes }: Project): (dialect: string) => DialectUse {
  const providersOf = (part: 'response' | 'stream'): Set<string> =>
    new Set([...mappings].filter(([, { data }]) => data[part]).map(([name]) => sidesOf(name).to))
  const translated = providersOf('response')
  const streamed = providersOf('stream')
  // Unnamed members matter only where a request is translated.
  const clients = new Set([...mappings.keys()].map(name => sidesOf(name).from))
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
  dialects: readonly Entry<FormatData>[],
  { project, loose, useOf }: Compiling,
  folder: string,
  sluice: string,
): Unit {
  const { schemas } = project
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
