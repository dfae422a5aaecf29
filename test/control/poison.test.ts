// What a provider, a client or a damaged file says never keeps other exchanges from the ledger.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serialize } from 'node:v8'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, exported, FILE_KEY, type Instance, type Stage, until } from './stage.js'
import { onEachEngine } from './stores.js'

interface Row {
  model: string
  input: number | null
  output: number | null
  cost: number | null
  charge: number | null
}

/** An answer with the usage that the request wants, written as it stands there. */
function startProvider(): Promise<Server> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const usage = (JSON.parse(body) as { user: string }).user
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":${usage}}`,
    )
  })
  return new Promise(done => server.listen(0, '127.0.0.1', () => done(server)))
}

onEachEngine(make => {
  let stage: Stage
  let provider: Server
  let file: Record<string, unknown>
  beforeAll(async () => {
    stage = await createStage()
    provider = await startProvider()
    file = {
      store: (await make()).replace(/^(?!postgres:).*/, 'sqlite'),
      upstreams: { up: { provider: 'openai', base: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`, secret: 'none' } },
      models: { m: { targets: [{ upstream: 'up' }], price: { input: 1, output: 5 } } },
      budgets: { key: '5/ever' },
    }
  })
  afterAll(async () => {
    await stage?.close()
    provider?.close()
  })

  const rowsOf = (gateway: Instance, count: number): Promise<Row[]> =>
    until(
      () => exported<Row>(gateway),
      rows => rows.length >= count,
    )
  const askFor = async (gateway: Instance, usage: string): Promise<number> => {
    const response = await ask(gateway.url, FILE_KEY, 'm', { user: usage, max_tokens: 10 })
    await response.text()
    return response.status
  }

  test('a figure that is no number of tokens is as good as none', async () => {
    const gateway = await stage.start(file)
    const figures = ['1e300', '1e400', '1e19', '9007199254740993', '-5', '-0.5', 'null']
    for (const figure of figures) {
      const usage = `{"prompt_tokens":7,"completion_tokens":${figure},"prompt_tokens_details":{"cached_tokens":${figure}}}`
      expect([figure, await askFor(gateway, usage)]).toEqual([figure, 200])
    }
    expect(await askFor(gateway, '{"prompt_tokens":7,"completion_tokens":3}')).toBe(200)
    const rows = await rowsOf(gateway, figures.length + 1)
    expect(rows).toHaveLength(figures.length + 1)
    for (const { input, output, cost, charge } of rows) {
      // What could not be read is estimated, since a budget counts it.
      expect([
        [7, 10],
        [7, 3],
        [61, 10],
      ]).toContainEqual([input, output])
      expect([cost, charge]).toEqual(Array(2).fill((input ?? 0) * 1_000 + (output ?? 0) * 5_000))
    }
    const { body } = await gateway.admin<{ budgets: { spent: number }[] }>('GET', '/budgets')
    expect(body.budgets.map(({ spent }) => spent)).toEqual([rows.reduce((sum, { charge }) => sum + (charge ?? 0), 0)])
    await gateway.stop()
  })

  test('records that cannot be read, or that the store refuses, are set aside and named in the log', async () => {
    const before = await stage.start(file)
    // On Postgres, those of the test before.
    const count = (await rowsOf(before, 0)).length + 1
    expect(await askFor(before, '{"prompt_tokens":7,"completion_tokens":3}')).toBe(200)
    expect(await rowsOf(before, count)).toHaveLength(count)
    await before.stop()
    const spool = new DatabaseSync(join(before.folder, 'data', 'spool.sqlite'))
    const insert = spool.prepare('insert into batch (size, records) values (?, ?)')
    const time = Date.now()
    const good = {
      id: time.toString(16).padStart(12, '0').padEnd(32, 'f'),
      at: time,
      status: 200,
      ended: 0,
      isStream: false,
      isEstimated: false,
      attempts: 1,
      total: 1,
      bytesIn: 1,
      bytesOut: 1,
    }
    const unbooked = { ...good, id: good.id.replace(/f$/, 'e'), accounts: 'no list', worker: 'w' }
    for (const bytes of [
      Buffer.from('no records'),
      serialize('no list'),
      serialize([unbooked]),
      serialize([{ ...good, status: null }, good]),
    ])
      insert.run(bytes.length, bytes)
    spool.close()
    const after = await stage.start(file, before.folder)
    expect(await askFor(after, '{"prompt_tokens":7,"completion_tokens":3}')).toBe(200)
    // The new one, and the good one of the spool.
    expect(await rowsOf(after, count + 2)).toHaveLength(count + 2)
    const told = await until(
      async () => after.log.filter(line => line.includes('set aside')),
      lines => lines.length >= 4,
    )
    expect(told).toHaveLength(4)
    await after.stop()
    const left = new DatabaseSync(join(before.folder, 'data', 'spool.sqlite'))
    expect(left.prepare('select count(*) as n from aside').get()).toEqual({ n: 4 })
    expect(left.prepare('select count(*) as n from batch').get()).toEqual({ n: 0 })
    left.close()
  })

  test('a row with any number of long tags can be read, and the tags of its key are among them', async () => {
    const gateway = await stage.start({ ...file, labels: { tags: 'x-tags' } })
    const count = (await rowsOf(gateway, 0)).length
    const own = Array.from({ length: 8 }, (_, index) => `zone-with-a-name-of-${'forty'.repeat(4)}-${index}`)
    const { body } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: `tagged-${count}`, tags: own })
    const lists = [Array.from({ length: 16 }, (_, index) => `a-cost-centre-${10 + index}`), ['b', 'c', 'd'].map(one => one.repeat(300))]
    for (const list of lists) {
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${body.secret}`, 'content-type': 'application/json', 'x-tags': list.join(',') },
        body: JSON.stringify({ model: 'm', messages: [], user: '{"prompt_tokens":7,"completion_tokens":3}' }),
      })
      expect([response.status, (await response.text()).length > 0]).toEqual([200, true])
    }
    const rows = await until(
      () => exported<Row & { tags: string[] | null }>(gateway),
      found => found.length >= count + lists.length,
    )
    // A tag is cut like any label, and of a list those are left out that do not fit.
    expect(rows.slice(-2).map(({ tags }) => tags)).toEqual([
      [...(lists[0] as string[]), ...own],
      ['b'.repeat(256), ...own],
    ])
    expect((await gateway.command('ledger', 'list')).code).toBe(0)
    const focus = await gateway.command('ledger', 'export', '--format', 'focus')
    expect([focus.code, focus.out.includes('cost-centre-25')]).toEqual([0, true])
    await gateway.stop()
  })
})
