// What an editor shows: a real yaml-language-server is queried over its protocol about our files, with the schema that each
// names in its first line.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

interface Diagnostic {
  message: string
  range: { start: { line: number; character: number } }
}
interface Completion {
  items: { label: string; documentation?: unknown; insertText?: string }[]
}
interface Message {
  id?: number
  method?: string
  params?: unknown
  result?: unknown
}

/** A language server, as an editor starts it. */
class Editor {
  private readonly child: ChildProcess
  private bytes = Buffer.alloc(0)
  private next = 1
  private readonly answers = new Map<number, (result: unknown) => void>()
  private readonly told = new Map<string, Diagnostic[]>()
  private readonly waiting = new Map<string, (found: Diagnostic[]) => void>()

  constructor() {
    const server = join(root, 'node_modules', 'yaml-language-server', 'bin', 'yaml-language-server')
    this.child = spawn(process.execPath, [server, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.child.stdout?.on('data', (part: Buffer) => {
      this.bytes = Buffer.concat([this.bytes, part])
      this.read()
    })
  }

  private read(): void {
    for (;;) {
      const end = this.bytes.indexOf('\r\n\r\n')
      const length = Number(/Content-Length: (\d+)/i.exec(this.bytes.subarray(0, Math.max(end, 0)).toString())?.[1])
      if (end < 0 || this.bytes.length < end + 4 + length) return
      const message = JSON.parse(this.bytes.subarray(end + 4, end + 4 + length).toString()) as Message
      this.bytes = this.bytes.subarray(end + 4 + length)
      this.take(message)
    }
  }

  private take({ id, method, params, result }: Message): void {
    if (method === 'textDocument/publishDiagnostics') {
      const { uri, diagnostics } = params as { uri: string; diagnostics: Diagnostic[] }
      this.told.set(uri, diagnostics)
      this.waiting.get(uri)?.(diagnostics)
    } else if (method !== undefined && id !== undefined) {
      // It asks for settings of the editor: none.
      const items = (params as { items?: unknown[] } | undefined)?.items
      this.send({ id, result: items === undefined ? null : items.map(() => null) })
    } else if (id !== undefined) this.answers.get(id)?.(result)
  }

  private send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.child.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`)
  }

  ask<Result>(method: string, params: object): Promise<Result> {
    const id = this.next++
    return new Promise(done => {
      this.answers.set(id, done as (result: unknown) => void)
      this.send({ id, method, params })
    })
  }

  async begin(): Promise<void> {
    await this.ask('initialize', { processId: process.pid, rootUri: pathToFileURL(root).href, capabilities: {} })
    this.send({ method: 'initialized', params: {} })
    // No catalogue of schemas on the network: what counts is the first line of each file.
    this.send({
      method: 'workspace/didChangeConfiguration',
      params: { settings: { yaml: { validate: true, completion: true, hover: true, schemaStore: { enable: false } } } },
    })
  }

  /** Opens a text as the file at a path; returns its diagnostics. */
  open(path: string, text: string): Promise<Diagnostic[]> {
    const uri = pathToFileURL(join(root, path)).href
    return new Promise(done => {
      this.waiting.set(uri, done)
      this.send({ method: 'textDocument/didOpen', params: { textDocument: { uri, languageId: 'yaml', version: 1, text } } })
    })
  }

  complete(path: string, line: number, character: number): Promise<Completion> {
    return this.ask('textDocument/completion', {
      textDocument: { uri: pathToFileURL(join(root, path)).href },
      position: { line, character },
    })
  }

  hover(path: string, line: number, character: number): Promise<{ contents: { value: string } }> {
    return this.ask('textDocument/hover', { textDocument: { uri: pathToFileURL(join(root, path)).href }, position: { line, character } })
  }

  end(): void {
    this.child.kill('SIGKILL')
  }
}

const editor = new Editor()
beforeAll(() => editor.begin())
afterAll(() => editor.end())

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.yaml'))
    .map(name => join(folder, name))

/** A file of each kind: what is built in, and what users copy. */
const KINDS = [
  'gateway.example.yaml',
  'routes/messages.yaml',
  'routes/reference.yaml',
  'routes/_credentials.yaml',
  'schemas/chat/format.yaml',
  'schemas/chat/request.yaml',
  'schemas/messages/event.yaml',
  'schemas/config/gateway.yaml',
  'mappings/completions-to-chat/mapping.yaml',
  'mappings/completions-to-chat/cases/request.yaml',
  'mappings/library.yaml',
  'mappings/library/names.yaml',
  'schemas/completions/client/answer.yaml',
  'providers/openai.yaml',
  'models/anthropic.yaml',
  'simulator/chat.yaml',
  'simulator/faults/scenarios.yaml',
  ...files('examples'),
]

/** The grammar of schemas, which is one itself. */
const KEYWORDS = 'schemas/config/keywords/schema.yaml'

test('each schema is valid by the grammar of schemas', () => {
  const validate = new Ajv2020({ strict: false }).compile(load(readFileSync(join(root, KEYWORDS), 'utf8')) as object)
  const isSchema = (path: string): boolean => path.startsWith('schemas/config/') || !/\/(format\.yaml|client\/.*|provider\/.*)$/.test(path)
  const all = files('schemas').filter(isSchema)
  const wrong = all.filter(path => !validate(load(readFileSync(join(root, path), 'utf8'))))
  expect(wrong).toEqual([])
  expect(all.length).toBeGreaterThan(80)
})

test('each file names the schema of its kind, which exists', () => {
  const all = ['routes', 'mappings', 'providers', 'models', 'simulator', 'examples', 'schemas']
    .flatMap(files)
    .filter(path => path !== KEYWORDS)
  const wrong = all.filter(path => {
    const schema = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(root, path), 'utf8'))?.[1]
    return schema === undefined || !existsSync(join(root, path, '..', schema))
  })
  expect(wrong).toEqual([])
  expect(all.length).toBeGreaterThan(200)
})

describe('a real language server', () => {
  test.each(KINDS.filter(path => existsSync(join(root, path))))('finds nothing wrong in %s', async path => {
    expect(await editor.open(path, readFileSync(join(root, path), 'utf8'))).toEqual([])
  })

  test('is tested with a file of every kind', () => expect(KINDS.filter(path => !existsSync(join(root, path)))).toEqual([]))

  const head = '# yaml-language-server: $schema=schemas/config/gateway.yaml\n'

  test('reports a wrong key and a wrong value at their positions', async () => {
    const found = await editor.open('one.yaml', `${head}listen: 127.0.0.1:8080\ncolour: red\ngrace: soon\n`)
    expect(found.map(({ range }) => range.start.line).sort()).toEqual([2, 3])
    expect(found.find(({ range }) => range.start.line === 2)?.message).toMatch(/colour/)
    const route = '# yaml-language-server: $schema=../schemas/config/route.yaml\nname: one\nmethod: GET\npath: /one\nauth: []\n'
    const [missing] = await editor.open('routes/one.yaml', route)
    expect(missing?.message).toMatch(/dialect/)
  })

  test('completes keys with their descriptions, and values', async () => {
    await editor.open('two.yaml', `${head}upstreams:\n  one:\n    \nlog:\n  level: \n`)
    const keys = await editor.complete('two.yaml', 3, 4)
    expect(keys.items.map(({ label }) => label)).toEqual(expect.arrayContaining(['provider', 'secret', 'base']))
    expect(JSON.stringify(keys.items.find(({ label }) => label === 'base')?.documentation)).toMatch(/address/i)
    const dialect = '# yaml-language-server: $schema=../schemas/config/simulator.yaml\ntitle: Two\ntask:\n  \nbody: \n'
    await editor.open('simulator/two.yaml', dialect)
    const ofTask = await editor.complete('simulator/two.yaml', 3, 2)
    expect(ofTask.items.map(({ label }) => label)).toEqual(expect.arrayContaining(['does', 'id', 'early']))
    const bodies = await editor.complete('simulator/two.yaml', 4, 6)
    expect(bodies.items.map(({ label }) => label)).toEqual(expect.arrayContaining(['json', 'multipart', 'either', 'none']))
    const levels = await editor.complete('two.yaml', 5, 9)
    expect(levels.items.map(({ label }) => label)).toEqual(expect.arrayContaining(['info', 'warn']))
  })

  test('shows the description of a key on hover', async () => {
    await editor.open('three.yaml', `${head}reference: true\n`)
    expect((await editor.hover('three.yaml', 1, 3)).contents.value).toMatch(/openapi\.json/)
  })
})
