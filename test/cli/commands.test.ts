// Every command, with the built modules that users run. What they say is asked of one process for all; that each works as a
// process of its own is shown by the blocks of docs/commands.md.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { freePort } from '../../cli/ports.js'
import { foldersOf, MAIN, run, sluice as sluiceApart, sluiceInOneProcess } from '../command.js'
import { blocksOf, writeBlock } from '../docs-page.js'

const root = join(import.meta.dirname, '..', '..')
const folderOf = foldersOf()
const sluice = sluiceInOneProcess()

interface JsonFinding {
  severity: string
  file: string
  line: number
  column: number
  rule: string
}

const json = (text: string): Record<string, unknown> & { ok: boolean; findings: JsonFinding[] } => JSON.parse(text)
/** The column of a text in a line of a file. */
const column = (text: string, line: number, what: string): number => (text.split('\n')[line - 1] as string).indexOf(what) + 1
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
/** `line:column rule` of each finding of a JSON document. */
const findingsIn = (text: string): string[] => json(text).findings.map(({ line, column, rule }) => `${line}:${column} ${rule}`)

const GATEWAY = `listen: 127.0.0.1:0
keys: [{ name: me, sha256: ${sha256('a key that nobody tries')} }]
upstreams:
  one: { provider: openai, base: http://127.0.0.1:9, secret: my-upstream-secret }
  two: { provider: anthropic, base: http://127.0.0.1:9, secret: other-upstream-secret }
models:
  m: { targets: [{ upstream: one, model: theirs }, { upstream: two, model: claude, priority: 2 }] }
`

describe('every command', () => {
  test('has --version and --help, and ends with 64 for a wrong command line', async () => {
    const folder = folderOf()
    expect(await sluiceApart(['--version'], folder)).toEqual({
      code: 0,
      out: `${JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version}\n`,
      err: '',
    })
    const help = await sluiceApart(['check', '--help'], folder)
    expect(help.code).toBe(0)
    expect(help.out).toContain('--no-env')
    for (const args of [['bogus'], ['check', '--bogus'], ['try', 'chat-to-messages'], ['use', 'emacs'], ['fields', 'chat', 'latin']]) {
      const ended = await sluiceApart(args, folder)
      expect({ args, code: ended.code, out: ended.out }).toEqual({ args, code: 64, out: '' })
      expect(ended.err, args.join(' ')).not.toBe('')
      expect(ended.err, args.join(' ')).not.toMatch(/\n\s+at /)
    }
  })

  test('whose name is mistyped is named, also if it is one of the admin API', async () => {
    for (const [typed, name] of [
      ['chek', 'check'],
      ['key', 'keys'],
      ['usag', 'usage'],
      ['costs', 'cost'],
    ] as const)
      expect(await sluiceApart([typed], folderOf())).toMatchObject({ code: 64, err: expect.stringContaining(`(Did you mean ${name}?)`) })
  })

  test('that fails says why in the document that a program expects', async () => {
    const folder = folderOf({
      'gateway.yaml': GATEWAY,
      'error.json': '{"error":"busy"}',
      'list.json': '[null]',
      'empty.json': '{}',
      'list.csv': 'name,key\n',
    })
    const failing: [code: number, ...args: string[]][] = [
      [1, 'keys', 'list'],
      [1, 'usage'],
      [1, 'cost', 'abc'],
      [1, 'instances'],
      [1, 'store', 'migrate', '--config', 'gateway.yaml'],
      [1, 'store', 'backup', 'copy', '--config', 'gateway.yaml'],
      [1, 'keys', 'import', 'litellm', 'empty.json'],
      [1, 'keys', 'import', 'csv', 'list.csv'],
      [64, 'keys', 'import', 'csv', 'nofile'],
      [64, 'keys', 'list', '--config', 'nofile'],
      [64, 'ledger', 'reconcile', 'nofile'],
      [64, 'models', 'nomodel'],
      [64, 'models', '--provider', 'nope'],
      [64, 'check', 'gateway.yaml', '--config', 'other.yaml'],
      [1, 'init', 'gateway.yaml/inner'],
      [64, 'fields', 'chat', 'nope'],
      [64, 'try', 'nope', 'request'],
      [64, 'import', 'litellm', 'nofile'],
      [64, 'models', 'import', 'litellm', 'nofile.json'],
      [64, 'models', 'import', 'litellm', 'list.json'],
      [64, 'models', 'import', 'openrouter', 'error.json'],
      [64, 'models', 'import', 'models.dev', 'error.json'],
      [64, 'check', '--bogus'],
    ]
    for (const [code, ...args] of failing) {
      const ended = await sluice([...args, '--json'], folder)
      expect({ args, code: ended.code, out: json(ended.out) }).toMatchObject({ args, code, out: { ok: false, findings: [] } })
      expect(ended.err, args.join(' ')).toContain(json(ended.out).error as string)
      expect(ended.err, args.join(' ')).not.toMatch(/\n\s+at /)
    }
  })

  test('says in a sentence that its output cannot be written', async () => {
    const { code, err } = await run('bash', ['-c', 'exec "$0" "$1" openapi > /dev/full', process.execPath, MAIN], folderOf())
    expect([code, err]).toEqual([1, 'The output cannot be written: ENOSPC.\n'])
  })

  test('has --json if a program may read its output', () => {
    const reference = readFileSync(join(root, 'docs', 'reference', 'cli.md'), 'utf8').split(/^## sluice /m)
    const commands = reference.slice(1).filter(section => !section.includes('\nCommands:') || section.includes('  --json'))
    const without = commands.filter(section => !section.includes('--json')).map(section => section.split('\n')[0])
    // What they write is a log, or a script of a shell.
    expect(without).toEqual(['start', 'simulate', 'completion'])
    expect(commands.length).toBeGreaterThan(40)
  })

  test('is completed in bash, with its options', async () => {
    const { out, code } = await sluice(['completion', 'bash'], folderOf())
    expect(code).toBe(0)
    const ask = `${out}\nCOMP_WORDS=(sluice check --no); COMP_CWORD=2; _sluice; echo "$COMPREPLY"\nCOMP_WORDS=(sluice try a re); COMP_CWORD=3; _sluice; echo "\${COMPREPLY[*]}"\nCOMP_WORDS=(sluice ex); COMP_CWORD=1; _sluice; echo "$COMPREPLY"`
    const shell = spawn('bash', ['-c', ask])
    let text = ''
    shell.stdout.on('data', part => {
      text += String(part)
    })
    await new Promise(done => shell.on('close', done))
    expect(text.trim().split('\n')).toEqual(['--no-env', 'request response', 'explain'])
  })

  test.skipIf(!existsSync('/usr/bin/script'))('prints findings with colours only on a terminal, and not if NO_COLOR is set', async () => {
    const folder = folderOf({ 'gateway.yaml': 'colour: red\n' })
    const onTerminal = (env: Record<string, string>): string => {
      const { NO_COLOR: _, ...others } = process.env
      return spawnSync('/usr/bin/script', ['-qec', `${process.execPath} ${MAIN} check`, '/dev/null'], {
        cwd: folder,
        env: { ...others, ...env },
        encoding: 'utf8',
      }).stdout
    }
    const red = '\u001b[31mgrammar/unknown-key\u001b[0m'
    expect(onTerminal({ TERM: 'xterm' })).toContain(red)
    expect(onTerminal({ TERM: 'xterm', NO_COLOR: '1' })).not.toContain('\u001b')
    expect((await sluice(['check'], folder)).err).not.toContain('\u001b')
  })

  test('is completed in zsh and fish', async () => {
    for (const shell of ['zsh', 'fish']) {
      const { out, code } = await sluice(['completion', shell], folderOf())
      expect(code).toBe(0)
      for (const name of ['check', 'test', 'try', 'explain', 'routes', 'fields', 'init', 'new', 'use']) expect(out).toContain(name)
    }
  })
})

describe('sluice routes and sluice fields', () => {
  test('list the routes, as a table and as JSON', async () => {
    const folder = folderOf()
    const { out } = await sluice(['routes'], folder)
    expect(out).toMatch(/^METHOD\s+PATH/)
    expect(out).toMatch(/^POST\s+\/v1\/chat\/completions\s+chat\s+chat\s+\d+ providers$/m)
    const { routes } = json((await sluice(['routes', '--json'], folder)).out) as unknown as { routes: { name: string; served?: object }[] }
    expect(routes.find(({ name }) => name === 'messages')?.served).toMatchObject({ anthropic: 'same' })
  })

  test('list what becomes of the fields of a pair', async () => {
    const folder = folderOf()
    const { fields } = json((await sluice(['fields', 'chat', 'messages', '--json'], folder)).out) as unknown as {
      fields: { path: string; verdict: string }[]
    }
    expect(fields.find(({ path }) => path === 'seed')).toMatchObject({ verdict: 'dropped' })
    expect((await sluice(['fields', 'chat', 'messages'], folder)).out).toMatch(/^seed\s+dropped\s+\S/m)
    expect(await sluice(['fields', 'chat', 'jina_rerank'], folder)).toMatchObject({ code: 64, err: expect.stringContaining('but to: ') })
  })
})

test('a folder may be named by its gateway.yaml, and a missing one is an error', async () => {
  const folder = folderOf({
    'here/gateway.yaml': GATEWAY,
    'here/routes/version.yaml': "name: version\nmethod: GET\npath: /my-version\ndialect: chat\nauth: []\nanswer: '{}'\n",
  })
  for (const at of ['here', 'here/gateway.yaml']) {
    expect((await sluice(['routes', at], folder)).out).toContain('/my-version')
    expect((await sluice(['openapi', at], folder)).out).toContain('/my-version')
    expect((await sluice(['fields', 'chat', 'messages', '--folder', at], folder)).code).toBe(0)
    expect((await sluice(['diff', 'here', at], folder)).out).toBe('Both mean the same.\n')
    expect((await sluice(['test', at], folder)).code).toBe(0)
  }
  for (const args of [['routes'], ['openapi'], ['test'], ['fields', 'chat', 'messages', '--folder']])
    expect(await sluice([...args, 'nowhere'], folder)).toEqual({ code: 64, out: '', err: 'There is no folder nowhere.\n' })
})

test('`sluice simulate` names scenarios that it cannot read, and an address that it cannot listen on', async () => {
  const folder = folderOf()
  expect(await sluice(['simulate', '--listen', '127.0.0.1:0', '--scenarios', 'nowhere.yaml'], folder)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^The scenarios cannot be used: .*nowhere\.yaml/),
  })
  expect(await sluice(['simulate', '--listen', '192.0.2.1:1'], folder)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^Cannot listen on 192\.0\.2\.1:1: /),
  })
  expect(await sluice(['simulate', '--listen', '127.0.0.1:99999'], folder)).toMatchObject({
    code: 64,
    err: expect.stringContaining('65535'),
  })
})

