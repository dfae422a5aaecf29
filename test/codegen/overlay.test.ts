// An operator's own folders over the built-in ones: they add, and replace only with `replaces: true`.

import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pino from 'pino'
import { describe, expect, test } from 'vitest'
import type * as GatewayModule from '../../cli/gateway.js'
import type * as PrepareModule from '../../cli/prepare.js'
import { type Finding, type Fixture, fixture, root, temporary, withDialects } from './fixture.js'

const { run } = (await import(pathToFileURL(join(root, 'dist/cli/gateway.js')).href)) as typeof GatewayModule
const { prepare } = (await import(pathToFileURL(join(root, 'dist/cli/prepare.js')).href)) as typeof PrepareModule

const PROVIDER = 'title: Mine\nbase: http://example.com\ncredential: { header: x-key }\nspeaks: { tiny: /tiny }\n'
const ROUTE = 'name: mine\nmethod: GET\npath: /mine\nauth: []\ndialect: chat\nanswer: \'{ "a": 1 }\'\n'
const MAPPING = 'title: Mine\nrequest: \'{ "model": $ctx.model, "text": text }\'\n'

/** Small built-in data with one of everything, and an empty folder to lay over it. */
function layers(): { base: Fixture; own: Fixture } {
  const base = withDialects(fixture('small'))
  base.write('providers/mine.yaml', PROVIDER)
  base.write('routes/mine.yaml', ROUTE)
  base.write('mappings/tiny-to-typed/mapping.yaml', MAPPING)
  base.write('mappings/library.yaml', "functions:\n  shared: 'function($x) { $x }'\n")
  base.write('mappings/library/part.yaml', "functions:\n  other: 'function($x) { $x }'\n")
  return { base, own: fixture('empty') }
}

interface Overlaid {
  name: string
  write(own: Fixture): void
  finds: Partial<Finding>[]
}

const EXISTS: Overlaid[] = [
  {
    name: 'a provider',
    write: own => own.write('providers/mine.yaml', `◆${PROVIDER}`),
    finds: [
      {
        rule: 'overlay/exists',
        detail: 'mine already exists (providers/mine.yaml)',
        remedy: 'choose another name, or add `replaces: true`',
      },
    ],
  },
  {
    name: 'a mapping',
    write: own => own.write('mappings/tiny-to-typed/mapping.yaml', `# Mine.\n◆${MAPPING}`),
    finds: [{ rule: 'overlay/exists', detail: 'tiny-to-typed already exists (mappings/tiny-to-typed/mapping.yaml)' }],
  },
  {
    name: 'a format',
    write: own => own.write('schemas/tiny/format.yaml', '◆title: Mine\nresponse: json\nerror: chat\n'),
    finds: [{ rule: 'overlay/exists', detail: 'tiny already exists (schemas/tiny/format.yaml)' }],
  },
  {
    name: 'a route',
    write: own => own.write('routes/other.yaml', `${ROUTE.replace('mine', '◆mine').replace('/mine', '/other')}`),
    finds: [
      {
        rule: 'route/name',
        detail: 'a route named mine already exists (routes/mine.yaml)',
        remedy: 'choose another name, or add `replaces: true`',
      },
    ],
  },
  {
    name: 'a path',
    write: own => own.write('routes/other.yaml', ROUTE.replace('mine', 'other').replace('/mine', '◆/mine')),
    finds: [{ rule: 'route/path', detail: 'GET /mine is already served by mine (routes/mine.yaml)' }],
  },
  // Schemas, functions and key locations have no `replaces`, so they are never replaced.
  { name: 'a schema of a built-in dialect', write: own => own.write('schemas/tiny/request.yaml', '◆type: object\n'), finds: [{}] },
  {
    name: 'a function of the library',
    write: own => own.write('mappings/library.yaml', "functions:\n  shared: ◆'function($x) { 1 }'\n"),
    finds: [{}],
  },
  {
    name: 'a part of the library',
    write: own => own.write('mappings/library/part.yaml', "◆functions:\n  other: 'function($x) { 1 }'\n"),
    finds: [{}],
  },
  {
    name: 'a location of a key',
    write: own => own.write('routes/_credentials.yaml', 'key_locations:\n  bearer: ◆{ header: x-mine }\n'),
    finds: [{}],
  },
]

