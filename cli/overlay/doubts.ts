// The warnings about names in the folders beside gateway.yaml, and about traits in it, that need the data themselves.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { doubtsIn, traitDoubts, traitsIn } from '../../codegen/check/doubts.js'
import type { Finding } from '../../codegen/read/findings.js'
import { type Pointer, valueAt, type YamlDocument } from '../../codegen/read/yaml.js'
import { uncheckedProject } from '../project.js'
import { overlayOf } from './inputs.js'

/** The doubts about a configuration, as far as it has what can be doubted. */
export function doubtsBeside(config: string, document: YamlDocument | undefined): Finding[] {
  const overlay = overlayOf(config)
  const isDoubted = overlay !== undefined && existsSync(join(overlay, 'providers'))
  const places = document === undefined ? [] : traitsOf(document)
  if (!isDoubted && places.length === 0) return []
  const project = uncheckedProject(overlay === undefined ? [] : [overlay])
  const known = traitsIn(project)
  return [...doubtsIn(project), ...places.flatMap(place => traitDoubts(document as YamlDocument, place, known))]
}

/** Where a configuration has traits: those of models, and of their targets. */
function traitsOf({ value }: YamlDocument): Pointer[] {
  const models = Object.entries(Object((value as { models?: object } | null)?.models) as Record<string, { targets?: unknown }>)
  return models.flatMap(([name, model]) => {
    const targets = Array.isArray(model?.targets) ? model.targets.map((_, index): Pointer => ['models', name, 'targets', index]) : []
    return [['models', name], ...targets].map(place => [...place, 'traits']).filter(place => valueAt(value, place) !== undefined)
  })
}