test('a store that cannot be opened is reported in a sentence', async () => {
  const folder = folderOf({ 'gateway.yaml': 'store: { at: sqlite, folder: gateway.yaml/data }\n' })
  const ended = await sluice(['store', 'migrate', '--config', 'gateway.yaml'], folder)
  expect(ended).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^The store cannot be opened: .*\.\n$/) })
})

describe('sluice check', () => {
  test('finds nothing in a valid file, however the file is named', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    for (const args of [[], ['gateway.yaml'], ['.'], ['--config', 'gateway.yaml']])
      expect(await sluice(['check', ...args], folder)).toEqual({ code: 0, out: 'gateway.yaml: 1 model, 1 key, no findings\n', err: '' })
    expect(json((await sluice(['check', '--json'], folder)).out)).toEqual({
      ok: true,
      findings: [],
      file: 'gateway.yaml',
      models: 1,
      keys: 1,
    })
  })

  test('says why a file that exists cannot be read', async () => {
    const folder = folderOf()
    symlinkSync('loop.yaml', join(folder, 'loop.yaml'))
    const { out } = await sluice(['check', 'loop.yaml', '--json'], folder)
    expect(json(out).findings).toMatchObject([{ file: 'loop.yaml', rule: 'file/unreadable', detail: expect.stringContaining('circle') }])
    expect(findingsIn((await sluice(['check', 'missing.yaml', '--json'], folder)).out)).toEqual(['1:1 file/missing'])
  })

  test('prints the position of an error as JSON', async () => {
    const folder = folderOf({ 'gateway.yaml': `colour: red\n${GATEWAY}` })
    const { code, out } = await sluice(['check', '--json'], folder)
    expect(code).toBe(1)
    expect(findingsIn(out)).toEqual(['1:1 grammar/unknown-key'])
    expect(json(out).findings[0]?.severity).toBe('error')
  })

  test('warns of probable mistakes, and shows no secret', async () => {
    const guessed = sha256('password')
    const text = `keys:
  - { name: late, sha256: ${sha256('x1')}, expires: '2020-01-01T00:00:00Z' }
  - { name: easy, sha256: ${guessed} }
  - { name: wild, sha256: ${sha256('x2')}, models: [m, 'gtp-*'] }
  - { name: alone, sha256: ${sha256('x3')}, groups: [nobody] }
upstreams:
  one: { provider: openai, secret: OPENAI_API_KEY }
models:
  m: { targets: [{ upstream: one }] }
  never: { targets: [{ upstream: one, weight: 0 }, { upstream: one, weight: 0 }] }
---
keys: []
`
    const folder = folderOf({ 'gateway.yaml': text })
    const { code, out } = await sluice(['check', '--json'], folder)
    expect(code).toBe(0)
    expect(findingsIn(out)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^2:\d+ key\/expired$/),
        '3:5 key/guessable',
        expect.stringMatching(/^4:\d+ key\/wildcard$/),
        '5:5 key/models',
        '7:36 secret/literal',
        '10:10 model/weights',
        '12:1 yaml/second-document',
      ]),
    )
    expect(json(out).findings).toHaveLength(7)
    expect(json(out).findings.every(({ severity }) => severity === 'warning')).toBe(true)
    expect(out).not.toContain(guessed)
    expect(out).not.toContain('OPENAI_API_KEY')
    expect((await sluice(['check', '--strict'], folder)).code).toBe(1)
  })

  test('warns of routes of a pattern whose texts it cannot check', async () => {
    const text = `${GATEWAY}relay: { files: { path: /files/*, upstream: one } }
patterns:
  mail: { match: '@' }
  words: { words: [merger], routes: [chat, responses] }
`
    const folder = folderOf({ 'gateway.yaml': text })
    const { code, out } = await sluice(['check', '--json'], folder)
    expect(code).toBe(0)
    expect(findingsIn(out)).toEqual(['10:9 pattern/unseen'])
    expect(out).toContain('mail cannot look at what passes on relay.files')
    // A dialect that does not say where its texts stand.
    writeFileSync(join(folder, 'gateway.yaml'), text.replace('relay:', 'max_output: 9000 #'))
    mkdirSync(join(folder, 'schemas', 'bare'), { recursive: true })
    for (const [name, value] of Object.entries({
      'schemas/bare/format.yaml': 'title: Bare\nresponse: json\nmodel: body.model\nerror: chat\n',
      'schemas/bare/request.yaml': 'type: object\nrequired: [model]\nproperties: { model: { type: string } }\n',
      'routes/bare.yaml': 'name: bare\nmethod: POST\npath: /bare\nauth: [bearer]\ndialect: bare\nmodel: body.model\n',
      'providers/openai.yaml': 'extends: openai\nspeaks: { bare: /bare }\n',
    })) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), value)
    }
    expect(json((await sluice(['check', '--json'], folder)).out).findings).toMatchObject([
      { rule: 'pattern/unseen', detail: 'mail cannot look at what passes on bare' },
    ])
  })

  test('looks for secrets, unless --no-env is given', async () => {
    const text = GATEWAY.replace('my-upstream-secret', '$SLUICE_TEST_UNSET_ONE').replace('other-upstream-secret', '{ file: nowhere.txt }')
    const folder = folderOf({ 'gateway.yaml': text })
    const { code, out } = await sluice(['check', '--json'], folder)
    expect(code).toBe(1)
    expect(json(out).findings.map(({ rule }) => rule)).toEqual(['secret/environment', 'secret/file'])
    expect(await sluice(['check', '--no-env'], folder)).toEqual({ code: 0, out: 'gateway.yaml: no findings\n', err: '' })
  })

  test('finds nothing in what `init` writes, nor in the example', async () => {
    const folder = folderOf()
    const { out } = await sluice(['init', '--json'], folder)
    const { key } = json(out) as unknown as { key: string }
    expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).toContain(sha256(key))
    expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).not.toContain(key)
    expect(json((await sluice(['check', '--json'], folder)).out)).toMatchObject({ ok: true, findings: [] })
    expect(await sluice(['init'], folder)).toMatchObject({ code: 64, err: expect.stringContaining('exists already') })
    const example = await sluice(['check', join(root, 'gateway.example.yaml'), '--no-env', '--json'], folder)
    expect(json(example.out)).toMatchObject({ ok: true, findings: [] })
  })
})

