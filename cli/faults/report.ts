// The table of a run: a row for each scenario, a column for each pair of client and upstream dialects.

import type { Result } from './run.js'

/** The table, then the failures, and `N passed, M failed` as the last line. */
export function print(results: readonly Result[]): string {
  const rows = [...new Set(results.map(({ case: one }) => one.scenario.title))]
  const clients = [...new Set(results.map(({ case: one }) => one.client.dialect))]
  const columns = [...new Set(results.map(({ case: one }) => one.column))]
  const failed = results.filter(({ findings }) => findings.length > 0)
  const again = results.filter(({ isRepeated }) => isRepeated).length
  const width = Math.max(...rows.map(row => row.length), 0) + 2
  const cell = (title: string, client: string): string => {
    const here = results.filter(({ case: one }) => one.scenario.title === title && one.client.dialect === client)
    return columns
      .map(column => {
        const found = here.filter(({ case: one }) => one.column === column)
        const bad = found.filter(({ findings }) => findings.length > 0).length
        return (found.length === 0 ? '-' : bad === 0 ? `${found.length}` : `${bad}!`).padStart(5)
      })
      .join('')
  }
  const size = columns.length * 5
  return [
    `Upstreams, from left to right: ${columns.join(', ')}. A number is so many cases that passed, with ! so many that failed.`,
    '',
    ' '.repeat(width) + clients.map(client => client.padStart(size)).join('  '),
    ...rows.map(row => row.padEnd(width) + clients.map(client => cell(row, client)).join('  ')),
    '',
    ...failed.flatMap(({ case: one, findings }) => [one.id, ...findings.map(found => `  ${found}`)]),
    ...(failed.length > 0 ? [''] : []),
    ...(again > 0 ? [`${again} ran again, beside fewer others and with longer deadlines`] : []),
    `${results.length - failed.length} passed, ${failed.length} failed`,
  ].join('\n')
}
