// A planted secret is never shown: whatever its length, its spelling, and the cut of a text, as a name or as a value; and
// findings about an operator's file do not quote it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { dump } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import { loadConfig } from '../../cli/config/config.js'
import { DataError } from '../../codegen/read/findings.js'
import type { Target } from '../../engine/snapshot/model.js'
import { redact, redactValue } from '../../engine/upstream/redact.js'
import { KEY, startGateway } from '../harness.js'
import { startRawUpstream } from '../raw-upstream.js'
import { plan } from './plan.js'

/** A target that hides these. */
const hiding = (secret: string | undefined, headerValues: readonly string[] = []): Target =>
  ({ secret, headerValues, host: 'a.example', provider: { base: 'https://a.example' } }) as unknown as Target

/** Letters that no secret here has, so that what is left of one is seen. */
const FILLER = '· Ж— '
const filler = (length: number): string => FILLER.repeat(Math.ceil(length / FILLER.length)).slice(0, length)
const left = (text: string): string => text.replaceAll(/[· Ж—…*]/g, '')

const visible = fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code))
const secretOf = (minLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: visible, minLength, maxLength: 160 }).filter(text => !text.includes('*'))

/** The ways in which a text can be part of another. */
const SPELLINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: text => text,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': text => encodeURIComponent(text).replaceAll(/%../g, code => code.toLowerCase()),
  'in a JSON string': text => JSON.stringify(text).slice(1, -1),
  'in a JSON string inside a JSON string': text => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  'in a JSON string with escaped slashes': text => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
}

/** Offsets near the cut, and far from it. */
const before = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 3700, max: 4010 }))

describe('redact', () => {
  test.each(Object.entries(SPELLINGS))('removes a secret: %s', (_name, spell) => {
    fc.assert(
      fc.property(secretOf(4), before, fc.integer({ min: 0, max: 5000 }), (secret, first, last) => {
        expect(left(redact(filler(first) + spell(secret) + filler(last), hiding(secret), []))).toBe('')
      }),
    )
  })

  test('removes a short secret that stands alone', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9]{1,3}$/), before, (secret, first) => {
        expect(left(redact(`${filler(first)} ${secret} ${filler(50)}`, hiding(secret), []))).toBe('')
      }),
    )
  })

  test('removes a secret in base64, alone and among other bytes', () => {
    fc.assert(
      fc.property(
        secretOf(10),
        before,
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 0, max: 3 }),
        fc.boolean(),
        (secret, first, lead, tail, isUrl) => {
          const bytes = Buffer.from('-'.repeat(lead) + secret + '-'.repeat(tail))
          const text = bytes.toString(isUrl ? 'base64url' : 'base64')
          // What is left is at most of the bytes beside it.
          expect(left(redact(filler(first) + text + filler(100), hiding(secret), [])).length).toBeLessThanOrEqual(lead + tail + 2)
        },
      ),
    )
  })

  test('removes each half of an id and a key, and the token behind a scheme in a header', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9]{8,40}$/), fc.stringMatching(/^[A-Za-z0-9]{8,40}$/), before, (one, two, first) => {
        for (const target of [hiding(`${one}:${two}`), hiding(undefined, [`${one} ${two}`])])
          for (const half of [one, two]) expect(left(redact(filler(first) + half + filler(9), target, []))).toBe('')
      }),
    )
  })

  test('removes secrets that overlap', () => {
    fc.assert(
      fc.property(secretOf(8), fc.array(fc.nat(8), { maxLength: 6 }), (secret, cuts) => {
        const text = cuts.map(cut => secret.slice(cut)).join('') + secret
        expect(redact(text, hiding(secret), [])).not.toContain(secret)
      }),
    )
  })
})

