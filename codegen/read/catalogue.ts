// Reads the known facts about models from models/, and checks them against their grammar.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareVersions } from '../version.js'
import type { CatalogueData, Reading } from './catalogue-data.js'
import { leaveOut, RELEASE, releaseOf } from './catalogue-release.js'
import { checkGrammar } from './grammar.js'
import { type SpecSchema, withDefaults } from './spec.js'
import { isFolder } from './status.js'
import { onlyDocument, parseFilled, type SourcePosition, type YamlDocument } from './yaml.js'

/**
 * A file of models/. A file of a higher layer wins over one of a lower: a root's own files over those in its folders, later
 * roots over earlier ones.
 */
export interface CatalogueFile {
  data: CatalogueData
  document: YamlDocument
  layer: number
  /** The position of an entry by name. */
  entryAt(name: string): SourcePosition
}

/**
 * The files of a root's models/ and of its folders, without those that have errors; its release joins `project.releases`.
 * What a newer release than the first says in a grammar of tomorrow is left out. `display` turns a path into what the reader
 * would type.
 */
export function readCatalogue(project: Reading, root: string, order: number, display: (path: string) => string): CatalogueFile[] {
  const folder = join(root, 'models')
  if (!existsSync(folder)) return []
  const files: CatalogueFile[] = []
  const documentAt = (path: string): YamlDocument | undefined =>
    onlyDocument(parseFilled(display(path), readFileSync(path, 'utf8'), project.findings), project.findings)
  const own = join(folder, RELEASE)
  const said = existsSync(own) ? documentAt(own) : undefined
  const release = said && releaseOf(project, said)
  const [first] = project.releases
  const isNewer = release !== undefined && first !== undefined && compareVersions(release.version, first.version) > 0
  const leftOut: string[] = []
  const add = (path: string, layer: number): void => {
    if (!path.endsWith('.yaml') || path === own) return
    const document = documentAt(path)
    if (document && isNewer) leftOut.push(...leaveOut(project, document).map(path => `${document.file}: ${path}`))
    if (document && (document.value as CatalogueData | null)?.providers?.length === 0 && isNewer) return
    if (document && checkGrammar(project, 'models', document))
      files.push({ data: dataOf(project, document), document, layer, entryAt: name => document.key(['models', name]) })
  }
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name)
    if (!isFolder(path)) add(path, 2 * order + 1)
    else for (const inner of readdirSync(path).sort()) add(join(path, inner), 2 * order)
  }
  if (release) project.releases.push({ ...release, ...(leftOut.length > 0 && { leftOut }) })
  return files
}

/** The data of a file that its grammar accepted, with the grammar's defaults. */
function dataOf({ configSchemas }: Reading, { value }: YamlDocument): CatalogueData {
  const grammar = configSchemas.get('models')
  return (grammar === undefined ? value : withDefaults(grammar as SpecSchema, value)) as CatalogueData
}