describe('sluice check --online', () => {
  const servers: { close(): unknown }[] = []
  afterAll(() => {
    for (const server of servers) server.close()
  })

  /** A provider on a port of its own; gives its address. */
  async function provider(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
    tls?: { key: string; cert: string },
  ): Promise<string> {
    const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer)
    servers.push(server)
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    return `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  }

  test('distinguishes a good upstream from a wrong key, base, certificate, name and port', async () => {
    const seen: (string | undefined)[] = []
    const good = await provider((request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'theirs' }] }))
    })
    const answering = (status: number): Promise<string> =>
      provider((_request, response) => {
        response.writeHead(status).end('{}')
      })
    const folder = folderOf()
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost', '-keyout', 'key.pem', '-out', 'cert.pem'],
      { cwd: folder, stdio: 'ignore' },
    )
    const tls = await provider((_request, response) => response.end('{}'), {
      key: readFileSync(join(folder, 'key.pem'), 'utf8'),
      cert: readFileSync(join(folder, 'cert.pem'), 'utf8'),
    })
    const bases: Record<string, string> = {
      good,
      refused: await answering(401),
      missing: await answering(404),
      broken: await answering(500),
      tls,
      name: 'http://nowhere.invalid',
      closed: 'http://127.0.0.1:9',
      silent: 'http://127.0.0.1:9',
    }
    const lines = Object.entries(bases).map(
      ([name, base]) => `  ${name}: { provider: ${name === 'silent' ? 'groq' : 'openai'}, base: '${base}', secret: secret-of-${name} }`,
    )
    writeFileSync(
      join(folder, 'gateway.yaml'),
      `upstreams:\n${lines.join('\n')}\nmodels:\n  theirs: { targets: [{ upstream: good }] }\n  other: { targets: [{ upstream: good }] }\nkeys: [{ name: me, sha256: ${sha256('a key that nobody tries')} }]\n`,
    )
    const { code, out } = await sluice(['check', '--online', '--json'], folder)
    expect(code).toBe(1)
    expect(seen).toEqual(['GET /v1/models Bearer secret-of-good'])
    const { upstreams } = json(out) as unknown as { upstreams: { upstream: string; result: string }[] }
    expect(Object.fromEntries(upstreams.map(({ upstream, result }) => [upstream, result]))).toEqual({
      good: 'good',
      refused: 'online/credential',
      missing: 'online/not-found',
      broken: 'online/status',
      tls: 'online/tls',
      name: 'online/name',
      closed: 'online/connection',
      silent: 'skipped: its provider has no list of models',
    })
    expect(findingsIn(out)).toEqual(
      expect.arrayContaining(['3:3 online/credential', '4:3 online/not-found', '6:3 online/tls', '12:22 online/model']),
    )
    expect(json(out).findings).toHaveLength(7)
    expect(out).not.toContain('secret-of-')
    expect((await sluice(['check', '--online', '--no-env'], folder)).code).toBe(64)
  })
})

describe('sluice explain', () => {
  const BODY = JSON.stringify({ model: 'm', seed: 7, messages: [{ role: 'user', content: 'Hi' }] })
  interface Explained {
    route: { name: string }
    key: { name: string; models: string[] }
    targets: { target: string; how: string; dropped: string[]; request: { url: string; headers: Record<string, string>; after: object } }[]
    refused?: { status: number }
  }

  test('shows the route, the key and the targets in order, each with its request, and no secret', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const { code, out } = await sluice(['explain', '--key', 'me', '--path', '/v1/chat/completions', '--json'], folder, {}, BODY)
    expect(code).toBe(0)
    const told = json(out) as unknown as Explained
    expect(told).toMatchObject({ route: { name: 'chat' }, key: { name: 'me', models: ['m'] } })
    expect(told.targets.map(({ target, how }) => [target, how])).toEqual([
      ['one/theirs', 'bytes through'],
      ['two/claude', 'translated by chat-to-messages'],
    ])
    expect(told.targets[0]?.request).toMatchObject({
      url: 'http://127.0.0.1:9/v1/chat/completions',
      headers: { authorization: '***' },
      after: { model: 'theirs', seed: 7 },
    })
    expect(told.targets[1]).toMatchObject({ dropped: ['seed'], request: { after: { model: 'claude' } } })
    expect(out).not.toMatch(/upstream-secret/)
  })

  test('considers the facts of models: a preferred dialect, and inputs that a model does not accept', async () => {
    const folder = folderOf({
      'gateway.yaml': GATEWAY.replace('model: theirs', 'model: gpt-5.6-sol').replace(
        'model: claude,',
        'model: claude, traits: { images: false },',
      ),
    })
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const tools = [{ type: 'function', function: { name: 'f' } }]
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: [image] }], tools })
    const { out } = await sluice(['explain', '--key', 'me', '--path', '/v1/chat/completions', '--json'], folder, {}, body)
    const { targets } = json(out) as unknown as Explained
    expect(targets[0]).toMatchObject({ how: 'translated by chat-to-responses', request: { url: 'http://127.0.0.1:9/v1/responses' } })
    expect(targets[1]).toMatchObject({ target: 'two/claude', refused: { status: 400, param: 'messages[].content[].image_url' } })
    expect(targets[1]).not.toHaveProperty('request')
  })

  test('reads a curl command and an HTTP message, and needs no secret', async () => {
    const text = GATEWAY.replace('my-upstream-secret', '$SLUICE_TEST_UNSET_TWO')
    const folder = folderOf({ 'gateway.yaml': text })
    const key = 'a key that nobody tries'
    const curl = `curl -s http://gateway:8080/v1/chat/completions -H 'Authorization: Bearer ${key}' \\\n  -d '${BODY}'`
    const http = `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n\r\n${BODY}`
    for (const [args, input] of [
      [['--curl', curl], ''],
      [[], http],
    ] as const) {
      const { code, out } = await sluice(['explain', ...args, '--json'], folder, {}, input)
      expect(code).toBe(0)
      expect((json(out) as unknown as Explained).targets).toHaveLength(2)
    }
  })

  test('shows the price, the deadlines, and why each field is lost', async () => {
    const text = GATEWAY.replace('model: theirs', 'model: gpt-5-mini').replace(
      '  two: {',
      '  own: { provider: own, secret: none, limits: { connect: 2s } }\n  two: {',
    )
    const folder = folderOf({
      'gateway.yaml': text
        .replace('sha256', 'limits: { requests: 60/1m, in_flight: 4 }, sha256')
        .replace('priority: 2 }', 'priority: 2 }, { upstream: own, model: x, priority: 3, cap: { n: 2 } }'),
      'providers/own.yaml':
        'title: Own\nbase: http://127.0.0.1:9\ncredential: { header: x-key }\nspeaks: { chat: { path: /chat, drop: [user] } }\n',
    })
    const body = JSON.stringify({ model: 'm', seed: 7, user: 'u', n: 3, hoho: 1, messages: [{ role: 'user', content: 'Hi' }] })
    const ask = (...more: string[]): ReturnType<typeof sluice> =>
      sluice(['explain', '--key', 'me', '--path', '/v1/chat/completions', ...more], folder, {}, body)
    const { out } = await ask()
    for (const line of [
      /^key .*; limits: requests 60\/1m, in_flight 4/m,
      /^ {3}price input 0\.25, cached 0\.025, output 2/m,
      /^ {3}limits body 32MiB, .*connect 2s, headers 10m/m,
      /^ {3}refused: 400 .*'n'.*\n +the client gets \{"error":/m,
      /^ {3}dropped: user: the provider does not take it$/m,
      /^ {3}dropped: n: the operator allows 2 at most$/m,
    ])
      expect(out).toMatch(line)
    const told = json((await ask('--json')).out) as unknown as { targets: { price: object; why?: Record<string, string> }[] }
    expect(told.targets[0]?.price).toMatchObject({ input: 0.25 })
    const other = await sluice(
      ['explain', '--key', 'me', '--path', '/v1/chat/completions', '--json'],
      folder,
      {},
      body.replace('"n":3,', ''),
    )
    expect((json(other.out) as unknown as typeof told).targets[1]?.why).toEqual({
      seed: expect.stringMatching(/./),
      hoho: 'no schema names it, so no mapping reads it',
    })
  })

  test('reads curl commands as shells and browsers write them', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const of = async (curl: string): Promise<unknown> => {
      const { code, out, err } = await sluice(['explain', '--key', 'me', '--curl', curl, '--json'], folder)
      if (code === 64) return err
      const { route, targets } = json(out) as unknown as { route: { name: string }; targets?: { request: { before: unknown } }[] }
      return [route.name, targets?.[0]?.request.before]
    }
    const chat = 'http://g/v1/chat/completions'
    const before = { model: 'm', messages: [{ role: 'user', content: "it's" }] }
    writeFileSync(join(folder, 'body.json'), JSON.stringify(before))
    expect(await of(`curl -sSXPOST ${chat} -H'x-a: b' -d @body.json`)).toEqual(['chat', before])
    expect(await of(`curl '${chat}' --data-raw $'${JSON.stringify(before).replace("'", '\\u0027')}' --compressed`)).toEqual([
      'chat',
      before,
    ])
    expect(await of('curl -XDELETE http://g/v1/videos/1')).toEqual(['videos.delete', undefined])
    expect(await of(`curl ${chat} -F file=@body.json`)).toContain('The option -F of curl is not supported')
  })

  test.each([
    ['/v1/models', [], 'models.chat'],
    ['/v1/models', ['anthropic-version: 2023-06-01'], 'models.messages'],
    ['/v1/models', ['x-goog-api-key: some-key'], 'models.generate'],
    ['/v1/models?key=some-key', [], 'models.generate'],
    ['/nope', [], 'unknown.rest'],
  ])('with a named key, %s with the headers %j is the route that serves it', async (path, headers, name) => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const curl = `curl 'http://gateway:8080${path}' ${headers.map(header => `-H '${header}'`).join(' ')}`
    const { out } = await sluice(['explain', '--key', 'me', '--curl', curl, '--json'], folder)
    expect((json(out) as unknown as Explained).route.name).toBe(name)
  })

  test('refuses an unknown path in the words that the client gets', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const { code, out } = await sluice(['explain', '--key', 'me', '--curl', 'curl http://gateway:8080/chat/completion', '--json'], folder)
    expect(code).toBe(1)
    expect(json(out)).toMatchObject({
      ok: false,
      refused: { status: 404, message: 'Unknown URL: /chat/completion.', body: { error: { code: 'unknown_url' } } },
    })
  })

  test('says what the store answers, and shows what continues something without reading it', async () => {
    const folder = folderOf({ 'gateway.yaml': `${GATEWAY}store: sqlite\n`, 'bare/gateway.yaml': GATEWAY })
    const explained = async (path: string, body: object, ...more: string[]): Promise<[number | null, Explained]> => {
      const { code, out } = await sluice(['explain', '--key', 'me', '--path', path, '--json', ...more], folder, {}, JSON.stringify(body))
      return [code, json(out) as unknown as Explained]
    }
    const [code, made] = await explained('/v1/conversations', {})
    expect([code, made.route]).toMatchObject([0, { answered: 'by the gateway itself, from its store' }])
    expect((await explained('/v1/conversations', { items: 5 }))[1].refused?.status).toBe(400)
    for (const member of ['conversation', 'previous_response_id']) {
      const [code, { route, targets }] = await explained('/v1/responses', { model: 'm', input: 'Hi', [member]: 'some_id' })
      expect([code, route]).toMatchObject([0, { continues: expect.stringContaining('some_id') }])
      expect(targets.at(-1)?.request.after).toMatchObject({ model: 'claude', messages: [{ role: 'user', content: [{ text: 'Hi' }] }] })
    }
    expect((await explained('/v1/conversations', {}, '--config', 'bare/gateway.yaml'))[1].refused?.status).toBe(501)
  })

  test('refuses a route that the named key may not use', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY.replace('sha256', 'routes: [messages], sha256') })
    const { code, out } = await sluice(['explain', '--key', 'me', '--path', '/v1/chat/completions', '--json'], folder, {}, BODY)
    expect([code, (json(out) as unknown as Explained).refused?.status]).toEqual([1, 403])
  })

  test('shows a refusal as the client gets it, with exit code 1', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const of = async (args: string[], input: string): Promise<unknown[]> => {
      const { code, out } = await sluice(['explain', ...args, '--json'], folder, {}, input)
      return [code, (json(out) as unknown as Explained).refused?.status]
    }
    expect(await of(['--path', '/v1/chat/completions'], BODY)).toEqual([1, 401])
    expect(await of(['--path', '/v1/nowhere', '--key', 'me'], BODY)).toEqual([1, 404])
    expect(await of(['--path', '/v1/chat/completions', '--key', 'me'], '{"model":"other","messages":[]}')).toEqual([1, 404])
    expect(await of(['--path', '/v1/chat/completions', '--key', 'me'], '{"model":"m"')).toEqual([1, 400])
    expect((await sluice(['explain', '--path', '/v1/chat/completions', '--key', 'nobody'], folder, {}, BODY)).code).toBe(64)
  })
})

