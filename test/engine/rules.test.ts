// What the engine must not name, and which imports are allowed.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

function files(folder: string, ending = '.ts'): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith(ending))
    .map(name => join(folder, name))
}

interface Source {
  /** Everything but comments. */
  code: string
  /** The content of quotes and of regular expressions. */
  texts: string[]
}

/** Code without its comments, and the texts in it. Enough of the grammar for code that a formatter has seen. */
function sourceOf(text: string): Source {
  const token =
    /\/\/.*|\/\*[\s\S]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=[(,=:[!&|?{};>]\s*|return\s+|^\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/gm
  const texts: string[] = []
  const code = text.replaceAll(token, found => {
    if (/^\/[/*]/.test(found)) return ''
    texts.push(found.slice(1, found.lastIndexOf(found[0] as string)))
    return found
  })
  return { code, texts }
}

test('the test distinguishes comments and texts', () => {
  const { code, texts } = sourceOf(
    `const a = 'it\\'s // no comment' // openai\nconst b = /["'\`/]\\/\\//g /* claude */\nconst c = d / e / f\nimport x from "y"\nconst t = \`\${a} 'z'\``,
  )
  expect(texts).toEqual(["it\\'s // no comment", '["\'`/]\\/\\/', 'y', "${a} 'z'"])
  expect(code).not.toMatch(/openai|claude/)
  expect(code).toContain('d / e / f')
})

interface RouteData {
  name: string
  /** Absent where it is like another route. */
  path?: string | string[]
  forward?: string[]
  mirror?: string[]
}
interface Endpoint {
  path: string
  stream?: { path?: string }
}
interface ProviderData {
  base?: string
  secret_env?: string
  models?: string[]
  credential: { header?: string }
  headers?: Record<string, string>
  speaks: Record<string, string | Endpoint>
}
interface FormatData {
  stream?: { sentinel?: string; watch?: Record<string, { marker?: string[] } | string> }
}

const documents = <Data>(path: string): Data[] => loadAll(read(path)) as Data[]

/** Every name that the data gives to a dialect, a provider, a model, a path, a header of theirs or an event. */
function namesOfData(): Set<string> {
  const names = new Set<string>()
  const addPath = (path: string): void => {
    // What is fixed in a path: the segments, and the method behind a colon.
    for (const part of path.split(/[/:]|\{[^}]*\}|\*/)) if (part !== '') names.add(part)
    if (path.replace(/^\/\*?$/, '') !== '') names.add(path)
  }
  for (const dialect of readdirSync(join(root, 'schemas'))) {
    const file = join('schemas', dialect, 'format.yaml')
    if (!existsSync(join(root, file))) continue
    names.add(dialect)
    const [format] = documents<FormatData>(file)
    if (format?.stream?.sentinel) names.add(format.stream.sentinel)
    for (const watched of Object.values(format?.stream?.watch ?? {})) {
      if (typeof watched === 'object') for (const marker of watched.marker ?? []) names.add(marker.replaceAll('"', ''))
    }
  }
  for (const pair of readdirSync(join(root, 'mappings'))) if (pair.includes('-to-')) names.add(pair)
  for (const file of readdirSync(join(root, 'providers'))) {
    const [provider] = documents<ProviderData>(join('providers', file)) as [ProviderData]
    names.add(basename(file, '.yaml'))
    if (provider.base) names.add(new URL(provider.base).host)
    if (provider.secret_env) names.add(provider.secret_env)
    for (const model of provider.models ?? []) names.add(model)
    for (const header of [provider.credential.header, ...Object.keys(provider.headers ?? {})]) if (header) names.add(header)
    for (const endpoint of Object.values(provider.speaks)) {
      addPath(typeof endpoint === 'string' ? endpoint : endpoint.path)
      if (typeof endpoint === 'object' && endpoint.stream?.path) addPath(endpoint.stream.path)
    }
  }
  for (const file of readdirSync(join(root, 'routes'))) {
    for (const route of documents<RouteData & { key_locations?: Record<string, { header?: string; protocol_prefix?: string }> }>(
      join('routes', file),
    )) {
      for (const [name, location] of Object.entries(route.key_locations ?? {})) {
        for (const one of [name, location.header, location.protocol_prefix]) if (one) names.add(one)
      }
      if (route.name === undefined) continue
      names.add(route.name)
      for (const path of [route.path ?? []].flat()) addPath(path)
      for (const header of [...(route.forward ?? []), ...(route.mirror ?? [])]) names.add(header)
    }
  }
  return names
}

/** Names that the engine uses with another meaning. All others are forbidden in its code. */
const ORDINARY: Record<string, string> = {
  key: 'a kind of name in records, and a question to the control process',
  items: 'a question to the store, and a member of what a route changes in a conversation',
  tags: 'what a key is told apart by in reports',
  billing: 'a kind of error, as it is called in the data',
  error: 'a member of the log, and of an answer that is none',
  countTokens: 'the function of the tokenizer, called by its name',
  input_tokens: 'what a limit of gateway.yaml counts',
}

describe('the engine names no dialect, provider, model or path', () => {
  const names = [...namesOfData()].sort()
  const sources = files('engine').map(path => ({ path, ...sourceOf(read(path).replaceAll(/^import (?:[^'"]* from )?['"].*$/gm, '')) }))

  test('the test finds the names in the data', () => {
    expect(names).toEqual(
      expect.arrayContaining([
        'chat',
        'messages',
        'openai',
        'OPENAI_API_KEY',
        'api.anthropic.com',
        '/v1/messages',
        'v1beta',
        'x-goog-api-key',
        '[DONE]',
        'message_stop',
        'chat-to-messages',
        'gpt-5',
        'streamGenerateContent',
      ]),
    )
    expect(names.length).toBeGreaterThan(80)
  })

  // A name of one plain word is English, too: it is sought where it would be a name, that is as the whole of a text or as
  // a part of a path. Every other name is sought everywhere, in texts and in the names that code gives.
  const isPlain = (name: string): boolean => /^[a-z]+$/.test(name)
  const escaped = (name: string): string => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')

  test('its code contains no name that is not a plain word', () => {
    const found: string[] = []
    for (const name of names.filter(one => !isPlain(one) && !(one in ORDINARY))) {
      const pattern = new RegExp(`(?<![A-Za-z0-9_-])${escaped(name)}(?![A-Za-z0-9_-])`, 'i')
      for (const { path, code } of sources) if (pattern.test(code)) found.push(`${path}: ${name}`)
    }
    expect(found).toEqual([])
  })

  test('its texts and paths contain no name that is a plain word', () => {
    const found: string[] = []
    for (const name of names.filter(one => isPlain(one) && !(one in ORDINARY))) {
      const pattern = new RegExp(`^${name}$|/${name}(?![a-z])|(?<![a-z])${name}/`)
      for (const { path, texts } of sources) for (const text of texts) if (pattern.test(text)) found.push(`${path}: ${name} in '${text}'`)
    }
    expect(found).toEqual([])
  })

  test('its code contains no name of a maker in any spelling', () => {
    const makers = [...readdirSync(join(root, 'providers')).map(file => basename(file, '.yaml')), 'claude', 'gpt', 'google', 'codex']
    const pattern = new RegExp(makers.join('|'), 'i')
    const found = sources.flatMap(({ path, code }) =>
      code
        .split('\n')
        // A package of that name counts tokens.
        .filter(line => pattern.test(line.replaceAll('gpt-tokenizer', '')))
        .map(line => `${path}: ${line.trim()}`),
    )
    expect(found).toEqual([])
  })
})

/** From the top of the engine to its bottom: a room imports from those below it. The plan is what codegen and engine share. */
const ROOMS = [
  'gateway.ts',
  'stages',
  'control',
  'upstream',
  'http',
  'snapshot',
  'budgets',
  'limits',
  'balance',
  'jsonata',
  'wire',
  'core',
  'plan.ts',
]

/** The phases of the compiler, in their order; the language of expressions comes first. */
const PHASES = ['jsonata', 'read', 'check', 'compile', 'print']

/** The files that call the phases: no phase imports them. */
const STARTS = ['base.ts', 'compile.ts', 'main.ts', 'overlay.ts']

function roomOf(path: string): string {
  return path.split('/')[1] as string
}

/** Sets of files that reach each other, by Tarjan's algorithm. */
function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const visit = (path: string): void => {
    order.set(path, order.size)
    lowest.set(path, order.get(path) as number)
    stack.push(path)
    for (const next of graph.get(path) ?? []) {
      if (!order.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(path, Math.min(lowest.get(path) as number, lowest.get(next) as number))
    }
    if (lowest.get(path) !== order.get(path)) return
    const circle = stack.splice(stack.indexOf(path))
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return circles
}

interface Import {
  from: string
  to: string
  isType: boolean
}

function importsOf(path: string): Import[] {
  const found: Import[] = []
  const statement =
    /^\s*(?:import|export)\s+(type\s+)?([^'";]*?)\s*from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]|(?<!typeof )\bimport\(\s*['"]([^'"]+)['"]/gm
  for (const [, type, names, target, bare, dynamic] of read(path).matchAll(statement)) {
    const to = (target ?? bare ?? dynamic) as string
    // `import { type A, type B }` brings nothing at run time either.
    const isType = type !== undefined || (names !== undefined && /^\{\s*(?:type\s[^,]+,?\s*)+\}$/.test(names))
    found.push({ from: path, to: to.startsWith('.') ? relative(root, join(root, path, '..', to)).replace(/\.js$/, '.ts') : to, isType })
  }
  return found
}

/** Types of our own YAML, made of schemas/config: nothing of them is there at run time. */
const SPEC_TYPES = 'schemas/config/types.ts'

describe('imports', () => {
  const all = ['engine', 'control', 'codegen', 'cli'].flatMap(folder => files(folder)).flatMap(importsOf)
  const folderOf = (path: string): string => path.split('/')[0] as string
  const show = (list: Import[]): string[] => list.map(({ from, to }) => `${from} imports ${to}`)

  test('are found by the test', () => {
    expect(show(all)).toEqual(
      expect.arrayContaining(['engine/gateway.ts imports engine/stages/failover.ts', 'engine/http/server.ts imports uWebSockets.js']),
    )
    expect(all.find(({ from, to }) => from === 'engine/upstream/call.ts' && to === 'undici')?.isType).toBe(true)
    expect(all.find(({ from, to }) => from === 'engine/gateway.ts' && to === 'engine/stages/failover.ts')?.isType).toBe(false)
    expect(all.some(({ from, to }) => from === 'cli/start.ts' && to.startsWith('cli/simulator/'))).toBe(true)
  })

  test('go from cli to control, codegen and engine, from control and codegen to engine, and from the engine to nothing', () => {
    const allowed: Record<string, string[]> = {
      engine: ['engine'],
      control: ['control', 'engine'],
      codegen: ['codegen', 'engine'],
      cli: ['cli', 'control', 'codegen', 'engine'],
    }
    const own = new Set(['engine', 'control', 'codegen', 'cli', 'generated', 'dist', 'test', 'bench', 'tools', 'simulator', 'schemas'])
    const isAllowed = ({ from, to, isType }: Import): boolean =>
      (to === SPEC_TYPES && isType) || allowed[folderOf(from)]?.includes(folderOf(to)) === true
    expect(show(all.filter(one => own.has(folderOf(one.to)) && !isAllowed(one)))).toEqual([])
  })

  test('of packages in the engine are few, each in the files for it', () => {
    // Only server.ts, the types of what it is handed and a workaround know the server; only what calls out knows the clients. The tokenizer is loaded when it is needed.
    const users: Record<string, string[]> = {
      'uWebSockets.js': ['engine/http/server.ts', 'engine/http/bytes.ts', 'engine/http/upgrade-cork.ts'],
      undici: [
        'engine/upstream/fetch-media.ts',
        'engine/upstream/call.ts',
        'engine/upstream/undici.d.ts',
        'engine/snapshot/patched-answers.ts',
        'engine/snapshot/link.ts',
      ],
      'undici/lib/core/connect.js': ['engine/snapshot/connect.ts'],
      'undici/lib/dispatcher/agent.js': ['engine/upstream/fetch-media.ts'],
      'undici/lib/dispatcher/pool.js': ['engine/snapshot/snapshot.ts'],
      ws: ['engine/stages/relay.ts', 'engine/http/upgrade-cork.ts'],
      '@fastify/busboy': ['engine/wire/form.ts'],
      re2js: ['engine/wire/patterns.ts'],
      'ipaddr.js': ['engine/upstream/fetch-media.ts'],
      jose: ['engine/control/tokens.ts'],
      'gpt-tokenizer': ['engine/stages/token-estimate.ts'],
      // The types of the operator's file, which are made of its spec.
      [SPEC_TYPES]: ['engine/snapshot/config.ts'],
    }
    const outside = all.filter(({ from, to }) => folderOf(from) === 'engine' && folderOf(to) !== 'engine' && !to.startsWith('node:'))
    expect(show(outside.filter(({ from, to }) => !users[to]?.includes(from)))).toEqual([])
    expect(all.filter(({ from, to, isType }) => from === 'engine/upstream/call.ts' && to === 'undici' && !isType)).toEqual([])
  })

  test('go only downwards between the rooms of the engine, types included', () => {
    const upwards = all.filter(({ from, to }) => {
      if (folderOf(from) !== 'engine' || folderOf(to) !== 'engine') return false
      return ROOMS.indexOf(roomOf(to)) < ROOMS.indexOf(roomOf(from))
    })
    expect(show(upwards)).toEqual([])
    const rooms = new Set(files('engine').map(roomOf))
    expect([...rooms].sort()).toEqual([...ROOMS].sort())
  })

  test('go only to earlier phases in the compiler, types included', () => {
    const later = all.filter(({ from, to }) => {
      if (folderOf(from) !== 'codegen' || folderOf(to) !== 'codegen' || !PHASES.includes(roomOf(from))) return false
      return PHASES.indexOf(roomOf(to)) > PHASES.indexOf(roomOf(from)) || STARTS.includes(roomOf(to))
    })
    expect(show(later)).toEqual([])
    const rooms = new Set(files('codegen').map(roomOf))
    expect([...rooms].filter(room => !room.endsWith('.ts')).sort()).toEqual([...PHASES].sort())
  })

  test('form no circle, types included', () => {
    const graph = new Map<string, string[]>()
    for (const { from, to } of all) graph.set(from, [...(graph.get(from) ?? []), to])
    expect(circlesOf(graph)).toEqual([])
  })

  test('that form a circle are found by the test', () => {
    const graph = new Map([
      ['a', ['b', 'x']],
      ['b', ['c']],
      ['c', ['a']],
    ])
    expect(circlesOf(graph)).toEqual([['a', 'b', 'c']])
  })

  test('of generated code go only to the engine and to generated code', () => {
    const made = files('generated', '.js').flatMap(path =>
      [...read(path).matchAll(/(?:^|\n)\s*(?:import|export)[^'"\n]*['"]([^'"]+)['"]|require\(['"]([^'"]+)/g)].map(found => ({
        path,
        to: relative(root, join(root, path, '..', (found[1] ?? found[2]) as string)),
        name: (found[1] ?? found[2]) as string,
      })),
    )
    expect(made.length).toBeGreaterThan(20)
    expect(made.filter(({ to, name }) => !name.startsWith('.') || !/^(?:generated|dist\/engine)\//.test(to))).toEqual([])
  })
})
