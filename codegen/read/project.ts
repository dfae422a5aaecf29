// Reads and checks the data folders: each file's data, with positions, and every finding about it. A later root (an
// operator's own folders) adds to an earlier one and replaces only files with `replaces: true`.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { CatalogueRelease } from '../../engine/plan.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import type {
  CredentialsData,
  CredentialsLocation,
  FormatData as FormatFile,
  LibraryData,
  MappingStep,
  ProviderData as ProviderFile,
  RouteData as RouteFile,
} from '../../schemas/config/types.js'
import { type CatalogueFile, readCatalogue } from './catalogue.js'
import { display } from './display.js'
import type { Finding } from './findings.js'
import { type Library, libraryOf } from './functions.js'
import { checkGrammar } from './grammar.js'
import { withLacks } from './lacks.js'
import { isLike, type Named, OF_FORMATS, OF_ROUTES, resolved } from './like.js'
import { HALVES, type Half, halfName, isOfHalf, type MappingData, usesOf, withNames, withParts } from './parts.js'
import { restOf } from './rest-of.js'
import { type Schema, schemaId } from './schemas.js'
import { withShared } from './shared.js'
import { withWholeFunctions } from './signatures.js'
import { type SpecSchema, withDefaults } from './spec.js'
import { isFolder } from './status.js'
import { onlyDocument, type Pointer, parseFilled, parseYaml, type YamlDocument } from './yaml.js'

/** The rule for events that wait until an open part is complete. */
export type Hold = NonNullable<NonNullable<MappingData['stream']>['hold']>

/**
 * Why a field is not carried over, with a condition, or with the members of the provider's request that it is carried over
 * as.
 */
export type FieldRule = MappingData['fields']['dropped'][string]

export type { LibraryData as PartData, MappingData, MappingStep as Step }

/** A format's data, merged with the one that it is like. */
export type FormatData = FormatFile & Required<Pick<FormatFile, 'title' | 'response' | 'error'>>

/** The same for a route. */
export type RouteData = RouteFile & Required<Pick<RouteFile, 'method' | 'path' | 'auth' | 'dialect'>>

/** The client's dialect and the provider's, from the name of a mapping. */
export function sidesOf(mapping: string): { from: string; to: string } {
  const [from, to = ''] = mapping.split('-to-') as [string, string?]
  return { from, to }
}

export interface Entry<Data> {
  name: string
  data: Data
  document: YamlDocument
}

/** An endpoint of a provider. */
export type EndpointData = NonNullable<ProviderFile['speaks']>[string]

