// `sluice models`: tables that become files, and reports about facts.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { afterAll, describe, expect, test } from 'vitest'
import { sluiceInOneProcess } from '../command.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-models-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const inOneProcess = sluiceInOneProcess()
/** What a command says; one that fails is thrown with what it said of it. */
async function sluice(...args: string[]): Promise<string> {
  const { code, out, err } = await inOneProcess(args, folder)
  if (code !== 0) throw new Error(err)
  return out
}

function table(name: string, value: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(value))
  return path
}

const read = (path: string): { models: Record<string, Record<string, unknown>> } => load(readFileSync(join(folder, path), 'utf8')) as never

const LITELLM = {
  'gpt-a': {
    litellm_provider: 'openai',
    mode: 'chat',
    max_input_tokens: 1000,
    max_output_tokens: 100,
    input_cost_per_token: 1.25e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 1.25e-7,
    cache_creation_input_token_cost_above_1hr: 2e-6,
    input_cost_per_token_above_200k_tokens: 2.5e-6,
    input_cost_per_token_above_200k_tokens_batches: 1.25e-6,
    input_cost_per_token_flex: 6.25e-7,
    // As much as other tokens of the answer: what is halved for them is halved for these.
    output_cost_per_reasoning_token: 1e-5,
    output_cost_per_token_flex: 5e-6,
    supports_vision: true,
    supports_reasoning: true,
    supports_minimal_reasoning_effort: true,
    supports_sampling_params: false,
    deprecation_date: '2027-01-01',
    source: 'https://example.com/prices',
    colour: 'green',
  },
  'gpt-b': {
    litellm_provider: 'openai',
    mode: 'responses',
    supported_endpoints: ['/v1/responses'],
    supports_vision: false,
    max_input_tokens: 10,
    max_output_tokens: 20,
  },
  'rerank-a': {
    litellm_provider: 'cohere',
    mode: 'rerank',
    input_cost_per_query: 0.002,
    input_cost_per_token: 0,
    output_cost_per_token: 0,
  },
  'gemini/film-a': { litellm_provider: 'gemini', mode: 'video_generation', output_cost_per_second: 0.4, output_cost_per_second_4k: 0.6 },
  'low/1024-x-1024/paint-a': { litellm_provider: 'openai', input_cost_per_image: 0.02 },
  'paint-a': { litellm_provider: 'openai', mode: 'image_generation', output_cost_per_image: 0.04 },
  'vertex_ai/claude-a@default': { litellm_provider: 'vertex_ai-anthropic_models', mode: 'chat', input_cost_per_token: 1e-6 },
  'elsewhere/x': { litellm_provider: 'nobody' },
}