describe('a name that exists', () => {
  for (const { name, write, finds } of EXISTS) {
    test(`${name} is not replaced without \`replaces\``, () => {
      const { base, own } = layers()
      write(own)
      const found = base.findings(own).map(item => ({ ...item, detail: item.detail.replaceAll(`${base.folder}/`, '') }))
      const at = (position: string): string => position.replace(/:\d+$/, '')
      expect(found.map(({ position }) => at(position))).toEqual(own.marks.map(at))
      expect(found).toMatchObject(finds)
    })
  }

  const REPLACED: [
    name: string,
    write: (own: Fixture) => void,
    seen: (plan: Awaited<ReturnType<Fixture['plan']>>) => unknown,
    value: unknown,
  ][] = [
    [
      'a provider',
      own => own.write('providers/mine.yaml', `${PROVIDER.replace('example.com', 'example.org')}replaces: true\n`),
      plan => plan.providers.mine?.base,
      'http://example.org',
    ],
    [
      'a route, at its old position',
      own => own.write('routes/mine.yaml', `${ROUTE.replace('"a": 1', '"a": 2')}replaces: true\n`),
      plan => plan.routes.filter(({ name }) => name === 'mine').map(route => route.answer?.({ models: [], query: {}, path: {}, now: 0 })),
      [{ a: 2 }],
    ],
    [
      'a mapping',
      own => own.write('mappings/tiny-to-typed/mapping.yaml', `${MAPPING.replace('text }', 'text & "!" }')}replaces: true\n`),
      plan => plan.mappings['tiny-to-typed']?.request?.({ text: 'a' }, { model: 'm' } as never, undefined),
      { model: 'm', text: 'a!' },
    ],
    [
      'a dialect, with its schemas',
      own => {
        own.write('schemas/tiny/format.yaml', 'title: Mine\nresponse: json\nreplaces: true\nerror: chat\n')
        own.write('schemas/tiny/request.yaml', 'type: object\nrequired: [text]\nproperties: { model: {}, text: {} }\n')
      },
      plan => [plan.dialects.tiny?.stream, plan.dialects.tiny?.validateRequest?.({ model: 'm' })],
      [undefined, false],
    ],
  ]
  for (const [name, write, seen, value] of REPLACED) {
    test(`${name} is replaced with \`replaces\``, async () => {
      const { base, own } = layers()
      write(own)
      expect(seen(await base.plan(own))).toEqual(value)
    })
  }
})

