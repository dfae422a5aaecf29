// Keys of the store, from the command line and the admin API to the request that uses them.

import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Instance, type Stage, until } from './stage.js'
import { onPostgres, openStore } from './stores.js'

let stage: Stage
let gateway: Instance
beforeAll(async () => {
  stage = await createStage()
  gateway = await stage.start({
    log: { access: true },
    labels: { end_user: 'x-user', session: 'x-session', tags: 'x-tags' },
  })
})
afterAll(() => stage?.close())

const make = async (name: string, fields: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name, ...fields })
  expect(status).toBe(201)
  return body.secret
}
const messageOf = async (response: Response): Promise<string> => ((await response.json()) as { error: { message: string } }).error.message

const API = load(readFileSync(join(import.meta.dirname, '..', '..', 'control', 'admin', 'api.yaml'), 'utf8')) as {
  components: { schemas: Record<string, { title?: string } | undefined> }
}
const titleIn = (schema: string): string => API.components.schemas[schema]?.title ?? '(none)'

const WRONG: [string, string, unknown, number, string, string?][] = [
  ['POST', '/keys', {}, 422, 'The body lacks name.', 'name'],
  ['POST', '/keys', { name: 'x', bogus: 1 }, 422, 'The body may not have bogus.', 'bogus'],
  ['POST', '/keys', { name: 'x', tags: 'much' }, 422, 'In the body, tags must be array.', 'tags'],
  ['POST', '/keys', { name: 'x', expires_at: 1e300 }, 422, 'In the body, expires_at must be 8640000000000000 or less.', 'expires_at'],
  ['POST', '/keys', { name: 'key_0123456789ab' }, 422, 'key_0123456789ab has the form of an id: choose another name.', 'name'],
  ['POST', '/teams', { name: 'team_0123456789ab' }, 422, 'team_0123456789ab has the form of an id: choose another name.', 'name'],
  ['GET', '/keys/%00', undefined, 422, 'In the path, name has the character U+0000, which no store holds.', 'name'],
  ['GET', '/exchanges?key=%00', undefined, 422, 'In the query, key has the character U+0000, which no store holds.', 'key'],
  ['POST', '/teams', { name: 'x', note: 'a\0b' }, 422, 'In the body, note has the character U+0000, which no store holds.', 'note'],
  ['GET', '/audit?before=99999999999999999999', undefined, 422, 'In the query, before must be 2147483647 or less.', 'before'],
  ['GET', '/audit?before=2147483648', undefined, 422, 'In the query, before must be 2147483647 or less.', 'before'],
  [
    'POST',
    '/teams',
    { name: 'x', note: JSON.parse('['.repeat(3_500) + ']'.repeat(3_500)) },
    422,
    'In the body, note must be string or null.',
    'note',
  ],
  ['POST', '/teams', { name: 'x', note: 'a'.repeat(1_001) }, 422, 'In the body, note must have 1000 or fewer characters.', 'note'],
  ['POST', '/keys', { name: 'x', groups: ['a', 'a'] }, 422, 'In the body, groups must have each item once.', 'groups'],
  ['POST', '/keys/import', { keys: [] }, 422, 'In the body, keys must have 1 or more items.', 'keys'],
  ['PATCH', '/keys/x', {}, 422, 'The body must have a member.', ''],
  ['GET', '/ledger/export?format=xls', undefined, 422, 'In the query, format must be one of csv, ndjson, focus.', 'format'],
  ['GET', '/ledger/verify?from=0', undefined, 422, 'The query may not have from.', 'from'],
  ['GET', '/nothing/%00', undefined, 404, 'This operation does not exist; GET /admin/v1/openapi.json lists all operations.'],
  ['GET', '/exchanges?limit=-1', undefined, 422, 'In the query, limit must be 1 or more.', 'limit'],
  ['GET', '/exchanges/nothing', undefined, 422, `In the path, id must be ${titleIn('ExchangeId')}.`, 'id'],
  ['GET', '/usage?by=foo', undefined, 422, expect.stringMatching(/^In the query, by must be one or more of key, model, .*\.$/), 'by'],
  ['POST', '/keys', { name: 'bad name' }, 422, `In the body, name must be ${titleIn('Name')}.`, 'name'],
  ['POST', '/keys', { name: 'x', limits: { requests: ['60'] } }, 422, expect.stringMatching(/such as 60\/1m/), 'limits.requests.0'],
  [
    'POST',
    '/keys',
    { name: 'x', budgets: [{ limit: '1/fortnight' }] },
    422,
    expect.stringMatching(/hour, day, week, month or ever/),
    'budgets.0.limit',
  ],
  ['GET', '/exchanges/%E0%A4%A', undefined, 400, "'/admin/v1/exchanges/%E0%A4%A' is not a valid url component"],
  ['PATCH', '/keys', undefined, 405, '/admin/v1/keys does not take PATCH.'],
  ['GET', '/keys/x/rotate?now=1', undefined, 405, '/admin/v1/keys/x/rotate does not take GET.'],
  ['GET', '/nothing', undefined, 404, 'This operation does not exist; GET /admin/v1/openapi.json lists all operations.'],
]

