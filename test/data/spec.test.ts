// schemas/config alone describes our own YAML: every key has a description, an example and, if there is one, its default. What
// is generated from it is tested elsewhere.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { dump } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import type * as PrepareModule from '../../cli/prepare.js'
import type * as ProjectModule from '../../codegen/read/project.js'
import type * as SpecModule from '../../codegen/read/spec.js'
import { MAIN } from '../command.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { prepare } = (await import(built('cli/prepare.js'))) as typeof PrepareModule
const { readProject } = (await import(built('codegen/read/project.js'))) as typeof ProjectModule
const { hasMembers, keysOf, resolve } = (await import(built('codegen/read/spec.js'))) as typeof SpecModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-spec-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { configSchemas } = readProject([root])
const grammars = [...configSchemas] as [string, SpecModule.SpecSchema][]
const ajv = new Ajv2020({ strict: false, allErrors: true })

/** What is wrong with a value by the schema of a key. */
function wrong(grammar: SpecModule.SpecSchema, schema: SpecModule.SpecSchema, value: unknown): string | undefined {
  const { $defs } = grammar
  const check = ajv.compile({ ...schema, $defs })
  return check(value) ? undefined : `${JSON.stringify(value)}: ${ajv.errorsText(check.errors)}`
}

/** Whether a description says a default that is one value, always: `Default 5.`, but not `Default 5 if it is a list.` */
function saysValue({ description, enum: values }: SpecModule.SpecSchema): boolean {
  const [, said] = /\bDefault[:,]? ([^.,;:]+|`[^`]+`|'[^']+'|\d[\d.]*\d)(?=[.,;:](?:\s|$))/.exec(String(description)) ?? []
  if (said === undefined) return false
  const isWord = /^(?:`[^`]+`|'[^']*'|"[^"]*"|[\d.]+\w*|true|false|[A-Z]+|an empty \w+)$/.test(said)
  return isWord || (Array.isArray(values) && values.includes(said))
}

test.each([
  ['Default `refuse`.', true],
  ['The database. Default `sqlite`.', true],
  ['Default false.', true],
  ['Default 1.5, which is much.', true],
  ['Default POST.', true],
  ['Default an empty object.', true],
  ['Default free.', true],
  ['Default POST if there is a body, otherwise GET.', false],
  ['Default `json` if an upstream is called, else `none`.', false],
  ['Default that of `budgets`.', false],
  ['Default unknown, which counts as `true`.', false],
  ['Default none.', false],
])('of a description, %s is a value: %s', (description, isValue) => {
  expect(saysValue({ description, enum: ['free', 'fixed'] })).toBe(isValue)
})

