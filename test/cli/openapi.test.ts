// The OpenAPI document: a public linter finds no error in it, and a gateway accepts an example request of each operation.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { KEY, startGateway, startSimulator, type TestGateway } from '../harness.js'

const root = join(import.meta.dirname, '..', '..')

interface Parameter {
  name: string
  in: string
  required?: boolean
  schema: { enum?: string[] }
  examples?: Record<string, { value: string }>
}
interface Media {
  schema: { properties?: Record<string, { contentMediaType?: string }> }
  examples: Record<string, { value: Record<string, unknown> }>
}
interface Operation {
  operationId: string
  summary: string
  parameters: Parameter[]
  requestBody?: { content: Record<string, Media> }
  security: Record<string, unknown>[]
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}
interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown> }
}

let gateway: TestGateway
let simulator: Awaited<ReturnType<typeof startSimulator>>
let text: string
let document: Document

/** The names of models that examples ask for, each served by the first provider that the simulator can play. */
const PROVIDERS = ['openai', 'anthropic', 'gemini', 'cohere', 'jina', 'voyage', 'mistral', 'kling', 'jimeng']

beforeAll(async () => {
  simulator = await startSimulator({ listen: '127.0.0.1:0' })
  const upstreams = Object.fromEntries(
    PROVIDERS.map(provider => [provider, { provider, base: simulator.url, secret: 'id:secret', shared: true }]),
  )
  const targets = PROVIDERS.map((upstream, priority) => ({ upstream, model: 'sim', priority: priority + 1 }))
  gateway = await startGateway({
    upstreams,
    models: { sim: { targets, aliases: ['omni-moderation-latest'] } },
    pages: { pricing: ['default'] },
  })
  const response = await fetch(`${gateway.url}/openapi.json`)
  text = await response.text()
  expect({ status: response.status, type: response.headers.get('content-type') }).toEqual({ status: 200, type: 'application/json' })
  document = JSON.parse(text) as Document
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

describe('the document', () => {
  test('is OpenAPI 3.1, and a public linter finds no error in it', async () => {
    expect(document.openapi).toBe('3.1.0')
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lintFromString({ source: text, absoluteRef: '/openapi.json', config })
    const errors = problems.filter(({ severity }) => severity === 'error')
    expect(errors.slice(0, 5).map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`)).toEqual([])
  })

  test('is checked by a linter that finds errors', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const broken = text.replace('#/components/schemas/chat.request"', '#/components/schemas/nowhere"')
    const problems = await lintFromString({ source: broken, absoluteRef: '/openapi.json', config })
    expect(problems.filter(({ severity }) => severity === 'error').length).toBeGreaterThan(0)
  })

  test('contains every route', () => {
    const routes = readFileSync(join(root, 'docs/reference/ROUTES.md'), 'utf8')
    const paths = new Set(Object.keys(document.paths))
    const missing = [...routes.matchAll(/^\| (\S+) \| ([A-Z, ]+) \| (.*?) \| .*$/gm)]
      .filter(([line]) => !/not_found|not_implemented/.test(line))
      .flatMap(([, , , cell]) => [...(cell as string).matchAll(/`([^`]+)`/g)].map(found => (found[1] as string).replaceAll('{+', '{')))
      .filter(path => !path.includes('*') && !paths.has(path) && !paths.has(path.replace(/\/$/, '')))
    expect(missing).toEqual([])
    expect(paths.size).toBeGreaterThan(30)
  })
})

/** Values of an answer that later requests may name a task by: the last of each path. */
const tasks: { path: string; id: string }[] = []

function noteTask(path: string, answer: unknown): void {
  const { id, data } = Object(answer) as { id?: unknown; data?: { task_id?: unknown } }
  for (const found of [id, Object(data).task_id]) if (typeof found === 'string') tasks.unshift({ path, id: found })
}

/** The task that was created on the path before this one, not beside it. */
function taskFor(path: string): string {
  const nearness = (one: string): number => {
    let shared = 0
    while (shared < one.length && one[shared] === path[shared]) shared++
    return 2 * shared - one.length
  }
  return [...tasks].sort((left, right) => nearness(right.path) - nearness(left.path))[0]?.id ?? 'none'
}

function bodyFor(media: Media, example: Record<string, unknown>, type: string, path: string): string | FormData {
  const filled = { ...example }
  for (const member of ['model', 'model_name', 'req_key']) if (member in filled) filled[member] = 'sim'
  if ('task_id' in filled) filled.task_id = taskFor(path)
  if (type === 'application/json') return JSON.stringify(filled)
  const form = new FormData()
  for (const [name, value] of Object.entries(filled)) {
    const isFile = media.schema.properties?.[name]?.contentMediaType !== undefined
    if (isFile) form.append(name, new Blob([Buffer.from('bytes')], { type: 'application/octet-stream' }), 'file.bin')
    else form.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  return form
}

async function ask(path: string, method: string, operation: Operation, example?: [type: string, name: string]): Promise<Response> {
  const headers: Record<string, string> = {}
  const url = new URL(gateway.url)
  url.pathname = path.replace('{model}', 'sim').replaceAll(/\{\w+\}/g, () => encodeURIComponent(taskFor(path)))
  for (const parameter of operation.parameters) {
    const value = (example && parameter.examples?.[example[1]]?.value) ?? parameter.schema.enum?.[0] ?? 'sim'
    if (!parameter.required) continue
    if (parameter.in === 'query') url.searchParams.set(parameter.name, value)
    if (parameter.in === 'header') headers[parameter.name] = value
  }
  const [scheme] = operation.security.flatMap(one => Object.keys(one))
  if (scheme === 'bearer') headers.authorization = `Bearer ${KEY}`
  else if (scheme === 'query-key') url.searchParams.set('key', KEY)
  else if (scheme !== undefined) headers[scheme] = KEY
  const media = example && operation.requestBody?.content[example[0]]
  const body =
    media && bodyFor(media, media.examples[(example as string[])[1] as string]?.value ?? {}, (example as string[])[0] as string, path)
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  return fetch(url, { method: method.toUpperCase(), headers, ...(body !== undefined && { body }) })
}

/** What is wrong with an answer by the document: its type, or where it is JSON, its value. */
function wrongAnswer(pointer: string, content: Record<string, { schema: object }>, type: string, text: string): string | undefined {
  const plain = type.split(';')[0] as string
  const known = [plain, plain.replace(/[^/]+$/, '*'), '*/*'].find(one => one in content)
  if (known === undefined) return `${plain} is none of ${Object.keys(content).join(', ')}`
  if (plain !== 'application/json' || known === '*/*') return undefined
  const validate = ajv.getSchema(`openapi#${pointer}/content/${known.replaceAll('/', '~1')}/schema`)
  return validate?.(JSON.parse(text)) ? undefined : ajv.errorsText(validate?.errors)
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const escaped = (name: string): string => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

test('an example request of each operation is accepted, and the answer is one that the document describes', async () => {
  ajv.addSchema(document, 'openapi')
  const refused: string[] = []
  const asked = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // This gateway has no store with usage and conversations.
      .filter(([, { responses }]) => !('101' in responses) && !path.endsWith('/billing/usage') && !path.includes('/conversations'))
      .flatMap(([method, operation]) => {
        const examples = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, media]) =>
          Object.keys(media.examples).map((name): [string, string] => [type, name]),
        )
        return (examples.length > 0 ? examples : [undefined]).map(example => ({ path, method, operation, example }))
      }),
  )
  // What makes a task goes before what asks for it, and what takes it away comes last.
  const order = ({ path, method, example }: (typeof asked)[number]): number =>
    method === 'delete' || path.endsWith('/cancel')
      ? 3
      : path.includes('{') && !path.includes('{model}')
        ? 2
        : example?.[1].includes('result')
          ? 2
          : 1
  asked.sort((left, right) => order(left) - order(right))
  for (const { path, method, operation, example } of asked) {
    let response = await ask(path, method, operation, example)
    // A film that is not ready yet: it is once its state was asked for.
    for (let polls = 0; response.status === 409 && polls < 5; polls++) {
      const state = path.replace(/\/content$/, '')
      await ask(state, 'get', (document.paths[state] as Record<string, Operation>).get as Operation)
      response = await ask(path, method, operation, example)
    }
    const answer = await response.text()
    if (response.status !== 200) refused.push(`${method} ${path} ${example?.join(' ') ?? ''}: ${response.status} ${answer.slice(0, 200)}`)
    const pointer = `/paths/${escaped(path)}/${method}/responses/200`
    const wrong = wrongAnswer(pointer, operation.responses['200']?.content ?? {}, response.headers.get('content-type') ?? '', answer)
    if (response.status === 200 && method !== 'head' && wrong !== undefined) refused.push(`${method} ${path} answers: ${wrong}`)
    if (response.status === 200 && method === 'post' && response.headers.get('content-type')?.startsWith('application/json'))
      noteTask(path, JSON.parse(answer))
  }
  expect(asked.length).toBeGreaterThan(40)
  expect(refused).toEqual([])
})