describe('import', () => {
  test.each(['yesterday', '2026-02-31', ''])('a table is not read on the day "%s"', async day => {
    await expect(sluice('models', 'import', 'litellm', table('litellm.json', LITELLM), '--out', 'none', '--read', day)).rejects.toThrow(
      'is not a day',
    )
    expect(existsSync(join(folder, 'none'))).toBe(false)
  })

  test('turns rows of litellm into facts, traits and prices, and reports other columns', async () => {
    const told = await sluice('models', 'import', 'litellm', table('litellm.json', LITELLM), '--out', 'one', '--read', '2026-11-22')
    const { models, ...head } = read('one/openai.yaml')
    expect(head).toEqual({ title: 'OpenAI', source: 'litellm: litellm.json', read: '2026-11-22', providers: ['openai'] })
    expect(models['gpt-a']).toEqual({
      retired: '2027-01-01',
      context: 1000,
      max_output: 100,
      inputs: ['text', 'image'],
      outputs: ['text'],
      traits: { reasoning_effort: ['minimal', 'low', 'medium', 'high'], sampling: 'fixed' },
      prices: [
        {
          from: '1970-01-01',
          input: 1.25,
          cached: 0.125,
          cache_write_1h: 2,
          output: 10,
          when: [
            { input_above: 200_000, tier: 'batch', input: 1.25 },
            { input_above: 200_000, input: 2.5 },
            { tier: 'flex', input: 0.625, output: 5 },
          ],
        },
      ],
      source: 'https://example.com/prices',
    })
    // What a row says itself is taken; what it leaves out is not known.
    expect(models['gpt-b']?.traits).toEqual({ images: false })
    expect(models['gpt-b']?.prefer).toEqual([{ speaks: 'responses' }])
    expect(models['paint-a']?.prices).toEqual([
      { from: '1970-01-01', image: 0.04, when: [{ quality: 'low', size: '1024x1024', image: 0.02 }] },
    ])
    expect(read('one/cohere.yaml').models['rerank-a']?.prices).toEqual([{ from: '1970-01-01', search: 0.002 }])
    expect(read('one/gemini.yaml').models['film-a']?.prices).toEqual([
      { from: '1970-01-01', second: 0.4, when: [{ resolution: '4k', second: 0.6 }] },
    ])
    expect(read('one/vertex-claude.yaml').models['claude-a@default']?.prices).toEqual([{ from: '1970-01-01', input: 1 }])
    expect(told).toContain('6 models of 4 providers')
    expect(told).toContain('colour: 1, such as gpt-a')
    expect(told).toContain('gpt-b: the answer may have more tokens (20) than the request (10)')
  })

  test('reports changes at a second import, and keeps old prices and removed models', async () => {
    const first = readFileSync(join(folder, 'one/openai.yaml'), 'utf8')
    expect(await sluice('models', 'import', 'litellm', join(folder, 'litellm.json'), '--out', 'one', '--read', '2026-11-22')).not.toContain(
      'Changed',
    )
    expect(readFileSync(join(folder, 'one/openai.yaml'), 'utf8')).toBe(first)
    // The order in which a table, or a person, writes the same is no change.
    const file = join(folder, 'one/openai.yaml')
    writeFileSync(file, first.replace(/( *)input: 1\.25\n( *)cached: 0\.125\n/, '$2cached: 0.125\n$1input: 1.25\n'))
    expect(readFileSync(file, 'utf8')).not.toBe(first)
    expect(await sluice('models', 'import', 'litellm', join(folder, 'litellm.json'), '--out', 'one', '--read', '2026-11-22')).not.toContain(
      'Changed',
    )
    const { 'gpt-b': _, ...rest } = LITELLM
    const next = { ...rest, 'gpt-a': { ...LITELLM['gpt-a'], max_output_tokens: 200, output_cost_per_token: 2e-5 } }
    const told = await sluice('models', 'import', 'litellm', table('litellm.json', next), '--out', 'one', '--read', '2026-12-24')
    expect(told).toMatch(/one\/openai\.yaml: gpt-a: max_output: 100 → 200/)
    expect(told).toMatch(/Missing in the table, and kept \(1\):\n.*openai\.yaml: gpt-b/)
    const { models } = read('one/openai.yaml')
    expect(models['gpt-a']?.prices).toMatchObject([
      { from: '1970-01-01', output: 10 },
      { from: '2026-12-24', output: 20 },
    ])
    expect(models).toHaveProperty('gpt-b')
  })

  test('reports the change of a confirmed fact with the page that confirmed it', async () => {
    const row = { litellm_provider: 'anthropic', mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 5e-6 }
    const again = (more: object): Promise<string> =>
      sluice('models', 'import', 'litellm', table('confirmed.json', { 'claude-haiku-4-5': { ...row, ...more } }), '--out', 'four')
    await again({ max_input_tokens: 200_000 })
    expect(await again({ max_input_tokens: 100_000 })).toMatch(
      /claude-haiku-4-5: context: 200000 → 100000; it was confirmed \(https:\/\/platform\.claude\.com\/.*, 20\d\d-\d\d-\d\d\)\n/,
    )
  })

  test('reads the table of models.dev', async () => {
    await sluice(
      'models',
      'import',
      'models.dev',
      table('api.json', {
        anthropic: {
          models: {
            'claude-a': {
              id: 'claude-a',
              name: 'Claude A',
              reasoning: true,
              temperature: false,
              release_date: '2026-01-02',
              modalities: { input: ['text', 'image', 'pdf'], output: ['text'] },
              limit: { context: 200_000, output: 64_000 },
              cost: { input: 1, output: 5, cache_read: 0.1, cache_write: 1.25, context_over_200k: { input: 2, output: 7.5 } },
            },
          },
        },
      }),
      '--out',
      'two',
    )
    expect(read('two/anthropic.yaml').models['claude-a']).toEqual({
      display_name: 'Claude A',
      created: '2026-01-02',
      context: 200_000,
      max_output: 64_000,
      inputs: ['text', 'image', 'pdf'],
      outputs: ['text'],
      traits: { sampling: 'fixed', audio: false, video: false },
      prices: [
        {
          from: '1970-01-01',
          input: 1,
          cached: 0.1,
          cache_write: 1.25,
          output: 5,
          when: [{ input_above: 200_000, input: 2, output: 7.5 }],
        },
      ],
    })
  })

  test('reads the table of openrouter', async () => {
    await sluice(
      'models',
      'import',
      'openrouter',
      table('openrouter.json', {
        data: [
          {
            id: 'maker/model',
            name: 'Model',
            created: 1_767_312_000,
            context_length: 1000,
            architecture: { input_modalities: ['text', 'file'], output_modalities: ['text'] },
            pricing: { prompt: '0.00000125', completion: '0.00001', image: '0', web_search: '0.01', input_cache_read: '0.000000125' },
            top_provider: { context_length: 900, max_completion_tokens: 100 },
            supported_parameters: ['max_tokens'],
          },
        ],
      }),
      '--out',
      'three',
    )
    expect(read('three/openrouter.yaml').models['maker/model']).toEqual({
      display_name: 'Model',
      created: '2026-01-02',
      context: 900,
      max_output: 100,
      inputs: ['text', 'pdf'],
      outputs: ['text'],
      traits: { sampling: 'fixed', images: false, audio: false, video: false },
      prices: [{ from: '1970-01-01', input: 1.25, output: 10, search: 0.01, cached: 0.125 }],
    })
  })

  test('reports an invalid table in a sentence', async () => {
    const table = (...args: string[]): Promise<string> => sluice('models', 'import', ...args)
    await expect(table('mine', 'x.json')).rejects.toThrow('Allowed choices are litellm, models.dev, openrouter.')
    await expect(table('litellm', 'x.json')).rejects.toThrow(/^x\.json cannot be read as JSON\. Name the file with the table\.\n$/)
  })
})

