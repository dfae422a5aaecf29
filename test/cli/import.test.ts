// Other gateways' files, and changes of our own, as the commands tell of them.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { type Ended, foldersOf, MAIN, sluice as sluiceApart, sluiceInOneProcess } from '../command.js'
import { startSimulator } from '../harness.js'

const folderOf = foldersOf()
const sluice = sluiceInOneProcess()

interface Line {
  path: string
  verdict: string
  why: string
}
interface Gateway {
  keys: unknown[]
  upstreams: Record<string, object>
  models: Record<string, { targets: object[] }>
}

const LITELLM = `model_list:
  - model_name: fast
    litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY, rpm: 60, weight: 3, temperature: 0.2 }
    model_info: { input_cost_per_token: 0.00000025, output_cost_per_token: 0.000002, max_output_tokens: 4096, mode: chat }
  - model_name: fast
    litellm_params: { model: openai/gpt-5-nano, api_key: os.environ/OPENAI_API_KEY }
  - model_name: clever
    litellm_params: { model: anthropic/claude-haiku-4-5, api_key: sk-ant-a-real-looking-key-000000 }
  - model_name: local
    litellm_params: { model: ollama_chat/llama3, api_base: 'http://127.0.0.1:11434' }
  - model_name: cloud
    litellm_params: { model: bedrock/anthropic.claude, aws_region_name: us-east-1 }
  - { model_name: 'openai/*', litellm_params: { model: 'openai/*', api_key: os.environ/OPENAI_API_KEY } }
  - { model_name: 'two-*-stars-*', litellm_params: { model: 'openai/*-*' } }
  - { model_name: hosted, litellm_params: { model: azure/gpt, api_key: os.environ/AZURE_KEY, api_base: os.environ/AZURE_BASE } }
router_settings:
  routing_strategy: least-busy
  allowed_fails: 3
  cooldown_time: 30
  model_group_alias: { gpt-4: fast }
  fallbacks: [{ fast: [clever] }]
litellm_settings: { drop_params: true, request_timeout: 30, success_callback: [langfuse], guardrails: [pii], max_budget: 100, some_new_setting: 1 }
general_settings: { master_key: os.environ/MASTER_KEY, database_url: os.environ/DATABASE_URL }
environment_variables: { REDIS_HOST: localhost }
`

/** The only finding is that there are no keys. */
const ONLY_KEYS = /^gateway\.yaml:\d+:\d+ {2}keys\/none {2}[^\n]*\n$/

