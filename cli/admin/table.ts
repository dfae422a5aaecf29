// Tables for people.

/** Columns under their names; a missing value is a dash. */
export function table(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  const cells = rows.map(row => columns.map(name => cell(row[name])))
  const widths = columns.map((name, index) => Math.max(name.length, ...cells.map(line => (line[index] as string).length)))
  const isNumber = columns.map(name => rows.length > 0 && rows.every(row => row[name] === null || typeof row[name] === 'number'))
  const line = (parts: readonly string[]): string =>
    parts
      .map((part, index) => (isNumber[index] ? part.padStart(widths[index] as number) : part.padEnd(widths[index] as number)))
      .join('  ')
      .trimEnd()
  return [line(columns), ...cells.map(line)].join('\n')
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return Array.isArray(value) ? value.join(',') : String(value)
}
