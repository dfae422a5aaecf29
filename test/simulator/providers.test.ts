// What a start without a file serves: the simulator behind every provider whose key could be in the environment. The simulator
// answers at each provider's own paths, and each simulated model answers the clients that its provider can serve.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultContent } from '../../cli/defaults.js'
import type { Simulator } from '../../cli/simulator/server.js'
import { plan } from '../engine/plan.js'
import { startGateway, startSimulator, type TestGateway } from '../harness.js'
import { ask } from './requests.js'

let simulator: Simulator
let gateway: TestGateway
let key: string
beforeAll(async () => {
  simulator = await startSimulator()
  const made = defaultContent(plan, simulator.url)
  key = made.key
  gateway = await startGateway({ ...made.content })
})
afterAll(async () => {
  await gateway?.close()
  await simulator?.close()
})

/** The dialects in which a provider can hold a conversation. */
const CONVERSATIONS = ['chat', 'messages', 'generate', 'responses', 'completions', 'cohere_chat', 'ollama']

const providers = Object.values(plan.providers).filter(({ secretEnv }) => secretEnv !== undefined)
const writers = providers.filter(({ speaks }) => CONVERSATIONS.some(name => name in speaks))

test.each(providers)('the simulator answers at each path of $name', async ({ speaks }) => {
  const unknown: string[] = []
  for (const { method, path, query, stream } of Object.values(speaks)) {
    for (const one of [{ path, query }, ...(stream === undefined ? [] : [{ path, query, ...stream }])]) {
      const search = new URLSearchParams(one.query).toString()
      const target = `${one.path.replace(/\{\+?(\w+)\}/g, 'sim')}${search && `?${search}`}`
      const response = await fetch(simulator.url + target, { method, ...(method === 'POST' && { body: '{}' }) })
      if ((await response.text()).includes('The simulator does not answer')) unknown.push(`${method} ${target}`)
    }
  }
  expect(unknown).toEqual([])
})

describe.each(writers)('$name', ({ name }) => {
  test.each(['sim', 'sim-tools', 'sim-reasoning'])('%s answers, whole and as a stream', async kind => {
    const { path, body } = ask('chat')
    for (const streams of [false, true]) {
      const response = await fetch(gateway.url + path('', streams), {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body(`${kind}-${name}`, streams)),
      })
      const text = await response.text()
      expect([response.status, text]).toEqual([200, expect.stringMatching(streams ? /data: \[DONE\]\s*$/ : /"choices":/)])
    }
  })
})
