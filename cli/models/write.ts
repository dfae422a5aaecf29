// Facts as readable YAML: a line for each fact, models by name, so that a second import shows as a diff.

import { dump } from 'js-yaml'
import type { WrittenCatalogue, WrittenModel } from '../../codegen/read/catalogue-data.js'

/** One line: an object or a list as `{ a: 1 }`, a text in quotes if it needs them. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, item]) => `${inline(key)}: ${inline(item)}`)
      .join(', ')} }`
  if (typeof value === 'number') return plain(value)
  return typeof value === 'string' && /[,[\]{}]/.test(value) ? `'${value.replaceAll("'", "''")}'` : dump(value, { lineWidth: -1 }).trimEnd()
}

/** Without an exponent, which is hard to read in a price. */
function plain(number: number): string {
  const text = String(number)
  return text.includes('e') ? number.toFixed(12).replace(/\.?0+$/, '') : text
}

function model(name: string, data: WrittenModel): string {
  const lines = [`  ${inline(name)}:`]
  for (const [key, value] of Object.entries(data)) {
    if (key !== 'prices') {
      lines.push(`    ${key}: ${inline(value)}`)
      continue
    }
    lines.push('    prices:')
    for (const { when, ...row } of value as { when?: unknown[] }[]) {
      if (when === undefined) lines.push(`      - ${inline(row)}`)
      else {
        const meters = Object.entries(row).map(([meter, price]) => `${meter}: ${inline(price)}`)
        lines.push(`      - ${meters.join('\n        ')}`)
        lines.push('        when:', ...when.map(exception => `          - ${inline(exception)}`))
      }
    }
  }
  return lines.join('\n')
}

/**
 * The text of a file of models/, sorted by model. `comment` is a line at its head, `grammar` the path of the grammar for
 * editors.
 */
export function printModels({ models, ...head }: WrittenCatalogue, comment: string, grammar: string): string {
  const names = Object.keys(models).sort((left, right) => (left < right ? -1 : 1))
  const lines = Object.entries(head).map(([key, value]) => `${key}: ${inline(value)}`)
  return `# yaml-language-server: $schema=${grammar}\n# ${comment}\n${lines.join('\n')}\nmodels:\n${names.map(name => model(name, models[name] as WrittenModel)).join('\n')}\n`
}
