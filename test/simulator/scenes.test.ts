// Scenario files, scripts of tests, and new dialects.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { startSimulator } from '../../cli/simulator/server.js'
import { ask, events, post } from './requests.js'

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
match: { model: as-it-is }
answers: { body: { any: thing } }
---
match: { model: bytes }
answers: { raw: "data: {}\\r\\rdata", headers: { content-type: text/event-stream } }
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
`,
  )

  test('answers what matches, in its order', async () => {
    const simulator = await startSimulator({ scenarios })
    const busy = await post(simulator.url, chat, 'busy')
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '2'])
    expect(await busy.json()).toMatchObject({ error: { message: 'Slow down.', code: 'custom' } })
    for (const _ of [1, 2]) {
      const fine = events(await (await post(simulator.url, chat, 'busy', true)).text())
        .slice(0, -1)
        .map(({ data }) => JSON.parse(data))
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

  test('that is invalid is reported with the place', async () => {
    const path = write('wrong.yaml', 'match: { modell: x }\nanswers: { text: 1 }\n---\nmatch: { model: x }\nanswers: [{ pace: -1 }]\n')
    await expect(startSimulator({ scenarios: path })).rejects.toThrow(
      /wrong\.yaml:1:10 {2}.*"modell".*wrong\.yaml:2:18 .*wrong\.yaml:5:19 .*from 0 on/s,
    )
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

/** A folder of data of its own. */
function home(files: Record<string, string>): string {
  const root = mkdtempSync(join(folder, 'home-'))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

describe('a new family is a file', () => {
  test('that answers a form with bytes', async () => {
    const simulator = await startSimulator({
      home: home({
        'schemas/speech/format.yaml': 'response: bytes\nmodel: form.model\n',
        'simulator/speech.yaml': `
title: Speech
source: this test
paths: [POST /speech]
body: multipart
options: '{ "said": prompt & " in " & file.filename & " of " & $string(file.size) }'
answer: '{ "type": "audio/wav", "base64": $base64encode(options.said) }'
error: { body: '{ "wrong": message, "is": status }' }
`,
      }),
    })
    const form = new FormData()
    form.append('model', 'sim')
    form.append('prompt', 'hi')
    form.append('file', new Blob(['abc']), 'a.wav')
    const answer = await fetch(`${simulator.url}/speech`, { method: 'POST', body: form })
    expect([answer.headers.get('content-type'), await answer.text()]).toEqual(['audio/wav', 'hi in a.wav of 3'])
    const none = await fetch(`${simulator.url}/speech`, { method: 'POST', body: 'x' })
    expect(await none.json()).toEqual({ wrong: 'The body could not be read.', is: 400 })
    await simulator.close()
  })

  test('that reads its path and its query', async () => {
    const simulator = await startSimulator({
      home: home({
        'schemas/.keep': '',
        'simulator/jobs.yaml': `
title: Jobs
source: this test
paths: ['GET /jobs/{id}/{+rest}:end']
body: none
read: '{ "text": $path.id }'
options: '{ "path": $path, "query": $query }'
answer: '{ "options": options }'
error: { body: '{}' }
`,
      }),
      scenarios: write('jobs.yaml', 'match: { text: a b }\nanswers: {}\n'),
    })
    const answer = await fetch(`${simulator.url}/jobs/a%20b/c/d:end:end?q=1`)
    expect(await answer.json()).toEqual({ options: { path: { id: 'a b', rest: 'c/d:end' }, query: { q: '1' } } })
    await simulator.close()
  })

  test('that is invalid is reported with the place', async () => {
    const file = (answer: string, error: string): Record<string, string> => ({
      'simulator/x.yaml': `title: X\nsource: y\npaths: [POST /x]\nanswer: ${answer}\nerror: { ${error} }\n`,
    })
    await expect(startSimulator({ home: home(file('id', 'body: "{}", status: 3')) })).rejects.toThrow(/x\.yaml:5:22 .*"status"/)
    await expect(startSimulator({ home: home(file('1 +', 'body: "{}"')) })).rejects.toThrow(/x\.yaml {2}answer/)
    await expect(startSimulator({ home: home(file('id', 'like: nobody')) })).rejects.toThrow(/x\.yaml {2}error\.like/)
  })
})

test('an answer to the results of calls has another id than the answer with the calls, since clients replace what has the same', async () => {
  const simulator = await startSimulator({})
  const call = { id: 'call_1', type: 'function', function: { name: 'clock', arguments: '{}' } }
  const asked = [{ role: 'user', content: 'What time is it?' }]
  const answered = [
    ...asked,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '9' },
  ]
  const idOf = async (messages: object[]): Promise<string> => {
    const body = JSON.stringify({ model: 'sim', messages })
    const response = await fetch(`${simulator.url}/v1/chat/completions`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    return ((await response.json()) as { id: string }).id
  }
  expect(await idOf(asked)).toBe(await idOf(asked))
  expect(await idOf(answered)).not.toBe(await idOf(asked))
  await simulator.close()
})
