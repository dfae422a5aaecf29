// A table for people, in columns.

/** Prints rows of texts, the first of them the head. Each column is as wide as its longest text. */
export function printTable(table: readonly (readonly string[])[]): void {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map(row => (row[column] as string).length)))
  for (const row of table)
    console.log(
      row
        .map((text, column) => text.padEnd(widths[column] as number))
        .join('  ')
        .trimEnd(),
    )
}