describe('sluice import', () => {
  test('gives a local server without a key none, names each variable that is left to be set, and the file is good', async () => {
    const config = `model_list:
  - { model_name: a, litellm_params: { model: ollama/llama3, api_base: 'http://127.0.0.1:11434' } }
  - { model_name: b, litellm_params: { model: hosted_vllm/qwen, api_base: 'http://10.0.0.7:8000' } }
  - { model_name: c, litellm_params: { model: lm_studio/qwen, api_key: os.environ/STUDIO_KEY } }
  - { model_name: d, litellm_params: { model: lm_studio/other, api_base: 'http://10.0.0.8:1234' } }
  - { model_name: e, litellm_params: { model: anthropic/claude-haiku-4-5 } }
`
    const folder = folderOf({ 'config.yaml': config })
    const { code, out } = await sluice(['import', 'litellm', 'config.yaml', '--out', 'gateway.yaml', '--json'], folder)
    expect(code).toBe(0)
    const { lines, gateway } = JSON.parse(out) as { lines: Line[]; gateway: { upstreams: Record<string, { secret: string }> } }
    const secrets = Object.entries(gateway.upstreams).map(([name, { secret }]) => [name, secret])
    expect(secrets).toEqual([
      ['ollama', 'none'],
      ['vllm', 'none'],
      ['lm-studio', '$STUDIO_KEY'],
      ['lm-studio-2', 'none'],
      ['anthropic', '$ANTHROPIC_API_KEY'],
    ])
    const told = lines.filter(({ path }) => path.endsWith('.api_key')).map(({ why }) => why)
    for (const [, secret = ''] of secrets.filter(([, one]) => one !== 'none')) expect(told.join()).toContain(secret.replace('$', ''))
    expect(told).toHaveLength(5)
    const env = { STUDIO_KEY: 'some-key', ANTHROPIC_API_KEY: 'another-key' }
    // Keys for callers are what is missing.
    expect(await sluice(['check'], folder, env)).toMatchObject({ code: 0, err: expect.stringMatching(ONLY_KEYS) })
  })

  test('keeps accounts apart: each key of the file has a variable of its own, whatever the order', async () => {
    const at = (name: string, key: string): string =>
      `  - { model_name: ${name}, litellm_params: { model: openai/gpt-4o${key === '' ? '' : `, api_key: ${key}`} } }\n`
    const files: [keys: string[], secrets: string[]][] = [
      [
        ['sk-aaaa-of-one', 'sk-bbbb-of-two', 'os.environ/OPENAI_API_KEY', 'sk-aaaa-of-one'],
        ['$OPENAI_API_KEY_2', '$OPENAI_API_KEY_3', '$OPENAI_API_KEY'],
      ],
      [
        ['sk-aaaa-of-one', 'sk-bbbb-of-two'],
        ['$OPENAI_API_KEY', '$OPENAI_API_KEY_2'],
      ],
      // Without a key LiteLLM takes the usual variable.
      [
        ['sk-aaaa-of-one', ''],
        ['$OPENAI_API_KEY_2', '$OPENAI_API_KEY'],
      ],
      [
        ['os.environ/OPENAI_API_KEY_2', 'sk-aaaa-of-one', 'sk-bbbb-of-two'],
        ['$OPENAI_API_KEY_2', '$OPENAI_API_KEY', '$OPENAI_API_KEY_3'],
      ],
    ]
    const folder = folderOf(
      Object.fromEntries(files.map(([keys], index) => [`${index}.yaml`, `model_list:\n${keys.map(key => at('gpt', key)).join('')}`])),
    )
    for (const [index, [keys, secrets]] of files.entries()) {
      const { out } = await sluice(['import', 'litellm', `${index}.yaml`, '--json'], folder)
      expect(out).not.toMatch(/-of-(one|two)/)
      const { gateway, lines } = JSON.parse(out) as { gateway: { upstreams: Record<string, { secret: string }> } & Gateway; lines: Line[] }
      expect(Object.values(gateway.upstreams).map(({ secret }) => secret)).toEqual(secrets)
      const targets = gateway.models.gpt?.targets as { upstream: string }[]
      expect(new Set(targets.map(({ upstream }) => upstream)).size).toBe(new Set(keys).size)
      const told = lines.filter(({ path }) => path.endsWith('.api_key')).map(({ why }) => why)
      for (const secret of secrets) expect(told.join(' ')).toContain(secret.slice(1))
    }
  })

  test('takes the model that a deployment is, with or without the provider before it', async () => {
    const entry = (name: string, base: string): string =>
      `  - { model_name: ${name}, litellm_params: { model: azure/ours-${name}, api_key: os.environ/AZURE_KEY, api_base: 'https://mine.openai.azure.com' }, model_info: { base_model: ${base} } }\n`
    const folder = folderOf({ 'config.yaml': `model_list:\n${entry('a', 'azure/gpt-5-mini')}${entry('b', 'gpt-5-nano')}` })
    const { out } = await sluice(['import', 'litellm', 'config.yaml', '--out', 'gateway.yaml', '--json'], folder)
    const { gateway, lines } = JSON.parse(out) as { gateway: Gateway; lines: Line[] }
    expect(Object.values(gateway.models).flatMap(({ targets }) => targets)).toMatchObject([
      { model: 'ours-a', known_as: 'gpt-5-mini' },
      { model: 'ours-b', known_as: 'gpt-5-nano' },
    ])
    expect(lines.filter(({ path }) => path.endsWith('base_model')).map(({ verdict }) => verdict)).toEqual(['exact', 'exact'])
    expect(await sluice(['check', '--no-env'], folder)).toMatchObject({ code: 0 })
  })

  test('takes numbers that are written as texts, and tells of those that it cannot take', async () => {
    const config = `keys: none
model_list:
  - model_name: a
    litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/KEY, rpm: "60", tpm: os.environ/TPM, max_parallel_requests: 4, weight: "3" }
    model_info: { input_cost_per_token: "0.0000002", output_cost_per_token: 4e-7, max_output_tokens: "4096" }
  - { model_name: b, litellm_params: { model: openai/gpt-5-nano, api_key: os.environ/KEY, input_cost_per_token: 0.000001 } }
`
    const folder = folderOf({ 'config.yaml': config })
    const { code, out } = await sluice(['import', 'litellm', 'config.yaml', '--out', 'gateway.yaml', '--json'], folder)
    expect(code).toBe(0)
    const { lines, gateway } = JSON.parse(out) as { lines: Line[]; gateway: Record<'upstreams' | 'models', object> }
    expect(gateway.upstreams).toMatchObject({ openai: { limits: { requests: '60/1m', in_flight: 4 } } })
    expect(gateway.models).toMatchObject({
      a: { targets: [{ weight: 3 }], price: { input: 0.2, output: 0.4 }, limits: { max_output: 4096 } },
    })
    const left = lines.filter(line => line.verdict === 'by hand').map(line => line.path)
    expect(left).toEqual(['model_list[0].litellm_params.tpm', 'model_list[1].litellm_params'])
    expect(await sluice(['check', '--no-env'], folder)).toMatchObject({ code: 0, err: expect.stringMatching(ONLY_KEYS) })
  })

  test('turns a file of LiteLLM into a valid file, with a line about each setting and no secret', async () => {
    const folder = folderOf({ 'config.yaml': LITELLM })
    const { code, out, err } = await sluice(['import', 'litellm', 'config.yaml', '--out', 'gateway.yaml', '--json'], folder)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain('a-real-looking-key')
    const { lines } = JSON.parse(out) as { lines: Line[] }
    const verdicts = Object.fromEntries(lines.map(({ path, verdict }) => [path, verdict]))
    expect(verdicts).toMatchObject({
      'model_list[0].litellm_params.model': 'exact',
      'model_list[0].litellm_params.api_key': 'exact',
      'model_list[0].litellm_params.rpm': 'approximate',
      'model_list[0].litellm_params.temperature': 'exact',
      'model_list[0].model_info.input_cost_per_token': 'exact',
      'model_list[2].litellm_params.api_key': 'by hand',
      'model_list[3].litellm_params.model': 'exact',
      'model_list[4].litellm_params.model': 'unsupported',
      'model_list[5].model_name': 'exact',
      'model_list[6].model_name': 'by hand',
      'model_list[7].litellm_params.api_base': 'by hand',
      'router_settings.routing_strategy': 'exact',
      'router_settings.allowed_fails': 'approximate',
      'router_settings.cooldown_time': 'approximate',
      'litellm_settings.guardrails': 'by hand',
      'litellm_settings.max_budget': 'by hand',
      'router_settings.model_group_alias.gpt-4': 'exact',
      'router_settings.fallbacks[0].fast': 'exact',
      'litellm_settings.drop_params': 'approximate',
      'litellm_settings.success_callback': 'unsupported',
      'litellm_settings.some_new_setting': 'unsupported',
      'general_settings.master_key': 'approximate',
      'general_settings.database_url': 'by hand',
      'environment_variables.REDIS_HOST': 'by hand',
    })
    for (const { why } of lines) expect(why).not.toBe('')
    const text = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
    expect(text).not.toContain('a-real-looking-key')
    const gateway = load(text) as Gateway
    const health = { consecutive_failures: 4, base_ejection_time: '30s' }
    expect(gateway.upstreams).toEqual({
      openai: { provider: 'openai', secret: '$OPENAI_API_KEY', limits: { requests: '60/1m' }, health },
      anthropic: { provider: 'anthropic', secret: '$ANTHROPIC_API_KEY', health },
      'azure-deployments': { provider: 'azure-deployments', secret: '$AZURE_KEY', base: '$AZURE_BASE', health },
      ollama: expect.objectContaining({ provider: 'ollama', base: 'http://127.0.0.1:11434' }),
    })
    expect(gateway.models.fast).toEqual({
      targets: [
        { upstream: 'openai', model: 'gpt-5-mini', weight: 3, defaults: { temperature: 0.2 } },
        { upstream: 'openai', model: 'gpt-5-nano' },
        { upstream: 'anthropic', model: 'claude-haiku-4-5', priority: 2 },
      ],
      price: { input: 0.25, output: 2 },
      limits: { max_output: 4096 },
      aliases: ['gpt-4'],
      choose: 'least_busy',
    })
    expect(gateway.models['openai/*']).toEqual({ targets: [{ upstream: 'openai', model: '*' }] })
    // What is left to be done by hand is found, and no key goes anywhere until then.
    expect(await sluice(['check', '--no-env'], folder)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^gateway\.yaml:\d+:\d+ {2}grammar\/value {2}upstreams\.azure-deployments\.base: .*\n$/),
    })
    writeFileSync(join(folder, 'gateway.yaml'), text.replace('$AZURE_BASE', 'https://mine.openai.azure.com'))
    expect(await sluice(['check', '--no-env', '--strict'], folder)).toMatchObject({ code: 0, err: '' })
    expect(await sluice(['import', 'litellm', 'config.yaml', '--out', 'gateway.yaml'], folder)).toMatchObject({ code: 64 })
  })

  test('prints a valid file, with the lines as comments', async () => {
    const folder = folderOf({ 'config.yaml': LITELLM })
    const { code, out } = await sluice(['import', 'litellm', 'config.yaml'], folder)
    expect(code).toBe(0)
    expect(out).toMatch(/^# unsupported\s+model_list\[4\]\.litellm_params\.model\s+\S/m)
    expect(load(out)).toHaveProperty('models.fast.aliases', ['gpt-4'])
  })

  test('reads channels of new-api', async () => {
    const channels = [
      {
        id: 7,
        type: 14,
        key: 'sk-secret-of-the-channel',
        name: 'a',
        status: 1,
        models: 'claude,claude-old',
        model_mapping: '{"claude":"claude-haiku-4-5"}',
        priority: 5,
        weight: 0,
        group: 'default',
        auto_ban: 1,
        used_quota: 9,
      },
      {
        id: 8,
        type: 1,
        key: 'k',
        status: 1,
        base_url: 'http://127.0.0.1:9',
        models: 'claude',
        priority: 0,
        weight: 2,
        group: 'vip',
        param_override: '{"seed":1}',
        header_override: '{"x-a":"b"}',
      },
      { id: 9, type: 2, key: 'k', status: 1, models: 'mj' },
      { id: 10, type: 1, key: 'k', status: 2, models: 'gone' },
    ]
    const folder = folderOf({ 'channels.json': JSON.stringify({ success: true, data: { items: channels } }) })
    const { out } = await sluice(['import', 'new-api', 'channels.json', '--out', 'gateway.yaml', '--json'], folder)
    expect(out).not.toContain('secret-of-the-channel')
    const { lines } = JSON.parse(out) as { lines: Line[] }
    expect(Object.fromEntries(lines.map(({ path, verdict }) => [path, verdict]))).toMatchObject({
      '[0].type': 'exact',
      '[0].key': 'by hand',
      '[0].model_mapping': 'exact',
      '[1].group': 'by hand',
      '[1].param_override': 'exact',
      '[1].header_override': 'exact',
      '[2].type': 'unsupported',
      '[3].status': 'approximate',
    })
    const { models } = load(readFileSync(join(folder, 'gateway.yaml'), 'utf8')) as Gateway
    expect(models).toEqual({
      claude: {
        targets: [
          { upstream: 'anthropic', model: 'claude-haiku-4-5' },
          { upstream: 'openai', model: 'claude', priority: 6, weight: 2, force: { seed: 1 } },
        ],
      },
      'claude-old': { targets: [{ upstream: 'anthropic', model: 'claude-old' }] },
    })
    expect(await sluice(['check', '--no-env'], folder)).toMatchObject({ code: 0, err: expect.stringMatching(ONLY_KEYS) })
  })

  test('reads channels of new-api with prices, and the groups of both', async () => {
    const channel = { type: 1, key: 'k', status: 1, models: 'gpt-5-mini, dall-e-3' }
    const options = [
      { key: 'ModelRatio', value: '{"gpt-5-mini":0.125,"unknown-model":7}' },
      { key: 'CompletionRatio', value: '{"gpt-5-mini":8}' },
      { key: 'CacheRatio', value: '{"gpt-5-mini":0.1}' },
      { key: 'ModelPrice', value: '{"dall-e-3":0.04}' },
      { key: 'GroupRatio', value: '{"default":1,"vip":0.8}' },
      { key: 'SystemName', value: 'mine' },
    ]
    const folder = folderOf({
      'channels.json': JSON.stringify([
        { ...channel, id: 1, group: 'vip' },
        { ...channel, id: 2, group: 'vip', models: 'gpt-5-mini' },
      ]),
      'options.json': JSON.stringify({ success: true, data: options }),
    })
    const args = ['import', 'new-api', 'channels.json', '--prices', 'options.json', '--out', 'gateway.yaml', '--json']
    const { lines } = JSON.parse((await sluice(args, folder)).out) as { lines: Line[] }
    expect(Object.fromEntries(lines.map(({ path, verdict }) => [path, verdict]))).toMatchObject({
      'ModelRatio.gpt-5-mini': 'exact',
      'ModelPrice.dall-e-3': 'by hand',
      'GroupRatio.vip': 'exact',
      '[0].group': 'exact',
    })
    const gateway = load(readFileSync(join(folder, 'gateway.yaml'), 'utf8')) as Gateway & { groups: object }
    expect(gateway.groups).toEqual({ default: {}, vip: { times: 0.8 } })
    expect(gateway.models['gpt-5-mini']).toMatchObject({ groups: ['vip'], price: { input: 0.25, output: 2, cached: 0.025 } })
    expect(await sluice(['check', '--no-env', '--strict'], folder)).toMatchObject({ code: 1, err: expect.stringMatching(ONLY_KEYS) })
    expect(await sluice(['import', 'litellm', 'channels.json', '--prices', 'options.json'], folder)).toMatchObject({ code: 64 })
  })

  test('refuses other files with exit code 64', async () => {
    const folder = folderOf({ 'other.yaml': 'a: [', 'empty.yaml': '[]' })
    for (const args of [
      ['import', 'kong', 'x'],
      ['import', 'litellm', 'nowhere.yaml'],
      ['import', 'litellm', 'other.yaml'],
      ['import', 'new-api', 'empty.yaml'],
    ])
      expect({ args, ...(await sluice(args, folder)) }).toMatchObject({ args, code: 64, out: '' })
  })
})

