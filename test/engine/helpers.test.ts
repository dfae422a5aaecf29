// Small parts: deadlines, redaction, counting, the location of a key.

import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { type Deadline, now, unwatch, watch } from '../../engine/core/deadlines.js'
import { IndexedSet } from '../../engine/core/indexed-set.js'
import { codePointLength } from '../../engine/core/text.js'
import { mergeUsage } from '../../engine/core/usage.js'
import type { RawUsage, Usage } from '../../engine/plan.js'
import type { Target } from '../../engine/snapshot/model.js'
import { presentedKey } from '../../engine/snapshot/presented-key.js'
import { renamed } from '../../engine/stages/seal-ids.js'
import { redact } from '../../engine/upstream/redact.js'
import { plan } from './plan.js'

describe('deadlines', () => {
  const watched: Deadline[] = []
  afterEach(() => {
    for (const one of watched.splice(0)) unwatch(one)
  })
  function deadline(due: number, then?: (self: Deadline) => void): { self: Deadline; fired: number[] } {
    const fired: number[] = []
    const self: Deadline = {
      due,
      slot: -1,
      fire() {
        fired.push(now())
        then?.(self)
      },
    }
    watched.push(self)
    watch(self)
    return { self, fired }
  }

  /** Until one that falls due after so many milliseconds has fired: whatever was due before it has, too. */
  const passed = (milliseconds: number): Promise<void> => new Promise(done => deadline(now() + milliseconds, () => done()))

  test('fire once, not before their time and soon after it', async () => {
    const due = now() + 100
    const { fired } = deadline(due)
    await expect.poll(() => fired.length).toBe(1)
    expect(fired[0]).toBeGreaterThanOrEqual(due)
    expect(fired[0]).toBeLessThan(due + 20_000)
    await passed(100)
    expect(fired).toHaveLength(1)
  })

  test('fire at their new time if they are moved', async () => {
    const due = now() + 250
    const { self, fired } = deadline(now() + 60)
    // It is moved when it has been looked at some times, and before it is looked at once more: the last one comes first.
    deadline(now() + 30, () => {
      self.due = due
    })
    await expect.poll(() => fired.length).toBe(1)
    expect(fired[0]).toBeGreaterThanOrEqual(due)
  })

  test('do not fire if they are not armed or no longer watched', async () => {
    const idle = deadline(Number.POSITIVE_INFINITY)
    const gone = deadline(now() + 30)
    unwatch(gone.self)
    await passed(120)
    expect([idle.fired, gone.fired]).toEqual([[], []])
  })

  test('may arm themselves again, and remove others', async () => {
    const other = deadline(now() + 100_000)
    const { fired } = deadline(now() + 30, self => {
      unwatch(other.self)
      if (fired.length < 3) self.due = now() + 30
    })
    await expect.poll(() => fired.length).toBe(3)
    await passed(100)
    expect(fired).toHaveLength(3)
    expect(other.fired).toEqual([])
  })

  test('fire after what came in time, even if the process was suspended', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [[other]] = (await Promise.all([once(server, 'connection'), once(socket, 'connect')])) as [[Socket], unknown]
    const { self, fired } = deadline(now() + 200)
    const heard = new Promise<void>(done =>
      socket.on('data', () => {
        self.due = now() + 100_000
        done()
      }),
    )
    other.write('x')
    const until = now() + 400
    while (now() < until);
    await heard
    await passed(50)
    expect(fired).toEqual([])
    socket.destroy()
    server.close()
  })

  test('keep no process alive', async () => {
    const built = pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', 'engine', 'core', 'deadlines.js')).href
    const code = `const { watch } = await import(${JSON.stringify(built)}); watch({ due: Infinity, fire() {} }); console.log('over')`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
    expect(stdout).toBe('over\n')
  })
})

