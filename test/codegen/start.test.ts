// `sluice start` and `sluice check` with an invalid gateway.yaml: findings on stderr, exit code 1.

import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type * as ConfigModule from '../../cli/config/config.js'
import type * as SnapshotModule from '../../engine/snapshot/snapshot.js'
import { MAIN } from '../command.js'
import { plan } from '../engine/plan.js'
import { MARK, root, temporary } from './fixture.js'

const built = (path: string): string => pathToFileURL(join(root, path)).href
const { loadConfig } = (await import(built('dist/cli/config/config.js'))) as typeof ConfigModule
const { createSnapshot } = (await import(built('dist/engine/snapshot/snapshot.js'))) as typeof SnapshotModule
process.env.SLUICE_TEST_SET = 'a-secret-of-the-test'

interface Ended {
  code: number | null
  out: string
  err: string
}

/** Runs a command in a folder of its own; what has begun to serve is ended, and has no code. */
function sluice(args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd,
      env: { ...process.env, SLUICE_TEST_SET: 'a-secret-of-the-test' },
    })
    const ended: Ended = { code: null, out: '', err: '' }
    const timer = setTimeout(() => child.kill('SIGKILL'), 100_000)
    child.stdout.on('data', piece => {
      ended.out += String(piece)
      if (ended.out.includes('"listening"')) child.kill('SIGKILL')
    })
    child.stderr.on('data', piece => {
      ended.err += String(piece)
    })
    child.on('close', code => {
      clearTimeout(timer)
      resolve({ ...ended, code })
    })
  })
}

/** The same in this process: what is written where the file is wrong, and the exit code. */
async function load(folder: string): Promise<Ended> {
  try {
    const { gateway } = await loadConfig(join(folder, 'gateway.yaml'), plan, 'gateway.yaml')
    await createSnapshot(plan, gateway).close()
    return { code: 0, out: '', err: '' }
  } catch (error) {
    if (!(error instanceof Error) || error.constructor.name !== 'DataError') throw error
    return { code: 1, out: '', err: error.message }
  }
}

/** Writes the file without its marks, and returns their positions. */
function write(folder: string, text: string): string[] {
  const marks: string[] = []
  let rest = text
  for (let at = rest.indexOf(MARK); at >= 0; at = rest.indexOf(MARK)) {
    const before = rest.slice(0, at)
    marks.push(`gateway.yaml:${before.split('\n').length}:${at - before.lastIndexOf('\n')}`)
    rest = before + rest.slice(at + MARK.length)
  }
  writeFileSync(join(folder, 'gateway.yaml'), rest)
  return marks
}

interface Wrong {
  name: string
  /** Through the command itself; the others are asked in this process. */
  isCommand?: true
  text: string
  /** Rule, detail and the beginning of the remedy for each mark; '' where any will do. */
  finds: [rule: string, detail: string, remedy: string][]
}

const HEAD = 'listen: 127.0.0.1:0\nkeys: [{ name: me, value: my-key }]\n'