describe('sluice use', () => {
  test.each([
    ['claude-code', "ANTHROPIC_BASE_URL='http://127.0.0.1:7000'"],
    ['codex', 'base_url = "http://127.0.0.1:7000/v1"'],
    ['gemini-cli', "GOOGLE_GEMINI_BASE_URL='http://127.0.0.1:7000'"],
    ['opencode', '"baseURL": "http://127.0.0.1:7000/v1"'],
  ])('prints the settings of %s with the address and model of the file, and without a key', async (agent, line) => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY.replace('127.0.0.1:0', '0.0.0.0:7000') })
    const { code, out } = await sluice(['use', agent], folder)
    expect(code).toBe(0)
    expect(out).toContain(line)
    expect(out).toContain('<your key>')
    expect(out).toMatch(/['"/]m['"]/)
  })

  test.each([
    ['models: [a]', '<a model>'],
    ['models: name', '<a model>'],
    ['models: { "gpt-*": {}, x: {} }', 'x'],
    ['upstreams: { one: { models: [{ a: b }, c] }, two: [d] }', 'c'],
  ])('takes no model from a file that names none there: %s', async (text, model) => {
    const { env } = json((await sluice(['use', 'claude-code', '--json'], folderOf({ 'gateway.yaml': text }))).out) as unknown as {
      env: Record<string, string>
    }
    expect(env.ANTHROPIC_MODEL).toBe(model)
  })

  test('tells opencode the limits of a model where both are known', async () => {
    const models = `  known: { targets: [{ upstream: one, model: gpt-5-nano }], aliases: [other] }
  own: { targets: [{ upstream: one, model: theirs }], limits: { context: 1000, max_output: 100 } }
  half: { targets: [{ upstream: one, model: theirs }], limits: { context: 1000 } }
`
    const folder = folderOf({ 'gateway.yaml': GATEWAY + models, 'wrong.yaml': `${GATEWAY}${models}more: 1\n` })
    const settings = async (...words: string[]): Promise<unknown> => {
      const { code, out } = await sluice(['use', 'opencode', '--json', ...words], folder)
      expect(code).toBe(0)
      const { provider } = JSON.parse((json(out) as unknown as { file: { text: string } }).file.text)
      return provider.sluice.models
    }
    const nano = { limit: { context: 272_000, output: 128_000 } }
    expect(await settings('--model', 'known')).toEqual({ known: nano })
    expect(await settings('--model', 'other')).toEqual({ other: nano })
    expect(await settings('--model', 'own')).toEqual({ own: { limit: { context: 1_000, output: 100 } } })
    expect(await settings('--model', 'half')).toEqual({ half: {} })
    expect(await settings('--model', 'nobody')).toEqual({ nobody: {} })
    // What cannot be served has settings all the same.
    expect(await settings('--model', 'known', '--config', 'wrong.yaml')).toEqual({ known: {} })
  })

  test('says whose address is none', async () => {
    const folder = folderOf({ 'gateway.yaml': 'listen: nowhere' })
    expect(await sluice(['use', 'codex'], folder)).toMatchObject({
      code: 64,
      err: expect.stringMatching(/^`listen` of \S*gateway\.yaml is no address/),
    })
    expect(await sluice(['use', 'codex', '--url', 'nowhere'], folder)).toMatchObject({
      code: 64,
      err: expect.stringMatching(/^--url must be/),
    })
  })

  test('gives an agent no model of its own, which the gateway may not have', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    const { env } = json((await sluice(['use', 'claude-code', '--json'], folder)).out) as unknown as { env: Record<string, string> }
    const models = Object.entries(env).filter(([name]) => name.endsWith('_MODEL'))
    expect(models.map(([name]) => name)).toEqual(expect.arrayContaining(['ANTHROPIC_DEFAULT_HAIKU_MODEL', 'ANTHROPIC_DEFAULT_OPUS_MODEL']))
    for (const [name, model] of models) expect(model, name).toBe('m')
  })
})

