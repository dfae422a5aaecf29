// Every finding names a rule of the list, and every rule of the list can be the rule of a finding.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isWarning, RULES, ruleOf } from '../../codegen/read/rules.js'

const root = join(import.meta.dirname, '..', '..')
const groups = [...new Set(RULES.map(({ id }) => id.split('/')[0] as string))]
const LIST = join('codegen', 'read', 'rules.ts')

/** Ids in code, as texts, with the file of each. */
function idsInCode(): Map<string, string> {
  const found = new Map<string, string>()
  for (const folder of ['cli', 'codegen']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const file = join(folder, name)
      if (!name.endsWith('.ts') || file === LIST) continue
      const code = readFileSync(join(root, file), 'utf8')
      // A rule is said in an object, or handed to a function that makes a finding.
      for (const [, id] of code.matchAll(/\brule: '([^']+)'/g)) found.set(id as string, file)
      for (const [, id] of code.matchAll(/'((?:[a-z]+)\/[a-z_-]+)'/g))
        if (groups.includes((id as string).split('/')[0] as string)) found.set(id as string, file)
    }
  }
  return found
}

/** Made of a part of ajv's message, or of a reference: these templates are in code. */
const MADE = [
  /^grammar\/(?:type|const|minLength|minimum|maximum|minItems|maxItems|uniqueItems|minProperties|anyOf)$/,
  /^names\/(?:dialect|credential|kind|part)$/,
]
/** Given as a code by the parser of JSONata, and by ours around it. */
const PARSED = ['jsonata/syntax', 'jsonata/depth']

test('each rule id in the code is in the list', () => {
  const ids = idsInCode()
  expect(ids.size).toBeGreaterThan(40)
  expect([...ids].filter(([id]) => ruleOf(id) === undefined)).toEqual([])
})

test('each rule of the list is in the code', () => {
  const ids = idsInCode()
  const unused = RULES.map(({ id }) => id).filter(id => !ids.has(id) && !PARSED.includes(id) && !MADE.some(pattern => pattern.test(id)))
  expect(unused).toEqual([])
})

test('each keyword of the grammars that can refuse a value has a rule', () => {
  const keywords = new Set<string>()
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, value] of Object.entries(schema)) {
      if (/^(?:type|const|minLength|maxLength|minimum|maximum|minItems|maxItems|uniqueItems|minProperties|maxProperties|anyOf)$/.test(key))
        keywords.add(key)
      visit(value)
    }
  }
  for (const file of readdirSync(join(root, 'schemas/config'))) {
    // Keywords are at the beginning of a line, or in a flow mapping.
    const text = file.endsWith('.yaml') ? readFileSync(join(root, 'schemas/config', file), 'utf8') : ''
    for (const [, key] of text.matchAll(/(?:^\s*|[{,]\s*)([a-zA-Z]+):/gm)) visit({ [key as string]: true })
  }
  expect([...keywords].filter(keyword => ruleOf(`grammar/${keyword}`) === undefined)).toEqual([])
})

test('ids are unique, and each has a sentence, an example and a remedy', () => {
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length)
  for (const { id, sentence, example, cure } of RULES) {
    expect(id).toMatch(/^[a-z]+\/[a-zA-Z_-]+$/)
    expect(sentence, id).toMatch(/^[A-Z`].*\.$/s)
    expect(cure, id).toMatch(/^[A-Z].*\.$/s)
    expect(example.trim(), id).not.toBe('')
  }
})

test("an error code of JSONata's parser belongs to the syntax rule, and the list says which rules are warnings", () => {
  expect(ruleOf('jsonata/S0202')?.id).toBe('jsonata/syntax')
  expect(isWarning('key/expired')).toBe(true)
  expect(isWarning('key/name')).toBe(false)
  expect(ruleOf('nothing/there')).toBeUndefined()
})