describe('redactValue', () => {
  const planted = (secret: string): fc.Arbitrary<unknown> =>
    fc.letrec(tie => ({
      value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(secret, `a ${secret} b`, null, 1, true), tie('list'), tie('object')),
      list: fc.array(tie('value'), { maxLength: 4 }),
      object: fc.dictionary(fc.constantFrom(secret, `x-${secret}`, 'plain', '__proto__'), tie('value'), { maxKeys: 4 }),
    })).value

  test('removes a secret from names and values at any depth', () => {
    fc.assert(
      fc.property(
        secretOf(4).chain(secret => fc.tuple(fc.constant(secret), planted(secret))),
        ([secret, value]) => {
          expect(JSON.stringify(redactValue(value, hiding(secret), []) ?? null)).not.toContain(JSON.stringify(secret).slice(1, -1))
        },
      ),
    )
  })

  test('removes a secret that is a number', () => {
    expect(redactValue({ id: 12345678 }, hiding('12345678'), [])).toEqual({ id: '***' })
  })

  test('does not visit values that are nested deeper than any error', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
    expect(JSON.stringify(redactValue(deep, hiding('secret'), [])).length).toBeLessThan(200)
  })
})

describe('a failure of an upstream', async () => {
  const upstream = await startRawUpstream()
  const HEADER = 'value-of-a-header-that-is-a-secret'
  const SECRET = 'secret "of"/the upstream'.replaceAll(' ', '-')
  const gateway = await startGateway({
    upstreams: {
      one: { provider: 'openai', base: upstream.url, secret: SECRET, headers: { 'x-team': HEADER }, pass_headers: ['x-*'], models: ['m'] },
    },
  })
  afterAll(async () => {
    await gateway.close()
    await upstream.close()
  })

  test.each<[string, unknown, Record<string, string>]>([
    ['a name of its details', { error: { message: 'x', details: { [SECRET]: { [HEADER]: [SECRET] } } } }, {}],
    ['its type', { error: { message: 'x', type: SECRET } }, {}],
    ['a message that quotes a header', { error: { message: `you sent x-team: ${HEADER}` } }, {}],
    ['a message that quotes an address', { error: { message: `at https://x.example/?key=${encodeURIComponent(SECRET)}` } }, {}],
    ['its headers', { error: { message: 'x' } }, { 'x-echo': SECRET, 'x-should-retry': SECRET }],
    ['a message of JSON', { error: { message: JSON.stringify({ key: SECRET }) } }, {}],
    ['a message that is cut inside the secret', { error: { message: `${'x '.repeat(1995)}${SECRET}${HEADER}` } }, {}],
  ])('shows neither the client nor the log a secret in %s', async (_name, body, headers) => {
    for (const status of [400, 429]) {
      upstream.script([{ status, body, headers }])
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
      })
      const seen = JSON.stringify([...answer.headers]) + (await answer.text()) + JSON.stringify(gateway.log)
      for (const part of ['of', 'a-header-that', 'the-upstream']) expect(seen).not.toContain(`${part}-is`)
      for (const word of [SECRET, HEADER, HEADER.slice(0, 12), SECRET.slice(0, 10), encodeURIComponent(SECRET)]) {
        expect(seen).not.toContain(word)
        expect(seen).not.toContain(JSON.stringify(word).slice(1, -1))
      }
    }
  })
})

