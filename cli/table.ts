// Tables for people.

/** Lines of columns as wide as their widest cell, with two blanks between them. `right`: which columns are aligned to the right. */
export function columns(rows: readonly (readonly string[])[], right: readonly boolean[] = []): string {
  const widths: number[] = []
  for (const row of rows) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => (right[index] ? cell.padStart(widths[index] as number) : cell.padEnd(widths[index] as number)))
      .join('  ')
      .trimEnd()
  return rows.map(line).join('\n')
}

/** Columns under their names; a missing value is a dash, and numbers are aligned to the right. */
export function table(rows: readonly Readonly<Record<string, unknown>>[], names: readonly string[]): string {
  const cells = rows.map(row => names.map(name => cellOf(row[name])))
  const isNumber = names.map(name => rows.length > 0 && rows.every(row => row[name] === null || typeof row[name] === 'number'))
  return columns([names, ...cells], isNumber)
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return Array.isArray(value) ? value.join(',') : String(value)
}
