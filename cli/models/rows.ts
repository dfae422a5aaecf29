// The models that providers have under names of their own.

import type { Catalogue, ModelFacts } from '../../engine/plan.js'
import { combined, entriesFor, type Found } from '../../engine/snapshot/catalogue.js'

/** A model of a provider: what is known of it, and the entries that say it, the one that goes before all others last. */
export interface ModelRow {
  provider: string
  name: string
  facts: ModelFacts
  found: readonly Found[]
}

/** Every model that a provider has under a name of its own, by provider and name; `only`: those of one. */
export function rowsOf(catalogue: Catalogue, only?: string): ModelRow[] {
  const seen = new Set<string>()
  const rows: ModelRow[] = []
  for (const { providers = [], match } of catalogue) {
    for (const provider of providers) {
      for (const name of match) {
        if (name.includes('*') || (only !== undefined && provider !== only) || seen.has(`${provider} ${name}`)) continue
        seen.add(`${provider} ${name}`)
        const found = entriesFor(catalogue, provider, name)
        const facts = combined(found)
        // An entry that only corrects what another table says of a model elsewhere is none of this provider's, and of what is
        // gone its end may be all that is known.
        const { prices, context, outputs, retired } = facts
        if (prices === undefined && context === undefined && (outputs === undefined || retired !== undefined)) continue
        rows.push({ provider, name, facts, found })
      }
    }
  }
  return rows.sort((left, right) => (`${left.provider}${left.name}` < `${right.provider}${right.name}` ? -1 : 1))
}
