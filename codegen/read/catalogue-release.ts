// The releases of the catalogue: which one a folder models/ is, and what an older gateway leaves out of a newer one.

import { METERS } from '../../engine/core/meters.js'
import type { CatalogueRelease } from '../../engine/plan.js'
import { CONDITIONS } from '../../engine/snapshot/price.js'
import { type CatalogueData, NO_PRICES, type Reading } from './catalogue-data.js'
import { checkGrammar, wrongPlaces } from './grammar.js'
import type { Pointer, YamlDocument } from './yaml.js'

/** The file of models/ that says which release it is. */
export const RELEASE = 'catalogue.yaml'

/** The release that a document says; undefined if it is wrong, which is then among the findings. */
export function releaseOf(project: Reading, document: YamlDocument): CatalogueRelease | undefined {
  if (!checkGrammar(project, 'catalogue', document)) return undefined
  const { version, released } = document.value as { version: string; released: string }
  const { file, line } = document.at(['version'])
  return { version, released, at: `${file}:${line}` }
}

/** Where a fact stands that can be left out by itself: `models.<name>.<fact>`, `models.<name>.traits.<trait>`, or a key of the file. */
const DEPTH = { models: 3, traits: 4, other: 1 }

/**
 * Takes out of a file what this gateway does not know, because it was written for a newer one, and returns the paths of what it took. A
 * fact is left out as a whole: half of a price would be a wrong one.
 */
export function leaveOut(project: Reading, document: YamlDocument): string[] {
  const left = new Set<string>()
  const drop = (pointer: Pointer): void => {
    const depth = pointer[0] !== 'models' ? DEPTH.other : pointer[2] === 'traits' ? DEPTH.traits : DEPTH.models
    const path = pointer.slice(0, depth)
    const holder = path.slice(0, -1).reduce<unknown>((value, key) => (value as Record<string, unknown>)?.[key], document.value)
    const key = path.at(-1)
    if (key === undefined || typeof holder !== 'object' || holder === null) return
    delete (holder as Record<string, unknown>)[key]
    left.add(path.join('.'))
  }
  for (const pointer of wrongPlaces(project, 'models', document)) drop(pointer)
  const data = document.value as CatalogueData
  if (data.providers) {
    const known = data.providers.filter(name => project.providers.has(name))
    if (known.length < data.providers.length) left.add('providers')
    data.providers = known
  }
  for (const [name, model] of Object.entries(data.models ?? {})) {
    const isKnown = (row: object): boolean =>
      Object.keys(row).every(key => NO_PRICES.has(key) || CONDITIONS.has(key) || Object.hasOwn(METERS, key))
    if (model?.prices?.some(row => !isKnown(row) || row.when?.some(exception => !isKnown(exception)))) drop(['models', name, 'prices'])
    if (model?.prefer?.some(({ speaks }) => !project.dialects.has(speaks))) drop(['models', name, 'prefer'])
  }
  return [...left]
}
