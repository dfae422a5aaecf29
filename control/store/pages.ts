// Pages of a list that is read in the order of a key: a page ends with a row, after whose key the next one begins.

/**
 * The page of rows that were read with one more than `limit`, which tells whether others follow.
 * @returns the page, and the cursor of its last row; null if the list ends with it
 */
export function pageOf<Row, Cursor>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => Cursor,
): { page: Row[]; next: Cursor | null } {
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return { page, next: last === undefined ? null : cursorOf(last) }
}