describe.each(grammars)('the spec of %s', (_name, grammar) => {
  const keys = keysOf(grammar)
  const named = keys.map(key => ({ ...key, name: key.path.join('.') }))

  test('is a JSON Schema', () => {
    expect([ajv.validateSchema(grammar), ajv.errorsText()]).toEqual([true, 'No errors'])
  })

  test('describes every key in sentences', () => {
    expect(named.filter(({ schema }) => !/^[A-Z`].*\.$/s.test(String(schema.description))).map(({ name }) => name)).toEqual([])
  })

  test('has valid defaults', () => {
    const bad = named.flatMap(({ name, schema }) => {
      const found = 'default' in schema ? wrong(grammar, schema, schema.default) : undefined
      return found === undefined ? [] : [`${name}: ${found}`]
    })
    expect(bad).toEqual([])
  })

  test('repeats no default in a description', () => {
    expect(
      named.filter(({ schema }) => 'default' in schema && /\bDefault\b/.test(String(schema.description))).map(({ name }) => name),
    ).toEqual([])
  })

  test('has the default that its description says, if that is a value', () => {
    const prose = named.filter(({ schema }) => !('default' in schema) && saysValue(schema))
    expect(prose.map(({ name, schema }) => `${name}: ${schema.description}`)).toEqual([])
  })

  test('has a default of every flag that need not be there, or says what decides', () => {
    const silent = named.filter(
      ({ schema, isRequired }) =>
        schema.type === 'boolean' && !isRequired && !('default' in schema) && !/\bDefault\b/.test(String(schema.description)),
    )
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  test('has valid examples of every value that it does not list', () => {
    const isListed = (schema: SpecModule.SpecSchema): boolean =>
      schema.enum !== undefined ||
      schema.const !== undefined ||
      schema.type === 'boolean' ||
      schema.type === undefined ||
      'default' in schema
    const without = named.filter(({ schema }) => schema.examples === undefined && !isListed(schema) && !hasMembers(grammar, schema))
    expect(without.map(({ name }) => name)).toEqual([])
    const all = [{ name: 'the file', schema: grammar }, ...named]
    const bad = all.flatMap(({ name, schema }) =>
      ((schema.examples ?? []) as unknown[]).flatMap(example => {
        const found = wrong(grammar, schema, example)
        return found === undefined ? [] : [`${name}: ${found}`]
      }),
    )
    expect(bad).toEqual([])
    expect(grammar.examples, 'an example of the whole').toBeDefined()
  })

  test('can be written as JSON, as editors need it', () => {
    expect(JSON.parse(JSON.stringify(grammar))).toEqual(grammar)
  })
})

test('no code repeats a default', () => {
  const defaults = grammars.flatMap(([, grammar]) => keysOf(grammar).map(({ schema }) => schema.default))
  const telling = new Set(defaults.filter((one): one is string => typeof one === 'string' && /\d/.test(one)))
  expect(telling.size).toBeGreaterThan(5)
  const sources = ['engine', 'codegen', 'cli'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => join(folder, name)),
  )
  const found = sources.flatMap(path => {
    const text = readFileSync(join(root, path), 'utf8')
    return [...telling].filter(one => text.includes(`'${one}'`)).map(one => `${path}: '${one}'`)
  })
  // The demonstration has a grace of its own.
  expect(found.filter(one => one !== "cli/start.ts: '5s'")).toEqual([])
})

const gateway = configSchemas.get('gateway') as SpecModule.SpecSchema

/** Runs `sluice check` on a file of this content: what it prints, and whether it was satisfied. */
function checked(content: unknown): { isGood: boolean; text: string } {
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, dump(content))
  const variables = [...JSON.stringify(content).matchAll(/"\$([A-Z_]+)"/g)].map(([, name]) => [name, `value-of-${name}-0123456789`])
  const command = [MAIN, 'check', '--config', path]
  try {
    const text = execFileSync(process.execPath, command, {
      env: { ...process.env, ...Object.fromEntries(variables) },
      encoding: 'utf8',
      stdio: 'pipe',
    })
    return { isGood: true, text }
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return { isGood: false, text: stdout + stderr }
  }
}

test.each((gateway.examples as object[]).map((example, index) => [index + 1, example] as const))(
  'example %i of gateway.yaml is a file that `sluice check` accepts',
  (_number, example) => {
    const { isGood, text } = checked(example)
    expect(text).toContain('no findings')
    expect(isGood).toBe(true)
  },
)

describe('a secret of gateway.yaml', () => {
  const CANARY = 'zq7-canary-93bd'
  const secrets = keysOf(gateway).filter(({ schema }) => {
    const inner = schema.additionalProperties ?? schema.items
    const item = typeof inner === 'object' && inner !== null ? resolve(gateway, inner) : {}
    return schema.secret === true || item.secret === true
  })

  test('is marked in the spec', () => {
    expect(secrets.map(({ path }) => path.join('.'))).toEqual([
      'keys.[].sha256',
      'keys.[].value',
      'upstreams.*.secret',
      'upstreams.*.base',
      'upstreams.*.headers',
      'models.*.targets.[].headers',
      'models.*.headers',
      'call.*.url',
      'call.*.headers',
      'state',
      'store',
      'store.at',
      'seal',
    ])
  })

  /** A file that is right but for the value at a path. */
  const withValue = (path: readonly string[], value: unknown): unknown => {
    const [first, , member] = path
    if (first === 'store') return { store: path.length === 1 ? value : { at: value } }
    if (first === 'seal' || first === 'state') return { [first]: value }
    if (first === 'call') return { call: { c: { at: 'request', url: 'http://127.0.0.1:9', send: 'request', [member as string]: value } } }
    if (first === 'keys') return { keys: [{ name: 'a', [member as string]: value }] }
    const upstreams = { a: { provider: 'openai', secret: 'none' } }
    if (first === 'models') {
      const ofTarget = path.includes('targets')
      const said = { headers: value }
      return { upstreams, models: { m: { ...(!ofTarget && said), targets: [{ upstream: 'a', ...(ofTarget && said) }] } } }
    }
    return { upstreams: { a: { ...upstreams.a, [member as string]: value } } }
  }
  // The texts cannot be what the key wants; the others are of another type. The names of headers are no secrets.
  const isHeaderName = (path: readonly string[], what: string): boolean => path.at(-1) === 'headers' && what.endsWith('as a key')
  const WRONG: [string, unknown][] = [
    ['a text', `$${CANARY}\n`],
    ['a number', 93_417_733],
    ['a list', [`$${CANARY}\n`, 93_417_733]],
    ['an object with the secret as a key', { [`${CANARY} `]: 1 }],
    ['an object with the secret as a value', { a: `$${CANARY}\n`, file: [CANARY] }],
  ]

  test.each(
    secrets.flatMap(({ path }) =>
      WRONG.filter(([what]) => !isHeaderName(path, what)).map(([what, value]) => [path.join('.'), what, path, value] as const),
    ),
  )('%s is not printed if its value is %s by mistake', async (_name, _what, path, value) => {
    const file = join(folder, 'wrong.yaml')
    writeFileSync(file, dump(withValue(path, value)))
    const error = (await prepare(file).then(
      () => undefined,
      (error: unknown) => error,
    )) as (Error & { findings: unknown[] }) | undefined
    expect(error?.findings.length).toBeGreaterThan(0)
    const printed = `${error?.message}\n${JSON.stringify(error?.findings)}`
    expect(printed).not.toContain(CANARY)
    expect(printed).not.toContain('93417733')
  })

  test('is not printed if it is valid, with or without other errors', () => {
    const right = {
      keys: [{ name: 'a', value: CANARY }],
      seal: [`${CANARY}-${CANARY}`],
      upstreams: {
        a: { provider: 'openai', secret: CANARY, base: `http://${CANARY}.example.com`, headers: { 'x-a': CANARY }, models: ['m'] },
      },
    }
    const good = checked(right)
    expect(good.isGood).toBe(true)
    expect(good.text).not.toContain(CANARY)
    const bad = checked({ ...right, workers: 'many' })
    expect(bad.isGood).toBe(false)
    expect(bad.text).not.toContain(CANARY)
  })
})