describe('known facts', () => {
  test('are shown for a model, each with its file and line', async () => {
    const told = await sluice('models', 'claude-haiku-4-5')
    expect(told).toMatch(/^claude-haiku-4-5 at anthropic\n/)
    expect(told).toMatch(/traits\.thinking +budget {2}\(models\/anthropic\.yaml:\d+\)/)
    expect(told).toMatch(/max_output +64000 {2}\(models\/imported\/anthropic\.yaml:\d+\)/)
    expect(told).toMatch(/prices from 1970-01-01 +\{.* input: 1, .*\(models\/imported\/anthropic\.yaml:\d+\)/)
  })

  test('of the operator take precedence', async () => {
    mkdirSync(join(folder, 'own/models'), { recursive: true })
    writeFileSync(join(folder, 'own/gateway.yaml'), 'upstreams: { one: { provider: anthropic, secret: none } }\n')
    writeFileSync(
      join(folder, 'own/models/mine.yaml'),
      'source: mine\nread: 2020-01-01\nproviders: [anthropic]\nmodels: { claude-haiku-4-5: { max_output: 1000, retired: 2020-02-01 } }\n',
    )
    const told = await sluice('models', 'claude-haiku-4-5', '--config', 'own/gateway.yaml')
    expect(told).toMatch(/max_output +1000 {2}\(own\/models\/mine\.yaml:4\)/)
    expect(told).toMatch(/context +200000 {2}\(\S*models\/imported\/anthropic\.yaml:\d+\)/)
  })

  test('of another version, in a folder beside gateway.yaml, replace those that came with this version', async () => {
    mkdirSync(join(folder, 'newer'))
    cpSync(join(import.meta.dirname, '../../models'), join(folder, 'newer/models'), { recursive: true })
    writeFileSync(join(folder, 'newer/gateway.yaml'), 'upstreams: { one: { provider: anthropic, secret: none } }\n')
    const file = join(folder, 'newer/models/imported/anthropic.yaml')
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/(claude-haiku-4-5:\n {4}context: )200000/, (_, before) => `${before}300000`),
    )
    writeFileSync(
      join(folder, 'newer/models/imported/one-more.yaml'),
      'source: a page\nread: 2026-12-24\nproviders: [anthropic]\nmodels: { claude-one-more: { context: 1000 } }\n',
    )
    expect(await sluice('check', '--config', 'newer/gateway.yaml', '--no-env')).toMatch(/no findings/)
    const told = await sluice('models', 'claude-haiku-4-5', '--config', 'newer/gateway.yaml')
    expect(told).toMatch(/context +300000 {2}\(newer\/models\/imported\/anthropic\.yaml:\d+\)/)
    expect(await sluice('models', 'claude-one-more', '--config', 'newer/gateway.yaml')).toMatch(/context +1000 /)
    expect(await sluice('models', 'sources', '--config', 'newer/gateway.yaml')).toMatch(/ to 2026-12-24\n$/)
  })

  test('of a newer package that this gateway does not know are left out and reported', async () => {
    const own = readFileSync(join(import.meta.dirname, '../../models/catalogue.yaml'), 'utf8')
    const version = /version: (\S+)/.exec(own)?.[1] as string
    const data = join(folder, 'tomorrow/models')
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, 'catalogue.yaml'), 'version: 99.0.0\nreleased: 2026-12-24\n')
    writeFileSync(
      join(data, 'anthropic.yaml'),
      `source: a page
read: 2026-12-24
providers: [anthropic, tomorrow]
wisdom: 3
models:
  claude-tomorrow-1:
    context: 5000
    smell: roses
    prices: [{ from: 2026-12-24, input: 1, thought: 2 }]
    prefer: [{ speaks: telepathy }]
    traits: { images: { kinds: [image/png] }, audio: { kinds: [audio/of-tomorrow] }, telepathy: true, sampling: dreamt }
`,
    )
    writeFileSync(join(data, 'tomorrow.yaml'), 'source: a page\nread: 2026-12-24\nproviders: [tomorrow]\nmodels: { a: { context: 1 } }\n')
    execFileSync('tar', ['-czf', 'models-99.0.0.tgz', '-C', 'tomorrow', 'models'], { cwd: folder })
    mkdirSync(join(folder, 'packed'))
    writeFileSync(join(folder, 'packed/gateway.yaml'), 'upstreams: { one: { provider: anthropic, secret: none } }\n')
    execFileSync('tar', ['-xzf', '../models-99.0.0.tgz'], { cwd: join(folder, 'packed') })
    const config = ['--config', 'packed/gateway.yaml'] as const
    expect(await sluice('check', ...config, '--no-env')).toMatch(/no findings/)
    const told = await sluice('models', 'claude-tomorrow-1', '--provider', 'anthropic', ...config)
    expect(told).toMatch(/context +5000 {2}\(packed\/models\/anthropic\.yaml:6\)/)
    expect(told).toMatch(/traits\.images +\{ kinds: \[image\/png\] \}/)
    expect(told).not.toMatch(/smell|thought|telepathy|of-tomorrow|dreamt/)
    const releases = JSON.parse(await sluice('models', 'version', '--json', ...config)) as {
      releases: { version: string; leftOut?: string[] }[]
    }
    expect(releases.releases.map(one => one.version)).toEqual([version, '99.0.0'])
    expect(releases.releases[1]?.leftOut?.sort()).toEqual(
      [
        'models.claude-tomorrow-1.prefer',
        'models.claude-tomorrow-1.prices',
        'models.claude-tomorrow-1.smell',
        'models.claude-tomorrow-1.traits.audio',
        'models.claude-tomorrow-1.traits.sampling',
        'models.claude-tomorrow-1.traits.telepathy',
        'providers',
        'wisdom',
      ]
        .map(path => `packed/models/anthropic.yaml: ${path}`)
        .concat('packed/models/tomorrow.yaml: providers'),
    )
    expect(await sluice('models', 'check', ...config)).toMatch(
      /catalogue 99\.0\.0 of 2026-12-24.*, 9 facts of it are for a newer gateway and were left out\n/,
    )
    // One that is no newer is checked as it is.
    writeFileSync(join(folder, 'packed/models/catalogue.yaml'), 'version: 0.1.0\nreleased: 2025-12-24\n')
    await expect(sluice('models', 'version', ...config)).rejects.toThrow(/grammar\/unknown-key/)
    rmSync(join(folder, 'packed/models/anthropic.yaml'))
    rmSync(join(folder, 'packed/models/tomorrow.yaml'))
    expect(await sluice('models', 'check', ...config)).toMatch(/catalogue 0\.1\.0 .*\n.*older than the one that came with this gateway/)
  })

  test('in an invalid file are reported with their position', async () => {
    mkdirSync(join(folder, 'wrong/models'), { recursive: true })
    writeFileSync(join(folder, 'wrong/gateway.yaml'), 'upstreams: { one: { provider: anthropic, secret: none } }\n')
    writeFileSync(join(folder, 'wrong/models/mine.yaml'), 'source: mine\nread: 2026-01-01\nmodels: { a: { contex: 1 } }\n')
    await expect(sluice('models', '--config', 'wrong/gateway.yaml')).rejects.toThrow(
      /^wrong\/models\/mine\.yaml:3:\d+ {2}grammar\/unknown-key {2}[^\n]*\n$/,
    )
  })

  test('are listed for all models, one line each', async () => {
    const told = await sluice('models', '--provider', 'anthropic')
    expect(told).toMatch(/^model +provider +context +max_output +input +output +retired\n/)
    expect(told).toMatch(/^claude-haiku-4-5 +anthropic +200000 +64000 +1 +5 +-$/m)
    expect(told).toMatch(/\ncatalogue \d+\.\d+\.\d+ of 20\d\d-\d\d-\d\d \(models\/catalogue\.yaml:\d+\)\n$/)
    expect(told).not.toMatch(/^gpt/m)
  })

  test('of an unknown model are an error', async () => {
    await expect(sluice('models', 'nobody-knows-it')).rejects.toThrow(/The model nobody-knows-it is unknown/)
  })

  test('are reported by `check` if they are old, and so are retired models', async () => {
    writeFileSync(
      join(folder, 'own/gateway.yaml'),
      'upstreams: { one: { provider: anthropic, secret: none, models: [claude-haiku-4-5, claude-opus-5-5] } }\n',
    )
    const told = await sluice('models', 'check', '--config', 'own/gateway.yaml')
    expect(told).toContain('claude-haiku-4-5 (one/claude-haiku-4-5): its maker retired it on 2020-02-01\n')
    expect(told).toMatch(/claude-haiku-4-5 \(one\/claude-haiku-4-5\): its facts were read \d+ days ago, from mine\n/)
    expect(told).toMatch(/^2 models, \d warnings$/m)
  })

  test('are reported by `check` for deprecated models without a retirement date', async () => {
    const file = join(folder, 'own/models/mine.yaml')
    const before = readFileSync(file, 'utf8')
    writeFileSync(file, before.replace('retired: 2020-02-01', 'deprecated: 2020-02-01'))
    expect(await sluice('models', 'check', '--config', 'own/gateway.yaml')).toContain(
      'claude-haiku-4-5 (one/claude-haiku-4-5): its maker advises against it since 2020-02-01, and has not said when it ends\n',
    )
    writeFileSync(file, before)
  })

  test('are reported by `check` for the models at one provider', async () => {
    const upstreams = 'upstreams: { one: { provider: anthropic, secret: none }, two: { provider: openai, secret: none } }\n'
    const models =
      'models: { haiku: { targets: [{ upstream: one, model: claude-haiku-4-5 }] }, mini: { targets: [{ upstream: two, model: gpt-5-mini }] } }\n'
    writeFileSync(join(folder, 'own/gateway.yaml'), upstreams + models)
    const check = (...more: string[]): Promise<string> => sluice('models', 'check', '--config', 'own/gateway.yaml', ...more)
    expect(await check()).toMatch(/^haiku .*its maker retired it[\s\S]*^2 models/m)
    expect(await check('--provider', 'anthropic')).toMatch(/^haiku .*its maker retired it[\s\S]*^1 models/m)
    expect(await check('--provider', 'openai')).not.toContain('haiku')
    await expect(check('--provider', 'opnai')).rejects.toThrow(/There is no provider opnai/)
  })

  test('are counted by `sources`, by provider or by model and by their source', async () => {
    const told = await sluice('models', 'sources')
    expect(told).toMatch(/^provider +models +prices: page +prices: quoted +prices: table +prices: none +context: page/)
    expect(told).toMatch(/^anthropic( +\d+){9}$/m)
    expect(told).toMatch(/^all( +\d+){9}\nread from 20\d\d-\d\d-\d\d to 20\d\d-\d\d-\d\d\n$/m)
    const { providers } = JSON.parse(await sluice('models', 'sources', '--json')) as {
      providers: { provider: string; models: number; prices: Record<string, number> }[]
    }
    for (const { provider, models, prices } of providers)
      expect([provider, Object.values(prices).reduce((sum, count) => sum + count)]).toEqual([provider, models])

    const own = await sluice('models', 'sources', '--provider', 'anthropic')
    expect(own).toMatch(/^claude-opus-5 +page +page +https:\/\/platform\.claude\.com\/docs\/en\/about-claude\/pricing$/m)
    expect(own).toMatch(/^claude-opus-5-5 +quoted +page +.*quotes.*$/m)
    expect(own).toMatch(/^claude-mythos-preview +table +table /m)
    expect(own).toMatch(/^claude-fable-5-2 +none +table +-$/m)
    expect(own).not.toMatch(/^gpt/m)
    await expect(sluice('models', 'sources', '--provider', 'antropic')).rejects.toThrow(
      'There is no provider antropic: did you mean anthropic?',
    )
  })
})
