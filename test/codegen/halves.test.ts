// Dialects that are made of halves: a new one is a folder, and nothing remains of one that is taken away.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkProject, checkSchemas } from '../../codegen/check/references.js'
import type * as OverlayModule from '../../codegen/overlay.js'
import { readProject } from '../../codegen/read/project.js'
import type { Unit, UnitCache } from '../../codegen/units.js'
import type { Mapping, Plan } from '../../engine/plan.js'
import { blocksOf } from '../docs-page.js'
import { CONTEXT } from '../fixtures.js'
import { importPlan } from '../import-plan.js'
import { type Finding, fixture, root } from './fixture.js'

const { compileOverlay } = (await import(pathToFileURL(join(root, 'dist/codegen/overlay.js')).href)) as typeof OverlayModule
const home = { root, generated: join(root, 'generated') }

// Units that are right, as a gateway keeps them too: what a changed file has nothing to do with is compiled once.
const units = new Map<string, Unit>()
const cache: UnitCache = { get: key => units.get(key), set: (key, unit) => void units.set(key, unit) }

/** The dialect of docs/howto/dialect.md. */
const page = blocksOf(readFileSync(join(root, 'docs/howto/dialect.md'), 'utf8'))
const files = Object.fromEntries(page.flatMap(({ path, text }) => (path === undefined ? [] : [[path, text]])))

function written(texts: Iterable<readonly [path: string, text: string]>): string {
  const data = fixture('empty')
  for (const [path, text] of texts) data.write(path, text)
  return data.folder
}

function overlay(changed: Record<string, string> = {}): string {
  return written(Object.entries({ ...files, ...changed }))
}

const checked = fixture('empty')
/** What is found about the dialect with other files: in one folder, as units depend on the paths of their files. */
function findings(changed: Record<string, string>): Partial<Finding>[] {
  const { folder } = checked
  rmSync(folder, { recursive: true })
  for (const [path, text] of Object.entries({ ...files, ...changed })) checked.write(path, text)
  try {
    compileOverlay(home, folder, cache)
    return []
  } catch (error) {
    return (error as Error).message.split('\n').map(line => {
      const [place = '', rule = '', detail = ''] = line.split('  ')
      return { place: place.replace(`${folder}/`, ''), rule, detail }
    })
  }
}

let plan: Plan
beforeAll(async () => {
  const folder = written(compileOverlay(home, overlay(), cache))
  plan = await importPlan(pathToFileURL(join(folder, 'plan.js')).href)
})

/** The dialects that have a half, and give text or something else. */
const having = (half: string, gives = 'text'): string[] =>
  readdirSync(join(root, 'schemas'))
    .filter(name => existsSync(join(root, 'schemas', name, half)))
    .filter(name => (givenBy(name) ?? 'text') === gives)

/** What a dialect gives by its own format, or by the one that it is like. */
function givenBy(name: string): string | undefined {
  const format = readFileSync(join(root, 'schemas', name, 'format.yaml'), 'utf8')
  const said = (key: string): string | undefined => new RegExp(`^${key}: (\\w+)`, 'm').exec(format)?.[1]
  const like = said('like')
  return said('gives') ?? (like && givenBy(like))
}

const mapping = (name: string): Mapping => {
  const found = plan.mappings[name]
  if (found === undefined) throw new Error(`there is no pair ${name}`)
  return found
}
const run = (one: Mapping, what: 'request' | 'response', value: object, asked: object = value): unknown => {
  const carry = one.carry?.(asked as never, CONTEXT) as never
  return JSON.parse(JSON.stringify(one[what]?.(value as never, CONTEXT, carry)))
}

/** A request of each client, whose answer is read. */
const ASKED: Record<string, object> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  cohere_chat: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  completions: { model: 'm', prompt: 'Hi' },
  generate: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
  ollama: { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
  ollama_generate: { model: 'm', prompt: 'Hi' },
  messages: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'm', input: 'Hi' },
}

