// Reads the known facts about models from models/, and checks them against their grammar.

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

/**
 * A file of models/. A file of a higher layer wins over one of a lower: a root's own files over those in its folders, later
 * roots over earlier ones.
 */
export interface CatalogueFile {
  data: CatalogueData
  document: YamlDocument
  layer: number
  /** The position of an entry by name. */
  entryAt(name: string): Place
}

interface Reading {
  configSchemas: ReadonlyMap<string, Schema>
  findings: Finding[]
}

/**
 * The files of a root's models/ and of its folders, without those that have errors. `display` turns a path into what the
 * reader would type.
 */
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
