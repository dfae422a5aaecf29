// Postgres behind a network that drops everything in silence: connections that are open stay so, and no answer comes. When the
// network is back, it knows only new connections.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startNetwork } from '../network.js'
import { ask, createStage, FILE_KEY, type Stage, until } from './stage.js'
import { onPostgres } from './stores.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

onPostgres('while the network drops what Postgres says', postgres => {
  test('exchanges are served, and their records are written when it is back', async () => {
    const direct = new URL(await postgres().database())
    const network = await startNetwork({ path: join(direct.searchParams.get('host') as string, '.s.PGSQL.5432') })
    const gateway = await stage.start({ store: { at: `postgres://sluice@127.0.0.1:${network.port}${direct.pathname}` } })
    const { body: known } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'known' })
    const { body: other } = await gateway.admin<{ secret: string }>('POST', '/keys', { name: 'never-used' })
    expect((await ask(gateway.url, known.secret)).status).toBe(200)
    const written = async (): Promise<number> => {
      const { status, body } = await gateway.admin<{ rows: number }>('GET', '/ledger/verify')
      return status === 200 ? body.rows : 0
    }
    await until(written, rows => rows === 1)
    network.cut()
    for (const key of [FILE_KEY, known.secret, FILE_KEY]) expect((await ask(gateway.url, key)).status).toBe(200)
    expect((await ask(gateway.url, other.secret)).status).toBe(503)
    network.heal()
    const began = performance.now()
    expect(await until(written, rows => rows >= 5)).toBe(5)
    expect(performance.now() - began).toBeLessThan(60_000)
    expect((await ask(gateway.url, other.secret)).status).toBe(200)
    expect(await gateway.stop()).toBe(0)
    network.close()
  })
})
