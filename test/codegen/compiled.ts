// A mapping written in a test, compiled by itself to a module and beside it interpreted, so that both can be asked.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dump } from 'js-yaml'
import type * as Mappings from '../../codegen/compile/mapping.js'
import type { MappingData } from '../../codegen/compile/mapping.js'
import type { Finding } from '../../codegen/read/findings.js'
import type * as Schemas from '../../codegen/read/schemas.js'
import type { Schema } from '../../codegen/read/schemas.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import type { Context, Mapping, Reducer } from '../../engine/plan.js'
import { type Interpreted, interpret } from '../data/interpreter.js'
import { CONTEXT as ANY } from '../fixtures.js'
import { told } from '../recorded.js'
import { root, temporary } from './fixture.js'

const built = (path: string): string => pathToFileURL(join(root, 'dist', path)).href
const { compileMapping, libraryFor } = (await import(built('codegen/compile/mapping.js'))) as typeof Mappings
const { shapeOf } = (await import(built('codegen/read/schemas.js'))) as typeof Schemas

export type Module = Omit<Mapping, 'from' | 'to' | 'stream'> & Partial<Reducer>

export const CONTEXT: Context = { ...ANY, stream: true }

let number = 0

/** `schema` is what is known of requests; by default they are objects. */
export async function both(
  data: Partial<MappingData>,
  { eventKind, schema = { type: 'object' } }: { eventKind?: string; schema?: Schema } = {},
): Promise<{ compiled: Module; interpreted: Interpreted; text: string }> {
  const whole: MappingData = { title: 'Test', request: '{}', ...data }
  const findings: Finding[] = []
  const yaml = dump(whole)
  const [document] = parseYaml('mapping.yaml', yaml, findings)
  if (document === undefined) throw new Error(yaml)
  const id = 'https://sluice/schemas/test/request'
  const module = compileMapping({
    document,
    library: libraryFor({ name: 'test', data: whole, document }, { library: new Map(), parts: new Map() }),
    requestShape: shapeOf(new Map([[id, schema]]), id),
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
  return { compiled, interpreted: interpret(document.value as MappingData, new Map(), eventKind, () => {}), text }
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