/** An answer of each provider that ended too early, in two parts if its dialect has parts. */
const ANSWERED: Record<string, object> = {
  chat: { choices: [{ message: { content: 'Fine, thanks' }, finish_reason: 'length' }], usage: { prompt_tokens: 3, completion_tokens: 2 } },
  messages: {
    content: [
      { type: 'text', text: 'Fine, ' },
      { type: 'text', text: 'thanks' },
    ],
    stop_reason: 'max_tokens',
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  generate: {
    candidates: [{ content: { parts: [{ text: 'Fine, ' }, { text: 'thanks' }] }, finishReason: 'MAX_TOKENS' }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 },
  },
  responses: {
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [
      {
        type: 'message',
        content: [
          { type: 'output_text', text: 'Fine, ' },
          { type: 'output_text', text: 'thanks' },
        ],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 2 },
  },
  ollama: { message: { content: 'Fine, thanks' }, done: true, done_reason: 'length', prompt_eval_count: 3, eval_count: 2 },
  cohere_chat: {
    message: {
      content: [
        { type: 'text', text: 'Fine, ' },
        { type: 'text', text: 'thanks' },
      ],
    },
    finish_reason: 'MAX_TOKENS',
    usage: { tokens: { input_tokens: 3, output_tokens: 2 } },
  },
}

describe('a dialect of halves', () => {
  test('has a pair with each other one, and no mapping', () => {
    const wanted = [...having('provider').map(other => `talk-to-${other}`), ...having('client').map(other => `${other}-to-talk`)]
    expect(wanted.length).toBeGreaterThan(8)
    expect(wanted.filter(pair => plan.mappings[pair] === undefined)).toEqual([])
  })

  test.each(having('provider'))('sends what its clients say to %s', other => {
    const asked = { model: 'm', heat: 0.5, mood: 'glad', lines: [{ by: 'person', say: 'How are you?' }] }
    const one = mapping(`talk-to-${other}`)
    const sent = run(one, 'request', asked)
    expect(JSON.stringify(sent)).toContain('"How are you?"')
    expect(one.dropped?.(asked as never, CONTEXT, sent as never)).toEqual(['mood'])
  })

  test('reports what its providers lack, by the names of each client', () => {
    const dropped = (name: string, asked: object): unknown =>
      mapping(name).dropped?.(asked as never, CONTEXT, run(mapping(name), 'request', asked) as never)
    const messages = [{ role: 'user', content: 'Hi' }]
    expect(dropped('chat-to-talk', { model: 'm', messages, seed: 1, temperature: 1 })).toEqual(['seed'])
    expect(dropped('chat-to-talk', { model: 'm', messages, temperature: 2 })).toEqual(['temperature'])
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    expect(dropped('generate-to-talk', { contents, generationConfig: { seed: 1, temperature: 2 } })).toEqual([
      'generationConfig.temperature',
      'generationConfig.seed',
    ])
  })

  test('refuses what its providers lack, if a request says it', () => {
    const refused = (name: string, asked: object): unknown => mapping(name).refused?.(asked as never, CONTEXT)?.param
    const messages = [{ role: 'user', content: 'Hi' }]
    expect(refused('chat-to-talk', { model: 'm', messages, functions: [{ name: 'f' }] })).toBe('functions')
    expect(refused('chat-to-talk', { model: 'm', messages, tools: [] })).toBeUndefined()
    expect(refused('messages-to-talk', { model: 'm', messages, tools: [{ name: 'f', input_schema: {} }] })).toBe('tools')
    expect(refused('ollama-to-talk', { model: 'm', messages, tools: [{ function: { name: 'f' } }] })).toBe('tools')
  })

  // No half reads these, so that they would be lost without a word.
  test.each<[pair: string, asked: object, param: string]>([
    ['messages-to-ollama', { tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools[].type'],
    ['messages-to-talk', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools[].type'],
    [
      'messages-to-cohere_chat',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }] },
        ],
      },
      'messages[].content[].source',
    ],
    ['responses-to-ollama', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['a'] }] }, 'tools[].type'],
    ['responses-to-cohere_chat', { input: 'x', tool_choice: { type: 'web_search' } }, 'tool_choice.type'],
    [
      'chat-to-ollama',
      { messages: [{ role: 'user', content: [{ type: 'video_url', video_url: { url: 'x' } }] }] },
      'messages[].content[].type',
    ],
    ['chat-to-talk', { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'hosted' }] }] }, 'messages[].tool_calls[].type'],
    [
      'generate-to-ollama',
      { contents: [{ parts: [{ fileData: { fileUri: 'gs://a', mimeType: 'image/png' } }] }] },
      'contents[].parts[].fileData.fileUri',
    ],
    [
      'generate-to-cohere_chat',
      { contents: [{ parts: [{ inlineData: { mimeType: 'audio/wav', data: 'AAAA' } }] }] },
      'contents[].parts[].inlineData.mimeType',
    ],
    ['generate-to-cohere_chat', { contents: [{ parts: [{ text: 'x' }] }], tools: [{ codeExecution: {} }] }, 'tools[].codeExecution'],
    ['ollama-to-cohere_chat', { messages: [], logprobs: true }, 'logprobs'],
  ])('%s refuses %j', (pair, asked, param) => {
    expect(mapping(pair).refused?.(asked as never, CONTEXT)?.param).toBe(param)
  })

  test.each(having('client'))('answers %s clients, whole and in a stream', other => {
    const one = mapping(`${other}-to-talk`)
    const asked = ASKED[other] as object
    expect(JSON.stringify(run(one, 'request', asked))).toContain('"Hi"')
    const whole = run(one, 'response', { say: 'Fine, thanks', why: 'done', counts: { read: 3, written: 2 } }, asked)
    expect(JSON.stringify(whole)).toContain('"Fine, thanks"')
    const { stream } = one
    if (stream === undefined) throw new Error('there is no stream')
    const carry = one.carry?.(asked as never, CONTEXT) as never
    const [state, out]: [ReturnType<typeof stream.start>, string[]] = [stream.start(), []]
    for (const event of [{ say: 'Fine, ' }, { say: 'thanks' }, { why: 'done', counts: { read: 3, written: 2 } }])
      expect(stream.event(state, event, CONTEXT, carry, out)).toBeUndefined()
    expect(stream.done(state, CONTEXT, carry, out)).toBeUndefined()
    expect(out.join('')).toContain('"Fine, "')
    expect(out.join('')).toContain('"thanks"')
  })
})