const WRONG: Wrong[] = [
  {
    name: 'an unknown key',
    isCommand: true,
    text: `${HEAD}◆upstream:\n  a: { provider: openai, secret: s }\n`,
    finds: [
      ['grammar/unknown-key', '"upstream" is not a key here', 'did you mean upstreams? else use one of: listen, keys, upstreams, models,'],
    ],
  },
  {
    name: 'an unknown key of an upstream',
    text: `${HEAD}upstreams:\n  a: { provider: openai, secret: s, ◆url: 'http://x' }\n`,
    finds: [['grammar/unknown-key', 'upstreams.a: "url" is not a key here', 'use one of: provider, secret,']],
  },
  {
    name: 'an upstream that does not exist',
    isCommand: true,
    text: `${HEAD}upstreams:\n  a: { provider: openai, secret: s }\nmodels:\n  m:\n    targets:\n      - { upstream: a }\n      - { upstream: ◆b, priority: 2 }\n`,
    finds: [['names/upstream', 'there is no upstream b', 'use one of: a']],
  },
  {
    name: 'an upstream named like a member of every object',
    text: `${HEAD}models: { m: { targets: [{ upstream: ◆constructor }] } }\n`,
    finds: [['names/upstream', 'there is no upstream constructor', 'use one of: (none yet)']],
  },
  {
    name: 'a provider that does not exist',
    isCommand: true,
    text: `${HEAD}upstreams:\n  a:\n    provider: ◆opnai\n    secret: s\n`,
    finds: [['names/provider', 'there is no provider opnai', 'did you mean openai? else use one of: anthropic']],
  },
  {
    name: 'a provider named like a member of every object',
    text: `${HEAD}upstreams: { a: { provider: ◆constructor, secret: s, models: [m] } }\n`,
    finds: [['names/provider', 'there is no provider constructor', 'use one of: anthropic']],
  },
  {
    name: 'an environment variable that is not set',
    isCommand: true,
    text: `${HEAD}upstreams:\n  a: { provider: openai, secret: ◆$SLUICE_TEST_UNSET }\n  b: { provider: openai, secret: $SLUICE_TEST_SET }\n`,
    finds: [['secret/environment', '$SLUICE_TEST_UNSET is not set in the environment', 'set SLUICE_TEST_UNSET, or remove the entry']],
  },
  {
    name: 'an environment variable of a key',
    text: 'keys:\n  - name: me\n    value: ◆$SLUICE_TEST_UNSET\n',
    finds: [['secret/environment', '$SLUICE_TEST_UNSET is not set in the environment', 'set SLUICE_TEST_UNSET, or remove the entry']],
  },
  {
    name: 'a missing file of a secret',
    text: `${HEAD}upstreams:\n  a: { provider: openai, secret: ◆{ file: none.txt } }\n`,
    finds: [['secret/file', 'none.txt cannot be read', 'name an existing file']],
  },
  {
    name: 'a missing base of a provider whose accounts have an address each',
    text: `${HEAD}upstreams:\n  a: ◆{ provider: azure, secret: s }\n  b: { provider: azure, base: 'https://mine.openai.azure.com', secret: s }\n`,
    finds: [
      ['upstream/base', 'azure has an address for each account, but this upstream has none', 'give it the base: of your own account'],
    ],
  },
  {
    name: 'an invalid address',
    text: `${HEAD}upstreams:\n  a: { provider: openai, base: '◆http://me:99999', secret: s }\n`,
    finds: [['upstream/base', 'the value is not a URL', 'write one such as http://127.0.0.1:11434']],
  },
  {
    name: 'a name of two keys',
    isCommand: true,
    text: 'keys:\n  - { name: me, value: one }\n  - { name: you, value: two }\n  - { name: ◆me, value: three }\n',
    finds: [['key/name', 'two keys are named me', 'give each its own name']],
  },
  {
    name: 'a key with two names',
    text: 'keys:\n  - { name: me, value: one }\n  - ◆{ name: you, value: one }\n',
    finds: [['key/value', '', '']],
  },
  {
    name: 'a key without a value',
    text: 'keys:\n  - ◆{ name: me }\n',
    finds: [['grammar/missing-key', 'keys.0: "sha256" is missing', 'A key has its `sha256`, or a `value`.']],
  },
  {
    name: 'an empty value',
    text: `${HEAD}upstreams:\n  a:\n    ◆provider:\n    secret: s\n`,
    finds: [['grammar/type', 'upstreams.a.provider: must be string', 'The name of a file of providers/.']],
  },
  {
    name: 'a secret inside a longer text',
    text: `${HEAD}upstreams: { a: { provider: openai, secret: '◆\${KEY}' } }\n`,
    finds: [
      [
        'grammar/value',
        'upstreams.a.secret: the value is not valid here',
        '`$NAME` of an environment variable, `{ file: path }`, or the text itself, which does not begin with `$`.',
      ],
    ],
  },
  {
    name: 'invalid YAML',
    text: 'listen: 127.0.0.1:0\nkeys: [\n◆',
    finds: [['yaml/syntax', '', 'correct the YAML syntax at this position']],
  },
  {
    name: 'each of several mistakes',
    isCommand: true,
    text: `keys:\n  - { name: me, value: a }\n  - { name: ◆me, value: ◆$SLUICE_TEST_UNSET }\nupstreams:\n  a: { provider: ◆nobody, secret: s }\n  b: { provider: openai, secret: ◆$SLUICE_TEST_UNSET }\nmodels:\n  m: { targets: [{ upstream: ◆c }, { upstream: b }] }\n`,
    finds: [
      ['key/name', 'two keys are named me', 'give each its own name'],
      ['secret/environment', '$SLUICE_TEST_UNSET is not set in the environment', 'set SLUICE_TEST_UNSET, or remove the entry'],
      ['names/provider', 'there is no provider nobody', 'use one of: anthropic'],
      ['secret/environment', '$SLUICE_TEST_UNSET is not set in the environment', 'set SLUICE_TEST_UNSET, or remove the entry'],
      ['names/upstream', 'there is no upstream c', 'use one of: a, b'],
    ],
  },
]