test('a page shows the document with a viewer that the gateway itself serves', async () => {
  const page = await fetch(`${gateway.url}/docs`)
  const html = await page.text()
  expect(page.headers.get('content-type')).toContain('text/html')
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => new URL(path as string, `${gateway.url}/docs`))
  expect(loaded.length).toBe(3)
  for (const url of loaded) {
    expect(url.origin).toBe(gateway.url)
    expect((await fetch(url)).status).toBe(200)
  }
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
})

test('`reference: false` turns it off, and a reload turns it on', async () => {
  const { upstreams, models } = { upstreams: {}, models: {} }
  const other = await startGateway({ upstreams, models, reference: false })
  for (const path of ['/openapi.json', '/docs', '/docs/viewer.js']) expect((await fetch(other.url + path)).status).toBe(404)
  await other.rewrite({ upstreams, models, reference: true })
  expect((await fetch(`${other.url}/docs`)).status).toBe(200)
  await other.close()
})

test('the document contains the routes of an overlay', async () => {
  const own = { 'routes/version.yaml': `name: version\nmethod: GET\npath: /version\ndialect: chat\nauth: []\nanswer: '{ "v": 1 }'\n` }
  const other = await startGateway({ upstreams: {}, models: {} }, own)
  const { paths } = (await (await fetch(`${other.url}/openapi.json`)).json()) as Document
  expect(Object.keys(paths)).toContain('/version')
  expect(load(JSON.stringify(paths['/version']))).toHaveProperty('get.operationId', 'version')
  await other.close()
})