const CODES: Readonly<Record<number, string>> = { 404: 'not_found', 405: 'method_not_allowed' }

async function expectRefusals(asked: Instance): Promise<void> {
  for (const [method, path, sent, status, title, field] of WRONG) {
    const { status: told, body } = await asked.admin(method, path, sent)
    expect([path, told, body]).toEqual([
      path,
      status,
      { type: 'about:blank', status, title, code: CODES[status] ?? 'invalid', ...(field !== undefined && { field }) },
    ])
  }
}

test('each operation of the admin API tells the form of its errors, and whether it needs a token', () => {
  const { paths, security, components } = API as unknown as {
    paths: Record<string, Record<string, { operationId: string; security?: object[]; responses: Record<string, unknown> }>>
    security: object[]
    components: { securitySchemes: object }
  }
  const operations = Object.values(paths).flatMap(methods => Object.values(methods))
  const silent = operations.filter(({ responses }) => responses.default === undefined).map(({ operationId }) => operationId)
  expect(silent).toEqual([])
  expect(security).toEqual(Object.keys(components.securitySchemes).map(name => ({ [name]: [] })))
  expect(operations.filter(one => one.security !== undefined).map(({ operationId }) => operationId)).toEqual(['tokens.first'])
})

test('each pattern of the admin API is told in words, too', () => {
  const untold: string[] = []
  let count = 0
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { pattern, title } = value as { pattern?: unknown; title?: unknown }
    if (typeof pattern === 'string') count++
    if (typeof pattern === 'string' && typeof title !== 'string') untold.push(pattern)
    Object.values(value).forEach(visit)
  }
  visit(API)
  expect(count).toBeGreaterThan(10)
  expect(untold).toEqual([])
})

test('a wrong request to the admin API is a problem that names its field', () => expectRefusals(gateway))

onPostgres('on Postgres', postgres => {
  test('a wrong request is the same problem, and the largest numbers are none', async () => {
    const own = await stage.start({ store: await postgres().database() })
    await expectRefusals(own)
    for (const path of ['/audit?before=2147483647', '/exchanges?from=0&to=8640000000000000', '/usage?by=key&from=8640000000000000'])
      expect([path, (await own.admin('GET', path)).status]).toEqual([path, 200])
  })
})

test.each([
  ['keys', 'key'],
  ['teams', 'team'],
])('of %s, the id goes before an older name of the same form, in each operation', async (all, prefix) => {
  const made = async (name: string): Promise<string> => {
    const { status, body } = await gateway.admin<{ id: string; key?: { id: string } }>('POST', `/${all}`, { name })
    expect([name, status]).toEqual([name, 201])
    return body.key?.id ?? body.id
  }
  // Only the form of an id of its own kind is refused.
  await made(`${prefix}s_notification`)
  const [id, old] = [await made('the-one'), await made('the-old')]
  // So it could be named before that was refused.
  const store = await openStore({ at: join(gateway.folder, 'data', 'sluice.sqlite'), mayMigrate: false })
  const table = prefix as 'key' | 'team'
  await store.db.updateTable(table).set({ name: id }).where('public_id', '=', old).execute()
  await store.close()
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['PATCH', '', { state: 'disabled' }],
    ...(all === 'keys' ? [['POST', '/revoke', {}] as const] : []),
  ] as const) {
    expect((await gateway.admin(method, `/${all}/${id}${path}`, body)).body).toMatchObject({ id, name: 'the-one' })
    expect((await gateway.admin(method, `/${all}/the-one${path}`, body)).body).toMatchObject({ id, name: 'the-one' })
  }
  expect((await gateway.admin('GET', `/${all}/${old}`)).body).toMatchObject({ id: old, name: id, state: 'active' })
  await gateway.admin('PATCH', `/${all}/${old}`, { state: 'disabled' })
  const { entries } = (await gateway.admin<{ entries: { operation: string; subject: string }[] }>('GET', '/audit?limit=1')).body
  expect(entries).toMatchObject([{ operation: `${all}.set`, subject: old, after: { id: old } }])
})