const file = (more: string): string => `listen: 127.0.0.1:0
keys:
  - { name: me, value: $ME_KEY, models: ['a*'] }
upstreams:
  one: { provider: openai, secret: $ONE_KEY }
models:
  apple: { targets: [{ upstream: one }], price: { input: 1, output: 2 } }
${more}`

test('sluice diff shows changes of routes, targets, rights, prices and fields', async () => {
  const folder = folderOf({
    'old/gateway.yaml': file(''),
    'new/gateway.yaml': file('  avocado: { targets: [{ upstream: one, model: x }] }')
      .replace('output: 2', 'output: 3')
      .replace('{ upstream: one }], price', '{ upstream: one, model: big }], price'),
    'new/routes/version.yaml': `name: version\nmethod: GET\npath: /version\ndialect: chat\nauth: []\nanswer: '{ "v": 1 }'\n`,
  })
  const { code, out } = await sluice(['diff', 'old', 'new', '--json'], folder)
  expect(code).toBe(0)
  const { changes } = JSON.parse(out) as { changes: { section: string; name: string; before?: string; after?: string }[] }
  expect(changes).toEqual([
    { section: 'routes', name: 'GET,HEAD /version (version)', after: 'chat, answered here, key in none' },
    { section: 'models', name: 'apple', before: 'one/apple (priority 1, weight 1)', after: 'one/big (priority 1, weight 1)' },
    { section: 'models', name: 'avocado', after: 'one/x (priority 1, weight 1)' },
    { section: 'rights', name: 'me', before: 'models apple', after: 'models apple, avocado' },
    { section: 'prices', name: 'apple', before: 'input 1, output 2', after: 'input 1, output 3' },
  ])
  expect((await sluice(['diff', 'old', 'old/gateway.yaml'], folder)).out).toBe('Both mean the same.\n')
  expect(await sluice(['diff', 'old', 'nowhere'], folder)).toMatchObject({ code: 1, err: expect.stringContaining('file/missing') })
})

