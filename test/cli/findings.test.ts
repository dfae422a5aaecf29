// findings/*.yaml: one thing wrong in an operator's folder, or several in one go, and what `sluice check` finds, exactly where.
// A mark in a file is removed, and its position is that of the finding. No finding quotes a secret.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadAll } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import type * as CheckModule from '../../cli/check.js'
import type { Finding } from '../../codegen/read/findings.js'
import { RULES } from '../../codegen/read/rules.js'

const root = join(import.meta.dirname, '..', '..')
const { check } = (await import(pathToFileURL(join(root, 'dist/cli/check.js')).href)) as typeof CheckModule

interface Broken {
  name: string
  files: Record<string, string>
  /** One for each mark, in their order: a rule, or a rule with words of its detail or its remedy. */
  finds: (string | Record<string, string>)[]
}

const MARK = '◆'
/** In files where a secret stands; no finding may quote it. */
const SECRET = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'
const scratch = mkdtempSync(join(tmpdir(), 'sluice-findings-'))
process.env.XDG_CACHE_HOME = join(scratch, 'cache')
process.env.SLUICE_TEST_TWO_LINES = `${SECRET}\nmore\n`
process.env.SLUICE_TEST_ONE_LINE = ` ${SECRET}\r\n`
process.env.SLUICE_TEST_NO_ADDRESS = `mysql:${SECRET}`
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Writes the files, and returns the positions of the marks. */
function write(folder: string, files: Record<string, string>): string[] {
  return Object.entries(files).flatMap(([path, text]) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text.replaceAll(MARK, ''))
    const pieces = text.split(MARK)
    return pieces.slice(1).map((_, index) => {
      const before = pieces.slice(0, index + 1).join('')
      return `${path}:${before.split('\n').length}:${before.length - before.lastIndexOf('\n')}`
    })
  })
}

async function found(folder: string): Promise<readonly Finding[]> {
  try {
    return (await check(folder, {})).findings
  } catch (error) {
    if (error instanceof Error && 'findings' in error) return error.findings as Finding[]
    throw error
  }
}

const cases = join(import.meta.dirname, 'findings')
let number = 0
for (const file of readdirSync(cases)) {
  const all = loadAll(readFileSync(join(cases, file), 'utf8')) as Broken[]
  describe(file, () => {
    test.each(all.map(one => [one.name, one] as const))('%s', async (_, { files, finds }) => {
      const folder = join(scratch, String(number++))
      const marks = write(folder, files)
      const findings = await found(folder)
      const own = new Map(
        findings.map(one => [`${one.file.replace(/^.*findings-[^/]*\/\d+\//, '')}:${one.line}:${one.column} ${one.rule}`, one]),
      )
      const rules = finds.map(one => (typeof one === 'string' ? one : (Object.keys(one)[0] as string)))
      expect([...own.keys()].sort()).toEqual(rules.map((rule, index) => `${marks[index]} ${rule}`).sort())
      finds.forEach((one, index) => {
        if (typeof one === 'string') return
        const { detail, remedy } = own.get(`${marks[index]} ${rules[index]}`) as Finding
        expect(`${detail}  ${remedy}`).toContain(Object.values(one)[0])
      })
      expect(JSON.stringify(findings)).not.toContain(SECRET)
    })
  })
}

test('each warning that needs neither a network nor a store has a case', () => {
  const seen = readdirSync(cases).flatMap(file =>
    (loadAll(readFileSync(join(cases, file), 'utf8')) as Broken[]).flatMap(({ finds }) =>
      finds.map(one => (typeof one === 'string' ? one : Object.keys(one)[0])),
    ),
  )
  const warnings = RULES.filter(({ severity }) => severity === 'warning').map(({ id }) => id)
  expect(warnings.filter(id => !/^(?:online|store)\//.test(id) && !seen.includes(id))).toEqual([])
})
