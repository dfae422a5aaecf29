// Only one file makes code. The type of a plain string does not fit where code is required, which `npm run types` checks here:
// an expected error that does not occur is an error itself.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { value } from '../../codegen/jsonata/context.js'
import { comment, exactName, type Js, joined, js, json } from '../../codegen/jsonata/js.js'
import { ANY } from '../../codegen/jsonata/types.js'
import { Lines, Unit } from '../../codegen/jsonata/unit.js'

const codegen = join(import.meta.dirname, '..', '..', 'codegen')
const sources = readdirSync(codegen, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .map(name => ({ name, text: readFileSync(join(codegen, name), 'utf8') }))

test('only js.ts turns a string into code', () => {
  const cast = /\bas (?:unknown as )?(?:Js\b|TemplateStringsArray\b)|(?<!\w)<Js>\s*\(|\bas any\b/
  const found = sources.filter(({ name, text }) => name !== join('jsonata', 'js.ts') && cast.test(text))
  expect(found.map(({ name }) => name)).toEqual([])
  expect(sources.some(({ name, text }) => name === join('jsonata', 'js.ts') && cast.test(text))).toBe(true)
})

test('TypeScript does not accept a string from data as code', () => {
  const data: string = '}; process.exit(); {'
  const unit = new Unit()
  const lines = new Lines()
  // @ts-expect-error a string in a hole
  js`const a = ${data}`
  // @ts-expect-error a line
  lines.add(data)
  // @ts-expect-error the code of a value
  value(data, ANY)
  // @ts-expect-error a constant
  unit.constant('a', data)
  // @ts-expect-error a list of code
  joined([data], ', ')
  // @ts-expect-error a separator
  joined([js`a`], data)
  // @ts-expect-error text that was put together
  const code: Js = `${js`a`} + ${js`b`}`
  // @ts-expect-error a part of a text that is code
  const part: Js = js`a + b`.slice(0, 1)
  expect([code, part]).toEqual(['a + b', 'a'])
})

describe('a string may become', () => {
  const hostile = '"; } `${pwned}` \u2028\n*/ // \\'

  test('a literal with its value', () => {
    for (const data of [hostile, { [hostile]: [hostile] }, JSON.parse('{"__proto__":{"a":1}}'), null, -1, true])
      expect(new Function(`return ${json(data)}`)()).toEqual(data)
    expect(Object.hasOwn(new Function(`return ${json(JSON.parse('{"__proto__":1}'))}`)(), '__proto__')).toBe(true)
  })

  test('a generated name', () => {
    const unit = new Unit()
    const names = [unit.name(hostile), unit.name(hostile), unit.name('class'), unit.name('1st'), unit.name('')]
    for (const name of names) expect(name).toMatch(/^[A-Za-z_]\w*$/)
    expect(new Set(names).size).toBe(names.length)
  })

  test('an exact name, if it is an identifier', () => {
    expect(exactName('carry')).toBe('carry')
    expect(() => exactName(hostile)).toThrow('is not a name')
  })

  test('a comment of one line', () => {
    expect(comment(hostile)).not.toMatch(/[\n\r\u2028\u2029]/)
  })
})
