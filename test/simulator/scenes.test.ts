// Scenario files, scripts from tests, and dialects that are new.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startSimulator } from '../../cli/simulator/server.js'
import { ask, events, post } from './asking.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const chat = ask('chat')

describe('a scenario file', () => {
  const scenarios = write(
    'scenarios.yaml',
    `
name: busy, then fine
match: { model: busy }
answers:
  - { status: 429, error: { message: Slow down., code: custom, retry_after: 2 } }
  - { text: Hello., chunks: [Hel, lo.], usage: { input: 3, output: 2 } }
---
match: { path: /v1/messages, text: the weather }
answers: { tools: [{ id: toolu_x, name: forecast, arguments: '{"a":' }] }
---
match: { path: /v1/chat/completions, text: the weather }
answers:
  status: 201
  headers: { x-request-id: mine }
  events: [{ choices: [] }, 'no JSON']
  delays: [40, 0]
---
match: { model: as-it-is }
answers: { body: { any: thing } }
---
match: { model: bytes }
answers: { raw: "data: {}\\r\\rdata", headers: { content-type: text/event-stream } }
`,
  )

  test('answers what matches, in its order', async () => {
    const simulator = await startSimulator({ scenarios })
    const busy = await post(simulator.url, chat, 'busy')
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '2'])
    expect(await busy.json()).toMatchObject({ error: { message: 'Slow down.', code: 'custom' } })
    for (const _ of [1, 2]) {
      const fine = events(await (await post(simulator.url, chat, 'busy', true)).text()).slice(0, -1).map(({ data }) => JSON.parse(data))
      expect(fine.map(({ choices }) => choices[0]?.delta.content)).toEqual(['', 'Hel', 'lo.', undefined, undefined])
      expect(fine.at(-1).usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 2 })
    }

    const called = await (await post(simulator.url, ask('messages'), 'any')).json()
    expect(called).toMatchObject({ content: [{ type: 'tool_use', id: 'toolu_x', name: 'forecast', input: {} }] })
    expect(await (await post(simulator.url, ask('messages'), 'any', true)).text()).toContain('"partial_json":"{\\"a\\":"')

    const began = performance.now()
    const given = await post(simulator.url, chat, 'any', true)
    expect([given.status, given.headers.get('x-request-id')]).toEqual([201, 'mine'])
    expect(await given.text()).toBe('data: {"choices":[]}\n\ndata: no JSON\n\ndata: [DONE]\n\n')
    expect(performance.now() - began).toBeGreaterThan(35)

    expect(await (await post(simulator.url, ask('generate'), 'as-it-is')).json()).toEqual({ any: 'thing' })
    expect(await (await post(simulator.url, chat, 'bytes', true)).text()).toBe('data: {}\r\rdata')
    expect((await post(simulator.url, ask('responses'), 'other')).status).toBe(404)
    await simulator.close()
  })

  test('that is wrong says where', async () => {
    const path = write('wrong.yaml', 'match: { modell: x }\nanswers: { text: 1 }\n---\nmatch: { model: x }\nanswers: [{ pace: -1 }]\n')
    await expect(startSimulator({ scenarios: path })).rejects.toThrow(/wrong\.yaml:1:10 {2}.*"modell"[^]*wrong\.yaml:2:18 [^]*wrong\.yaml:5:20 /)
  })
})

describe('a script from a test', () => {
  test('goes before the file and the reserved names', async () => {
    const simulator = await startSimulator()
    simulator.scenario('sim', { text: 'bound' })
    expect(JSON.stringify(await (await post(simulator.url, chat, 'sim')).json())).toContain('"bound"')
    simulator.scenario('sim', [{ raw: new Uint8Array([0x68, 0x69]) }, { status: 418 }])
    expect(await (await post(simulator.url, chat, 'sim')).text()).toBe('hi')
    expect((await post(simulator.url, chat, 'sim')).status).toBe(418)
    await simulator.close()
  })

  test('that is wrong is refused', async () => {
    const simulator = await startSimulator()
    expect(() => simulator.scenario('x', { pace: -1 })).toThrow('scenario x:1')
    await simulator.close()
  })
})

test('a new family is a file', async () => {
  write(
    'speech.yaml',
    `
title: Speech
source: this test
paths: [POST /speech, { path: 'GET /speech/{name}/{+rest}:end' }]
body: multipart
read: '{ "text": $path.name & $query.q & prompt & file.filename & $string(file.size) }'
options: '{ "prompt": prompt, "file": file, "path": $path, "q": $query.q }'
answer: '{ "model": model, "options": options }'
error: { body: '{ "wrong": message, "is": status }' }
`,
  )
  const simulator = await startSimulator({ dialects: folder, scenarios: write('scene.txt', 'match: { text: hi }\nanswers: {}\n') })
  const form = new FormData()
  form.append('prompt', 'hi')
  form.append('file', new Blob(['abc']), 'a.wav')
  const answer = await fetch(`${simulator.url}/speech?q=1`, { method: 'POST', body: form })
  expect(await answer.json()).toMatchObject({ options: { prompt: 'hi', file: { filename: 'a.wav', size: 3 }, q: '1' } })
  expect(await (await fetch(`${simulator.url}/speech`, { method: 'POST', body: 'x' })).json()).toMatchObject({ is: 400 })
  await simulator.close()
})

test('a dialect file that is wrong says where', async () => {
  const other = mkdtempSync(join(folder, 'wrong-'))
  writeFileSync(join(other, 'x.yaml'), 'title: X\nsource: y\npaths: [POST /x]\nanswer: 1 +\nerror: { body: "{}", status: 3 }\n')
  await expect(startSimulator({ dialects: other })).rejects.toThrow(/x\.yaml:5:22 .*"status"/)
  writeFileSync(join(other, 'x.yaml'), 'title: X\nsource: y\npaths: [POST /x]\nanswer: 1 +\nerror: { body: "{}" }\n')
  await expect(startSimulator({ dialects: other })).rejects.toThrow(/x\.yaml {2}answer/)
})