describe('gateway.yaml', () => {
  for (const { name, text, finds, isCommand = false } of WRONG) {
    test.concurrent(`${name} is a finding`, async () => {
      const folder = temporary()
      const marks = write(folder, text)
      const { code, out, err } = isCommand ? await sluice(['start', '--config', 'gateway.yaml'], folder) : await load(folder)
      const found = err
        .trimEnd()
        .split('\n')
        .map(line => line.split('  '))
      expect(found).toEqual(
        finds.map(([rule, detail, remedy], index) => [
          marks[index],
          rule,
          detail === '' ? expect.stringMatching(/./) : detail,
          expect.stringMatching(new RegExp(`^${remedy.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`)),
        ]),
      )
      expect({ code, out }).toEqual({ code: 1, out: '' })
    })
  }

  test.concurrent('an unknown key is a finding of `sluice check`, too', async () => {
    const folder = temporary()
    const marks = write(folder, `${HEAD.replace('my-key', 'a-key-that-nobody-tries')}◆colour: red\n`)
    const { code, out, err } = await sluice(['check', '--config', 'gateway.yaml'], folder)
    expect({ code, out, err: err.trimEnd().split('  ').slice(0, 2) }).toEqual({ code: 1, out: '', err: [marks[0], 'grammar/unknown-key'] })
  })

  test.concurrent('a missing file is a finding', async () => {
    const { code, err } = await sluice(['start', '--config', 'none.yaml'], temporary())
    expect({ code, err: err.trimEnd() }).toEqual({
      code: 1,
      err: 'none.yaml:1:1  file/missing  the file cannot be read  name an existing file, or write one with `sluice init`',
    })
  })

  test.concurrent('an address that cannot be listened on ends the start with exit code 2', async () => {
    const folder = temporary()
    write(folder, 'listen: 192.0.2.1:1\n')
    const { code, err } = await sluice(['start', '--config', 'gateway.yaml'], folder)
    expect({ code, err: err.split(':')[0] }).toEqual({ code: 2, err: 'Cannot listen on 192.0.2.1' })
  })

  test.concurrent('a valid file is reported by `sluice check` in one line, and nothing is started', async () => {
    const folder = temporary()
    write(
      folder,
      `${HEAD.replace('my-key', 'a-key-that-nobody-tries')}upstreams: { a: { provider: openai, secret: $SLUICE_TEST_SET, models: [one, two] } }\n`,
    )
    const { code, out, err } = await sluice(['check', '--config', 'gateway.yaml'], folder)
    expect({ code, out, err }).toEqual({ code: 0, out: 'gateway.yaml: 2 models, 1 key, no findings\n', err: '' })
    expect(existsSync(join(folder, '.sluice'))).toBe(false)
  })
})
