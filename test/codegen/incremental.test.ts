// Compiling an overlay over earlier output gives the same plan and the same findings as compiling everything at once.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type * as CompileModule from '../../codegen/compile.js'
import type * as OverlayModule from '../../codegen/overlay.js'
import type { Unit, UnitCache } from '../../codegen/units.js'
import type { Plan } from '../../engine/plan.js'
import { importPlan } from '../import-plan.js'
import { root, temporary } from './fixture.js'

const built = (path: string): string => pathToFileURL(join(root, path)).href
const { compile } = (await import(built('dist/codegen/compile.js'))) as typeof CompileModule
const { compileOverlay } = (await import(built('dist/codegen/overlay.js'))) as typeof OverlayModule
const home = { root, generated: join(root, 'generated') }

type Files = Record<string, string>

function overlay(files: Files): string {
  const folder = temporary()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** A cache that tells what was asked for and not there. */
function memory(): UnitCache & { made: string[] } {
  const units = new Map<string, string>()
  const made: string[] = []
  return {
    made,
    get: key => (units.has(key) ? (JSON.parse(units.get(key) as string) as Unit) : undefined),
    set: (key, unit) => {
      units.set(key, JSON.stringify(unit))
      made.push(...Object.keys(unit.files).filter(path => path.endsWith('.js')))
    },
  }
}

async function importAll(files: ReadonlyMap<string, string>): Promise<Plan> {
  // Where the tests load modules as they are.
  const folder = overlay(Object.fromEntries([...files].map(([path, text]) => [`generated/${path}`, text])))
  return importPlan(pathToFileURL(join(folder, 'generated/plan.js')).href)
}

/** A plan whose functions are compared by their text. The names of those made from schemas depend on the others. */
function told(value: unknown, path: readonly string[] = []): unknown {
  const key = path.at(-1) ?? ''
  if (typeof value === 'function') return /^(validate|normalise|unnamed|shape)/.test(key) ? 'a function' : String(value)
  if (Array.isArray(value)) return value.map((item, index) => told(item, [...path, String(index)]))
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof RegExp || value instanceof Set || value instanceof Map) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, told(item, [...path, name])]))
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const dialect: Files = {
  'schemas/mine/format.yaml': 'title: Mine\nresponse: json\nerror: chat\nusage: \'{ "input": $own_words(said) }\'\n',
  'schemas/mine/request.yaml':
    'type: object\nrequired: [model, say]\nproperties:\n  model: { type: string }\n  say: { type: string, minLength: 2 }\n',
  'schemas/mine/response.yaml':
    'type: object\nproperties:\n  said: { type: string }\n  words: { type: integer }\n  count: { type: integer }\n',
  'mappings/library.yaml': 'functions:\n  own_words: \'function($text) { $count($split($text, " ")) }\'\n',
  'mappings/mine-to-chat/mapping.yaml':
    'title: Mine on chat\nrequest: \'{ "model": $ctx.model, "messages": [{ "role": "user", "content": say }] }\'\nresponse: \'{ "said": choices[0].message.content, "words": $own_words(choices[0].message.content) }\'\n',
  'routes/mine.yaml': 'name: mine\nmethod: POST\npath: /mine\nauth: [bearer]\ndialect: mine\n',
  'routes/v.yaml': 'name: v\nmethod: GET\npath: /v\nauth: []\ndialect: mine\nanswer: \'{ "v": $own_words("a b") }\'\n',
  'providers/mine.yaml':
    "title: Mine\nbase: http://example.com\ncredential: { header: authorization, prefix: 'Bearer ' }\nspeaks: { chat: /v1/chat/completions }\n",
}

/** What replaces a built-in dialect, whose requests may have one member more. Its halves stay as they are. */
const replaced = (dialect: string, before: RegExp): Files => {
  const files: Files = {}
  const folder = `schemas/${dialect}`
  for (const name of readdirSync(join(root, folder)).filter(name => name.endsWith('.yaml')))
    files[`${folder}/${name}`] = read(`${folder}/${name}`)
  files[`${folder}/format.yaml`] += '\nreplaces: true\n'
  files[`${folder}/request.yaml`] = read(`${folder}/request.yaml`).replace(before, '  nobody: { type: string }\n$&')
  return files
}

test('an overlay gives the plan of the whole data, and a changed file compiles only its own modules again', async () => {
  const files = { ...dialect, ...replaced('embeddings', /^ {2}user:/m), ...replaced('images', /^ {2}n:/m) }
  // What a replaced dialect says beside, the built-in mappings of it do not know: both ways find it. Pairs of halves drop it.
  const own = overlay(files)
  // Both times everything is compiled from nothing but what the whole data itself gave.
  const ofAll = memory()
  const compileAll = (): ReadonlyMap<string, string> => compile([root, own], { sluice: () => built('dist/'), cache: ofAll }).files
  const foundBy = (run: () => unknown): string => {
    try {
      run()
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  const found = foundBy(() => compileOverlay(home, own, memory()))
  expect(found).toContain('ledger/unmapped')
  expect(found).toBe(foundBy(compileAll))

  writeFileSync(join(own, 'schemas/images/request.yaml'), read('schemas/images/request.yaml'))
  const cache = memory()
  const compiled = compileOverlay(home, own, cache)
  const plan = await importAll(compileAll())
  const over = await importAll(compiled)
  expect(told(over)).toEqual(told(plan))
  const asked = { model: 'm', input: 'Hello', nobody: 'x' }
  for (const { mappings } of [plan, over])
    expect(mappings['embeddings-to-cohere_embed']?.dropped?.(asked, {} as never, {})).toEqual(['nobody'])
  for (const validate of [plan, over].map(({ dialects }) => dialects.mine?.validateRequest))
    expect([validate?.({ model: 'm', say: 'hello' }), validate?.({ model: 'm', say: 'h' })]).toEqual([true, false])

  // The same again makes nothing; a changed file makes what is made of it.
  const first = cache.made.length
  compileOverlay(home, own, cache)
  expect(cache.made.length).toBe(first)
  writeFileSync(
    join(own, 'mappings/mine-to-chat/mapping.yaml'),
    (files['mappings/mine-to-chat/mapping.yaml'] as string).replace('"words"', '"count"'),
  )
  compileOverlay(home, own, cache)
  expect(cache.made.slice(first)).toEqual(['mappings/mine-to-chat.js'])
})

test('a replaced format has the expressions of its replacement', async () => {
  const format = read('schemas/chat/format.yaml')
  const usage = /^usage: .*(\n {2}.*)*/m
  expect(format).toMatch(usage)
  const files: Files = {}
  for (const name of readdirSync(join(root, 'schemas/chat')).filter(file => file.endsWith('.yaml')))
    files[`schemas/chat/${name}`] = read(`schemas/chat/${name}`)
  files['schemas/chat/format.yaml'] = `${format.replace(usage, 'usage: \'{ "input": 77 }\'')}\nreplaces: true\n`
  const cache = memory()
  const plan = await importAll(compileOverlay(home, overlay(files), cache))
  expect(plan.dialects.chat?.usage?.({ usage: {} } as never)).toMatchObject({ input: 77 })
})
