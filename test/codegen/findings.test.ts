// findings/*.yaml: one thing wrong with the data at a time, and what is found, exactly where. A mark in a file is taken out,
// and its position is that of the finding; a member that a case does not state may have any value.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { fixture, withDialects } from './fixture.js'

interface Broken {
  name: string
  /** How much of the project's data there is beside. */
  size?: 'small' | 'unmapped'
  /** Whether there are two small dialects to map between. */
  dialects?: boolean
  files?: Record<string, string>
  edits?: { file: string; from: string; to: string }[]
  /** One for each mark, in their order. */
  finds: { rule: string; detail?: string; remedy?: string }[]
}

const folder = join(import.meta.dirname, 'findings')
const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

for (const file of readdirSync(folder)) {
  const all = loadAll(readFileSync(join(folder, file), 'utf8')) as Broken[]
  describe(file, () => {
    test.each(all.map(one => [one.name, one] as const))('%s', (_, { size = 'small', dialects, files = {}, edits = [], finds }) => {
      const data = fixture(size)
      if (dialects) withDialects(data)
      for (const [path, text] of Object.entries(files)) data.write(path, text)
      for (const { file, from, to } of edits) data.edit(file, from, to)
      // Details name other files by the path from here.
      const found = data.findings().map(one => ({ ...one, detail: one.detail.replaceAll(`${data.folder}/`, '') }))
      expect(found).toEqual(
        finds.map(({ rule, detail, remedy = '' }, index) => ({
          position: data.marks[index],
          rule,
          detail: detail ?? expect.stringMatching(/./),
          remedy: expect.stringMatching(new RegExp(`^${escaped(remedy)}`)),
        })),
      )
    })
  })
}
