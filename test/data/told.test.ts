// Streams of providers tell only terms of schemas/conversation.yaml, and each client's half writes all of them.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load, loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import type * as InterpreterModule from '../../cli/cases/interpreter.js'
import type * as ValuesModule from '../../cli/cases/values.js'
import type * as FunctionsModule from '../../codegen/read/functions.js'
import type * as PartsModule from '../../codegen/read/parts.js'
import type * as ProjectModule from '../../codegen/read/project.js'
import type { CaseData, MappingData, MappingStep as Step } from '../../schemas/config/types.js'

const root = join(import.meta.dirname, '../..')
const built = <Module>(path: string): Promise<Module> => import(pathToFileURL(join(root, 'dist', path)).href) as Promise<Module>
const { readProject } = await built<typeof ProjectModule>('codegen/read/project.js')
const { withParts } = await built<typeof PartsModule>('codegen/read/parts.js')
const { libraryOf } = await built<typeof FunctionsModule>('codegen/read/functions.js')
const { interpret } = await built<typeof InterpreterModule>('cli/cases/interpreter.js')
const { usualContext } = await built<typeof ValuesModule>('cli/cases/values.js')

const project = readProject([root])
const told = (load(readFileSync(join(root, 'schemas/conversation.yaml'), 'utf8')) as { $defs: { told: { properties: object } } }).$defs.told
const words = Object.keys(told.properties).sort()
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(load(readFileSync(join(root, 'schemas/conversation.yaml'), 'utf8')) as object, 'conversation')
const isTold = ajv.getSchema('conversation#/$defs/told')

/** The words that steps tell. */
const wordsIn = (steps: readonly Step[] = []): string[] => steps.flatMap(step => [...Object.keys(step.tell ?? {}), ...wordsIn(step.steps)])

const readers = [...project.parts].filter(([, { data }]) => wordsIn(data.stream?.steps).length > 0)
const writers = [...project.parts].filter(([, { data }]) => Object.keys(data.stream?.writes ?? {}).length > 0)

test('the halves of providers tell exactly the terms of the schema', () => {
  const said = readers.flatMap(([, { data }]) => wordsIn(data.stream?.steps))
  expect([...new Set(said)].sort()).toEqual(words)
})

test.each(writers)('%s writes each term', (_name, { data }) => {
  expect(Object.keys(data.stream?.writes ?? {}).sort()).toEqual(words)
})

type Said = { word: string; value: unknown }

/** The steps that tell each word as it is. */
const AS_IT_IS = Object.fromEntries(
  words.map((word): [string, Step[]] => [word, [{ name: word, emit: `{ "word": "${word}", "value": $told }` } as Step]]),
)

/** What a stream of a case tells; nothing where the case has no stream. */
function tellingsOf(pair: string): { name: string; said: Said[]; isWhole: boolean }[] {
  const entry = project.mappings.get(pair)
  if (entry === undefined) throw new Error(`there is no mapping ${pair}`)
  const own = (entry.document.value as Partial<MappingData>).stream
  const stream = { state: {}, let: {}, steps: [], ...own, writes: AS_IT_IS } as NonNullable<MappingData['stream']>
  const data = withParts({ data: { ...entry.data, stream }, document: entry.document }, project.parts, [])
  const library = new Map([...libraryOf(entry, project)].map(([name, { text }]) => [name, text]))
  const to = pair.split('-to-')[1] as string
  const mapping = interpret(data, library, project.formats.get(to)?.data.stream?.event_line, () => {})
  // A pair without a mapping has none; its provider says what it says in the cases of other pairs.
  const all = existsSync(join(root, 'mappings', pair, 'cases'))
    ? [pair]
    : readdirSync(join(root, 'mappings')).filter(name => name.endsWith(`-to-${to}`))
  const folders = all.map(name => join(root, 'mappings', name, 'cases')).filter(folder => existsSync(folder))
  const cases = folders.flatMap(folder =>
    readdirSync(folder).flatMap(file => loadAll(readFileSync(join(folder, file), 'utf8')) as CaseData[]),
  )
  return cases.flatMap(one => {
    if (one.stream === undefined) return []
    const ctx = { ...usualContext(project.configSchemas), ...(one.request?.ctx as object) }
    const carry = mapping.carry(all.includes(pair) ? (one.request?.in ?? {}) : {}, ctx)
    const state = mapping.start()
    const said = one.stream.flatMap(event =>
      (event as { on?: string }).on === 'done' ? mapping.done(state, ctx, carry) : mapping.event(state, event.in, ctx, carry),
    ) as Said[]
    const ends = one.stream.some(event => (event as { on?: string }).on === 'done')
    return [{ name: one.name, said, isWhole: ends && mapping.failed(state) === undefined }]
  })
}

/** The violations of the order of a stream's terms. */
function disorder(said: readonly Said[], isWhole: boolean): string[] {
  const wrong: string[] = []
  let open = ''
  said.forEach(({ word }, index) => {
    if ((word === 'begin') !== (index === 0)) wrong.push(`${word} is told at ${index}`)
    if (word === 'end' && index !== said.length - 1) wrong.push('something is told behind the end')
    if (word === 'arguments' && open !== 'call') wrong.push(`arguments of no call, but of ${open}`)
    if (word === 'query' && open !== 'search') wrong.push('a query of no search')
    if (!['citation', 'probabilities', 'arguments', 'query'].includes(word)) open = word
  })
  if (isWhole && said.at(-1)?.word !== 'end') wrong.push('the end is not told')
  return wrong
}

describe('the terms of a stream', () => {
  const uses = (pair: string, part: string): boolean => {
    const data = project.mappings.get(pair)?.data
    return data?.uses?.includes(part) === true && data.stream?.alone !== true
  }
  const pairs = readers.flatMap(([reader]) => [...project.mappings.keys()].filter(pair => uses(pair, reader)))

  test.each(pairs)('%s tells known terms in the right order', pair => {
    const streams = tellingsOf(pair)
    expect(streams.flatMap(({ said }) => said).length).toBeGreaterThan(5)
    const wrong = streams.flatMap(({ name, said, isWhole }) => [
      ...said.flatMap(({ word, value }) => {
        const one = JSON.parse(JSON.stringify({ [word]: value })) as unknown
        return isTold?.(one) ? [] : [`${name}: ${JSON.stringify(one)}: ${ajv.errorsText(isTold?.errors)}`]
      }),
      ...disorder(said, isWhole).map(what => `${name}: ${what}`),
    ])
    expect(wrong).toEqual([])
  })
})
