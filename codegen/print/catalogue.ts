// Prints the catalogue as a module of the plan.

import type { CatalogueEntry } from '../../engine/plan.js'

/** The text of `generated/models.js`, one entry per line. */
export function printCatalogue(entries: readonly CatalogueEntry[]): string {
  const lines = entries.map(entry => `  ${JSON.stringify(entry)},`)
  return `// Made from models/ by codegen; do not edit.\nexport const catalogue = [\n${lines.join('\n')}\n]\n`
}
