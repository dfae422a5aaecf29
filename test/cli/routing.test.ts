// Routing in gateway.yaml: all errors are reported at once with positions, and the examples of the page work.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import type * as CheckModule from '../../cli/check.js'
import type * as ExplainModule from '../../cli/explain/explain.js'

const root = join(import.meta.dirname, '..', '..')
const built = (path: string): string => pathToFileURL(join(root, path)).href
const { check } = (await import(built('dist/cli/check.js'))) as typeof CheckModule
const { explain } = (await import(built('dist/cli/explain/explain.js'))) as typeof ExplainModule

const folder = mkdtempSync(join(tmpdir(), 'sluice-routing-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const path = join(folder, 'gateway.yaml')
const found = async (text: string): Promise<string[]> => {
  writeFileSync(path, text)
  try {
    const { findings } = await check(path, {})
    // Nobody asks the examples.
    const own = findings.filter(({ rule }) => rule !== 'keys/none')
    return own.map(({ line, column, rule, detail }) => `${line}:${column}  ${rule}  ${detail}`)
  } catch (error) {
    return (error as Error).message.split('\n').map(line => line.replace(`${path}:`, ''))
  }
}

test('wrong names, expressions, times and targets are reported together', async () => {
  const findings = await found(`
default_model: nobody
upstreams:
  up: { provider: openai, secret: none, health: { base_ejection_time: 10m } }
models:
  a:
    aliases: [b, c]
    sticky: { by: 'request.user &' }
    retry: { back_off: { base_interval: 30s } }
    mirror: { to: { upstream: gone }, share: 5% }
    targets: [{ upstream: up, model: 'x-*' }, { upstream: up, only: 'header.x = $who' }]
  b: { targets: [{ upstream: up }], list: [one] }
  own/*: { targets: [{ upstream: up }], aliases: [any] }
`)
  expect(findings.map(line => line.split('  ').slice(0, 2).join('  ')).sort()).toEqual(
    [
      '2:16  model/default',
      '4:71  upstream/ejection',
      '7:15  model/alias',
      '8:34  jsonata/S0207',
      '9:41  model/back-off',
      '10:31  names/upstream',
      '11:39  model/pattern',
      '11:70  jsonata/field',
      '11:81  jsonata/undeclared',
      '12:43  model/pattern',
      '13:51  model/alias',
    ].sort(),
  )
  expect(findings.join('\n')).toContain('key, groups, headers, request')
})

test('a default model may be the name of a pattern or an alias', async () => {
  const models = `upstreams: { up: { provider: openai, secret: none } }\nmodels: { own/*: { targets: [{ upstream: up }] }, m: { targets: [{ upstream: up }], aliases: [small] } }\n`
  for (const name of ['own/x', 'm', 'small']) expect(await found(`${models}default_model: ${name}\n`)).toEqual([])
})

test('a hedge without a second target is a warning', async () => {
  expect(
    await found(
      'upstreams: { up: { provider: openai, secret: none } }\nmodels: { m: { targets: [{ upstream: up }], hedge: { after: 1s } } }\n',
    ),
  ).toEqual(['2:52  model/hedge  m has no second target'])
})

describe('docs/routing.md', () => {
  const blocks = [...readFileSync(join(root, 'docs', 'routing.md'), 'utf8').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text]) => text as string,
  )

  test('has examples that can be served', async () => {
    Object.assign(process.env, { OPENAI_API_KEY: 'value-1', ANTHROPIC_API_KEY: 'value-2', AZURE_KEY: 'value-3' })
    expect(blocks).toHaveLength(5)
    for (const block of blocks) expect(await found(block)).toEqual([])
  })

  interface Explained {
    model: { choose?: string; sticky?: string; mirror?: string; not_asked?: Record<string, string> }
    targets: { target: string; by?: string; share?: number; priority: number }[]
    refused?: { status: number }
  }
  const explained = async (text: string, headers: string, model: string): Promise<Explained> => {
    writeFileSync(path, `${text}\nkeys: [{ name: me, value: key-of-me }]\n`)
    const input = join(folder, 'request.http')
    const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
    writeFileSync(input, `POST /v1/chat/completions HTTP/1.1\r\n${headers}Content-Type: application/json\r\n\r\n${body}`)
    return (await explain({ config: path, input, key: 'me' })).json as unknown as Explained
  }

  test('has an example of which `sluice explain` shows the order of targets, and why one is not tried', async () => {
    const here = await explained(blocks[1] as string, '', 'gpt-5-mini')
    expect(here).toMatchObject({
      model: {
        choose: 'latency',
        mirror: '5% to claude/claude-haiku-4-5',
        not_asked: { 'azure/gpt-5-mini': 'its `only` is false for this request' },
      },
      targets: [
        { target: 'openai/gpt-5-mini', priority: 1 },
        { target: 'claude/claude-haiku-4-5', priority: 2, share: 1 },
      ],
    })
    const there = await explained(blocks[1] as string, 'x-region: eu\r\n', 'gpt-5-mini')
    expect(there.targets.map(({ target, by }) => [target, by])).toEqual([
      ['openai/gpt-5-mini', 'latency'],
      ['azure/gpt-5-mini', 'latency'],
      ['claude/claude-haiku-4-5', undefined],
    ])
    expect(there.model.not_asked).toBeUndefined()
  })

  test('has an example of a pattern that `sluice explain` follows', async () => {
    expect(await explained(blocks[0] as string, '', 'anthropic/claude-opus-4-8')).toMatchObject({
      targets: [{ target: expect.stringContaining('claude/') }],
    })
  })
})