test('a key and a token whose time is over are listed as expired', async () => {
  await make('over', { expires_at: 1_000 })
  await gateway.admin('POST', '/tokens', { name: 'over', role: 'auditor', expires_at: 1_000 })
  await gateway.admin('POST', '/tokens', { name: 'on', role: 'auditor', expires_at: Date.now() + 86_400_000 })
  expect((await gateway.command('keys', 'list')).out).toMatch(/^over +expired .* \d{4}-\d\d-\d\dT\d\d:\d\dZ /m)
  const { out } = await gateway.command('token', 'list')
  expect(out).toMatch(/^over +auditor +expired /m)
  expect(out).toMatch(/^on +auditor +active /m)
})

test('a command that cannot be done says why in a sentence', async () => {
  writeFileSync(join(gateway.folder, 'wrong.json'), '[{')
  const wrong: [string[], number, RegExp][] = [
    [['keys', 'import', 'csv', 'nothing.csv'], 64, /^The file nothing\.csv does not exist\.$/],
    [['keys', 'import', 'csv', '.'], 64, /^The file \. cannot be read: EISDIR\.$/],
    [['keys', 'import', 'csv', 'wrong.json'], 1, /^The file is no JSON list: .*$/],
    [['keys', 'import', 'other', 'wrong.json'], 64, /Allowed choices are litellm, new-api, csv/],
    [['keys', 'create', 'late', '--expires', '2020-01-01'], 64, /^2020-01-01 is over: write a later time\.$/],
    [['keys', 'create', 'late', '--expires', '2027-02-31'], 64, /^2027-02-31 is not a date: .*$/],
    [['keys', 'create', 'late', '--expires', '5'], 64, /^5 is not a date: .*$/],
    [['keys', 'create', 'late', '--expires', '99999999999d'], 64, /is not a date: .*$/],
    [['keys', 'create', 'late', '--expires', ''], 64, /^'' is not a date: .*$/],
    [['keys', 'create', 'bad name'], 1, /^In the body, name must be 1 to 128 letters, [^^]*$/],
    [['keys', 'create', 'late', '--budget', '1/fortnight'], 1, /^In the body, budgets\.0\.limit must be an amount and a window, [^^]*$/],
    [['keys', 'create', 'late', '--limit', 'requests:60'], 1, /^In the body, limits\.requests\.0 must be an amount and a time, [^^]*$/],
    [['usage', '--by', 'foo'], 1, /^In the query, by must be one or more of key, [^^]*$/],
    [['keys', 'create', 'file'], 1, /^gateway\.yaml has a key named file, so .*$/],
    [['keys', 'create', 'late', '--limit', 'requests'], 64, /^requests is not a limit: .*$/],
    [['keys', 'set', 'late', '--disable', '--enable'], 64, /cannot be used with option/],
    [['keys', 'rotate', 'late', '--grace', 'long'], 64, /^long is not a time: .*$/],
    [['token', 'create', 'late', '--role', 'owner', '--expires', '2020-01-01'], 64, /^2020-01-01 is over: write a later time\.$/],
    [['usage', '--since', '1'], 64, /^1 is not a time: .*$/],
    [['usage', '--since', '99999999d'], 64, /^99999999d is not a time: .*$/],
    [['ledger', 'reconcile', 'wrong.json', '--tolerance', 'much'], 64, /^--tolerance must be a number of 0 or more, not much\.$/],
    [['keys', 'set', 'x'], 64, /^Name what to change: .*$/],
    [['teams', 'set', 'x'], 64, /^Name what to change: .*$/],
    [['keys', 'list', '--url', 'garbage'], 64, /^garbage is no URL: .*$/],
    [['keys', 'list', '--url', 'ftp://gateway.example.com'], 64, /^ftp:\/\/gateway\.example\.com is no URL: .*$/],
    [['ledger', 'reconcile', '.'], 64, /^The file \. cannot be read: EISDIR\.$/],
  ]
  process.env.SLUICE_ADMIN_TOKEN = 'slt_token'
  for (const [words, exit, said] of wrong) {
    const { code, err } = await gateway.command(...words)
    expect([words, code, err]).toEqual([words, exit, expect.stringMatching(said)])
  }
  process.env.SLUICE_ADMIN_TOKEN = 'two\nlines'
  expect((await gateway.command('keys', 'list', '--url', gateway.url)).err).toMatch(/^The variable SLUICE_ADMIN_TOKEN is no token: /)
  delete process.env.SLUICE_ADMIN_TOKEN
})

