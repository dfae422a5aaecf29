// models/: what is known of models, read and checked against its grammar.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding } from '../read/findings.js'
import { checkGrammar } from '../read/grammar.js'
import type { Schema } from '../read/schemas.js'
import { onlyDocument, type Place, parseYaml, type YamlDocument } from '../read/yaml.js'

export type PriceData = number | { price: number; per?: 'one' | 'thousand' | 'million' }

export interface PricesData {
  from: string
  when?: Record<string, unknown>[]
  regions?: Record<string, number>
  [meter: string]: unknown
}

export interface ModelData {
  match?: string[]
  like?: string
  replaces?: boolean
  display_name?: string
  owner?: string
  created?: string
  deprecated?: string
  retired?: string
  context?: number
  max_output?: number
  inputs?: string[]
  outputs?: string[]
  prefer?: { when?: string | string[]; speaks: string }[]
  traits?: Record<string, unknown>
  prices?: PricesData[]
  source?: string
  read?: string
}

/** A page that says of some models what a table in a folder says of them. */
export interface ConfirmedData {
  source: string
  read?: string
  facts: string[]
  models: string[]
}

export interface CatalogueData {
  title?: string
  source: string
  read: string
  providers?: string[]
  currency?: string
  confirmed?: ConfirmedData[]
  models: Record<string, ModelData>
}

/** A file of models/. One of a higher layer goes before one of a lower: own files before those in a folder, later roots before earlier ones. */
export interface CatalogueFile {
  data: CatalogueData
  document: YamlDocument
  layer: number
  /** Where the entry of a name stands. */
  entryAt(name: string): Place
}

interface Reading {
  configSchemas: ReadonlyMap<string, Schema>
  findings: Finding[]
}

/** The files of a root's models/ and of the folders in it, those without faults. `display` makes of a path what the reader would type. */
export function readCatalogue(project: Reading, root: string, order: number, display: (path: string) => string): CatalogueFile[] {
  const folder = join(root, 'models')
  if (!existsSync(folder)) return []
  const files: CatalogueFile[] = []
  const add = (path: string, layer: number): void => {
    if (!path.endsWith('.yaml')) return
    const document = onlyDocument(parseYaml(display(path), readFileSync(path, 'utf8'), project.findings), project.findings)
    if (document && checkGrammar(project, 'models', document))
      files.push({ data: document.value as CatalogueData, document, layer, entryAt: name => document.key(['models', name]) })
  }
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name)
    if (!statSync(path).isDirectory()) add(path, 2 * order + 1)
    else for (const inner of readdirSync(path).sort()) add(join(path, inner), 2 * order)
  }
  return files
}