describe('masking', () => {
  const target = {
    secret: 'hunter2-is-the-secret',
    host: 'models.corp.example:8443',
    provider: { base: 'https://api.example.com' },
  } as Target

  const IDS = ['toolu_', 'call_']

  test.each<[string, string, string]>([
    ['the secret, at any position', 'key hunter2-is-the-secret! (hunter2-is-the-secret)', 'key ***! (***)'],
    ['keys of other accounts', 'Incorrect API key provided: sk-proj-abcdefgh12345678.', 'Incorrect API key provided: ***'],
    ['keys that the provider has shortened', 'key sk-abcd************wxyz is wrong', 'key *** is wrong'],
    ['keys of Google', 'API key AIzaSyA1234567890abcdefghijklmnopqrstuv not valid', 'API key *** not valid'],
    ['bearer tokens', 'header "Bearer abc.def-ghi_123" refused', 'header "***" refused'],
    ['the host of the account', 'no route to models.corp.example:8443', 'no route to ***'],
    ['loopback addresses', 'connect ECONNREFUSED 127.0.0.1:11434', 'connect ECONNREFUSED ***'],
    ['private addresses', 'at http://10.1.2.3:99/x/y and 192.168.0.9, 172.16.0.1', 'at *** and ***, ***'],
    ['keys with other prefixes than ids', 'key gsk_abcdefghijklmnopqrstuvwxyz is wrong', 'key *** is wrong'],
    ['local names', 'upstream http://llm.default.svc:80/v1 and vllm.internal', 'upstream *** and ***'],
  ])('hides %s', (_name, text, masked) => {
    expect(redact(text, target, IDS)).toBe(masked)
  })

  test.each([
    'This model maximum context length is 8192 tokens.',
    'Version 10.2 of 172 models; 8.8.8.8 is public, and so is 172.32.0.1.',
    'See https://platform.openai.com/docs/errors or mail a.internalist@example.com',
    'No result for toolu_01A09q90qw90lq917835lq9abc, call_abcdefghijklmnopqrstuvwx',
    'messages.0.content: keyword task-oriented is not a risk-free word',
  ])('keeps what is not a secret: %s', text => {
    expect(redact(text, target, IDS)).toBe(text)
  })

  test('keeps a public host of the provider', () => {
    const own = { ...target, host: 'api.example.com' } as Target
    expect(redact('see https://api.example.com/help', own, [])).toBe('see https://api.example.com/help')
  })

  test('limits the length of a message', () => {
    const masked = redact('x'.repeat(100_000), target, [])
    expect(masked.length).toBeLessThan(5_000)
    expect(masked.endsWith('…')).toBe(true)
  })

  test('searches hostile messages quickly', () => {
    // Its own time, not that of what else runs on the machine: microseconds.
    const began = process.cpuUsage()
    redact(`${'a.'.repeat(30_000)}!`, target, [])
    redact('sk-'.repeat(50_000), target, [])
    redact(`Bearer ${' '.repeat(100_000)}`, target, [])
    const { user, system } = process.cpuUsage(began)
    expect(user + system).toBeLessThan(1_000_000)
  })
})

describe('usage', () => {
  test.each<[string, Usage | undefined, RawUsage | undefined, Usage | undefined]>([
    ['no usage from nothing', undefined, undefined, undefined],
    ['known figures stay', { input: 1 }, undefined, { input: 1 }],
    ['later figures replace earlier ones', { input: 1, output: 2 }, { output: 5 }, { input: 1, output: 5 }],
    ['a zero is a figure', { output: 5 }, { output: 0 }, { output: 0 }],
    ['other values than numbers are ignored', { input: 1 }, { input: null, output: '7', cached: undefined }, { input: 1 }],
    [
      'names of the data language become those of the log',
      undefined,
      { input: 1, output: 2, cached: 3, cache_write: 4, reasoning: 5 },
      { input: 1, output: 2, cached: 3, cacheWrite: 4, reasoning: 5 },
    ],
    ['other names are not kept', undefined, { input: 1, price: 9 }, { input: 1 }],
  ])('%s', (_name, known, raw, merged) => {
    expect(mergeUsage(known, raw)).toEqual(merged)
  })
})