describe('an overlay', () => {
  test('adds functions and key locations to the built-in ones', async () => {
    const { base, own } = layers()
    own.write('mappings/library.yaml', 'functions:\n  louder: \'function($x) { $shared($x) & "!" }\'\n')
    own.write('routes/_credentials.yaml', 'key_locations:\n  mine: { header: x-mine }\n')
    own.write('mappings/tiny-to-plain/mapping.yaml', MAPPING.replace('text }', '$louder(text) }'))
    own.write('routes/own.yaml', 'name: own\nmethod: POST\npath: /own\nauth: [mine, bearer]\ndialect: tiny\n')
    const plan = await base.plan(own)
    expect(plan.mappings['tiny-to-plain']?.request?.({ text: 'a' }, { model: 'm' } as never, undefined)).toEqual({ model: 'm', text: 'a!' })
    expect(plan.keyLocations).toMatchObject({ bearer: { header: 'authorization' }, mine: { header: 'x-mine' } })
  })

  test('extends a built-in provider under the same name and under another', async () => {
    const { base, own } = layers()
    own.write('providers/mine.yaml', 'extends: mine\nheaders: { x-a: one }\nspeaks: { typed: /typed }\n')
    own.write(
      'providers/also.yaml',
      'extends: mine\ntitle: Also\nheaders: { x-b: two }\nspeaks: { tiny: { path: /other, drop: [text] } }\n',
    )
    const { mine, also } = (await base.plan(own)).providers
    expect(mine).toMatchObject({ base: 'http://example.com', credential: { header: 'x-key' }, headers: { 'x-a': 'one' } })
    expect(Object.entries(mine?.speaks ?? {}).map(([name, { path }]) => [name, path])).toEqual([
      ['tiny', '/tiny'],
      ['typed', '/typed'],
    ])
    expect(also).toMatchObject({ base: 'http://example.com', title: 'Also', headers: { 'x-a': 'one', 'x-b': 'two' } })
    expect(also?.speaks).toMatchObject({ tiny: { path: '/other', drop: ['text'] }, typed: { path: '/typed' } })
  })

  test.each([
    ['an unknown provider', { mine2: 'extends: ◆nobody\n' }, 'there is no provider nobody to extend'],
    ['itself, if there is no built-in provider of that name', { alone: 'extends: ◆alone\n' }, 'there is no provider alone to extend'],
    ['a provider that extends it', { a1: 'extends: b1\n', b1: 'extends: ◆a1\n' }, 'a1 extends this provider'],
  ])('has no provider that extends %s', (_, files, detail) => {
    const { base, own } = layers()
    for (const [name, text] of Object.entries(files)) own.write(`providers/${name}.yaml`, text)
    expect(base.findings(own)).toContainEqual(expect.objectContaining({ position: own.marks[0], rule: 'provider/extends', detail }))
  })

  test('reports a wrong file by its own path', () => {
    const { base, own } = layers()
    own.write('routes/own.yaml', 'name: own\nmethod: GET\npath: /own\nauth: []\ndialect: ◆none\nanswer: "1"\n')
    expect(base.findings(own)).toMatchObject([{ position: own.marks[0], rule: 'names/dialect' }])
  })

  test('beside gateway.yaml adds a provider, a dialect, a route and a mapping', async () => {
    const upstream = createServer((req, res) => {
      const pieces: Buffer[] = []
      req.on('data', piece => pieces.push(piece))
      req.on('end', () => {
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ said: JSON.parse(Buffer.concat(pieces).toString()), path: req.url, key: req.headers['x-own-key'] }))
      })
    })
    await new Promise<void>(done => upstream.listen(0, '127.0.0.1', done))
    const folder = temporary()
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    write('schemas/own/format.yaml', 'title: Own\nresponse: json\nerror: chat\n')
    write(
      'schemas/own/request.yaml',
      'type: object\nrequired: [model, say]\nproperties: { model: { type: string }, say: { type: string } }\n',
    )
    write('schemas/theirs/format.yaml', 'title: Theirs\nresponse: json\nerror: chat\n')
    write(
      'mappings/own-to-theirs/mapping.yaml',
      'title: Own on theirs\nrequest: \'{ "name": $ctx.model, "words": [$split(say, " ")] }\'\nresponse: \'{ "heard": said.words, "path": path, "key": key }\'\n',
    )
    write(
      'providers/theirs.yaml',
      "title: Theirs\nbase: http://example.com\ncredential: { header: x-own-key }\nspeaks: { theirs: '/speak/{model}' }\n",
    )
    write('routes/own.yaml', 'name: own\nmethod: POST\npath: /own\nauth: [bearer]\ndialect: own\n')
    write(
      'gateway.yaml',
      `listen: 127.0.0.1:0\nkeys: [{ name: me, value: my-key }]\nlog: { level: silent }\ngrace: 0s\nupstreams:\n  u: { provider: theirs, secret: s, base: 'http://127.0.0.1:${(upstream.address() as AddressInfo).port}' }\n  o: { provider: openai, secret: s, models: [gpt-x] }\nmodels:\n  m: { targets: [{ upstream: u, model: big }] }\n`,
    )
    const config = join(folder, 'gateway.yaml')
    const { settings, snapshot } = await prepare(config)
    const gateway = await run({ settings, snapshot, log: pino({ level: 'silent' }), isShared: false })
    try {
      const ask = async (path: string, body?: object): Promise<[number, unknown]> => {
        const answer = await fetch(gateway.url + path, {
          ...(body && { method: 'POST', body: JSON.stringify(body) }),
          headers: { authorization: 'Bearer my-key', 'content-type': 'application/json' },
        })
        return [answer.status, await answer.json()]
      }
      expect(await ask('/own', { model: 'm', say: 'one two' })).toEqual([200, { heard: ['one', 'two'], path: '/speak/big', key: 's' }])
      expect(await ask('/own', { model: 'm' })).toMatchObject([400, { error: { param: 'say' } }])
      expect(await ask('/own', { model: 'gpt-x', say: 'a' })).toMatchObject([404, { error: { code: 'model_not_supported' } }])
      // What is built in is there as before.
      expect(await ask('/v1/models/gpt-x')).toMatchObject([200, { id: 'gpt-x' }])
      expect(await ask('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] })).toMatchObject([
        404,
        { error: { param: 'model' } },
      ])
    } finally {
      await gateway.close()
      upstream.close()
    }
  })
})