test('sluice diff shows changes of patterns, calls, passed headers, parameters and dialects', async () => {
  const head = 'listen: 127.0.0.1:0\nkeys: [{ name: me, value: $ME_KEY }]\n'
  const provider = (a: number): string => `title: Mine
source: https://docs.example.com/chat
base: https://api.example.com
credential: { header: authorization, prefix: 'Bearer ' }
speaks: { chat: { path: /v1/chat/completions, response: '$merge([$, { "a": ${a} }])' } }
`
  const folder = folderOf({
    'old/gateway.yaml': `${head}upstreams: { one: { provider: mine, secret: $ONE_KEY, headers: { x-team: old-word } } }
models: { apple: { targets: [{ upstream: one }], patch: '$' } }
relay: { files: { path: /v1/files/*, upstream: one }, gone: { path: /gone/*, upstream: one } }
call:
  judge: { at: request, url: 'http://127.0.0.1:9/old-word', send: '{}' }
  redact: { at: request, url: 'http://127.0.0.1:9/', send: '{ "a": 1 }' }
patterns: { cards: { match: '\\d{13}', mask: card } }
`,
    'old/providers/mine.yaml': provider(1),
    'old/routes/short.yaml': 'name: short\nlike: messages\npath: /short\n',
    'new/gateway.yaml': `${head}upstreams: { one: { provider: mine, secret: $ONE_KEY, headers: { x-team: new-word } } }
models: { apple: { targets: [{ upstream: one, patch: { chat: '$merge([$, {}])' } }] } }
relay: { files: { path: /v1/files/*, upstream: one, price: 0.001 } }
call:
  redact: { at: request, url: 'http://127.0.0.1:9/', send: '{ "a": 2 }', on_fail: pass }
  judge: { at: request, url: 'http://127.0.0.1:9/new-word', send: '{}' }
patterns: { cards: { match: '\\d{13}', do: block }, mail: { words: [merger], in: [answer], keys: ['team-*'] } }
max_output: 5000
`,
    'new/providers/mine.yaml': provider(2),
    'new/routes/short.yaml': 'name: short\nlike: chat\npath: /short\nlimits: { body: 64KiB }\n',
    'new/schemas/completions/format.yaml': 'like: completions\n',
  })
  const { code, out, err } = await sluice(['diff', 'old', 'new', '--json'], folder)
  if (code !== 0) console.log(out)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).not.toMatch(/(?:old|new)-word/)
  const { changes } = JSON.parse(out) as { changes: { section: string; name: string; before?: string; after?: string }[] }
  const told = changes.map(({ section, name, before = '+', after = '-' }) => `${section} ${name}: ${before} → ${after}`)
  expect(told).toEqual([
    'routes POST /short (short): messages, asks a model, key in x-api-key or bearer → chat, asks a model, key in bearer or api-key',
    'routes POST /short (short): limits.body: 32MiB → 64KiB',
    'routes POST /short (short): caps: { max_output: body.max_tokens } → -',
    'routes POST /short (short): forward: [anthropic-version, anthropic-beta] → []',
    'routes POST /short (short): mirror: [request-id] → [openai-processing-ms, openai-version]',
    'routes POST /short (short): like: messages → chat',
    'routes POST /short (short): asks: + → { output: [body.max_completion_tokens, body.max_tokens], answers: body.n }',
    'relays files: price: + → 0.001',
    'relays gone: /gone/* to one/, groups default, no price → -',
    'dialects completions: like: + → completions',
    'providers mine: speaks.chat.response: $merge([$, { "a": 1 }]) → $merge([$, { "a": 2 }])',
    'upstreams one: headers.x-team: secret 1 → secret 2',
    'models apple: patch: $ → -',
    'models apple: one/apple.patch: + → { chat: $merge([$, {}]) }',
    'calls judge: url: secret 3 → secret 4',
    'calls redact: send: { "a": 1 } → { "a": 2 }',
    'calls redact: on_fail: refuse → pass',
    'calls in order: judge, redact → redact, judge',
    'patterns cards: mask: card → ***',
    'patterns cards: do: mask → block',
    'patterns mail: + → mask words merger in answer, for keys team-*',
    'settings max_output: 8192 → 5000',
  ])
})