describe('the key that a request presents', () => {
  const all = ['bearer', 'x-api-key', 'x-goog-api-key', 'query-key', 'subprotocol']
  test.each<[string, string[], Record<string, string>, Record<string, string>, string | undefined]>([
    ['a bearer token', all, { authorization: 'Bearer k' }, {}, 'k'],
    ['the scheme in any case', all, { authorization: 'bEARER k' }, {}, 'k'],
    ['blanks around the token', all, { authorization: 'Bearer   k ' }, {}, 'k'],
    ['another scheme', all, { authorization: 'Basic k' }, {}, undefined],
    ['a bare token', all, { authorization: 'k' }, {}, undefined],
    ['a header', all, { 'x-api-key': 'k' }, {}, 'k'],
    ['a query', all, {}, { key: 'k' }, 'k'],
    ['a protocol', all, { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.k, beta' }, {}, 'k'],
    ['protocols without a key', all, { 'sec-websocket-protocol': 'realtime' }, { key: 'q' }, 'q'],
    ['empty locations', all, { authorization: 'Bearer ', 'x-api-key': '' }, { key: 'k' }, 'k'],
    [
      'several keys, of which the first location of the route counts',
      ['x-api-key', 'bearer'],
      { authorization: 'Bearer b', 'x-api-key': 'x' },
      {},
      'x',
    ],
    ['a location that the route does not list', ['bearer'], { 'x-api-key': 'k' }, { key: 'k' }, undefined],
    ['none', all, {}, {}, undefined],
  ])('%s', (_name, locations, headers, query, key) => {
    expect(presentedKey(locations, plan.keyLocations, headers, query)).toBe(key)
  })
})

test.each([
  ['', 0],
  ['abc', 3],
  ['é', 1],
  ['😀', 1],
  ['a😀b😀', 4],
  ['\ud83d', 1],
  ['\ude00\ud83d', 2],
  ['\ud83d\ud83d\ude00', 2],
])('%j has %i characters', (text, length) => {
  expect(codePointLength(text)).toBe(length)
  expect(length).toBe([...text].length)
})

describe('an indexed set', () => {
  interface Member {
    slot: number
    name: string
  }
  const member = (name: string): Member => ({ slot: -1, name })
  const names = (set: IndexedSet<Member>): string[] =>
    set
      .all()
      .map(({ name }) => name)
      .sort()

  test('contains each member once, whatever is added and removed', () => {
    const set = new IndexedSet<Member>()
    const [a, b, c] = ['a', 'b', 'c'].map(member) as [Member, Member, Member]
    for (const one of [a, b, c, a]) set.add(one)
    expect([set.size, names(set)]).toEqual([3, ['a', 'b', 'c']])
    set.remove(a)
    set.remove(a)
    expect(names(set)).toEqual(['b', 'c'])
    set.add(a)
    for (const one of [c, b, a]) set.remove(one)
    expect([set.size, a.slot, b.slot, c.slot]).toEqual([0, -1, -1, -1])
  })

  test('may lose members while it is iterated', () => {
    const set = new IndexedSet<Member>()
    const all = Array.from({ length: 10 }, (_, index) => member(String(index)))
    for (const one of all) set.add(one)
    const seen: string[] = []
    set.forEach(one => {
      seen.push(one.name)
      set.remove(one)
      set.remove(all[0] as Member)
    })
    expect(set.size).toBe(0)
    expect(new Set(seen).size).toBe(seen.length)
  })
})

describe('strings of JSON text are renamed', () => {
  const rename = (text: string): string =>
    renamed(text, (id, member, isNumber) =>
      id === 'old/1' ? `new "${member ?? ''}"` : isNumber && id === '7' ? `number ${member ?? ''}` : undefined,
    )
  test.for([
    ['a value', '{"id": "old/1", "n": 1}', '{"id": "new \\"id\\"", "n": 1}'],
    ['an escaped value', '{"id":"old\\/1"}', '{"id":"new \\"id\\""}'],
    ['an element', '{"id":["old/1","other"]}', '{"id":["new \\"\\"","other"]}'],
    ['a name stays', '{"old/1":"x","":"old/1"}', '{"old/1":"x","":"new \\"\\""}'],
    ['a text with quotes and backslashes', '{"text":"\\\\\\"old/1\\\\","id":"old/1"}', '{"text":"\\\\\\"old/1\\\\","id":"new \\"id\\""}'],
    ['a quote in a comment', ': it"s\ndata: {"id":"old/1"}\n\n', ': it"s\ndata: {"id":"new \\"id\\""}\n\n'],
    ['a number', '{"id": 7 ,"n":7.5,"m":{"id":-7}}', '{"id": "number id" ,"n":7.5,"m":{"id":-7}}'],
    ['an element that is a number', '{"id":[7,"id",7]}', '{"id":[7,"id",7]}'],
    ['an open string', '{"id":"old/1', '{"id":"old/1'],
    ['an invalid escape', '{"id":"old/1\\x"}', '{"id":"old/1\\x"}'],
  ] as const)('%s', ([, text, expected]) => {
    expect(rename(text)).toBe(expected)
  })

  test('beside very long ones', () => {
    const long = JSON.stringify({ data: '\n"'.repeat(10_000_000), id: '' })
    expect(rename(long.replace(/""}$/, '"old/1"}'))).toBe(long.replace(/""}$/, '"new \\"id\\""}'))
  })
})
