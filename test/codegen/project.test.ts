// The data of this project itself. That docs/reference is fresh is tested in test/data/fresh.test.ts.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { printRoutes } from '../../codegen/print/routes-md.js'
import { type Finding, print } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import { KINDS } from '../../codegen/read/kinds.js'
import { isOfHalf } from '../../codegen/read/parts.js'
import { readProject } from '../../codegen/read/project.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import { fixture, root } from './fixture.js'

const project = readProject([root])

/** The grammar of each file, by its path. */
const GRAMMARS: [pattern: RegExp, grammar: string][] = [
  [/^routes\/_credentials\.yaml$/, 'credentials'],
  [/^routes\/[^/]+\.yaml$/, 'route'],
  [/^providers\/[^/]+\.yaml$/, 'provider'],
  [/^schemas\/(?!config\/)[^/]+\/format\.yaml$/, 'format'],
  [/^(mappings\/library(\/[^/]+)?|schemas\/[^/]+\/(client|provider)\/[^/]+)\.yaml$/, 'library'],
  [/^mappings\/[^/]+\/mapping\.yaml$/, 'mapping'],
  [/^mappings\/[^/]+\/cases\/[^/]+\.yaml$/, 'case'],
  [/^test\/scenarios\/[^/]+\.yaml$/, 'scenario'],
  [/^simulator\/[^/]+\.yaml$/, 'simulator'],
  [/^simulator\/faults\/[^/]+\.yaml$/, 'fault'],
]

const files = ['routes', 'providers', 'schemas', 'mappings', 'simulator', 'test/scenarios'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.yaml'))
    .map(entry => relative(root, join(entry.parentPath, entry.name))),
)

describe('every file of the data', () => {
  test('is of a known kind', () => {
    const others = files.filter(file => !GRAMMARS.some(([pattern]) => pattern.test(file)) && !file.startsWith('schemas/'))
    expect(others).toEqual([])
    expect(files.length).toBeGreaterThan(50)
  })

  for (const [pattern, grammar] of GRAMMARS) {
    test(`satisfies its grammar: ${grammar}`, () => {
      const findings: Finding[] = []
      const those = files.filter(file => pattern.test(file) && (grammar !== 'route' || file !== 'routes/_credentials.yaml'))
      expect(those.length).toBeGreaterThan(0)
      for (const file of those)
        for (const document of parseYaml(file, readFileSync(join(root, file), 'utf8'), findings))
          checkGrammar({ configSchemas: project.configSchemas, findings }, grammar, document)
      expect(print(findings)).toBe('')
    })
  }

  test('is read without findings', () => expect(print(project.findings)).toBe(''))

  test('is a valid JSON Schema, if it is a schema', () => {
    // Our own keywords are unknown to it, and let pass.
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    const wrong = [...project.schemas, ...project.configSchemas]
      .filter(([, schema]) => !ajv.validateSchema(schema as object))
      .map(([id]) => id)
    expect(wrong).toEqual([])
  })

  test('is used by several mappings or is half of a dialect, if it is a part of the library', () => {
    const users = (part: string): number => [...project.mappings.values()].filter(({ data }) => data.uses?.includes(part)).length
    // A half serves the mappings of its dialect, of which there may be one.
    expect([...project.parts.keys()].filter(part => users(part) < (isOfHalf(part) ? 1 : 2))).toEqual([])
  })

  test('has no long function of another file, not even with other variable names', () => {
    const functions = [
      ...[...project.mappings].flatMap(([pair, { data }]) =>
        Object.entries(data.define ?? {}).map(([name, text]) => [`${name} of ${pair}`, text]),
      ),
      ...[...project.parts].flatMap(([part, { data }]) =>
        Object.entries(data.functions)
          // Functions that are generated from `names` are not written by hand.
          .filter(([name]) => data.names === undefined || !/^(is|as)_name$/.test(name))
          .map(([name, text]) => [`${name} of ${part}`, text]),
      ),
      ...[...project.library].map(([name, { text }]) => [`${name} of the library`, text]),
    ] as [string, string][]
    expect(functions.length).toBeGreaterThan(400)
    const seen = new Map<string, string>()
    const twice: string[] = []
    for (const [name, text] of functions) {
      const tokens = withoutNames(text)
      if (tokens.length < LONG_FUNCTION) continue
      const bare = tokens.join(' ')
      const known = seen.get(bare)
      if (known !== undefined) twice.push(`${name} is ${known}`)
      seen.set(bare, name)
    }
    expect(twice).toEqual([])
  })

  test('has functions that are compared by their calls and not by their variable names', () => {
    const one = withoutNames('function($a) { $a.x + $sum($a.y) }')
    expect(withoutNames('function($other) { $other.x + $sum($other.y) }')).toEqual(one)
    expect(withoutNames('function($a) { $a.x + $max($a.y) }')).not.toEqual(one)
    expect(withoutNames('function($a) { $a.x + $sum($a.z) }')).not.toEqual(one)
    expect(withoutNames('function($a) { ($f := function($b) { $b }; $f($a)) }')).toEqual(
      withoutNames('function($c) { ($g := function($d) { $d }; $g($c)) }'),
    )
  })

  test('names the source of its facts', () => {
    const silent = files.filter(
      file =>
        (/^schemas\/(?!config)[^/]+\/[^/]+$/.test(file) || file.startsWith('providers/')) &&
        !/^source:/m.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(silent).toEqual([])
  })
})

/** Tokens: shorter functions are often alike by chance. */
const LONG_FUNCTION = 40

/** The tokens of an expression, in which each variable is called by the order in which it came; a function of another file keeps its name. */
function withoutNames(text: string): string[] {
  const names = new Map<string, string>()
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|\$?\w+|:=|[^\s\w]/g) ?? []
  const bound = new Set(tokens.filter((token, index) => /^\$\w/.test(token) && tokens[index + 1] === ':='))
  return tokens.map((token, index) => {
    if (!/^\$\w/.test(token) || (tokens[index + 1] === '(' && !bound.has(token))) return token
    if (!names.has(token)) names.set(token, `$${names.size}`)
    return names.get(token) as string
  })
}

