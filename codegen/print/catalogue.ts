// Prints the catalogue as a module of the plan.

import type { CatalogueEntry } from '../../engine/plan.js'

/** The text of `generated/models.js`, one entry per line. Each is a text of JSON, which is read twice as fast as JavaScript. */
export function printCatalogue(entries: readonly CatalogueEntry[]): string {
  const lines = entries.map(entry => `  JSON.parse(${JSON.stringify(JSON.stringify(entry))}),`)
  return `// Made from models/ by codegen; do not edit.\nexport const catalogue = [\n${lines.join('\n')}\n]\n`
}
