// HEAD of what the gateway answers itself is its GET without the body (RFC 9110, 9.3.2).

import { afterAll, expect, test } from 'vitest'
import { plan } from '../engine/plan.js'
import { KEY, startGateway } from '../harness.js'

const gateway = await startGateway({ upstreams: { one: { provider: 'openai', secret: 'none', models: ['m'] } } })
afterAll(() => gateway.close())

const routes = plan.routes.filter(
  ({ methods, answer, document }) => methods.includes('GET') && (answer !== undefined || document !== undefined),
)

test('there are such routes', () => expect(routes.length).toBeGreaterThan(20))

test.each(routes.flatMap(route => route.paths.map(path => [path, route] as const)))('%s', async (path, { auth, when }) => {
  const ask = async (method: string): Promise<(string | number | null)[]> => {
    const isKeyed = auth.length > 0
    const keyed: Record<string, string> = auth.includes('bearer') ? { authorization: `Bearer ${KEY}` } : { 'x-goog-api-key': KEY }
    const version: Record<string, string> = when?.header === undefined ? {} : { [when.header]: '2023-06-01' }
    const query = new URLSearchParams(Object.entries(when?.query ?? {}).map(([name, value]) => [name, String(value)]))
    const url = `${gateway.url}${path.replaceAll(/\{[^}]*\}/g, 'm')}?${query}`
    const answer = await fetch(url, { method, headers: { 'accept-encoding': 'identity', ...(isKeyed && keyed), ...version } })
    expect((await answer.text()).length > 0).toBe(method === 'GET')
    return [answer.status, answer.headers.get('content-type'), answer.headers.get('content-length')]
  }
  expect(await ask('HEAD')).toEqual(await ask('GET'))
})