test('what is no answer of the admin API, or only its beginning, is told in a sentence', async () => {
  const other = createServer((request, response) => {
    if (request.url?.startsWith('/admin/v1/keys')) return response.end('<html></html>')
    response.writeHead(200, { 'content-length': 100 })
    response.write('{', () => response.destroy())
  })
  await new Promise<void>(done => other.listen(0, '::1', done))
  const url = `http://[::1]:${(other.address() as AddressInfo).port}`
  process.env.SLUICE_ADMIN_TOKEN = 'sk-adm_x'
  const over = 'The connection ended before the whole answer was there: run the command again.'
  for (const [words, said] of [
    [['keys', 'list'], `${url} answered, but not as an admin API: check the address.`],
    [['teams', 'list'], over],
    [['audit', 'list'], over],
    [['ledger', 'export'], over],
  ] as const)
    expect([words, await gateway.command(...words, '--url', url)]).toMatchObject([words, { code: 1, err: said }])
  delete process.env.SLUICE_ADMIN_TOKEN
  await new Promise(done => other.close(done))
})

describe('a key', () => {
  test('is made by the command without any setup, is shown once, and is accepted', async () => {
    const made = await gateway.command('keys', 'create', 'demo', '--team', 'red')
    expect(made.err).toBe('')
    expect(made.out).toMatch(/^sk-slc_[0-9A-Za-z]{50}$/)
    expect((await ask(gateway.url, made.out)).status).toBe(200)
    const shown = await gateway.command('keys', 'show', 'demo')
    expect(shown.out).not.toContain(made.out.slice(20, 40))
    expect(JSON.parse(shown.out)).toMatchObject({ name: 'demo', team: 'red', state: 'active', groups: ['default'] })
    expect((await gateway.command('keys', 'create', 'demo')).err).toBe('There is a key named demo.')
  })

  test('is in no file of the store', async () => {
    const secret = await make('hidden')
    await ask(gateway.url, secret)
    await ask(gateway.url, FILE_KEY)
    for (const file of ['sluice.sqlite', 'sluice.sqlite-wal', 'spool.sqlite', 'spool.sqlite-wal']) {
      const bytes = readFileSync(join(gateway.folder, 'data', file))
      expect(bytes.includes(secret.slice(19, 51))).toBe(false)
      expect(bytes.includes(FILE_KEY)).toBe(false)
    }
    expect(gateway.log.join('\n')).not.toContain(secret.slice(19, 51))
  })

  test('and a token of the admin API are in no line, row and file, wherever a client puts them', async () => {
    const key = await make('misplaced')
    const { body } = await gateway.admin<{ secret: string }>('POST', '/tokens', { name: 'misplaced', role: 'auditor' })
    const sent = async (path: string, given: object, headers: Record<string, string>): Promise<string> => {
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${FILE_KEY}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'sim', max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...given }),
      })
      await response.arrayBuffer()
      return response.headers.get('x-request-id') as string
    }
    const ids: string[] = []
    for (const word of [key, body.secret])
      ids.push(
        await sent(`/${word}/x`, {}, {}),
        await sent(`/v1/models/${word}`, {}, {}),
        await sent('/v1/chat/completions', { model: word }, {}),
        await sent('/v1/chat/completions', { user: word }, { 'x-request-id': word }),
        // What is cut may have lost the end of a key.
        await sent('/v1/chat/completions', {}, { 'x-request-id': `${'y'.repeat(90)}${word}` }),
        await sent('/v1/chat/completions', {}, { 'x-user': `${'y'.repeat(220)}${word}`, 'x-session': word, 'x-tags': `a,${word}` }),
        await sent('/v1/messages', { [word]: 1, metadata: { user_id: word } }, {}),
        await sent('/v1/messages', { messages: [{ role: word, content: 'x' }] }, {}),
      )
    const shown = await Promise.all(
      ids.map(id =>
        until(
          () => gateway.admin<unknown>('GET', `/exchanges/${id}`),
          ({ status }) => status === 200,
        ),
      ),
    )
    const told = (): string => gateway.log.join('\n')
    await until(
      async () => ids.filter(id => !told().includes(id)),
      missing => missing.length === 0,
    )
    const files = ['sluice.sqlite', 'sluice.sqlite-wal', 'spool.sqlite', 'spool.sqlite-wal'].map(file =>
      readFileSync(join(gateway.folder, 'data', file), 'latin1'),
    )
    const seen = [told(), JSON.stringify(shown), ...files].join('\n')
    for (const secret of [key.slice(19), body.secret.slice(7)]) expect(seen).not.toContain(secret.slice(0, 6))
    // The id of a key stays, so that the operator knows whose it is.
    expect(told()).toContain(`"path":"/${key.slice(0, 19)}***/x"`)
    expect(told()).toContain('"model":"sk-adm_***"')
    expect(JSON.stringify(shown)).toContain(`"session":"${key.slice(0, 19)}***"`)
  })

  test('of gateway.yaml stays valid beside those of the store', async () => {
    expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
  })

  test('that is invalid gets 401, whatever is wrong with it', async () => {
    const secret = await make('typed')
    for (const wrong of [
      `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`,
      'sk-slc_short',
      'something-else',
      `sk-slc_${'0'.repeat(50)}`,
    ])
      expect((await ask(gateway.url, wrong)).status).toBe(401)
    // One that was unknown a moment ago is known as soon as it is there.
    const imported = 'a-key-of-another-gateway'
    expect((await ask(gateway.url, imported)).status).toBe(401)
    const sha256 = createHash('sha256').update(imported).digest('hex')
    expect((await gateway.admin('POST', '/keys/import', { keys: [{ name: 'moved', sha256 }] })).status).toBe(201)
    expect((await ask(gateway.url, imported)).status).toBe(200)
  })

  test('may use only its groups, models, routes and addresses', async () => {
    const models = await make('by-model', { models: ['sim-2*'] })
    expect((await ask(gateway.url, models)).status).toBe(403)
    expect((await ask(gateway.url, models, 'sim-20-20ms')).status).toBe(200)
    const list = (await (await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${models}` } })).json()) as {
      data: { id: string }[]
    }
    expect(list.data.map(one => one.id)).toEqual(['sim-20-20ms', 'sim-200-20ms'])
    expect((await ask(gateway.url, await make('by-group', { groups: ['other'] }))).status).toBe(403)
    const route = await ask(gateway.url, await make('by-route', { routes: ['models.*'] }))
    expect([route.status, await messageOf(route)]).toEqual([403, 'This API key may not use this route.'])
    const far = await ask(gateway.url, await make('from-far', { ips: ['10.0.0.0/8', '2001:db8::/32'] }))
    expect([far.status, await messageOf(far)]).toEqual([403, 'This API key may not be used from this address.'])
    expect((await ask(gateway.url, await make('from-near', { ips: ['127.0.0.0/8'] }))).status).toBe(200)
    expect((await ask(gateway.url, await make('expired', { expires_at: Date.now() - 1 }))).status).toBe(403)
  })

  test('changes at once, unless another change came first', async () => {
    const secret = await make('changing')
    expect((await ask(gateway.url, secret)).status).toBe(200)
    expect((await gateway.command('keys', 'set', 'changing', '--disable')).code).toBe(0)
    expect((await ask(gateway.url, secret)).status).toBe(403)
    expect((await gateway.command('keys', 'set', 'changing', '--enable', '--model', 'sim-20*')).code).toBe(0)
    expect((await ask(gateway.url, secret)).status).toBe(403)
    expect((await ask(gateway.url, secret, 'sim-20-20ms')).status).toBe(200)
    expect((await gateway.admin('PATCH', '/keys/changing', { models: null }, { 'if-match': '"1"' })).status).toBe(412)
    expect((await gateway.admin('PATCH', '/keys/changing', { models: null }, { 'if-match': '"3"' })).status).toBe(200)
    expect((await ask(gateway.url, secret)).status).toBe(200)
  })

  test('is rotated with a grace period', async () => {
    // One grace is longer than any machine takes for the requests; the end of the other is waited for.
    const rotated = async (name: string, grace_ms: number): Promise<[old: string, next: string]> => {
      const old = await make(name)
      expect((await ask(gateway.url, old)).status).toBe(200)
      return [old, (await gateway.admin<{ secret: string }>('POST', `/keys/${name}/rotate`, { grace_ms })).body.secret]
    }
    const [old, next] = await rotated('turning', 3_600_000)
    expect([(await ask(gateway.url, next)).status, (await ask(gateway.url, old)).status]).toEqual([200, 200])
    const [ended, other] = await rotated('turned', 200)
    const refused = await until(
      () => ask(gateway.url, ended),
      ({ status }) => status !== 200,
    )
    expect([refused.status, (await ask(gateway.url, other)).status]).toEqual([403, 200])
  })

  test('that is revoked is refused at once, and with --now its streams end with the error of their dialect', async () => {
    const [kept, ended] = [await make('kept'), await make('ended')]
    // The second one is longer than two commands take on a busy machine.
    const streams = await Promise.all([
      ask(gateway.url, kept, 'sim-200-20ms', { stream: true }),
      ask(gateway.url, ended, 'sim-5000-20ms', { stream: true }),
    ])
    expect((await gateway.command('keys', 'revoke', 'kept')).code).toBe(0)
    expect((await ask(gateway.url, kept)).status).toBe(403)
    expect((await gateway.command('keys', 'revoke', 'ended', '--now')).code).toBe(0)
    const [whole, broken] = await Promise.all(streams.map(stream => stream.text()))
    expect(whole?.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(broken).toContain('This API key has been revoked.')
    expect(broken).not.toContain('[DONE]')
    expect((await gateway.admin('PATCH', '/keys/kept', { state: 'active' })).status).toBe(409)
  })
})

test('a key of the store with the name of one in the file may not be used: it would have its budgets and kept answers', async () => {
  const response = await ask(gateway.url, await make('file', { budgets: [{ limit: '1000/day' }] }))
  expect([response.status, await messageOf(response)]).toEqual([
    403,
    "Another API key has the name 'file' in the configuration, so this one may not be used.",
  ])
  expect((await ask(gateway.url, FILE_KEY)).status).toBe(200)
})

test('a key may have its own limits, which replace `key_limits` and change at once', async () => {
  const limited = await stage.start({ key_limits: { requests: '100/1h' } })
  const made = await limited.command('keys', 'create', 'limited', '--limit', 'requests:2/1h', 'in_flight:4')
  expect(made.err).toBe('')
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await ask(limited.url, made.out)).status)
  expect(statuses).toEqual([200, 200, 429])
  const shown = (): Promise<{ limits: { of: string; counts: string; limit: number }[] }> =>
    fetch(`${limited.url}/v1/key`, { headers: { authorization: `Bearer ${made.out}` } }).then(response => response.json()) as never
  expect((await shown()).limits.map(one => [one.of, one.counts, one.limit])).toEqual([
    ['this API key', 'requests', 2],
    ['this API key', 'in_flight', 4],
  ])
  expect(JSON.parse((await limited.command('keys', 'show', 'limited')).out).limits).toEqual({ requests: ['2/1h'], in_flight: 4 })
  expect((await limited.command('keys', 'set', 'limited', '--limit', 'none')).code).toBe(0)
  expect((await ask(limited.url, made.out)).status).toBe(200)
  expect((await shown()).limits.map(one => [one.counts, one.limit])).toEqual([['requests', 100]])
  const twice = await limited.admin<{ field: string }>('PATCH', '/keys/limited', { limits: { requests: ['1/1h', '2/60m'] } })
  expect([twice.status, twice.body.field]).toEqual([422, 'limits'])
  await limited.stop()
})

test('a key counts in the limits of its groups', async () => {
  const limited = await stage.start({ groups: { few: { limits: { requests: '2/1h' } } } })
  const { body } = await limited.admin<{ secret: string }>('POST', '/keys', { name: 'one-of-few', groups: ['default', 'few'] })
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await ask(limited.url, body.secret)).status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await ask(limited.url, FILE_KEY)).status).toBe(200)
  await limited.stop()
})

test('the store knows a little later when a key was last used', async () => {
  const before = Date.now()
  await ask(gateway.url, await make('used'))
  const shown = async (): Promise<number | null> =>
    (await gateway.admin<{ last_used_at: number | null }>('GET', '/keys/used')).body.last_used_at
  expect(await until(shown, at => at !== null)).toBeGreaterThanOrEqual(before)
})

test('keys of other gateways are imported from their dumps', async () => {
  const [first, second, third] = ['sk-litellm-key-0001', 'n'.repeat(48), 'sk-own-0003']
  const sha256 = createHash('sha256').update(first).digest('hex')
  const dumps: [string, string][] = [
    [
      'litellm',
      JSON.stringify([
        {
          token: sha256,
          key_name: 'sk-...0001',
          key_alias: 'prod key',
          models: ['sim'],
          expires: null,
          team_id: 'core',
          blocked: false,
          rpm_limit: 60,
          tpm_limit: null,
        },
      ]),
    ],
    [
      'new-api',
      `id,key,status,name,expired_time,model_limits_enabled,model_limits,allow_ips,group,deleted_at\n1,${second},1,prod key,-1,t,"sim,sim-20-20ms",,default,\n`,
    ],
    ['csv', `name,key,team\nthird,${third},blue\n`],
  ]
  for (const [source, text] of dumps) {
    const file = join(gateway.folder, `dump-${source}`)
    writeFileSync(file, source === 'new-api' ? text.replace('prod key', 'other key') : text)
    const { out, err } = await gateway.command('keys', 'import', source, file)
    expect([out, err]).toEqual(['1 keys', ''])
  }
  for (const key of [first, `sk-${second}`, third]) expect((await ask(gateway.url, key)).status).toBe(200)
  expect((await ask(gateway.url, first, 'sim-20-20ms')).status).toBe(403)
  expect(JSON.parse((await gateway.command('keys', 'show', 'prod-key')).out)).toMatchObject({
    team: 'core',
    models: ['sim'],
    limits: { requests: ['60/1m'] },
  })
})

test('a dump that has a key twice, or one that there is, names both', async () => {
  const file = join(gateway.folder, 'twice.csv')
  writeFileSync(file, 'name,key\nonce,sk-twice-0001\ntwice,sk-twice-0001\n')
  expect((await gateway.command('keys', 'import', 'csv', file)).err).toBe('The key of twice is already that of once.')
  // All of them or none.
  expect((await gateway.admin('GET', '/keys/once')).status).toBe(404)
})

describe('the admin API', () => {
  test('reports errors in a request, by field', async () => {
    const { status, body } = await gateway.admin<{ code: string; field: string }>('POST', '/keys', { name: 'x', ip: ['1.2.3.4'] })
    expect([status, body.code, body.field]).toEqual([422, 'invalid', 'ip'])
    expect((await gateway.admin<{ field: string }>('POST', '/keys', { name: 'x', ips: ['1.2.3.4/99'] })).body.field).toBe('ips')
    expect((await gateway.admin('GET', '/usage?by=nothing')).status).toBe(422)
    expect((await gateway.admin('GET', '/usage?modle=x')).status).toBe(422)
    expect((await gateway.admin('GET', '/keys/nobody')).status).toBe(404)
    expect((await gateway.admin('GET', '/nowhere')).status).toBe(404)
  })

  test('writes every change into an audit log, without a secret', async () => {
    const secret = await make('audited')
    await gateway.admin('PATCH', '/keys/audited', { team: 'green' })
    const { body } = await gateway.admin<{
      entries: { operation: string; actor: string; before: { team: null }; after: { team: string } }[]
    }>('GET', '/audit?limit=2')
    expect(body.entries.map(one => [one.operation, one.actor])).toEqual([
      ['keys.set', 'owner'],
      ['keys.create', 'owner'],
    ])
    expect([body.entries[0]?.before.team, body.entries[0]?.after.team]).toEqual([null, 'green'])
    expect(JSON.stringify(body)).not.toContain(secret.slice(19, 51))
    const { out } = await gateway.command('audit', 'verify')
    expect(out).toMatch(/^\d+ entries, none changed; the head is \d+:[0-9a-f]{64}$/)
    const head = out.split(' ').at(-1) as string
    // The log has the head of each write, with which entries that were removed at the end are found.
    await until(
      async () => gateway.log.filter(line => line.includes(`"head":"${head}"`)).length,
      lines => lines === 1,
    )
    expect((await gateway.command('audit', 'verify', '--head', head)).code).toBe(0)
    const other = await gateway.command(
      'audit',
      'verify',
      '--head',
      head.replace(/:./, character => (character === ':0' ? ':1' : ':0')),
    )
    expect([other.code, other.out]).toEqual([1, `entry ${head.split(':')[0]} is not what was written`])
  })

  test('print with --json one object: ok, findings, and what the admin API answers', async () => {
    await gateway.admin('POST', '/teams', { name: 'shown' })
    await gateway.admin('POST', '/keys', { name: 'shown', team: 'shown', budgets: [{ limit: '1/day' }] })
    const answers: [words: string, path: string][] = [
      ['keys list', '/keys'],
      ['keys show shown', '/keys/shown'],
      ['teams list', '/teams'],
      ['teams show shown', '/teams/shown'],
      ['budgets list', '/budgets'],
      ['audit list', '/audit'],
      ['audit verify', '/audit/verify'],
      ['token list', '/tokens'],
      ['usage', '/usage?by=model'],
      ['ledger list', '/exchanges'],
      ['ledger verify', '/ledger/verify'],
      ['instances', '/instances'],
    ]
    // Lists are whole, so that nothing is next.
    const membersOf = (answer: object): string[] => Object.keys(answer).filter(name => name !== 'next')
    for (const [words, path] of answers) {
      const { out } = await gateway.command(...words.split(' '), '--json')
      const { ok, findings, ...rest } = JSON.parse(out) as { ok: boolean; findings: object[] }
      const { body } = await gateway.admin<object>('GET', path)
      expect({ words, ok, findings, members: membersOf(rest).sort() }).toEqual({
        words,
        ok: true,
        findings: [],
        members: membersOf(body).sort(),
      })
    }
    const { budgets, currency } = JSON.parse((await gateway.command('budgets', 'list', '--json')).out) as {
      budgets: object[]
      currency: string
    }
    expect([budgets, currency]).toEqual([expect.any(Array), 'USD'])
    expect(await gateway.command('keys', 'show', 'nobody', '--json')).toMatchObject({
      code: 1,
      out: expect.stringContaining('"ok": false'),
    })
  })

  test('lists as many entries of the audit log as are wanted, and says where there are more', async () => {
    for (let count = 0; count < 205; count++) await gateway.admin('PATCH', '/keys/audited', { tags: [`t${count}`] })
    const seqs = async (...words: string[]): Promise<{ seqs: number[]; err: string }> => {
      const { out, err } = await gateway.command('audit', 'list', '--json', ...words)
      return { seqs: (JSON.parse(out) as { entries: { seq: number }[] }).entries.map(one => one.seq), err }
    }
    const all = await seqs('--limit', 'all')
    const [newest = 0] = all.seqs
    expect(newest).toBeGreaterThan(205)
    expect(all).toEqual({ seqs: Array.from({ length: newest }, (_, index) => newest - index), err: '' })
    expect(await seqs('--limit', '203')).toEqual({
      seqs: all.seqs.slice(0, 203),
      err: 'Only the newest 203 entries: --limit all lists all.',
    })
    expect(await seqs()).toEqual({ seqs: all.seqs.slice(0, 200), err: 'Only the newest 200 entries: --limit all lists all.' })
    expect(await gateway.command('audit', 'list', '--limit', '0')).toMatchObject({
      code: 64,
      err: '--limit must be a whole number from 1, or all, not 0.',
    })
    expect((await gateway.admin<{ next: number }>('GET', `/audit?limit=2`)).body.next).toBe(newest - 1)
    expect((await gateway.admin<{ next: null }>('GET', `/audit?limit=2&before=3`)).body.next).toBeNull()
  })
})