describe('sluice use --write', () => {
  test('adds settings to existing files, and writes no key', async () => {
    const folder = folderOf({
      'gateway.yaml': file('').replace('127.0.0.1:0', '127.0.0.1:7000'),
      'home/.claude/settings.json': '{ "theme": "dark", "env": { "OTHER": "1" } }',
      'home/.codex/config.toml': '[projects.x]\ntrust = true\n',
    })
    const env = { HOME: join(folder, 'home') }
    for (const agent of ['claude-code', 'codex', 'gemini-cli', 'opencode'])
      expect(await sluice(['use', agent, '--write'], folder, env)).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(readFileSync(join(folder, 'home/.claude/settings.json'), 'utf8'))).toEqual({
      theme: 'dark',
      env: {
        OTHER: '1',
        ANTHROPIC_BASE_URL: 'http://127.0.0.1:7000',
        ANTHROPIC_MODEL: 'apple',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'apple',
        ANTHROPIC_DEFAULT_SONNET_MODEL: 'apple',
        ANTHROPIC_DEFAULT_OPUS_MODEL: 'apple',
        ANTHROPIC_DEFAULT_FABLE_MODEL: 'apple',
      },
    })
    const toml = readFileSync(join(folder, 'home/.codex/config.toml'), 'utf8')
    expect(toml).toMatch(/^model = "apple"\nmodel_provider = "sluice"\n\[projects\.x\]\ntrust = true\n\n\[model_providers\.sluice\]/)
    expect(readFileSync(join(folder, '.gemini/.env'), 'utf8')).toBe('GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:7000\nGEMINI_MODEL=apple\n')
    expect(JSON.parse(readFileSync(join(folder, '.gemini/settings.json'), 'utf8'))).toHaveProperty(
      'security.auth.selectedType',
      'gemini-api-key',
    )
    expect(JSON.parse(readFileSync(join(folder, 'opencode.json'), 'utf8'))).toHaveProperty(
      'provider.sluice.options.baseURL',
      'http://127.0.0.1:7000/v1',
    )
    for (const name of ['home/.claude/settings.json', 'home/.codex/config.toml', '.gemini/.env', 'opencode.json'])
      expect(readFileSync(join(folder, name), 'utf8')).not.toContain('your key')
    // What says something already is left alone.
    expect(await sluice(['use', 'codex', '--write'], folder, env)).toMatchObject({
      code: 64,
      err: expect.stringContaining('already has model'),
    })
    for (const agent of ['claude-code', 'gemini-cli', 'opencode'])
      expect(await sluice(['use', agent, '--write'], folder, env)).toMatchObject({ code: 0, err: '' })
  })

  test.each([
    [
      'claude-code',
      'home/.claude/settings.json',
      '{ "env": { "ANTHROPIC_BASE_URL": "https://corp.example" } }',
      /already has env\.ANTHROPIC_BASE_URL;/,
    ],
    ['claude-code', 'home/.claude/settings.json', '{ "env": "none" }', /already has env/],
    ['claude-code', 'home/.claude/settings.json', '[1, 2]', /is not a JSON object/],
    ['claude-code', 'home/.claude/settings.json', '// mine\n{}', /is not a JSON object/],
    ['gemini-cli', '.gemini/.env', '# mine\n\nGEMINI_MODEL=theirs\n', /already has GEMINI_MODEL/],
    [
      'gemini-cli',
      '.gemini/settings.json',
      '{"security":{"auth":{"selectedType":"vertex-ai"}}}',
      /already has security\.auth\.selectedType;/,
    ],
    ['opencode', 'opencode.json', '{ "model": "theirs" }', /already has model/],
    ['opencode', 'opencode.json', 'null', /is not a JSON object/],
  ])('leaves a file with other values alone: %s %s %s', async (agent, path, text, said) => {
    const folder = folderOf({ 'gateway.yaml': file(''), [path]: text })
    const { code, err } = await sluice(['use', agent, '--write'], folder, { HOME: join(folder, 'home') })
    expect([code, err]).toEqual([64, expect.stringMatching(said)])
    expect(err.trimEnd()).not.toContain('\n')
    expect(readFileSync(join(folder, path), 'utf8')).toBe(text)
  })

  test('keeps the other lines of an env file, and writes no model that nobody named', async () => {
    const folder = folderOf({ '.gemini/.env': '# mine\r\n\r\nFOO=1' })
    expect(await sluice(['use', 'gemini-cli', '--write'], folder)).toMatchObject({ code: 64, err: expect.stringContaining('--model') })
    expect(await sluice(['use', 'gemini-cli', '--write', '--model', 'apple'], folder)).toMatchObject({ code: 0 })
    expect(readFileSync(join(folder, '.gemini/.env'), 'utf8')).toBe(
      '# mine\r\n\r\nFOO=1\nGOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8080\nGEMINI_MODEL=apple\n',
    )
    const other = folderOf({ 'home/.claude/settings.json/a': '' })
    expect(await sluice(['use', 'claude-code', '--write', '--model', 'apple'], other, { HOME: join(other, 'home') })).toMatchObject({
      code: 64,
      err: expect.stringMatching(/settings\.json cannot be read: EISDIR\.$/m),
    })
  })
})

