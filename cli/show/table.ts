// Rows in columns, for people.

/** Lines of columns as wide as their widest cell; the last column is not padded. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return rows
    .map(row =>
      row
        .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index] as number)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
