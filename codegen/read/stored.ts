// A compiled project as JSON: an overlay on it need not read and check its YAML again. Positions are looked up in the YAML
// file itself when a finding needs one.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CatalogueRelease } from '../../engine/plan.js'
import { elementAt } from '../jsonata/element.js'
import type { CatalogueData } from './catalogue-data.js'
import { display } from './display.js'
import { type Entry, emptyProject, type Project } from './project.js'
import type { Schema } from './schemas.js'
import { withWholeFunctions } from './signatures.js'
import { parseYaml, type SourcePosition, type YamlDocument } from './yaml.js'

/** A document: its file, relative to the root, its index in the file, and the hash of both. */
interface StoredDocument {
  file: string
  index: number
  hash: string
}

/** An entry: its name, its data, and the index of its document. */
type StoredEntry = [name: string, data: unknown, document: number]

/** The JSON form of a project without findings. */
export interface StoredProject {
  documents: StoredDocument[]
  routes: StoredEntry[]
  dialects: string[]
  formats: StoredEntry[]
  schemas: StoredEntry[]
  mappings: StoredEntry[]
  providers: StoredEntry[]
  parts: StoredEntry[]
  /** Each function's name, text, and index of its document. */
  library: [name: string, text: string, document: number][]
  keyLocations: [string, unknown][]
  keyLocationsDocument: number
  configSchemas: [string, Schema][]
  conversation: Schema | undefined
  /** Each file of models/: its data, layer, index of its document, and the position of each entry: line and column. */
  releases: CatalogueRelease[]
  catalogue: [data: CatalogueData, layer: number, document: number, positions: Record<string, [number, number]>][]
}

const hashes = new WeakMap<YamlDocument, string>()

/** The hash of a document: of its file's name and text, and of its position in the file. */
export function hashOf(document: YamlDocument): string {
  let hash = hashes.get(document)
  if (hash === undefined) {
    hash = createHash('sha256')
      .update(JSON.stringify([document.file, document.at([])]))
      .update(readFileSync(document.file))
      .digest('hex')
    hashes.set(document, hash)
  }
  return hash
}

/** A project as JSON. File names are relative to the working folder, which is its root. */
export function storeProject(project: Project): StoredProject {
  const numbers = new Map<YamlDocument, number>()
  const documents: StoredDocument[] = []
  const counts = new Map<string, number>()
  const numberOf = (document: YamlDocument): number => {
    let number = numbers.get(document)
    if (number === undefined) {
      const index = counts.get(document.file) ?? 0
      counts.set(document.file, index + 1)
      number = documents.push({ file: document.file, index, hash: hashOf(document) }) - 1
      numbers.set(document, number)
    }
    return number
  }
  const entries = (from: Iterable<Entry<unknown>>): StoredEntry[] =>
    [...from].map(({ name, data, document }) => [name, data, numberOf(document)])
  return {
    routes: entries(project.routes),
    dialects: [...project.dialects],
    formats: entries(project.formats.values()),
    schemas: [...project.schemas].map(([id, schema]) => [id, schema, numberOf(project.schemaFiles.get(id) as YamlDocument)]),
    mappings: entries(project.mappings.values()),
    providers: entries(project.providers.values()),
    parts: entries(project.parts.values()),
    library: [...project.library].map(([name, { text, document }]) => [name, text, numberOf(document)]),
    keyLocations: [...project.keyLocations],
    keyLocationsDocument: project.keyLocationsFile === undefined ? -1 : numberOf(project.keyLocationsFile),
    configSchemas: [...project.configSchemas],
    conversation: project.conversation,
    releases: project.releases,
    catalogue: project.catalogue.map(({ data, layer, document, entryAt }) => [
      data,
      layer,
      numberOf(document),
      Object.fromEntries(
        Object.keys(data.models).map(name => {
          const { line, column } = entryAt(name)
          return [name, [line, column]]
        }),
      ),
    ]),
    documents,
  }
}

/** Restores a project, all of whose documents are settled. `root` is the folder of its data. */
export function restoreProject(stored: StoredProject, root: string): Project {
  const documents = stored.documents.map(document => storedDocument(document, root))
  const at = (number: number): YamlDocument => elementAt(documents, number)
  const entries = (from: readonly StoredEntry[]): Entry<never>[] =>
    from.map(([name, data, document]) => ({ name, data: data as never, document: at(document) }))
  const byName = (from: readonly StoredEntry[]): Map<string, Entry<never>> => new Map(entries(from).map(entry => [entry.name, entry]))
  return {
    ...emptyProject(),
    routes: entries(stored.routes),
    dialects: new Set(stored.dialects),
    formats: byName(stored.formats),
    schemas: new Map(stored.schemas.map(([id, schema]) => [id, schema as Schema])),
    schemaFiles: new Map(stored.schemas.map(([id, , document]) => [id, at(document)])),
    mappings: byName(stored.mappings),
    providers: byName(stored.providers),
    parts: byName(stored.parts),
    library: new Map(
      stored.library.map(([name, text, document]) => [name, { document: at(document), pointer: ['functions', name], text }]),
    ),
    keyLocations: new Map(stored.keyLocations) as Project['keyLocations'],
    keyLocationsFile: stored.keyLocationsDocument < 0 ? undefined : at(stored.keyLocationsDocument),
    configSchemas: new Map(stored.configSchemas),
    conversation: stored.conversation,
    releases: [...stored.releases],
    catalogue: stored.catalogue.map(([data, layer, number, positions]) => {
      const document = at(number)
      const entryAt = (name: string): SourcePosition => {
        const [line, column] = positions[name] as [number, number]
        return { file: document.file, line, column }
      }
      return { data, layer, document, entryAt }
    }),
    settled: new Set(documents),
  }
}

function storedDocument({ file, index, hash }: StoredDocument, root: string): YamlDocument {
  const path = join(root, file)
  let parsed: YamlDocument | undefined
  const whole = (): YamlDocument => {
    parsed ??= withWholeFunctions(elementAt(parseYaml(display(path), readFileSync(path, 'utf8'), []), index), [])
    return parsed
  }
  const document: YamlDocument = {
    file: display(path),
    get value() {
      return whole().value
    },
    at: pointer => whole().at(pointer),
    key: pointer => whole().key(pointer),
    inside: (pointer, offset) => whole().inside(pointer, offset),
  }
  hashes.set(document, hash)
  return document
}
