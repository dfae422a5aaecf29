// Permissions in the admin API: the first token, roles that are bound to teams or keys, and repeated writes.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, createStage, type Instance, type Stage, until } from './stage.js'

let stage: Stage
let gateway: Instance
let url = ''

interface Told<Body> {
  status: number
  body: Body
  headers: Headers
}
async function call<Body = Record<string, never>>(
  method: string,
  path: string,
  token?: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Told<Body>> {
  const response = await fetch(`${url}/admin/v1${path}`, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: (/^[{[]/.test(text) ? JSON.parse(text) : {}) as Body, headers: response.headers }
}
const lineWith = (instance: Instance, text: string): Record<string, string> => {
  const line = instance.log.find(one => one.includes(text))
  return line === undefined ? {} : (JSON.parse(line) as Record<string, string>)
}

beforeAll(async () => {
  stage = await createStage()
  gateway = await stage.start({ admin: { listen: '127.0.0.1:0' } })
  url = lineWith(gateway, 'control process is ready').admin as string
})
afterAll(() => stage?.close())

test('the first start logs one link, which creates an owner once', async () => {
  const { link } = lineWith(gateway, '"link"')
  expect(link).toMatch(new RegExp(`^${url}/admin/v1/first/[0-9A-Za-z]{32,}$`))
  expect((await call('POST', '/first/not-the-code')).status).toBe(404)
  const made = await gateway.command('token', 'first', link as string)
  expect(made.err).toBe('')
  expect((await call<{ role: string; name: string }>('GET', '/whoami', made.out)).body).toMatchObject({ role: 'owner', name: 'first' })
  expect((await call('POST', new URL(link as string).pathname.replace('/admin/v1', ''))).status).toBe(404)
  await gateway.stop()
  // Somebody is there by now.
  gateway = await stage.start({ admin: { listen: '127.0.0.1:0' } }, gateway.folder)
  url = lineWith(gateway, 'control process is ready').admin as string
  expect(lineWith(gateway, '"link"')).toEqual({})
})

test('the link creates nothing once a token exists, even a revoked one', async () => {
  const other = await stage.start({ admin: { listen: '127.0.0.1:0' } })
  const { link } = lineWith(other, '"link"')
  expect((await other.admin('POST', '/tokens', { name: 'mine', role: 'auditor' })).status).toBe(201)
  const follow = async (): Promise<[number, string]> => {
    const response = await fetch(link as string, { method: 'POST' })
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  expect(await follow()).toEqual([404, 'code'])
  expect((await other.admin('DELETE', '/tokens/mine')).status).toBe(204)
  expect(await follow()).toEqual([404, 'code'])
  const { body } = await other.admin<{ tokens: { name: string }[] }>('GET', '/tokens')
  expect(body.tokens.map(({ name }) => name)).toEqual(['mine'])
})

describe('a role that is bound to teams or keys', () => {
  const tokens: Record<string, string> = {}
  const secrets: Record<string, string> = {}
  beforeAll(async () => {
    for (const [name, team] of [
      ['red-1', 'red'],
      ['red-2', 'red'],
      ['blue-1', 'blue'],
      ['free', null],
    ]) {
      const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name, team })
      secrets[name as string] = body.secret
      await ask(gateway.url, body.secret)
    }
    const roles = { owner: {}, admin: {}, operator: {}, auditor: {}, manager: { teams: ['red'] }, member: { keys: ['red-1', 'blue-1'] } }
    for (const [role, bound] of Object.entries(roles)) {
      const { status, body } = await gateway.admin<{ secret: string }>('POST', '/tokens', { name: `t-${role}`, role, ...bound })
      expect(status).toBe(201)
      tokens[role] = body.secret
    }
    const counted = (): Promise<number> => gateway.admin<{ rows: unknown[] }>('GET', '/usage?by=key').then(({ body }) => body.rows.length)
    await until(counted, count => count === 4)
  })
  const names = async (role: string, path = '/keys'): Promise<string[]> =>
    (await call<{ keys: { name: string }[] }>('GET', path, tokens[role])).body.keys.map(({ name }) => name).sort()

  test('must name its teams or keys, and other roles must not', async () => {
    for (const [role, bound] of [
      ['manager', {}],
      ['manager', { keys: ['red-1'] }],
      ['member', { teams: ['red'] }],
      ['auditor', { teams: ['red'] }],
      ['member', { keys: ['red-1'], groups: ['staff'] }],
      ['auditor', { groups: ['staff'] }],
    ] as const) {
      const { status, body } = await gateway.admin<{ code: string }>('POST', '/tokens', { name: 'x', role, ...bound })
      expect([status, body.code]).toEqual([422, 'bound'])
    }
  })

  test('sees and changes only its own keys', async () => {
    expect(await names('owner')).toEqual(['blue-1', 'free', 'red-1', 'red-2'])
    expect(await names('manager')).toEqual(['red-1', 'red-2'])
    expect(await names('member')).toEqual(['blue-1', 'red-1'])
    for (const name of ['red', 'blue']) expect((await call('POST', '/teams', tokens.owner, { name })).status).toBe(201)
    const teams = await call<{ teams: { name: string; keys: number }[] }>('GET', '/teams', tokens.manager)
    expect(teams.body.teams.map(one => [one.name, one.keys])).toEqual([['red', 2]])
    expect((await call('GET', '/teams/blue', tokens.manager)).status).toBe(404)
    expect((await call('PATCH', '/teams/red', tokens.manager, { budgets: null })).status).toBe(403)
    expect((await call('GET', '/teams', tokens.member)).status).toBe(403)
    expect((await call('PATCH', '/keys/red-2', tokens.manager, { tags: ['x'] })).status).toBe(200)
    expect((await call('PATCH', '/keys/blue-1', tokens.manager, { tags: ['x'] })).status).toBe(404)
    expect((await call('PATCH', '/keys/red-2', tokens.manager, { team: 'blue' })).status).toBe(403)
    expect((await call('POST', '/keys/blue-1/revoke', tokens.manager, {})).status).toBe(404)
    expect((await call('GET', '/keys/free', tokens.manager)).status).toBe(404)
    const made = await call<{ key: { team: string } }>('POST', '/keys', tokens.manager, { name: 'red-3' })
    expect([made.status, made.body.key.team]).toEqual([201, 'red'])
    expect((await call('POST', '/keys', tokens.manager, { name: 'blue-2', team: 'blue' })).status).toBe(403)
    expect((await call('POST', '/keys/red-1/rotate', tokens.member, { grace_ms: 0 })).status).toBe(200)
    expect((await call('POST', '/keys/red-2/rotate', tokens.member, {})).status).toBe(404)
    expect((await call('POST', '/keys', tokens.member, { name: 'mine' })).status).toBe(403)
  })

  test('puts its keys only into the groups that its token names, and leaves them in those that they have', async () => {
    const given = { name: 'grouped', role: 'manager', teams: ['red'], groups: ['staff', 'default'] }
    const { body } = await gateway.admin<{ secret: string; token: object }>('POST', '/tokens', given)
    expect(body.token).toMatchObject({ of: { teams: ['red'], groups: ['staff', 'default'] } })
    const make = (token: string | undefined, name: string, groups?: string[]): Promise<Told<{ code?: string; title?: string }>> =>
      call('POST', '/keys', token, { name, ...(groups && { groups }) })
    expect(await make(tokens.manager, 'red-4', ['default', 'staff'])).toMatchObject({
      status: 403,
      body: { code: 'group', title: 'With this token, the role manager may put keys only into the groups default, not into staff.' },
    })
    expect((await make(tokens.manager, 'red-4', ['default'])).status).toBe(201)
    expect((await make(body.secret, 'red-5', ['staff'])).status).toBe(201)
    expect((await make(body.secret, 'red-6', ['vip'])).status).toBe(403)
    const set = async (token: string | undefined, name: string, groups: string[]): Promise<number> =>
      (await call('PATCH', `/keys/${name}`, token, { groups })).status
    expect(await set(tokens.manager, 'red-4', ['staff'])).toBe(403)
    expect(await set(body.secret, 'red-4', ['staff'])).toBe(200)
    // It has the one, and the other is permitted.
    expect(await set(tokens.manager, 'red-4', ['staff', 'default'])).toBe(200)
    expect(await set(tokens.manager, 'red-4', ['default'])).toBe(200)
    expect(await set(tokens.manager, 'red-4', ['staff'])).toBe(403)
    expect((await call('PATCH', '/keys/red-5', tokens.manager, { tags: ['x'] })).status).toBe(200)
    for (const name of ['red-4', 'red-5']) await gateway.admin('POST', `/keys/${name}/revoke`, {})
  })

  test.each([
    { groups: undefined, made: ['default'] },
    { groups: ['default', 'staff'], made: ['default'] },
    { groups: ['students'], made: ['students'] },
    { groups: ['students', 'staff'], made: undefined },
  ])('puts a key that names no groups into none but those of its token, $groups', async ({ groups, made }) => {
    const name = ['by', ...(groups ?? ['usual'])].join('-')
    const { body: token } = await gateway.admin<{ secret: string }>('POST', '/tokens', { name, role: 'manager', teams: ['red'], groups })
    const { status, body } = await call<{ code?: string; title?: string; key?: { groups: string[] } }>('POST', '/keys', token.secret, {
      name,
    })
    if (made === undefined)
      expect([status, body.code, body.title]).toEqual([
        403,
        'group',
        'With this token, the role manager may put keys only into the groups students, staff, not into default.',
      ])
    else expect([status, body.key?.groups]).toEqual([201, made])
    // Without the groups of the token, any change and another secret leave the key where it is.
    const kept = async (method: string, path: string, given: object): Promise<void> =>
      void expect((await call(method, path, token.secret, given)).status).toBe(made === undefined ? 404 : 200)
    await kept('PATCH', `/keys/${name}`, { tags: ['x'] })
    await kept('POST', `/keys/${name}/rotate`, {})
    const { body: key } = await gateway.admin<{ groups?: string[] }>('GET', `/keys/${name}`)
    expect(key.groups).toEqual(made)
    if (made !== undefined) await gateway.admin('POST', `/keys/${name}/revoke`, {})
  })

  test('sees the usage of only its own keys', async () => {
    const keys = async (role: string, path: string): Promise<string[]> =>
      (await call<{ rows: { key: string }[] }>('GET', path, tokens[role])).body.rows.map(({ key }) => key).sort()
    expect(await keys('manager', '/usage?by=key')).toEqual(['red-1', 'red-2'])
    expect(await keys('manager', '/usage?by=key,day&key=blue-1')).toEqual([])
    expect(await keys('member', '/usage?by=key')).toEqual(['blue-1', 'red-1'])
    expect(await keys('member', '/usage?by=key&key=red-2')).toEqual([])
    const rows = async (role: string): Promise<{ id: string; key: string }[]> =>
      (await call<{ exchanges: { id: string; key: string }[] }>('GET', '/exchanges', tokens[role])).body.exchanges
    expect((await rows('manager')).map(({ key }) => key).sort()).toEqual(['red-1', 'red-2'])
    expect((await rows('member')).map(({ key }) => key).sort()).toEqual(['blue-1', 'red-1'])
    const blue = (await rows('member')).find(({ key }) => key === 'blue-1')?.id
    expect((await call('GET', `/exchanges/${blue}`, tokens.member)).status).toBe(200)
    expect((await call('GET', `/exchanges/${blue}`, tokens.manager)).status).toBe(404)
  })

  test('may use no operation but its own', async () => {
    const { body } = await gateway.admin<{ paths: Record<string, Record<string, { operationId: string }>> }>('GET', '/openapi.json')
    for (const role of Object.keys(tokens)) {
      const may = (await call<{ operations: string[] }>('GET', '/whoami', tokens[role])).body.operations
      for (const [path, methods] of Object.entries(body.paths))
        for (const [method, { operationId }] of Object.entries(methods)) {
          if (operationId === 'tokens.first' || (may.includes(operationId) && method !== 'get')) continue
          const { status } = await call(
            method.toUpperCase(),
            path.replaceAll(/\{\w+\}/g, '0'),
            tokens[role],
            method === 'get' ? undefined : {},
          )
          expect([role, operationId, status === 403]).toEqual([role, operationId, !may.includes(operationId)])
        }
    }
    const may = async (role: string): Promise<string[]> =>
      (await call<{ operations: string[] }>('GET', '/whoami', tokens[role])).body.operations
    for (const role of ['manager', 'member'])
      expect((await may(role)).filter(one => /^(tokens|audit|ledger|instances)\.|import/.test(one))).toEqual([])
  })
})

test('a write that is sent twice with one Idempotency-Key is done once', async () => {
  const { body: token } = await gateway.admin<{ secret: string }>('POST', '/tokens', { name: 'ci', role: 'admin' })
  const send = (name: string, key = 'one'): Promise<Told<{ secret: string; code?: string }>> =>
    call('POST', '/keys', token.secret, { name }, { 'idempotency-key': key })
  const [first, second] = await Promise.all([send('twice'), send('twice')])
  const third = await send('twice')
  expect([first.status, second.status, third.status]).toEqual([201, 201, 201])
  expect(new Set([first, second, third].map(({ body }) => body.secret)).size).toBe(1)
  expect(third.headers.get('idempotent-replayed')).toBe('true')
  const other = await send('another')
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_key'])
  expect((await send('twice', 'two')).status).toBe(409)
  // What failed is tried again; another actor's key is another.
  expect((await send('thrice', 'two')).status).toBe(201)
  expect((await gateway.admin('POST', '/keys', { name: 'by-owner' }, { 'idempotency-key': 'one' })).status).toBe(201)
})