/** A glob as a pattern: `*` is a name or a part of one. */
const patternOf = (glob: string): RegExp => new RegExp(`^${glob.replaceAll('.', '\\.').replaceAll('*', '[^/]*').replaceAll('[!', '[^')}$`)

describe('an editor', () => {
  const ours = [...files, 'gateway.example.yaml'].flatMap(file => {
    const kind = file === 'gateway.example.yaml' ? 'gateway' : GRAMMARS.find(([pattern]) => pattern.test(file))?.[1]
    return kind === undefined ? [] : [{ file, kind: file === 'routes/_credentials.yaml' ? 'credentials' : kind }]
  })

  test('finds the grammar of each file in its first line', () => {
    const wrong = ours.filter(({ file, kind }) => {
      const found = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(root, file), 'utf8'))?.[1]
      return found === undefined || relative(root, join(root, file, '..', found)) !== `schemas/config/${kind}.yaml`
    })
    expect(wrong).toEqual([])
    expect(new Set(ours.map(({ kind }) => kind)).size).toBe(11)
  })

  // The first line holds for the first document of a file; the settings hold for all of them.
  test('finds the grammar of every document in the settings of the workspace', () => {
    const settings = JSON.parse(readFileSync(join(root, '.vscode/settings.json'), 'utf8')) as {
      'yaml.schemas': Record<string, string | string[]>
    }
    const grammars = Object.entries(settings['yaml.schemas']).flatMap(([schema, globs]) => [globs].flat().map(glob => ({ schema, glob })))
    const wrong = ours.filter(({ file, kind }) => {
      const found = grammars.filter(({ glob }) => patternOf(glob).test(`/${file}`)).map(({ schema }) => schema)
      return found.length !== 1 || found[0] !== `./schemas/config/${kind}.yaml`
    })
    expect(wrong).toEqual([])
  })
})

