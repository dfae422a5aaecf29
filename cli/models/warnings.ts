// Warnings about the models in use: coming retirements, and old facts.

import type { Logger } from 'pino'
import type { ModelFacts } from '../../engine/plan.js'
import type { Snapshot } from '../../engine/snapshot/model.js'
import { daysSince, OLD } from './days.js'

/** A model, with the known facts at each target. */
export interface Used {
  name: string
  targets: readonly { name: string; provider: { name: string }; facts: ModelFacts }[]
}

export interface Warning {
  model: string
  target: string
  warning: string
}

/** Days. */
const NEAR = 60

/** Warnings for each target, in the order of the models; `today` is in milliseconds since 1970. */
export function warningsOf(models: Iterable<Used>, today = Date.now()): Warning[] {
  const warnings: Warning[] = []
  for (const { name: model, targets } of models) {
    for (const { name: target, facts } of targets) {
      const { deprecated, retired, read, source } = facts
      const left = retired === undefined ? undefined : -daysSince(retired, today)
      if (left !== undefined && left <= 0) warnings.push({ model, target, warning: `its maker retired it on ${retired}` })
      else if (left !== undefined && left <= NEAR)
        warnings.push({ model, target, warning: `its maker retires it on ${retired}, in ${left} days` })
      else if (left === undefined && deprecated !== undefined && Date.parse(deprecated) <= today)
        warnings.push({ model, target, warning: `its maker advises against it since ${deprecated}, and has not said when it ends` })
      const age = read === undefined ? 0 : daysSince(read, today)
      if (age > OLD) warnings.push({ model, target, warning: `its facts were read ${age} days ago, from ${source}` })
    }
  }
  return warnings
}

/** Logs them, one line each. */
export function logWarnings(snapshot: Pick<Snapshot, 'models'>, log: Logger): void {
  for (const { warning, ...which } of warningsOf(snapshot.models.values())) log.warn(which, warning)
}
