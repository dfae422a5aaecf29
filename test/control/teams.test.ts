// Teams of the store: the common limits and budgets of their keys, on both engines.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, type Instance, type Stage, until } from './stage.js'
import { onEachEngine } from './stores.js'

interface Team {
  name: string
  keys: number
  version: number
  state: string
  budgets: { limit: string }[] | null
  limits: object | null
}

onEachEngine((make, kind) => {
  let stage: Stage
  let gateway: Instance
  beforeAll(async () => {
    stage = await createStage()
    gateway = await stage.start({
      store: kind === 'postgres' ? { at: await make() } : 'sqlite',
      models: { sim: { targets: [{ upstream: 'up', model: 'sim' }], price: { input: 1, output: 5 } } },
      budgets: { teams: { filed: '0.000001/ever' } },
    })
  })
  afterAll(() => stage?.close())

  const keyOf = async (name: string, team: string): Promise<string> =>
    (await gateway.admin<{ secret: string }>('POST', '/keys', { name, team })).body.secret
  const statusOf = async (key: string): Promise<number> => (await ask(gateway.url, key, 'sim', { max_tokens: 10 })).status

  test('the keys of a team share limits and budgets, whose changes apply at once and are in the audit log', async () => {
    const [first, second] = [await keyOf('first', 'red'), await keyOf('second', 'red')]
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
    const { code, out, err } = await gateway.command(
      ...['teams', 'create', 'red', '--budget', '0.000001/day', '--limit', 'requests:3/1h', 'in_flight:5', '--note', 'of the sales'],
    )
    expect([code, err]).toEqual([0, ''])
    expect(out.split('\n')[1]).toMatch(/^red +active +2 +0\.000001\/day +requests:3\/1h,in_flight:5 +of the sales$/)
    // Both keys are refused by the budget of both.
    expect([await statusOf(first), await statusOf(second)]).toEqual([429, 429])
    const page = async (): Promise<{ budgets: { budget: string }[]; limits: { of: string; counts: string }[] }> =>
      (await (await fetch(`${gateway.url}/v1/key`, { headers: { authorization: `Bearer ${second}` } })).json()) as never
    expect((await page()).budgets.map(one => one.budget)).toEqual(['team:red/day'])
    expect((await page()).limits.map(one => [one.of, one.counts])).toEqual([
      ["the team 'red'", 'requests'],
      ["the team 'red'", 'in_flight'],
    ])
    expect((await gateway.command('teams', 'set', 'red', '--budget', '100/day', '5/hour')).code).toBe(0)
    // Two were refused, and took none of the three.
    const statuses = []
    for (const key of [first, second, first, second]) statuses.push(await statusOf(key))
    expect(statuses.slice(0, 1)).toEqual([200])
    expect(statuses.at(-1)).toBe(429)
    const { budgets } = (await gateway.admin<{ budgets: { budget: string; spent: number }[] }>('GET', '/budgets')).body
    expect(budgets.map(one => one.budget).sort()).toEqual(['team:red/day', 'team:red/hour'])
    expect((await gateway.command('teams', 'set', 'red', '--limit', 'none', '--budget', 'none')).code).toBe(0)
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
    expect(await page()).toMatchObject({ budgets: [], limits: [] })
    const { body: trail } = await gateway.admin<{ entries: { operation: string; before: Team | null; after: Team }[] }>('GET', '/audit')
    const ofTeams = trail.entries.filter(one => one.operation.startsWith('teams.'))
    expect(ofTeams.map(one => [one.operation, one.before?.budgets?.length ?? null, one.after.budgets?.length ?? null])).toEqual([
      ['teams.set', 2, null],
      ['teams.set', 1, 2],
      ['teams.create', null, 1],
    ])
    expect((await gateway.admin<{ broken: number | null }>('GET', '/audit/verify')).body.broken).toBeNull()
  })

  test('the keys of a disabled team are refused until it is enabled', async () => {
    const key = await keyOf('blue', 'blue')
    expect((await gateway.admin('POST', '/teams', { name: 'blue' })).status).toBe(201)
    expect(await statusOf(key)).toBe(200)
    expect((await gateway.command('teams', 'set', 'blue', '--disable')).code).toBe(0)
    expect(await statusOf(key)).toBe(403)
    expect((await gateway.command('teams', 'set', 'blue', '--enable')).code).toBe(0)
    expect(
      await until(
        () => statusOf(key),
        status => status === 200,
      ),
    ).toBe(200)
  })

  test("the file's settings for a team override the store's", async () => {
    const key = await keyOf('filed', 'filed')
    expect((await gateway.admin('POST', '/teams', { name: 'filed', budgets: [{ limit: '100/day' }] })).status).toBe(201)
    expect(await statusOf(key)).toBe(429)
  })

  test('invalid changes and lost updates are refused', async () => {
    expect((await gateway.admin('POST', '/teams', { name: 'red' })).status).toBe(409)
    expect((await gateway.admin('PATCH', '/teams/nobody', { note: 'x' })).status).toBe(404)
    expect((await gateway.admin('PATCH', '/teams/red', { limits: { requests: ['3/1h', '4/1h'] } })).status).toBe(422)
    expect((await gateway.admin('PATCH', '/teams/red', { limits: { requests: ['many'] } })).status).toBe(422)
    expect((await gateway.admin('PATCH', '/teams/red', { budgets: [{ limit: '1/day' }, { limit: '2/day' }] })).status).toBe(422)
    const { body: team } = await gateway.admin<Team>('GET', '/teams/red')
    expect((await gateway.admin('PATCH', '/teams/red', { note: 'a' }, { 'if-match': String(team.version) })).status).toBe(200)
    expect((await gateway.admin('PATCH', '/teams/red', { note: 'b' }, { 'if-match': String(team.version) })).status).toBe(412)
    const { body: some } = await gateway.admin<{ teams: Team[]; next: string | null }>('GET', '/teams?limit=2')
    expect([some.teams.map(one => one.name), some.next]).toEqual([['blue', 'filed'], 'filed'])
    expect((await gateway.command('teams', 'list')).out.split('\n').length).toBe(4)
  })
})