describe('a finding in gateway.yaml', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'gateway.yaml')

  /** A secret as people make them, which is neither a path nor the name of a variable. */
  const secretText = fc
    .string({
      unit: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+=.~!&%#@:/'.split('')),
      minLength: 8,
      maxLength: 80,
    })
    .filter(text => /[a-z]/.test(text) && /[^a-z]/.test(text) && !/^[./]/.test(text) && !/\.[a-z]{1,5}$/.test(text))

  /** Settings that hold a secret, and ways to write it there wrongly. */
  const WRONG: Readonly<Record<string, (secret: string) => unknown>> = {
    'a key as its hash': secret => ({ keys: [{ name: 'a', sha256: secret }] }),
    'a key as a variable': secret => ({ keys: [{ name: 'a', value: `$${secret}` }] }),
    'a key as a file': secret => ({ keys: [{ name: 'a', value: { file: secret } }] }),
    'a key that is no text': secret => ({ keys: [{ name: 'a', value: [secret] }] }),
    'a key as a member': secret => ({ keys: [{ name: 'a', value: { [secret]: secret } }] }),
    'a key with a line end': secret => ({ keys: [{ name: 'a', value: `${secret}\n${secret}` }] }),
    'two keys that are one': secret => ({
      keys: [
        { name: 'a', value: secret },
        { name: 'b', value: secret },
      ],
    }),
    'the secret of an upstream as a variable': secret => ({ upstreams: { one: { provider: 'openai', secret: `$${secret}` } } }),
    'the secret of an upstream as a file': secret => ({ upstreams: { one: { provider: 'openai', secret: { file: secret } } } }),
    'the secret of an upstream as a member': secret => ({ upstreams: { one: { provider: 'openai', secret: { [secret]: 1 } } } }),
    'a header with a variable': secret => ({ upstreams: { one: { provider: 'openai', secret: 'x', headers: { 'x-a': `$${secret}` } } } }),
    'a header that is no text': secret => ({ upstreams: { one: { provider: 'openai', secret: 'x', headers: { 'x-a': [secret] } } } }),
    'a base with a password': secret => ({
      upstreams: { one: { provider: 'openai', secret: 'x', base: `https://me:${secret}@a.example` } },
    }),
    'a base with a query': secret => ({
      upstreams: { one: { provider: 'openai', secret: 'x', base: `https://a.example/?key=${secret}` } },
    }),
    'a seal that is too short': secret => ({ seal: [secret.slice(0, 15)] }),
    'a seal as a variable': secret => ({ seal: [`$${secret}`] }),
    'a seal that is no list': secret => ({ seal: secret }),
  }

  async function findings(text: string): Promise<string> {
    writeFileSync(path, text)
    try {
      await loadConfig(path, plan, 'gateway.yaml')
    } catch (error) {
      if (error instanceof DataError) return error.message + JSON.stringify(error.findings)
      throw error
    }
    throw new Error(`nothing was found wrong: ${text}`)
  }

  test.each(Object.entries(WRONG))('does not quote %s', async (name, file) => {
    await fc.assert(
      fc.asyncProperty(secretText, async secret => {
        // A slash in an address begins its path.
        const plain = name.startsWith('a base') ? secret.replaceAll(/[/#?]/g, '-') : secret
        expect(await findings(dump(file(plain)))).not.toContain(name === 'a seal that is too short' ? plain.slice(0, 15) : plain)
      }),
      { numRuns: 30 },
    )
  })

  test.each<[string, (secret: string) => string]>([
    ['an alias', secret => `keys:\n  - { name: a, value: *${secret} }\n`],
    ['a tag', secret => `keys:\n  - { name: a, value: !${secret} x }\n`],
    ['a quote that does not end', secret => `keys:\n  - { name: a, value: "${secret} }\n`],
    ['a directive', secret => `keys:\n  - { name: a, value: @${secret} }\n`],
  ])('does not quote a secret in invalid YAML: %s', async (_name, file) => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[a-z][A-Za-z0-9]{8,40}$/), async secret => {
        expect(await findings(file(secret))).not.toContain(secret)
      }),
      { numRuns: 20 },
    )
  })

  test('does not quote a key that was written as a name', async () => {
    const key = `sk-proj-${'aB3'.repeat(12)}`
    expect(await findings(dump({ upstreams: { one: { provider: key, secret: 'x' } } }))).not.toContain(key)
    expect(await findings(dump({ models: { m: { targets: [{ upstream: key }] } } }))).not.toContain(key)
    expect(await findings(dump({ [key]: 1 }))).not.toContain(key)
  })
})
