// Revocation under load: how long after the answer to `revoke` a key is still accepted, anywhere.

import { Agent, request } from 'node:http'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStage, type Instance, type Stage } from './stage.js'
import { onPostgres } from './stores.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

interface Load {
  /** When each accepted request began, and when each refused one did, on the clock of `performance`. */
  accepted: number[]
  refused: number[]
  stop(): Promise<void>
}

/** Asks all instances for a list of models with a key, as fast as `width` connections to each allow. */
function load(instances: readonly Instance[], key: string, width: number): Load {
  const [accepted, refused]: [number[], number[]] = [[], []]
  const agent = new Agent({ keepAlive: true, maxSockets: width * instances.length })
  let isStopping = false
  const once = (url: string): Promise<void> =>
    new Promise(done => {
      const began = performance.now()
      const asked = request(`${url}/v1/models`, { agent, headers: { authorization: `Bearer ${key}` } }, response => {
        ;(response.statusCode === 200 ? accepted : refused).push(began)
        response.resume().on('end', done)
      })
      asked.on('error', () => done())
      asked.end()
    })
  const all = instances.flatMap(({ url }) =>
    Array.from({ length: width }, async () => {
      while (!isStopping) await once(url)
    }),
  )
  return {
    accepted,
    refused,
    async stop() {
      isStopping = true
      await Promise.all(all)
      agent.destroy()
    },
  }
}

const waitFor = async (isThere: () => boolean): Promise<void> => {
  while (!isThere()) await new Promise(done => setTimeout(done, 5))
}

/** Milliseconds from the answer to `revoke` to the last request that was let in; negative where that began before. */
async function measure(name: string, instances: readonly Instance[], key: string, revoke: () => Promise<void>): Promise<number> {
  const running = load(instances, key, 4)
  const began = performance.now()
  await waitFor(() => running.accepted.length > 400)
  await revoke()
  const revoked = performance.now()
  await waitFor(() => running.refused.length > 400 && performance.now() > revoked + 1_500)
  await running.stop()
  const last = Math.max(...running.accepted) - revoked
  const rate = (running.accepted.length / (revoked - began)) * 1000
  console.log(`${name}: ${rate.toFixed(0)} requests/s, the last one accepted began ${last.toFixed(0)} ms after revoke had returned`)
  return last
}

const secretOf = async (instance: Instance, name: string): Promise<string> =>
  (await instance.admin<{ secret: string }>('POST', '/keys', { name })).body.secret

test('two workers on SQLite refuse a revoked key within a second', async () => {
  const gateway = await stage.start({ workers: 2 })
  const last = await measure('SQLite, 2 workers', [gateway], await secretOf(gateway, 'a'), async () => {
    expect((await gateway.admin('POST', '/keys/a/revoke', {})).status).toBe(200)
  })
  expect(last).toBeLessThan(1_000)
  await gateway.stop()
})

onPostgres('on Postgres, with two instances', postgres => {
  let url: string
  let instances: Instance[]
  beforeAll(async () => {
    url = await postgres().database()
    instances = [await stage.start({ store: url }), await stage.start({ store: url })]
  })

  test('the other instance is notified of a revocation', async () => {
    const [first] = instances as [Instance]
    const last = await measure('Postgres, 2 instances', instances, await secretOf(first, 'b'), async () => {
      await first.admin('POST', '/keys/b/revoke', {})
    })
    expect(last).toBeLessThan(1_000)
  })

  test('the other instance finds a revocation by polling, without a notification', async () => {
    const [first] = instances as [Instance]
    const secret = await secretOf(first, 'c')
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const last = await measure('Postgres, 2 instances, without a notification', instances, secret, async () => {
      // Writes what a revocation writes, without a notification.
      await client.query('begin')
      await client.query(`update key set state = 'revoked' where name = 'c'`)
      await client.query(`insert into change (at, kind, subject_id, is_now) select 0, 'key', id, 0 from key where name = 'c'`)
      await client.query('commit')
    })
    await client.end()
    expect(last).toBeLessThan(1_000)
  })
})
