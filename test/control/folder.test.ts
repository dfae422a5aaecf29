// Two instances with one folder: the second one serves without the store until the first one has ended.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, createStage, FILE_KEY, type Stage, until } from './stage.js'

let stage: Stage
beforeAll(async () => {
  stage = await createStage()
})
afterAll(() => stage?.close())

test('a second instance uses neither the keys nor the ledger of the first, and takes the folder after it', async () => {
  const first = await stage.start()
  const { body: made } = await first.admin<{ secret: string }>('POST', '/keys', { name: 'stored' })
  const { child } = stage.spawn(first.folder)
  const log: string[] = []
  child.stdout?.on('data', part => void log.push(...String(part).split('\n')))
  const line = (text: string): Promise<string | undefined> =>
    until(
      async () => log.find(one => one.includes(text)),
      found => found !== undefined,
    )
  try {
    expect(await line('another instance uses the folder')).toBeDefined()
    const { url } = JSON.parse((await line('"msg":"listening"')) as string) as { url: string }
    expect((await ask(url, FILE_KEY)).status).toBe(200)
    expect((await ask(url, made.secret)).status).toBe(503)
    // The rows of the first one come in the order of their exchanges.
    expect((await ask(first.url, made.secret)).status).toBe(200)
    const rows = await until(
      async () => (await first.admin<{ exchanges: { key: string }[] }>('GET', '/exchanges')).body.exchanges,
      found => found.length > 0,
    )
    expect(rows.map(({ key }) => key)).toEqual(['stored'])
    await first.stop()
    expect(await line('control process is ready')).toBeDefined()
    const status = await until(
      async () => (await ask(url, made.secret)).status,
      found => found === 200,
    )
    expect(status).toBe(200)
  } finally {
    const ended = new Promise(done => child.once('exit', done))
    child.kill('SIGTERM')
    await ended
  }
})
