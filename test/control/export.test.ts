// Exports for spreadsheets: words of clients in them are not run as formulas.

import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvOf } from '../../control/admin/handlers/export.js'
import type { ExchangeView } from '../../control/ledger/queries.js'

const word = fc.oneof(
  fc.string(),
  fc.tuple(fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ','), fc.string()).map(parts => parts.join('')),
)
const row = fc.record({
  end_user: word,
  tags: fc.array(word),
  charge: fc.integer(),
  session: fc.constant(null),
  facts: fc.dictionary(word, word),
})

const harmless = (text: string): string => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text)

test('no text or list begins as a formula, and numbers and objects are as they were', async () => {
  await fc.assert(
    fc.asyncProperty(row, async values => {
      async function* pages(): AsyncGenerator<ExchangeView[]> {
        yield [values as unknown as ExchangeView]
      }
      let text = ''
      for await (const piece of csvOf(pages(), Object.keys(values))) text += piece
      const fields = [harmless(values.end_user), harmless(values.tags.join(' ')), String(values.charge), '', JSON.stringify(values.facts)]
      expect(parse(text, { record_delimiter: '\r\n' })).toEqual([Object.keys(values), fields])
    }),
  )
})