/** Whether a path leads into a member of a request. */
export const isInside = (path: string): boolean => /[.[]/.test(path)

/** A provider's data, merged with the one that it extends. */
export type ProviderData = ProviderFile & Required<Pick<ProviderFile, 'title' | 'credential'>> & { speaks: Record<string, EndpointData> }

/** Definitions of errors; keys beside `like` override that dialect's. */
export type ErrorData = Exclude<FormatData['error'], string>

export interface Project {
  routes: Entry<RouteData>[]
  /** Every dialect that has a format, even an invalid one. */
  dialects: Set<string>
  formats: Map<string, Entry<FormatData>>
  schemas: Map<string, Schema>
  /** The document of each schema, for findings. */
  schemaFiles: Map<string, YamlDocument>
  mappings: Map<string, Entry<MappingData>>
  providers: Map<string, Entry<ProviderData>>
  catalogue: CatalogueFile[]
  /** The releases of the catalogue, in the order of the roots. */
  releases: CatalogueRelease[]
  keyLocations: Map<string, CredentialsLocation>
  keyLocationsFile: YamlDocument | undefined
  /** Functions that every expression may call. */
  library: Library
  /** The halves with a file that is wrong, as `<dialect>/<half>/`: what it lacks is no mistake of those that use it. */
  broken: Set<string>
  /** The terms between the halves of dialects: schemas/conversation.yaml. */
  conversation: Schema | undefined
  /** The parts of mappings, by name: `<part>` of mappings/library, and `<dialect>/<half>/<part>` of schemas. */
  parts: Map<string, Entry<LibraryData>>
  configSchemas: Map<string, Schema>
  /** Documents that were checked and compiled before: the built-in ones, under an overlay. */
  settled: Set<YamlDocument>
  findings: Finding[]
}

/** A project without any data. */
export function emptyProject(): Project {
  return {
    routes: [],
    dialects: new Set(),
    formats: new Map(),
    schemas: new Map(),
    schemaFiles: new Map(),
    mappings: new Map(),
    providers: new Map(),
    catalogue: [],
    releases: [],
    keyLocations: new Map(),
    keyLocationsFile: undefined,
    library: new Map(),
    parts: new Map(),
    broken: new Set(),
    conversation: undefined,
    configSchemas: new Map(),
    settled: new Set(),
    findings: [],
  }
}

/**
 * Reads the data of some roots, each with any of the folders routes, schemas, mappings, providers and models, and adds it
 * to a project.
 */
export function readProject(roots: readonly string[], project = emptyProject()): Project {
  // The layers of an overlay are above the base's.
  const before = project.settled.size > 0 ? 1 : 0
  for (const [order, root] of roots.entries()) {
    readConfigSchemas(project, join(root, 'schemas', 'config'))
    readDialects(project, join(root, 'schemas'))
    readConversation(project, join(root, 'schemas', CONVERSATION))
    readRoutes(project, join(root, 'routes'))
    readProviders(project, join(root, 'providers'))
    project.catalogue.push(...readCatalogue(project, root, before + order, display))
    readMappings(project, join(root, 'mappings'))
    addPairs(project)
  }
  return project
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : []
}

/** The entries of a folder; none if it is a file. */
function listInside(path: string): string[] {
  return isFolder(path) ? list(path) : []
}

function documents(project: Project, path: string): YamlDocument[] {
  return parseFilled(display(path), readFileSync(path, 'utf8'), project.findings)
}

/** Names of folders and files become names of dialects and providers; an invalid name is a finding. */
function isName(project: Project, name: string, pattern: RegExp, what: string, path: string): boolean {
  if (pattern.test(name)) return true
  project.findings.push({
    file: display(path),
    line: 1,
    column: 1,
    rule: 'names/file',
    detail: `"${name}" is not a valid name for a ${what}`,
    remedy: 'use lower-case letters and digits, joined by _',
  })
  return false
}

/** The document of a file with exactly one. */
function only(project: Project, path: string): YamlDocument | undefined {
  const document = onlyDocument(documents(project, path), project.findings)
  return document && withWholeFunctions(document, project.findings)
}

/** A file without a `replaces` key can never be replaced: others may depend on it. */
function exists(project: Project, document: YamlDocument, pointer: Pointer, name: string): void {
  project.findings.push({
    ...document.at(pointer),
    rule: 'overlay/exists',
    detail: `${name} already exists`,
    remedy: 'choose another name',
  })
}

function add<Data extends object>(project: Project, into: Map<string, Entry<Data>>, entry: Entry<Data>): void {
  const known = into.get(entry.name)
  const isOver = ('replaces' in entry.data && entry.data.replaces === true) || ('like' in entry.data && entry.data.like === entry.name)
  if (known && !isOver) {
    project.findings.push({
      ...entry.document.at([]),
      rule: 'overlay/exists',
      detail: `${entry.name} already exists (${known.document.file})`,
      remedy: 'choose another name, or add `replaces: true`',
    })
    return
  }
  into.set(entry.name, entry)
}

/** A document's data after its grammar accepted it, with the grammar's defaults. */
function filled<Data>(project: Project, grammar: string, document: YamlDocument, value: unknown = document.value): Data {
  const schema = project.configSchemas.get(grammar)
  return (schema === undefined ? value : withDefaults(schema as SpecSchema, value)) as Data
}

/** The keys of routes, providers and parts that are enough to check the others, if some are wrong. */
const ENOUGH = { route: ['name', 'method', 'path', 'auth', 'dialect'], provider: ['speaks'], library: [] } as const

/** Keys on which the meaning of others depends: where one is wrong, nothing else is checked. */
const DECIDING: ReadonlySet<unknown> = new Set(['extends', 'like', 'answer', 'document', 'fail', 'upgrade', 'body', 'follow'])

/** A document, or where its grammar does not hold, the part of it that others can be checked with; undefined if that is nothing. */
function soundPart(project: Project, grammar: keyof typeof ENOUGH, document: YamlDocument): YamlDocument | undefined {
  if (checkGrammar(project, grammar, document)) return document
  const rest = restOf(project, grammar, document, ENOUGH[grammar])
  const isEnough = ENOUGH[grammar].every(key => Object.hasOwn(Object(rest.value), key))
  return isEnough && !rest.without.some(([key]) => DECIDING.has(key)) ? rest : undefined
}

/** A provider's data, merged with the one that it extends. */
function providerOf(project: Project, document: YamlDocument, base: ProviderData | undefined): ProviderData {
  const own = document.value as ProviderFile
  const { replaces, source, ...inherited } = base ?? ({} as Partial<ProviderData>)
  const file = {
    ...inherited,
    ...own,
    ...(base && { headers: { ...base.headers, ...own.headers }, speaks: { ...base.speaks, ...own.speaks } }),
  } as ProviderFile
  return filled(project, 'provider', document, file)
}

/** The last grammars that were read: consecutive projects usually have the same ones, and what is compiled of one is kept with it. */
let grammars: { text: string; schemas: ReadonlyMap<string, Schema> } | undefined

function readConfigSchemas(project: Project, folder: string): void {
  const files = list(folder)
    .filter(file => file.endsWith('.yaml'))
    .map(file => ({ path: join(folder, file), name: basename(file, '.yaml'), text: readFileSync(join(folder, file), 'utf8') }))
  if (files.length === 0) return
  const text = JSON.stringify(files.map(({ name, text }) => [name, text]))
  const before = project.findings.length
  const schemas = grammars?.text === text ? grammars.schemas : grammarsOf(files, project.findings)
  // What is found in one is found each time.
  if (project.findings.length === before) grammars = { text, schemas }
  for (const [name, schema] of schemas) project.configSchemas.set(name, schema)
}

function grammarsOf(files: readonly { path: string; name: string; text: string }[], findings: Finding[]): ReadonlyMap<string, Schema> {
  const own = new Map<string, Schema>()
  for (const { path, name, text } of files) {
    const document = onlyDocument(parseYaml(display(path), text, findings), findings)
    if (document !== undefined) own.set(name, document.value as Schema)
  }
  return new Map([...own].map(([name, schema]) => [name, withShared(schema, other => own.get(other))]))
}

function readDialects(project: Project, folder: string): void {
  const own: Named[] = []
  for (const dialect of list(folder)) {
    if (dialect === 'config') continue
    const formatPath = join(folder, dialect, 'format.yaml')
    // Replacing a dialect replaces its schemas, too.
    const isReplaced = existsSync(formatPath) && /^replaces: *true/m.test(readFileSync(formatPath, 'utf8'))
    for (const file of listInside(join(folder, dialect))) {
      if (isHalf(file)) readHalf(project, join(folder, dialect, file), dialect, file)
      if (!file.endsWith('.yaml')) continue
      if (!isName(project, dialect, /^[a-z][a-z0-9_]*$/, 'dialect', join(folder, dialect, file))) continue
      if (file === 'format.yaml') project.dialects.add(dialect)
      const document = only(project, join(folder, dialect, file))
      if (!document) continue
      if (file === 'format.yaml') {
        if (isLike(document) || checkGrammar(project, 'format', document)) own.push({ name: dialect, document })
      } else {
        const id = schemaId(dialect, basename(file, '.yaml'))
        if (project.schemas.has(id) && !isReplaced) exists(project, document, [], `${dialect}/${file}`)
        else project.schemas.set(id, document.value as Schema)
        project.schemaFiles.set(id, document)
      }
    }
  }
  const lower = new Map([...project.formats].map(([name, { document }]) => [name, document]))
  for (const { name, document } of resolved(own, lower, OF_FORMATS, 'format', project.findings)) {
    if (!checkGrammar(project, 'format', document)) continue
    const data = filled<FormatData>(project, 'format', document)
    add(project, project.formats, { name, data, document })
  }
  for (const { name } of own) takeSchemas(project, name, [])
}

/** The terms that halves have in common; those of the lowest root are for all. */
const CONVERSATION = 'conversation.yaml'

function readConversation(project: Project, path: string): void {
  if (project.conversation === undefined && existsSync(path)) project.conversation = only(project, path)?.value as Schema | undefined
}

/** The parts of a half of a dialect. A half that a lower root has stays as it is: mappings there are made of it. */
function readHalf(project: Project, folder: string, dialect: string, half: Half): void {
  const isKnown = [...project.parts.keys()].some(name => name.startsWith(halfName(dialect, half)))
  for (const file of listInside(folder)) {
    const path = join(folder, file)
    const name = basename(file, '.yaml')
    if (!file.endsWith('.yaml') || !isName(project, name, PART, 'file of a half', path)) continue
    const document = isKnown ? only(project, path) : undefined
    if (document) exists(project, document, [], `the half ${dialect}/${half}`)
    else if (!isKnown && !addPart(project, halfName(dialect, half, name), path)) project.broken.add(halfName(dialect, half))
  }
}

/** Names of parts: the files of a half, and of mappings/library. */
const PART = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/

/** Adds a part, or what is right of it. Whether all of it is. */
function addPart(project: Project, name: string, path: string): boolean {
  const document = only(project, path)
  const sound = document && soundPart(project, 'library', document)
  if (sound) add(project, project.parts, { name, data: withNames(filled<LibraryData>(project, 'library', sound)), document: sound })
  return sound !== undefined && sound === document
}

function isHalf(name: string): name is Half {
  return HALVES.some(half => half === name)
}

/** Gives a dialect the missing schemas from the one that it is like. */
function takeSchemas(project: Project, name: string, before: readonly string[]): void {
  const like = project.formats.get(name)?.data.like
  if (like === undefined || like === name || before.includes(name)) return
  takeSchemas(project, like, [...before, name])
  const folder = schemaId(like, '')
  for (const [id, schema] of [...project.schemas]) {
    const own = schemaId(name, id.slice(folder.length))
    if (!id.startsWith(folder) || project.schemas.has(own)) continue
    project.schemas.set(own, schema)
    project.schemaFiles.set(own, project.schemaFiles.get(id) as YamlDocument)
  }
}

function isNamed(document: YamlDocument): boolean {
  return typeof (document.value as { name?: unknown }).name === 'string'
}

function readRoutes(project: Project, folder: string): void {
  const own: Named[] = []
  for (const file of list(folder)) {
    if (!file.endsWith('.yaml')) continue
    for (const document of documents(project, join(folder, file))) {
      if (file === '_credentials.yaml') {
        if (!checkGrammar(project, 'credentials', document)) continue
        project.keyLocationsFile = document
        for (const [name, location] of Object.entries(filled<CredentialsData>(project, 'credentials', document).key_locations)) {
          if (project.keyLocations.has(name)) exists(project, document, ['key_locations', name], name)
          else project.keyLocations.set(name, location)
        }
      } else {
        const sound = isLike(document) && isNamed(document) ? document : soundPart(project, 'route', document)
        if (sound) own.push({ name: (sound.value as RouteFile).name, document: sound })
      }
    }
  }
  const lower = new Map(project.routes.map(({ name, document }) => [name, document]))
  for (const { name, document: whole } of resolved(own, lower, OF_ROUTES, 'route', project.findings)) {
    const document = soundPart(project, 'route', whole)
    if (document === undefined) continue
    const data = filled<RouteData>(project, 'route', document)
    const known = project.routes.findIndex(route => route.name === name)
    const entry = { name, data, document }
    if (known < 0) project.routes.push(entry)
    else if (data.replaces || data.like === name) project.routes[known] = entry
    else
      project.findings.push({
        ...document.at(['name']),
        rule: 'route/name',
        detail: `a route named ${name} already exists (${project.routes[known]?.document.file})`,
        remedy: 'choose another name, or add `replaces: true`',
      })
  }
}

function readProviders(project: Project, folder: string): void {
  const files = new Map<string, YamlDocument>()
  const names = new Set<string>()
  for (const file of list(folder)) {
    if (!file.endsWith('.yaml')) continue
    const name = basename(file, '.yaml')
    if (!isName(project, name, /^[a-z0-9]+([_-][a-z0-9]+)*$/, 'provider', join(folder, file))) continue
    names.add(name)
    const document = only(project, join(folder, file))
    const sound = document && soundPart(project, 'provider', document)
    if (sound) files.set(name, sound)
  }
  const lower = new Map(project.providers)
  for (const name of files.keys()) addProvider(project, name, { files, names, lower })
}

/** The providers of a folder: their files, the names of all files, also of those that are wrong, and the providers of lower roots. */
interface ProviderFiles {
  files: ReadonlyMap<string, YamlDocument>
  names: ReadonlySet<string>
  lower: ReadonlyMap<string, Entry<ProviderData>>
}

/** Adds a provider after the one that it extends: another of its folder, or of a lower root, where the name may be the same. */
function addProvider(project: Project, name: string, from: ProviderFiles): void {
  const { files, names, lower } = from
  const document = files.get(name) as YamlDocument
  if (project.providers.get(name)?.document === document) return
  const base = baseOf(document)
  if (base === undefined) {
    add(project, project.providers, { name, data: providerOf(project, document, undefined), document })
    return
  }
  const circle = circleFrom(name, files)
  const isCircle = circle.includes(name)
  if (base !== name && circle.length === 0 && files.has(base)) addProvider(project, base, from)
  const found = base === name ? lower.get(base) : circle.length > 0 ? undefined : project.providers.get(base)
  if (found === undefined) {
    // What is wrong with another file is told there.
    if (!isCircle && base !== name && names.has(base)) return
    project.findings.push({
      ...document.at(['extends']),
      rule: 'provider/extends',
      detail: isCircle ? `${base} extends this provider` : `there is no provider ${base} to extend`,
      remedy: 'name a built-in provider, or another file of providers/, without `.yaml`',
    })
    return
  }
  const data = providerOf(project, document, found.data)
  // A provider that extends one of its own name replaces it.
  if (base === name) project.providers.set(name, { name, data, document })
  else add(project, project.providers, { name, data, document })
}

function baseOf(document: YamlDocument): string | undefined {
  return (document.value as ProviderFile).extends
}

/** The providers that extend each other in the circle to which a provider leads; none if it leads to none. */
function circleFrom(name: string, files: ReadonlyMap<string, YamlDocument>): readonly string[] {
  const passed = [name]
  for (;;) {
    const last = passed.at(-1) as string
    const document = files.get(last)
    const base = document && baseOf(document)
    // One that extends a provider of its own name means that of a lower root.
    if (base === undefined || base === last) return []
    if (passed.includes(base)) return passed.slice(passed.indexOf(base))
    passed.push(base)
  }
}

function readMappings(project: Project, folder: string): void {
  const parts = join(folder, 'library')
  for (const file of list(parts)) {
    if (!file.endsWith('.yaml')) continue
    const name = basename(file, '.yaml')
    if (isName(project, name, PART, 'part of the library', join(parts, file))) addPart(project, name, join(parts, file))
  }
  for (const name of list(folder)) {
    if (name === 'library.yaml') {
      const document = only(project, join(folder, name))
      if (!document || !checkGrammar(project, 'library', document)) continue
      const { functions = {} } = document.value as Partial<LibraryData>
      const library = new Map(project.library)
      for (const [key, text] of Object.entries(functions)) {
        if (library.has(key)) exists(project, document, ['functions', key], key)
        else library.set(key, { document, pointer: ['functions', key], text })
      }
      project.library = library
      continue
    }
    const path = join(folder, name, 'mapping.yaml')
    if (!existsSync(path)) continue
    const document = only(project, path)
    if (!document || !checkGrammar(project, 'mapping', document)) continue
    const data = wholeMapping(project, name, filled<MappingData>(project, 'mapping', document), document)
    add(project, project.mappings, { name, document, data })
  }
}

/** The data of a mapping with what its parts define. */
function wholeMapping(project: Project, name: string, own: MappingData, document: YamlDocument): MappingData {
  const uses = usesOf(sidesOf(name), own.uses ?? [], project.parts)
  const data = withParts({ data: { ...own, uses }, document }, project.parts, project.findings)
  return withLacks(data, own.fields, project.parts, libraryOf({ data, document }, project))
}

/** Whether a mapping is made of a half with a file that is wrong. */
export function isOfBroken({ broken }: Project, mapping: string): boolean {
  const { from, to } = sidesOf(mapping)
  return broken.has(halfName(from, 'client')) || broken.has(halfName(to, 'provider'))
}

/** What answers of a dialect with a half give: text, unless its format says something else. */
const given = ({ data }: Entry<FormatData>): string => data.gives ?? 'text'

/** Adds the pairs of dialects that give the same and are made of their halves alone. A pair with a file of its own is not among them. */
function addPairs(project: Project): void {
  const halves = [...project.parts.keys()].filter(isOfHalf).map(part => part.split('/'))
  const having = (half: Half): Entry<FormatData>[] => {
    const dialects = new Set(halves.flatMap(([dialect = '', of]) => (of === half ? [dialect] : [])))
    return [...dialects].flatMap(dialect => project.formats.get(dialect) ?? [])
  }
  const providers = having('provider')
  for (const client of having('client'))
    for (const provider of providers) {
      const name = pairOf(client.name, provider.name)
      if (client === provider || given(client) !== given(provider)) continue
      if (project.mappings.has(name) || isOfBroken(project, name)) continue
      // Findings are in the file of the newer dialect.
      const { document } = project.settled.has(client.document) ? provider : client
      const title = `${client.data.title} clients on ${provider.data.title} providers`
      const own: MappingData = { title, tables: {}, define: {}, fields: { dropped: {}, refused: {}, rest: 'drop' }, replaces: false }
      project.mappings.set(name, { name, document, data: wholeMapping(project, name, own, document) })
    }
}