describe('a whole answer by the steps of a stream', () => {
  const answer = files['schemas/talk/client/answer.yaml'] as string
  const changed = (from: string, to: string): Partial<Finding>[] => {
    expect(answer).toContain(from)
    return findings({ 'schemas/talk/client/answer.yaml': answer.replace(from, to) })
  }

  test.each(having('provider'))('has the text that a provider of %s sent in several parts', other => {
    const one = mapping(`talk-to-${other}`)
    const counts = { read: 3, written: 2 }
    expect(run(one, 'response', ANSWERED[other] as object, { lines: [] })).toEqual({ say: 'Fine, thanks', why: 'long', counts })
  })

  test('leaves nothing in the state of a stream', () => {
    const { stream } = mapping('talk-to-ollama')
    if (stream === undefined) throw new Error('there is no stream')
    const [state, out]: [ReturnType<typeof stream.start>, string[]] = [stream.start(), []]
    stream.event(state, { message: { content: 'Fine' } } as never, CONTEXT, undefined as never, out)
    expect(out.join('')).toContain('Fine')
    expect(JSON.stringify(state)).not.toContain('Fine')
  })

  test('is checked where it is written', () => {
    const line = answer.split('\n').findIndex(text => text.includes('whole:')) + 1
    expect(changed('whole: \'{ "say"', 'whole: \'{ "sey"')).toContainEqual(
      expect.objectContaining({ place: expect.stringMatching(`^schemas/talk/client/answer.yaml:${line}:`), rule: 'mapping/member' }),
    )
    expect(changed('"say": $state.words', '"say": $state.wrods')).toContainEqual(
      expect.objectContaining({ place: expect.stringMatching(`^schemas/talk/client/answer.yaml:${line}:`), rule: 'jsonata/state' }),
    )
  })

  test('has no steps that fail', () => {
    expect(changed('refusal: [', 'refusal: [{ name: it fails, fail: \'{ "kind": "upstream", "message": "no" }\' }, ')).toContainEqual(
      expect.objectContaining({ place: expect.stringMatching('^schemas/talk/client/answer.yaml:'), rule: 'mapping/whole' }),
    )
  })

  test('is missed, if the half has no function for it either', () => {
    expect(changed(answer.split('\n').find(text => text.includes('whole:')) as string, '')).toContainEqual(
      expect.objectContaining({ detail: expect.stringContaining('write_answer') }),
    )
  })
})

