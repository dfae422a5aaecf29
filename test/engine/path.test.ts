// The files that a request goes through are those that docs/architecture.md lists.

import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, startSimulator, type TestGateway } from '../harness.js'

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'architecture.md'), 'utf8')
const listed = [...page.matchAll(/^\d+\. `([\w/-]+)\.ts`/gm)].map(([, file]) => file as string)

/** The page names them in one sentence: what all requests use, and nobody has to read in order. */
const HELPERS =
  /^(?:core|wire|balance|jsonata|limits|budgets)\/|^http\/(?:bytes|held-body|body-clocks)$|^snapshot\/(?:snapshot|presented-key)$|^control\/key-form$/

let simulator: Awaited<ReturnType<typeof startSimulator>>
let gateway: TestGateway
const session = new Session()

beforeAll(async () => {
  simulator = await startSimulator({})
  gateway = await startGateway({
    upstreams: { up: { provider: 'openai', base: simulator.url, secret: 'none' } },
    models: { small: { targets: [{ upstream: 'up', model: 'sim' }] } },
  })
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})

afterAll(async () => {
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  await gateway.close()
  await simulator.close()
})

async function ask(): Promise<void> {
  const answer = await gateway.post('/v1/chat/completions', { model: 'small', messages: [{ role: 'user', content: 'Hello' }] })
  expect(answer.status).toBe(200)
  await answer.text()
}

test('a request in the dialect of its provider goes through twelve files', async () => {
  // The first request looks up the key, and opens the connection.
  await ask()
  await session.post('Profiler.takePreciseCoverage')
  await ask()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const run = result
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0))
    .flatMap(({ url }) => /\/dist\/engine\/(.+)\.js$/.exec(url)?.[1] ?? [])
    .filter(file => !HELPERS.test(file))
  expect(run.sort()).toEqual([...listed].sort())
  expect(listed).toHaveLength(12)
})
