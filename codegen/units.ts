// The units of compilation (a format, a mapping, the schemas of a dialect), and the hash of all inputs of each. A unit with
// a known hash is not compiled again.

import { createHash } from 'node:crypto'
import { type Entry, type FormatData, type MappingData, type Project, sidesOf } from './read/project.js'
import { closureOf, schemaId } from './read/schemas.js'
import { hashOf } from './read/stored.js'
import type { YamlDocument } from './read/yaml.js'

/** A compiled unit: its files by path in the output, and the names of its functions by kind of module. */
export interface Unit {
  files: Record<string, string>
  names: Partial<Record<ModuleKind, string[]>>
}

/** The kinds of module: `own` is that of a format, a mapping or a route. */
type ModuleKind = 'own' | 'validators' | 'normalisers' | 'unnamed' | 'shapes'

/** A unit of the built-in output: its hash, and the names of its functions. */
interface KnownUnit {
  key: string
  names: Unit['names']
}

/** The units of the built-in output, by kind and name. */
export interface KnownUnits {
  formats: Record<string, KnownUnit>
  mappings: Record<string, KnownUnit>
  dialects: Record<string, KnownUnit>
  /** The names of the functions of routes.js. */
  routes: string[]
  /** The names of the functions of providers.js. */
  providers: string[]
  /** The hash of the schema of gateway.yaml; undefined if there is none. */
  gateway: string | undefined
  /** The hash of the catalogue. */
  catalogue: string
  /** The hash of each entry of the plan. */
  plan: Record<string, string>
}

/** Units that were compiled before, by hash. */
export interface UnitCache {
  get(key: string): Unit | undefined
  set(key: string, unit: Unit): void
}

/** A hash of JSON values. */
export function hashOfAll(...values: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex')
}

/** Which schemas of a dialect are used, which decides what is generated from them. */
export interface DialectUse {
  /** A mapping reads its answers. */
  isTranslated: boolean
  /** A mapping reads its events. */
  isStreamed: boolean
  /** A mapping reads its requests. */
  isMapped: boolean
  /** A route checks some of its fields before the others arrive. */
  isChecked: boolean
}

/** The schemas of a dialect: a mapping is checked against those of both of its dialects. */
const PARTS = ['request', 'response', 'event'] as const

/** The hashes of a project's units. */
export class UnitKeys {
  private readonly library: { settled: string; all: string }

  constructor(private readonly project: Project) {
    const documents = new Set([...project.library.values()].map(({ document }) => document))
    const hash = (chosen: Iterable<YamlDocument>): string => hashOfAll(...[...chosen].map(hashOf))
    this.library = { all: hash(documents), settled: hash([...documents].filter(document => project.settled.has(document))) }
  }

  format({ name, data, document }: Entry<FormatData>): string {
    return hashOfAll('format', hashOf(document), data.like && data, this.libraryOf(document), this.schemas(name, 'request'))
  }

  /** `ofEngine`: the members of its requests that the engine reads; `query`: those of the query that it may see. */
  mapping({ name, data, document }: Entry<MappingData>, ofEngine: ReadonlySet<string>, query: readonly string[]): string {
    const { parts, formats } = this.project
    const { from, to } = sidesOf(name)
    const used = (data.uses ?? []).map(part => parts.get(part)).map(part => part && hashOf(part.document))
    const lines = [from, to].map(dialect => formats.get(dialect)?.data.stream?.event_line)
    return hashOfAll(
      'mapping',
      hashOf(document),
      this.libraryOf(document),
      used,
      ...[from, to].flatMap(dialect => PARTS.map(part => this.schemas(dialect, part))),
      formats.get(from)?.data.complete,
      lines,
      formats.get(from)?.data.normalise,
      [...ofEngine].sort(),
      query,
    )
  }

  dialect({ name, data }: Entry<FormatData>, { isTranslated, isStreamed, isMapped, isChecked }: DialectUse): string {
    return hashOfAll(
      'dialect',
      name,
      this.schemas(name, 'request'),
      isTranslated && this.schemas(name, 'response'),
      isStreamed && this.schemas(name, 'event'),
      isMapped,
      isChecked,
      data.normalise,
      data.usage,
      data.stream?.watch?.usage?.read,
    )
  }

  gateway(): string | undefined {
    const schema = this.project.configSchemas.get('gateway')
    return schema === undefined ? undefined : hashOfAll('gateway', schema)
  }

  /** An overlay's functions have separate hashes, so that nothing built in depends on them. */
  private libraryOf(document: YamlDocument): string {
    return this.project.settled.has(document) ? this.library.settled : this.library.all
  }

  /** The hashes of a schema's file and of all that it refers to; undefined if the schema does not exist. */
  private schemas(dialect: string, part: string): string[] | undefined {
    const { schemas, schemaFiles } = this.project
    const id = schemaId(dialect, part)
    if (!schemas.has(id)) return undefined
    return [...closureOf(schemas, id)].map(each => hashOf(schemaFiles.get(each) as YamlDocument)).sort()
  }
}
