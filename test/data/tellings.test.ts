// What streams tell between the halves of dialects keeps to schemas/conversation.yaml: the words of each half, and the values that the
// providers' halves tell of the events of all cases.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { load, loadAll } from 'js-yaml'
import { describe, expect, test } from 'vitest'
import { interpret } from '../../cli/cases/interpreter.js'
import type * as MappingModule from '../../codegen/compile/mapping.js'
import type * as PartsModule from '../../codegen/read/parts.js'
import type * as ProjectModule from '../../codegen/read/project.js'
import type * as SpecModule from '../../codegen/read/spec.js'
import type { CaseData, MappingData, MappingStep as Step } from '../../schemas/config/types.js'
import { CONTEXT } from '../fixtures.js'

const root = join(import.meta.dirname, '../..')
const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { libraryFor } = (await import(built('codegen/compile/mapping.js'))) as typeof MappingModule
const { withParts } = (await import(built('codegen/read/parts.js'))) as typeof PartsModule
const { readProject } = (await import(built('codegen/read/project.js'))) as typeof ProjectModule
const { withDefaults } = (await import(built('codegen/read/spec.js'))) as typeof SpecModule

const project = readProject([root])
const conversation = load(readFileSync(join(root, 'schemas/conversation.yaml'), 'utf8')) as {
  $defs: { told: { properties: Record<string, unknown> } }
}
const words = Object.keys(conversation.$defs.told.properties).sort()
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema(conversation, 'conversation')
const isTold = ajv.compile({ $ref: 'conversation#/$defs/told' })

/** The words that steps tell. */
const toldBy = (steps: readonly Step[]): string[] =>
  steps.flatMap(({ tell, steps: inner }) => [...Object.keys(tell ?? {}), ...toldBy(inner ?? [])])
const readers = [...project.parts.values()].filter(({ data }) => toldBy(data.stream?.steps ?? []).length > 0)
const writers = [...project.parts.values()].filter(({ data }) => Object.keys(data.stream?.writes ?? {}).length > 0)

const grammar = project.configSchemas.get('mapping') as SpecModule.SpecSchema

/** A mapping whose client is told the words themselves. */
function tellingOf(pair: string): ReturnType<typeof interpret> {
  const entry = project.mappings.get(pair) as NonNullable<ReturnType<typeof project.mappings.get>>
  const written = entry.document.value as MappingData
  const writes = Object.fromEntries(words.map(word => [word, [{ name: word, emit: `{ "${word}": $told }` }]]))
  const data = withDefaults(grammar, { ...written, stream: { ...written.stream, writes, steps: [] } }) as MappingData
  const library = new Map([...libraryFor(entry, project)].map(([name, { text }]) => [name, text]))
  const kind = project.formats.get(pair.split('-to-')[1] as string)?.data.stream?.event_line
  return interpret(withParts({ data, document: entry.document }, project.parts, []), library, kind, () => {})
}

/** The streams of a pair's cases: what the client asked for, and the events of the provider. */
function streamsOf(pair: string): CaseData[] {
  const folder = join(root, 'mappings', pair, 'cases')
  const cases = readdirSync(folder).flatMap(file => loadAll(readFileSync(join(folder, file), 'utf8')) as CaseData[])
  return cases.filter(({ stream }) => stream !== undefined)
}

test.each(readers.map(part => [part.name, part] as const))('%s tells words that are known', (_name, part) => {
  expect(toldBy(part.data.stream?.steps ?? []).filter(word => !words.includes(word))).toEqual([])
})

test('each word is told by somebody', () => {
  expect([...new Set(readers.flatMap(({ data }) => toldBy(data.stream?.steps ?? [])))].sort()).toEqual(words)
})

test.each(writers.map(part => [part.name, part] as const))('%s writes each of them', (_name, part) => {
  expect(Object.keys(part.data.stream?.writes ?? {}).sort()).toEqual(words)
})

/** Of each reader the pair that has the most streams. */
const pairs = readers.flatMap(({ name }) => {
  const using = [...project.mappings]
    .filter(([, { data }]) => data.uses?.includes(name))
    .map(([pair]) => ({ pair, count: streamsOf(pair).length }))
  return using.sort((one, other) => other.count - one.count).slice(0, 1)
})

describe.each(pairs)('$pair', ({ pair }) => {
  test('tells what the schema of the conversation says, in order', () => {
    const reducer = tellingOf(pair)
    let count = 0
    for (const { name, request, stream = [] } of streamsOf(pair)) {
      const ctx = { ...CONTEXT, stream: true, ...request?.ctx } as typeof CONTEXT
      const carry = reducer.carry(request?.in ?? {}, ctx)
      const state = reducer.start()
      const told = stream.flatMap(item =>
        item.on === 'done' ? reducer.done(state, ctx, carry) : reducer.event(state, item.in, ctx, carry),
      )
      const said = JSON.parse(JSON.stringify(told)) as Record<string, unknown>[]
      count += said.length
      for (const one of said) expect(isTold(one), `${name}: ${JSON.stringify(one)} ${ajv.errorsText(isTold.errors)}`).toBe(true)
      const order = said.map(one => Object.keys(one)[0] as string)
      expect(order.indexOf('begin'), name).toBeLessThanOrEqual(0)
      expect(order.lastIndexOf('begin'), name).toBeLessThanOrEqual(0)
      expect([-1, order.length - 1], name).toContain(order.indexOf('end'))
      expectWholeCalls(order, name)
    }
    expect(count).toBeGreaterThan(5)
  })
})

/** Arguments belong to an open call, and nothing but its arguments comes before its end. */
function expectWholeCalls(order: readonly string[], name: string): void {
  let isOpen = false
  for (const word of order) {
    const allowed = isOpen ? ['arguments', 'close', 'end'] : words.filter(one => one !== 'arguments')
    expect(allowed, `${name}: ${order.join(' ')}`).toContain(word)
    if (word === 'call') isOpen = true
    else if (word !== 'arguments') isOpen = false
  }
}