describe('a grammar', () => {
  for (const [name, schema] of project.configSchemas) {
    test(`${name} allows no other keys, and describes every key`, () => {
      const open: string[] = []
      const bare: string[] = []
      const visit = (node: unknown, path: string): void => {
        if (typeof node !== 'object' || node === null) return
        const { type, properties, additionalProperties } = node as Record<string, unknown>
        const isObject = [type].flat().includes('object')
        if (isObject && additionalProperties === undefined) open.push(path)
        if (isObject)
          for (const [key, item] of Object.entries((properties as object | undefined) ?? {})) {
            const { description, $ref } = item as { description?: string; $ref?: string }
            const target =
              $ref === undefined
                ? undefined
                : (schema as { $defs?: Record<string, { description?: string }> }).$defs?.[$ref.replace('#/$defs/', '')]
            if (description === undefined && target?.description === undefined) bare.push(`${path}/${key}`)
          }
        // A condition looks at some keys and says nothing of the others.
        for (const [key, item] of Object.entries(node)) if (key !== 'if') visit(item, `${path}/${key}`)
      }
      visit(schema, name)
      expect(open, 'objects that take any key').toEqual([])
      expect(bare, 'keys that say nothing of themselves').toEqual([])
    })
  }

  test('of faults has the keys of a script, as the simulator has them', () => {
    const keysIn = (name: string, definition: string): Record<string, unknown> =>
      (project.configSchemas.get(name) as { $defs: Record<string, { properties: Record<string, unknown> }> }).$defs[definition]
        ?.properties ?? {}
    const script = keysIn('simulator_scenario', 'script')
    expect(Object.keys(script).length).toBeGreaterThan(20)
    expect(keysIn('fault', 'fault')).toMatchObject(script)
  })

  test('names the kinds of errors that the engine knows', () => {
    const route = project.configSchemas.get('route') as { properties: { fail: { enum: string[] } } }
    const format = project.configSchemas.get('format') as {
      properties: { error: { properties: { kinds: { required: string[]; properties: Record<string, { description: string }> } } } }
    }
    const kinds = Object.keys(KINDS)
    expect(route.properties.fail.enum).toEqual(kinds)
    const { fails, breaks } = (
      project.configSchemas.get('fault') as { $defs: { fault: { properties: Record<string, { enum: string[] } | undefined> } } }
    ).$defs.fault.properties
    expect(fails?.enum).toEqual(kinds)
    expect(breaks?.enum).toEqual(kinds)
    expect(format.properties.error.properties.kinds.required).toEqual(kinds)
    const described = Object.entries(format.properties.error.properties.kinds.properties)
    expect(described.map(([kind]) => kind)).toEqual(kinds)
    expect(described.map(([, { description }]) => description.match(/Status (\d+) by default/)?.[1])).toEqual(
      Object.values(KINDS).map(String),
    )
  })
})

describe('the compiled data', () => {
  test('lists a new route in ROUTES.md, with the way in which each provider serves it', () => {
    const data = fixture('unmapped')
    data.write(
      'routes/new.yaml',
      'name: new\nmethod: [POST, PUT]\npath: [/new, /newer]\nwhen: { query: { a: b } }\nauth: []\ndialect: messages\n',
    )
    const line = printRoutes(readProject([data.folder]))
      .split('\n')
      .find(text => text.startsWith('| new |'))
    const providers = [...project.providers.keys()].sort().filter(name => 'messages' in (project.providers.get(name)?.data.speaks ?? {}))
    expect(line).toBe(`| new | POST, PUT | \`/new\`<br>\`/newer\` when query {a:b} | none | messages | same: ${providers.join(', ')} |`)
  })

  test('has a module for every mapping and dialect', () => {
    for (const name of project.mappings.keys()) expect(existsSync(join(root, 'generated/mappings', `${name}.js`)), name).toBe(true)
    for (const name of project.formats.keys()) expect(existsSync(join(root, 'generated/formats', `${name}.js`)), name).toBe(true)
  })
})