describe('sluice try --watch', () => {
  test('runs again when the input changes, and requires a file', async () => {
    const request = (seed: number): string =>
      JSON.stringify({ model: 'm', max_completion_tokens: seed, messages: [{ role: 'user', content: 'Hi' }] })
    const folder = folderOf({ 'request.json': request(7) })
    const child = spawn(process.execPath, [MAIN, 'try', 'chat-to-messages', 'request', '--watch', '--input', 'request.json'], {
      cwd: folder,
    })
    let out = ''
    child.stdout.on('data', part => {
      out += String(part)
    })
    await expect.poll(() => out).toMatch(/"max_tokens": 7/)
    writeFileSync(join(folder, 'request.json'), request(12345))
    await expect.poll(() => out).toMatch(/"max_tokens": 12345/)
    child.kill('SIGKILL')
    expect(await sluice(['try', 'chat-to-messages', 'request', '--watch'], folder)).toMatchObject({ code: 64 })
  })
})

describe('sluice test --record', () => {
  test('records a live exchange as a case that passes, whole and as a stream, without secrets and ids', async () => {
    const simulator = await startSimulator({ listen: '127.0.0.1:0' })
    const folder = folderOf({
      'gateway.yaml': `keys: [{ name: me, value: a-key-of-mine }]
upstreams: { up: { provider: anthropic, base: '${simulator.url}', secret: sk-ant-secret-of-the-account } }
models: { m: { targets: [{ upstream: up, model: sim }] } }
`,
    })
    const body = (stream: boolean): string =>
      JSON.stringify({ model: 'm', seed: 7, user: 'jane.doe', stream, messages: [{ role: 'user', content: 'Hi' }] })
    const record = (name: string, stream: boolean): Promise<Ended> =>
      sluice(['test', '.', '--record', '--key', 'me', '--path', '/v1/chat/completions', '--name', name], folder, {}, body(stream))
    for (const [name, stream] of [
      ['a whole answer', false],
      ['a stream', true],
    ] as const)
      expect(await record(name, stream)).toMatchObject({ code: 0, err: '' })
    const whole = readFileSync(join(folder, 'mappings/chat-to-messages/cases/a-whole-answer.yaml'), 'utf8')
    expect(whole).not.toMatch(/secret-of-the-account|a-key-of-mine|jane/)
    expect(load(whole)).toMatchObject({
      name: 'a whole answer',
      request: { in: { model: 'm', seed: 7 }, out: { model: 'upstream-model' }, ctx: { provider: 'anthropic' } },
      dropped: ['seed'],
      response: { in: { id: expect.stringMatching(/^[a-z]+[-_]\d+$/), type: 'message' }, out: { object: 'chat.completion' } },
    })
    const { stream } = load(readFileSync(join(folder, 'mappings/chat-to-messages/cases/a-stream.yaml'), 'utf8')) as {
      stream: { in?: { type: string } }[]
    }
    expect(stream[0]?.in?.type).toBe('message_start')
    expect(await sluice(['test'], folder)).toMatchObject({ code: 0, out: expect.stringContaining('2 cases, 0 failed') })
    expect(await record('a stream', true)).toMatchObject({ code: 64, err: expect.stringContaining('exists already') })
    await simulator.close()
  })

  test('records nothing if no mapping applies or the request is refused', async () => {
    const folder = folderOf({ 'gateway.yaml': file('').replace('$ONE_KEY', 'none').replace('$ME_KEY', 'a-key-of-mine') })
    const ask = (model: string): Promise<Ended> =>
      sluice(
        ['test', '--record', '--key', 'me', '--path', '/v1/chat/completions'],
        folder,
        {},
        JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] }),
      )
    expect(await ask('apple')).toMatchObject({ code: 64, err: expect.stringContaining('No mapping applies') })
    expect(await ask('nothing')).toMatchObject({ code: 64, err: expect.stringContaining('The request is refused') })
    expect(existsSync(join(folder, 'mappings'))).toBe(false)
  })
})

