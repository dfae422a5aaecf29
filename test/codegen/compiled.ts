// A mapping in a test, compiled to a module and interpreted, so that both can be compared.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dump, load } from 'js-yaml'
import { type Interpreted, interpret } from '../../cli/cases/interpreter.js'
import type * as Mappings from '../../codegen/compile/mapping.js'
import type { Finding } from '../../codegen/read/findings.js'
import type * as Functions from '../../codegen/read/functions.js'
import type * as Parts from '../../codegen/read/parts.js'
import type * as Schemas from '../../codegen/read/schemas.js'
import type { Schema } from '../../codegen/read/schemas.js'
import type * as Spec from '../../codegen/read/spec.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import type { Context, Mapping, Reducer } from '../../engine/plan.js'
import type { MappingData } from '../../schemas/config/types.js'
import { CONTEXT as ANY } from '../fixtures.js'
import { told } from '../recorded.js'
import { root, temporary } from './fixture.js'

const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { compileMapping } = (await import(built('codegen/compile/mapping.js'))) as typeof Mappings
const { libraryOf } = (await import(built('codegen/read/functions.js'))) as typeof Functions
const { withParts } = (await import(built('codegen/read/parts.js'))) as typeof Parts
const { withDefaults } = (await import(built('codegen/read/spec.js'))) as typeof Spec
const { shapeOf } = (await import(built('codegen/read/schemas.js'))) as typeof Schemas

export type Module = Omit<Mapping, 'from' | 'to' | 'stream'> & Partial<Reducer>

export const CONTEXT: Context = { ...ANY, stream: true }

/** A mapping as it is written, without what has a default. */
export type WrittenMapping = Partial<Omit<MappingData, 'stream' | 'fields'>> & {
  stream?: Partial<NonNullable<MappingData['stream']>>
  fields?: Partial<MappingData['fields']>
}

const grammar = load(readFileSync(join(root, 'schemas/config/mapping.yaml'), 'utf8')) as Spec.SpecSchema

let number = 0

/** `schema` is what is known of requests; by default they are objects. */
export async function both(
  written: WrittenMapping,
  { eventKind, schema = { type: 'object' } }: { eventKind?: string; schema?: Schema } = {},
): Promise<{ compiled: Module; interpreted: Interpreted; text: string }> {
  const findings: Finding[] = []
  const yaml = dump({ title: 'Test', request: '{}', ...written })
  const [document] = parseYaml('mapping.yaml', yaml, findings)
  if (document === undefined) throw new Error(yaml)
  const id = 'https://sluice/schemas/test/request'
  const data = withParts({ data: withDefaults(grammar, document.value) as MappingData, document }, new Map(), findings)
  const module = compileMapping({
    data,
    document,
    library: libraryOf({ data, document }, { library: new Map(), parts: new Map() }),
    requestShape: shapeOf(new Map([[id, schema]]), id),
    responseNames: undefined,
    eventNames: undefined,
    query: [],
    eventKind,
    eventLine: undefined,
    findings,
  })
  if (findings.length > 0) throw new Error(findings.map(({ rule, detail }) => `${rule} ${detail}`).join('\n'))
  const { text } = module.print('// A test.', name =>
    name === 'pictures' ? built('codegen/jsonata/number-and-date-formats.js') : built(`engine/jsonata/${name}.js`),
  )
  const path = join(temporary(), `mapping-${number++}.js`)
  writeFileSync(path, text)
  const compiled = (await import(pathToFileURL(path).href)) as Module
  return { compiled, interpreted: interpret(data, new Map(), eventKind, () => {}), text }
}

/** What a stream of events and its end give: by both, as they would be on the wire. */
export function play(
  { compiled, interpreted }: { compiled: Module; interpreted: Interpreted },
  events: readonly unknown[],
): [unknown, unknown] {
  const wire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
  const mine = compiled.start?.() ?? {}
  const out = events.map(event => {
    const given: string[] = []
    compiled.event?.(mine, event, CONTEXT, undefined, given)
    return told(given)
  })
  const last: string[] = []
  compiled.done?.(mine, CONTEXT, undefined, last)
  const state = interpreted.start()
  const expected = events.map(event => interpreted.event(state, event, CONTEXT, undefined))
  const end = interpreted.done(state, CONTEXT, undefined)
  // What waits is kept by each in its own way.
  return [wire([...out, told(last), { ...mine, $held: undefined }]), wire([...expected, end, state])]
}