describe('sluice try', () => {
  test('shows a request before and after, and what is dropped and why', async () => {
    const request = { model: 'm', seed: 7, messages: [{ role: 'user', content: 'Hi' }] }
    const { code, out } = await sluice(['try', 'chat-to-messages', 'request', '--json'], folderOf(), {}, JSON.stringify(request))
    expect(code).toBe(0)
    expect(json(out)).toMatchObject({
      before: request,
      after: { model: 'upstream-model', messages: [{ role: 'user' }] },
      dropped: ['seed'],
    })
    const text = await sluice(['try', 'chat-to-messages', 'request'], folderOf(), {}, JSON.stringify(request))
    expect(text.out).toMatch(/^dropped: seed: \S/m)
  })

  test('shows the steps that each event of a stream fires', async () => {
    const events = [
      {
        type: 'message_start',
        message: {
          id: 'a',
          type: 'message',
          role: 'assistant',
          model: 'x',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    ]
    const sse = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    const { code, out } = await sluice(['try', 'chat-to-messages', 'stream', '--json'], folderOf(), {}, sse)
    expect({ code, out }).toMatchObject({ code: 0 })
    const { events: rows } = json(out) as unknown as { events: { in?: unknown; steps: string[]; out: object[] }[] }
    expect(rows).toHaveLength(4)
    expect(rows[0]?.steps[0]).toMatch(/\(.*\.yaml:\d+\)$/)
    expect(JSON.stringify(rows[2]?.out)).toContain('"content":"Hi"')
    expect(rows[3]?.in).toBeUndefined()
  })

  test('shows what is wrong with an answer, and suggests a mapping for an unknown one', async () => {
    const bad = await sluice(['try', 'chat-to-messages', 'response', '--json'], folderOf(), {}, '{"type":"message"}')
    expect(bad.code).toBe(1)
    expect(json(bad.out).findings.map(({ rule }) => rule)).toContain('case/schema')
    // A mapping that fails on what its caller may not send is not to blame.
    for (const [part, input] of [
      ['request', '{"model":"m"}'],
      ['request', 'text'],
      ['response', '{"content":5}'],
      ['stream', '{"type":"content_block_delta"}'],
    ] as const) {
      const wrong = await sluice(['try', 'chat-to-messages', part, '--json'], folderOf(), {}, input)
      const found = json(wrong.out).findings.map(({ file, rule }) => `${file} ${rule}`)
      expect({ part, code: wrong.code, found: [...new Set(found)] }).toEqual({ part, code: 1, found: ['stdin case/schema'] })
    }
    expect(await sluice(['try', 'chat-to-mesages', 'request'], folderOf(), {}, '{}')).toMatchObject({
      code: 64,
      err: expect.stringMatching(/^There is no mapping chat-to-mesages\. Did you mean chat-to-messages\? The mappings are: chat-to-/),
    })
    expect((await sluice(['try', 'latin-to-greek', 'request'], folderOf(), {}, '{}')).code).toBe(64)
    expect((await sluice(['try', 'chat-to-messages', 'poem'], folderOf(), {}, '{}')).code).toBe(64)
  })
})

describe('sluice new and sluice test', () => {
  test('pass with what `new` writes, and report a failing case with its position', async () => {
    const folder = folderOf()
    for (const args of [
      ['init'],
      ['new', 'dialect', 'my_text'],
      ['new', 'provider', 'acme'],
      ['new', 'endpoint', 'my_images'],
      ['new', 'mapping', 'my_text-to-chat'],
      ['new', 'mapping', 'chat-to-my_text'],
    ])
      expect({ args, code: (await sluice(args, folder)).code }).toEqual({ args, code: 0 })
    expect((await sluice(['new', 'provider', 'acme'], folder)).code).toBe(64)
    expect((await sluice(['new', 'provider', 'Acme Inc'], folder)).code).toBe(64)
    // What is there already works: a template in its place would not.
    for (const [pair, place] of [
      ['chat-to-messages', 'mappings/chat-to-messages/mapping.yaml'],
      ['generate-to-ollama', 'schemas/generate/client/ and schemas/ollama/provider/'],
      ['chat-to-my_text', 'mappings/chat-to-my_text/mapping.yaml'],
      ['chat-to-chat', 'as they are'],
      ['my_text-to-my_text', 'as they are'],
    ] as const)
      expect({ pair, ...(await sluice(['new', 'mapping', pair], folder)) }).toMatchObject({
        pair,
        code: 64,
        out: '',
        err: expect.stringContaining(place),
      })
    expect(readdirSync(join(folder, 'mappings')).sort()).toEqual(['chat-to-my_text', 'my_text-to-chat'])
    expect(existsSync(join(folder, 'providers', 'Acme Inc.yaml'))).toBe(false)
    expect(await sluice(['check', '--strict'], folder)).toMatchObject({ code: 0, err: '' })
    const good = await sluice(['test', '--json'], folder)
    expect({ ...good, out: '' }).toEqual({ code: 0, out: '', err: '' })
    expect(json(good.out)).toMatchObject({ ok: true, cases: 4, failed: 0 })

    // A case that says otherwise, and steps of which one is never fired.
    const cases = join(folder, 'mappings/my_text-to-chat/cases')
    const path = join(cases, 'request.yaml')
    writeFileSync(path, readFileSync(path, 'utf8').replace('model: upstream-model', 'model: another'))
    const mapping = join(folder, 'mappings/my_text-to-chat/mapping.yaml')
    const schema = 'title: An event\ntype: object\nproperties:\n  text: { type: string }\n  type: { type: string }\n'
    writeFileSync(join(folder, 'schemas/my_text/event.yaml'), schema)
    writeFileSync(
      join(folder, 'schemas/my_text/format.yaml'),
      `${readFileSync(join(folder, 'schemas/my_text/format.yaml'), 'utf8')}stream:\n  flag: body.stream\n  framing: sse\n  sentinel: '[DONE]'\n  watch: {}\n`,
    )
    writeFileSync(
      mapping,
      `${readFileSync(mapping, 'utf8')}stream:
  steps:
    - name: a text goes on
      when: choices[0].delta.content
      emit: '{ "text": choices[0].delta.content }'
    - { name: never, when: '1 = 2', emit: '{ "text": "x" }' }
`,
    )
    writeFileSync(
      join(cases, 'stream.yaml'),
      `name: a text
stream:
  - in: { id: c, object: chat.completion.chunk, created: 1, model: x, choices: [{ index: 0, delta: { content: Hi }, finish_reason: null }] }
    out: [{ text: Hi }]
`,
    )
    const bad = await sluice(['test', '--json'], folder)
    expect(bad.code).toBe(1)
    const found = json(bad.out).findings.map(({ file, line, rule }) => `${file}:${line} ${rule}`)
    const lineOf = (file: string, text: string): number =>
      readFileSync(file, 'utf8')
        .split('\n')
        .findIndex(line => line.includes(text)) + 1
    expect(found.sort()).toEqual([
      `mappings/my_text-to-chat/cases/request.yaml:${lineOf(path, 'model: another')} case/different`,
      `mappings/my_text-to-chat/mapping.yaml:${lineOf(mapping, 'name: never')} case/step`,
    ])
    expect(json(bad.out)).toMatchObject({ cases: 5, failed: 1, steps: { all: 2, fired: 1 } })
  })

  test('find empty cases, known failures that pass, cases that end with an error, and parts without a case', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    for (const args of [
      ['new', 'dialect', 'my_text'],
      ['new', 'mapping', 'my_text-to-chat'],
    ])
      expect((await sluice(args, folder)).code).toBe(0)
    const cases = join(folder, 'mappings/my_text-to-chat/cases')
    const request = readFileSync(join(cases, 'request.yaml'), 'utf8')
    writeFileSync(join(cases, 'request.yaml'), `known: 7\n${request}`)
    writeFileSync(join(cases, 'empty.yaml'), '# nothing\n')
    rmSync(join(cases, 'response.yaml'))
    const found = async (): Promise<string[]> => {
      const { code, out } = await sluice(['test', '--json'], folder)
      expect(code).toBe(1)
      return json(out).findings.map(({ file, rule }) => `${file.replace(/^.*my_text-to-chat\//, '')} ${rule}`)
    }
    expect((await found()).sort()).toEqual(['cases/empty.yaml case/empty', 'cases/request.yaml case/known', 'mapping.yaml case/missing'])
    const mapping = join(folder, 'mappings/my_text-to-chat/mapping.yaml')
    writeFileSync(mapping, readFileSync(mapping, 'utf8').replace('"model": $ctx.model', '"model": $error("no")'))
    writeFileSync(join(cases, 'request.yaml'), request)
    expect(await found()).toContain('cases/request.yaml case/error')
  })

  test('test properties of the schemas, and shrink counterexamples', async () => {
    const folder = folderOf({ 'gateway.yaml': GATEWAY })
    await sluice(['new', 'dialect', 'my_text'], folder)
    await sluice(['new', 'mapping', 'my_text-to-chat'], folder)
    // The provider's dialect allows 2 at most.
    const path = join(folder, 'mappings', 'my_text-to-chat', 'mapping.yaml')
    const mapping = readFileSync(path, 'utf8')
    writeFileSync(path, mapping.replace(/("model": \$ctx\.model)/, '$1, "temperature": 3'))
    const bad = await sluice(['test', '--properties', '30', '--json'], folder)
    expect(bad.code).toBe(1)
    expect(json(bad.out)).toMatchObject({ ok: false, properties: [{ pair: 'my_text-to-chat', ok: false }] })
    const [finding] = json(bad.out).findings.filter(({ rule }) => rule === 'case/property')
    expect(finding).toMatchObject({ file: 'mappings/my_text-to-chat/mapping.yaml' })
    expect(JSON.stringify(finding)).toContain('temperature')
    // A number of the request may be null.
    writeFileSync(path, mapping.replace(/("model": \$ctx\.model)/, '$1, "n": (null > 1 ? 2)'))
    const failed = await sluice(['test', '--properties', '30', '--json'], folder)
    expect(JSON.stringify(json(failed.out).findings)).toContain(
      'the mapping fails: T2010, <, <=, > and >= compare numbers and texts only: null',
    )
  })

  test('run whole exchanges with patches, calls, patterns and passed headers, on real ports', async () => {
    const ask = (content: string): object => ({ model: 'm', messages: [{ role: 'user', content }] })
    const answer = (content: string, finish: string): object => ({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
      meter: { sent: 3, made: 4 },
    })
    const chunk = (content: string, finish: string | null): object => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta: { content }, finish_reason: finish }],
    })
    const cases = [
      {
        name: 'what the provider says otherwise is mended, and what it does not take stays here',
        path: '/v1/chat/completions',
        request: { in: { ...ask('Hi'), seed: 1, max_completion_tokens: 9 }, out: { ...ask('Hi'), max_tokens: 9, user: 'us' } },
        asked: { upstream: 'own', path: '/below/v1/chat/completions', headers: { 'x-team': 'search' } },
        dropped: ['max_completion_tokens as max_tokens', 'seed'],
        response: { in: answer('Hello', 'eos'), out: answer('Hello', 'stop') },
        usage: { input: 3, output: 4 },
      },
      {
        name: 'in streams, too',
        path: '/v1/chat/completions',
        request: { in: { ...ask('Hi'), stream: true } },
        stream: { in: [{ type: 'heartbeat' }, chunk('Hel', null), chunk('lo', 'eos')], out: [chunk('Hel', null), chunk('lo', 'stop')] },
      },
      {
        name: 'card numbers go out as a mask, and the filter sees them',
        path: '/v1/chat/completions',
        request: { in: ask('4111111111111111'), out: { ...ask('[card]'), user: 'us' } },
        calls: { filter: { in: { said: '4111111111111111' }, out: { facts: { risk: 1 } } } },
        response: { in: answer('Yes', 'stop') },
        masked: { cards: 1 },
      },
      {
        name: 'what the filter refuses is not sent',
        path: '/v1/chat/completions',
        request: { in: ask('no') },
        calls: { filter: { out: { refuse: { message: 'Not that.' } } } },
        status: 403,
        response: { out: { error: { message: 'Not that.', type: '<any>', param: null, code: null } } },
      },
      {
        name: 'files are handed on',
        path: '/files/a?b=1',
        method: 'GET',
        asked: { upstream: 'own', method: 'GET', path: '/below/a?b=1' },
        response: { in: { id: 'a' }, out: { id: 'a' } },
      },
    ]
    const files = {
      'gateway.yaml': `keys: [{ name: me, sha256: ${sha256('a key that nobody tries')} }]
upstreams: { own: { provider: own, secret: $OWN_KEY, base: 'https://api.example.com/below', headers: { x-team: search } } }
models: { m: { targets: [{ upstream: own, patch: '$merge([$, { "user": "us" }])' }] } }
call: { filter: { at: request, url: $FILTER_URL, send: '{ "said": request.messages.content }' } }
patterns: { cards: { match: '\\d{16}', mask: '[card]' } }
relay: { files: { path: /files/*, upstream: own } }
`,
      'providers/own.yaml': `title: Own words
source: https://docs.example.com/own
base: https://api.example.com
credential: { header: x-own-key }
speaks:
  chat:
    path: /v1/chat/completions
    drop: [seed]
    rename: { max_completion_tokens: max_tokens }
    usage: '{ "input": meter.sent, "output": meter.made }'
    response: '$ ~> |choices[finish_reason = "eos"]|{ "finish_reason": "stop" }|'
    event: 'type = "heartbeat" ? [] : $ ~> |choices[finish_reason = "eos"]|{ "finish_reason": "stop" }|'
`,
      'cases/exchanges.yaml': cases.map(one => `---\n${JSON.stringify(one)}\n`).join(''),
    }
    const folder = folderOf(files)
    const good = await sluice(['test', '--json'], folder)
    expect(json(good.out).findings).toEqual([])
    expect(json(good.out)).toMatchObject({ cases: 5, failed: 0 })
    expect(good.code).toBe(0)
    // Each member of a case is checked: with another provider nearly all of them fail, at the differing member.
    writeFileSync(
      join(folder, 'cases', 'exchanges.yaml'),
      files['cases/exchanges.yaml']
        .replaceAll('eos', 'length')
        .replace('"cards":1', '"cards":2')
        .replace('"seed"]', '"top_k"]')
        .replace('"x-team":"search"', '"x-own-key":"another"')
        .replace('/below/a', '/a'),
    )
    const bad = await sluice(['test', '--json'], folder, { OWN_KEY: 'what-only-we-may-know' })
    expect(bad.code).toBe(1)
    expect(bad.out).toContain('was \\"***\\"')
    expect(bad.out).not.toContain('what-only-we-may-know')
    expect(json(bad.out).findings.map(({ line, rule }) => `${line} ${rule}`)).toEqual(
      [2, 2, 2, 4, 6, 10].map(line => `${line} case/different`),
    )
    expect(bad.out).toContain('masked.cards: expected 2, was 1')
  })

  test('run scenarios with providers that fail, are slow, break off or cannot be reached', async () => {
    const scenarios = `# yaml-language-server: $schema=scenario.yaml
name: who fails is followed by the next, in its own dialect
client: { path: /v1/chat/completions, body: { model: m, messages: [{ role: user, content: Hi }] } }
upstream:
  - sees: { upstream: one, path: /below/v1/chat/completions, headers: { authorization: Bearer secret-of-one }, body: { model: theirs, messages: <any> } }
    answers: { status: 503, headers: { retry-after: '1' }, body: { error: { message: Busy. } } }
  - sees: { upstream: two, path: /v1/messages, headers: { x-api-key: secret-of-two } }
    answers:
      body: { id: a, type: message, role: assistant, model: claude, content: [{ type: text, text: Hello }], stop_reason: end_turn, stop_sequence: null, usage: { input_tokens: 3, output_tokens: 2 } }
sees:
  status: 200
  headers: { content-type: '/^application.json/', x-nothing: null }
  body: { id: /^chatcmpl-/, object: chat.completion, created: $NOW, model: claude, choices: [{ index: 0, message: { role: assistant, content: Hello, refusal: null, annotations: [] }, logprobs: null, finish_reason: stop }], usage: <any> }
log: { key: me, target: two/claude, attempts: 2, usage: { input: 3, output: 2 } }
---
name: who is not there is followed, too, and a stream that breaks off has no end
unreachable: [one]
client: { path: /v1/chat/completions, body: { model: m, stream: true, messages: [{ role: user, content: Hi }] } }
upstream:
  - sees: { path: /v1/messages }
    answers:
      events:
        - { type: message_start, message: { id: a, type: message, role: assistant, model: claude, content: [], usage: { input_tokens: 3, output_tokens: 0 } } }
        - { type: content_block_start, index: 0, content_block: { type: text, text: '' } }
        - { type: content_block_delta, index: 0, delta: { type: text_delta, text: Hel } }
      delays: [10]
      cut: true
sees:
  status: 200
  body: '/^data: (.|\\n)*"Hel"(.|\\n)*The connection to the upstream failed(.|\\n)*$/'
log: { partial: true }
---
name: a gateway of its own, and a caller of it without a key
gateway:
  keys: [{ name: other, value: a-key-of-other }]
  upstreams: { own: { provider: openai, base: /v9 } }
  models: { only: { targets: [{ upstream: own }] } }
client: { path: /v1/chat/completions, key_in: none, body: { model: only, messages: [] } }
sees: { status: 401 }
---
name: a budget is there, and nothing of it is spent
gateway:
  keys: [{ name: poor, value: a-key-of-poor, budget: 0.00001/day }, { name: rich, value: a-key-of-rich, budget: 5/day }]
  store: sqlite
  upstreams: { own: { provider: openai } }
  models: { m: { price: { input: 1, output: 1 }, targets: [{ upstream: own }] } }
client: { path: /v1/chat/completions, key: rich, body: { model: m, messages: [] } }
upstream: [{ sees: { path: /v1/chat/completions }, answers: { body: { choices: [{}] } } }]
sees: { status: 200 }
`
    const files = {
      'gateway.yaml': GATEWAY.replace('127.0.0.1:9,', 'api.example.com/below,').replace('my-upstream-secret', '$UPSTREAM_ONE_KEY'),
      'scenarios/upstreams.yaml': scenarios,
    }
    const folder = folderOf({
      ...files,
      'gateway.yaml': files['gateway.yaml'].replace('other-upstream-secret', '{ file: not-here/key.txt }'),
    })
    const good = await sluice(['test', '--json'], folder)
    expect(json(good.out).findings).toEqual([])
    expect(json(good.out)).toMatchObject({ ok: true, cases: 4, failed: 0, scenarios: [{}, {}, {}, { ok: true }] })
    expect(good.code).toBe(0)
    // What the client sees, what each provider saw, the log, and missing calls: each has its position.
    const wrong = scenarios
      .replace('model: theirs', 'model: ours')
      .replace('x-nothing: null', 'x-request-id: /^abc$/')
      .replace('content: Hello,', 'content: Bye,')
      .replace('attempts: 2', 'attempts: 3')
      .replace('sees: { path: /v1/messages }\n', 'sees: { path: /v1/messages, method: PUT }\n')
      .replace('sees: { status: 401 }', 'sees: { status: 200 }\nupstream: [{ sees: { path: /v9/v1/chat/completions }, answers: {} }]')
    // What no scenario can be, also in the gateway that one brings along; and names of nothing.
    const unread = scenarios.replace('status: 503', 'state: 503')
    const unknown = scenarios
      .replace('unreachable: [one]', 'unreachable: [oen]')
      .replace('provider: openai, base: /v9', 'provider: opnai, base: /v9')
      .replace('client: { path', 'client: { key: you, key_in: berer, path')
    // A secret that comes out is found, and not told.
    const leaking = scenarios
      .replace('key: rich', 'key: poor')
      .replace('text: Hello', 'text: secret-of-two')
      .replace('content: Hello,', 'content: <any>,')
    for (const [name, text] of Object.entries({ wrong, unread, unknown, leaking }))
      writeFileSync(join(folder, 'scenarios', `${name}.yaml`), text)
    const bad = await sluice(['test', '--json'], folder)
    expect(bad.code).toBe(1)
    expect(json(bad.out).findings.map(({ file, line, column, rule }) => `${file.slice(10, -5)} ${line}:${column} ${rule}`)).toEqual([
      'leaking 11:3 case/secret',
      `leaking 48:${column(leaking, 48, '{ sees')} case/different`,
      `leaking 49:${column(leaking, 49, '200')} case/different`,
      `unknown 3:${column(unknown, 3, 'you')} names/key`,
      `unknown 3:${column(unknown, 3, 'berer')} names/credential`,
      `unknown 17:${column(unknown, 17, 'oen')} names/upstream`,
      `unknown 36:${column(unknown, 36, 'opnai')} names/provider`,
      `unread 6:${column(unread, 6, 'state')} grammar/unknown-key`,
      `wrong 5:${column(wrong, 5, 'ours')} case/different`,
      `wrong 12:${column(wrong, 12, '/^abc')} case/different`,
      `wrong 13:${column(wrong, 13, 'Bye')} case/different`,
      `wrong 14:${column(wrong, 14, '3,')} case/different`,
      `wrong 20:${column(wrong, 20, 'PUT')} case/different`,
      `wrong 39:${column(wrong, 39, '200')} case/different`,
      `wrong 40:${column(wrong, 40, '{ sees')} case/different`,
    ])
  })

  test('run the built-in cases with --all, without a checkout', async () => {
    const { code, out } = await sluice(['test', '--all', '--mapping', 'rerank-to-jina_rerank'], folderOf())
    expect(code).toBe(0)
    expect(out).toMatch(/^ok\s+rerank-to-jina_rerank: \d+ cases$/m)
  })
})

test('the blocks of docs/commands.md run one after the other in one folder', async () => {
  const folder = folderOf({ 'bin/sluice': `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n` })
  chmodSync(join(folder, 'bin', 'sluice'), 0o755)
  // The port of the page may be in use on this machine.
  const page = readFileSync(join(root, 'docs', 'commands.md'), 'utf8').replaceAll(/\b8097\b/g, String(await freePort()))
  const blocks: string[] = []
  for (const { language, path, text } of blocksOf(page)) {
    if (path !== undefined) writeBlock(folder, path, text)
    else if (language === 'bash') blocks.push(text)
  }
  expect(blocks.length).toBeGreaterThan(5)
  for (const block of blocks) {
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    expect(() => execFileSync('bash', ['-e', '-o', 'pipefail', '-c', block], { cwd: folder, env, stdio: 'pipe' }), block).not.toThrow()
  }
})