describe('sluice check --fix', () => {
  test('corrects names with one wrong letter and variables without $, in the file and its overlay', async () => {
    const wrong = `listen: 127.0.0.1:0
keyss: [{ name: me, value: $ME_KEY }]
upstreams:
  one: { provider: opeani, secret: ONE_KEY } # stays
models:
  apple: { targets: [{ upstraem: one }] }
  pear: { targets: [{ upstream: oen }] }
`
    const folder = folderOf({ 'gateway.yaml': wrong.replace('oen', 'one') })
    const env = { ME_KEY: 'k-of-mine', ONE_KEY: 'k2-of-mine' }
    expect((await sluice(['check', '--json'], folder, env)).code).toBe(1)
    const { code, out, err } = await sluice(['check', '--fix', '--json'], folder, env)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { fixes } = JSON.parse(out) as { fixes: { from: string; to: string }[] }
    expect(fixes.map(({ from, to }) => `${from} → ${to}`).sort()).toEqual([
      'ONE_KEY → $ONE_KEY',
      'keyss → keys',
      'opeani → openai',
      'upstraem → upstream',
    ])
    expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).toBe(
      wrong
        .replace('keyss', 'keys')
        .replace('opeani', 'openai')
        .replace(' ONE_KEY', ' $ONE_KEY')
        .replace('upstraem', 'upstream')
        .replace('oen', 'one'),
    )
  })

  test('changes nothing that has several corrections, none, or no mistake', async () => {
    const wrong = file('').replace('provider: openai', 'provider: nobody')
    const folder = folderOf({ 'gateway.yaml': wrong })
    expect(await sluice(['check', '--no-env', '--fix'], folder)).toMatchObject({ code: 1, err: expect.stringContaining('names/provider') })
    expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).toBe(wrong)
  })

  test('makes no key twice, and corrects the others', async () => {
    const wrong = file('').replace('listen:', 'lsten:').replace('secret:', 'secret: one, secrt:')
    const folder = folderOf({ 'gateway.yaml': wrong })
    const { code, out, err } = await sluice(['check', '--no-env', '--fix'], folder)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(/lsten → listen\n.*"secrt" is not a key here/)
    expect(readFileSync(join(folder, 'gateway.yaml'), 'utf8')).toBe(wrong.replace('lsten', 'listen'))
  })

  test('changes nothing of a file that is not UTF-8', async () => {
    const folder = folderOf({ 'gateway.yaml': '' })
    const path = join(folder, 'gateway.yaml')
    const wrong = Buffer.from(`# caf\xe9\n${file('').replace('listen:', 'lsten:')}`, 'latin1')
    writeFileSync(path, wrong)
    expect(await sluice(['check', '--no-env', '--fix'], folder)).toMatchObject({
      code: 1,
      err: expect.stringContaining('"lsten" is not a key'),
    })
    expect(readFileSync(path)).toEqual(wrong)
  })
})