describe('a half that is wrong', () => {
  test('is found at its place', () => {
    const request = files['schemas/talk/client/request.yaml'] as string
    expect(findings({ 'schemas/talk/client/request.yaml': `uses: [turns, tunrs]\n${request}` })).toMatchObject([
      { place: 'schemas/talk/client/request.yaml:1:15', rule: 'names/part' },
    ])
    expect(findings({ 'schemas/talk/client/request.yaml': request.replace('heat', 'heta') })).toMatchObject([
      { place: expect.stringContaining('schemas/talk/client/request.yaml'), rule: 'jsonata/field' },
    ])
  })

  test('is found with what else is wrong, and is no mistake of those that use it', () => {
    const answer = files['schemas/talk/provider/answer.yaml'] as string
    const request = files['schemas/talk/provider/request.yaml'] as string
    const mapping = 'mappings/chat-to-talk/mapping.yaml'
    const found = findings({
      'schemas/talk/provider/answer.yaml': answer.replace('functions:', 'colour: red\nfunctions:').replace('"parts":', '"partz":'),
      'schemas/talk/provider/request.yaml': request.replace('seed:', 'sead:').replace('write_ask(', 'write_ask: 5\n  unused('),
      [mapping]: 'title: Chat on Talk\n',
    })
    const line = request.split('\n').findIndex(text => text.includes('seed:')) + 1
    expect(found).toMatchObject([
      { place: 'schemas/talk/provider/answer.yaml:2:1', rule: 'grammar/unknown-key' },
      { rule: 'mapping/missing', detail: 'answer has no parts, which the schema requires' },
      { place: expect.stringMatching('^schemas/talk/provider/answer.yaml:'), rule: 'mapping/term', detail: 'answer has no member "partz"' },
      { place: `schemas/talk/provider/request.yaml:${line}:3`, rule: 'mapping/term', detail: 'ask has no member "sead"' },
      { place: expect.stringMatching('^schemas/talk/provider/request.yaml:'), rule: 'grammar/type' },
    ])
  })

  test('is not added to a dialect that is built in', () => {
    expect(findings({ 'schemas/chat/client/more.yaml': "functions: { more: 'function($x) { $x }' }\n" })).toMatchObject([
      { place: 'schemas/chat/client/more.yaml:1:1', rule: 'overlay/exists' },
    ])
    // Built-in mappings are made of it, whatever becomes of the dialect's format.
    const format = `${readFileSync(join(root, 'schemas/ollama/format.yaml'), 'utf8')}\nreplaces: true\n`
    const more = {
      'schemas/ollama/format.yaml': format,
      'schemas/ollama/client/request.yaml': "functions: { more: 'function($x) { $x }' }\n",
    }
    expect(findings(more)).toMatchObject([{ place: 'schemas/ollama/client/request.yaml:1:1', rule: 'overlay/exists' }])
  })
})

