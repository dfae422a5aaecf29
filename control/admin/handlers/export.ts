// Rows of the ledger as CSV (RFC 4180), or as a line of JSON each.

import { EXPORTED, type ExchangeView } from '../../ledger/queries.js'

type Pages = AsyncIterable<ExchangeView[]>

export async function* csvOf(pages: Pages, columns = EXPORTED): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
  for await (const page of pages) yield page.map(row => `${columns.map(name => fieldOf(row[name])).join(',')}\r\n`).join('')
}

/** A field of CSV. Words of clients that a spreadsheet would take for a formula are escaped. */
function fieldOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = typeof value !== 'number' && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export async function* ndjsonOf(pages: Pages): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(row => `${JSON.stringify(row)}\n`).join('')
}