test('every command with output prints JSON', async () => {
  const folder = folderOf({ 'gateway.yaml': file(''), 'table.json': '{}' })
  const env = { ME_KEY: 'k-of-mine', ONE_KEY: 'k2-of-mine' }
  for (const args of [
    ['models'],
    ['models', 'claude-haiku-4-5'],
    ['models', 'check'],
    ['models', 'import', 'litellm', 'table.json'],
    ['routes'],
    ['openapi'],
    ['diff', '.', '.'],
  ]) {
    const { code, out } = await sluice([...args, '--json'], folder, env)
    expect({ args, code, ok: (JSON.parse(out) as { ok: boolean }).ok }).toEqual({ args, code: 0, ok: true })
  }
})

test('a wrong command line of any command ends with 64', async () => {
  const folder = folderOf({ 'gateway.yaml': file('') })
  const wrong = [
    ['start', '--workers', 'many'],
    ['start', '--bogus'],
    ['simulate', '--listen', 'nowhere'],
    ['models', 'import', 'nobody', 'x.json'],
    ['diff', 'gateway.yaml'],
    ['openapi', '--bogus'],
    ['openapi', 'no-such-folder'],
    ['completion', 'tcsh'],
    ['store', 'migrate', '--bogus'],
    ['keys', 'bogus'],
  ]
  for (const args of wrong) {
    // A command that serves would begin another process.
    const run = args[0] === 'start' ? sluiceApart : sluice
    expect({ args, code: (await run(args, folder, { ME_KEY: 'k-of-mine', ONE_KEY: 'k2-of-mine' })).code }).toEqual({ args, code: 64 })
  }
  expect(existsSync(join(folder, 'data'))).toBe(false)
})