describe('a term that the conversation does not have', () => {
  /** A word of a file of the dialect, the wrong one in its place, in which `◆` is where something is found, and what. */
  type Slip = [file: string, from: string, to: string, detail: string, rule?: string]

  // Several slips are in one compilation, where none hides another.
  test.each<[what: string, slips: Slip[]]>([
    [
      'is found in what a half makes, at any depth',
      [
        ['client/request', '"text": say', '◆"txt": say', 'ask.turns[].parts[] has no member "txt"'],
        ['client/request', '"temperature":', '◆"temprature":', 'ask has no member "temprature"'],
        ['client/request', '"assistant"', '◆"assistent"', 'ask.turns[].role cannot be "assistent"', 'mapping/value'],
        ['provider/answer', '{ "text": $answer', '{ ◆"txet": $answer', 'answer.parts[] has no member "txet"'],
        ['provider/answer', 'end: \'{ "stop"', 'end: \'{ ◆"stpo"', 'told.end has no member "stpo"'],
      ],
    ],
    [
      'is found where a whole member is lost',
      [
        ['client/request', '"turns":', '◆"turnz":', 'ask has no member "turnz"'],
        ['provider/answer', '"parts":', '◆"partz":', 'answer has no member "partz"'],
        ['provider/request', '$ask.turns', '$ask.◆turnz', 'ask has no member "turnz"'],
      ],
    ],
    [
      'is found in what a half reads, and in what it names',
      [
        ['provider/request', '[text].{', '[◆txet].{', 'ask.instructions has no member "txet"'],
        ['provider/request', '$count($ask.tools)', '$count($ask.◆tolls)', 'ask has no member "tolls"'],
        ['provider/request', 'seed:', '◆sead:', 'ask has no member "sead"'],
        ['provider/request', 'sent: heat', 'sent: ◆haet', 'the request has no field haet', 'ledger/unknown'],
        ['provider/answer', '$counts.written', '$counts.◆writen', 'response.counts has no member "writen"', 'jsonata/field'],
        ['client/answer', '$usage.input', '$usage.◆inputt', 'told.usage has no member "inputt"'],
        ['client/answer', '$told.stop', '$told.◆stopp', 'told has no member "stopp"'],
        ['client/request', 'functions:', 'terms: { ◆turnz.parts: lines }\nfunctions:', 'ask has no member "turnz"'],
        ['client/request', 'functions:', '  turns: [lines, ◆linez]\nfunctions:', 'the request has no field linez', 'ledger/unknown'],
      ],
    ],
  ])('%s', (_, slips) => {
    const changed: Record<string, string> = {}
    for (const [file, from, to] of slips) {
      const path = `schemas/talk/${file}.yaml`
      const text = changed[path] ?? (files[path] as string)
      expect(text).toContain(from)
      changed[path] = text.replace(from, () => to)
    }
    // The second row of `terms` makes a block of it.
    const request = 'schemas/talk/client/request.yaml'
    if (changed[request]) changed[request] = changed[request].replace(/terms: \{ (.*) \}/, 'terms:\n  $1')
    const expected = slips.map(([file, , to, detail, rule = 'mapping/term']) => {
      const path = `schemas/talk/${file}.yaml`
      const marked = to.slice(to.indexOf('◆')).split('\n')[0]?.replace(/ \}$/, '') as string
      const before = (changed[path] as string).split(marked)[0]?.replaceAll('◆', '').split('\n') ?? []
      return { place: `${path}:${before.length}:${(before.at(-1) ?? '').length + 1}`, rule, detail }
    })
    const found = findings(Object.fromEntries(Object.entries(changed).map(([path, text]) => [path, text.replaceAll('◆', '')])))
    expect(found).toEqual(expect.arrayContaining(expected))
  })

  test('is found in a mapping of two halves', () => {
    const path = 'mappings/chat-to-talk/mapping.yaml'
    const text = `title: Chat on Talk
fields:
  rest: drop
  refused: { n: { when: '$count($ask.turnz) > 1', why: no } }
`
    expect(findings({ [path]: text })).toEqual([{ place: `${path}:4:38`, rule: 'mapping/term', detail: 'ask has no member "turnz"' }])
  })
})

test('nothing else names dialects that are taken away with their routes, mappings and lines of a provider, and their folders bring them back', () => {
  const data = fixture('empty')
  for (const folder of ['schemas', 'routes', 'providers']) cpSync(join(root, folder), join(data.folder, folder), { recursive: true })
  cpSync(join(root, 'mappings'), join(data.folder, 'mappings'), {
    recursive: true,
    filter: path => !path.endsWith('/cases'),
  })
  const pairsOf = (): string[] => {
    const project = readProject([data.folder])
    checkProject(project, checkSchemas(project))
    expect(project.findings).toEqual([])
    expect(project.mappings.size).toBeGreaterThan(40)
    return [...project.mappings.keys()].filter(pair => pair.includes('ollama')).sort()
  }
  /** What is named after these dialects in a folder of the data. */
  const named = (folder: string): string[] => readdirSync(join(data.folder, folder)).filter(name => name.startsWith('ollama'))
  const ofHalves = ['text', 'vector']
    .flatMap(gives => having('client', gives).flatMap(client => having('provider', gives).map(provider => [client, provider] as const)))
    .filter(([client, provider]) => client !== provider && (client.startsWith('ollama') || provider === 'ollama'))
    .map(([client, provider]) => `${client}-to-${provider}`)
    .sort()
  const [dialects, mappings] = [
    named('schemas'),
    named('mappings').filter(name => existsSync(join(root, 'mappings', name, 'mapping.yaml'))),
  ]
  expect(dialects.length).toBeGreaterThan(1)
  expect(pairsOf()).toEqual([...ofHalves, ...mappings].sort())
  for (const folder of ['schemas', 'routes', 'mappings'])
    for (const name of named(folder)) rmSync(join(data.folder, folder, name), { recursive: true })
  const provider = join(data.folder, 'providers/ollama.yaml')
  writeFileSync(provider, readFileSync(provider, 'utf8').replaceAll(/^ {2}ollama\w*: .*\n/gm, ''))
  expect(pairsOf()).toEqual([])
  for (const name of dialects) cpSync(join(root, 'schemas', name), join(data.folder, 'schemas', name), { recursive: true })
  expect(pairsOf()).toEqual(ofHalves)
})
