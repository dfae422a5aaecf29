// Compiles a mapping to a module: request, response and carry are functions of one expression each; the stream is a reducer
// whose steps become plain statements over a state with fixed members.

import type { Global } from '../jsonata/context.js'
import { js, json } from '../jsonata/js.js'
import { ARR, BOOL, NOTHING, NUM, OBJ, type Operand, type Shape, STR, UNDEF, UNKNOWN } from '../jsonata/types.js'
import type { Lines } from '../jsonata/unit.js'
import type { Finding } from '../read/findings.js'
import type { Library, Source } from '../read/functions.js'
import type { MappingData } from '../read/parts.js'
import type { Pointer, SourcePosition, YamlDocument } from '../read/yaml.js'
import type { ExpressionSite } from './emit.js'
import { printFieldChecks, sentAs } from './fields.js'
import { compileFused } from './fused.js'
import { Module, objectInput } from './module.js'
import { checkKinds, compileReducer } from './reducer.js'
import { shapeOfTables } from './shapes.js'
import { compileTelling } from './whole.js'

export interface MappingInput {
  data: MappingData
  document: YamlDocument
  library: Library
  /** The document and position of a part of the mapping, which may be in a library file. */
  sayingOf?: (pointer: Pointer) => { document: YamlDocument; pointer: Pointer }
  /** The shape of the source request; it satisfies its schema by then. */
  requestShape: Shape
  /** The names in the provider's answers and events: only for checks, because those need not satisfy their schemas. */
  responseNames: Shape | undefined
  eventNames: Shape | undefined
  /** Members of the query that routes pass on. */
  query: readonly string[]
  /** The member of the provider's events that names their kind. */
  eventKind: string | undefined
  /** The same of the client's events. */
  eventLine: string | undefined
  findings: Finding[]
}

const CONTEXT: Shape = {
  bits: OBJ,
  isNamed: true,
  missing: { rule: 'jsonata/context', words: '$ctx has no member' },
  members: new Map<string, Shape>([
    ['model', { bits: STR }],
    ['requested', { bits: STR }],
    ['provider', { bits: STR }],
    ['stream', { bits: BOOL }],
    ['max_output', { bits: NUM }],
    ['id', { bits: STR }],
    ['created', { bits: NUM }],
    ['tag', { bits: STR }],
    ['traits', { bits: OBJ }],
    ['task', { bits: STR | UNDEF }],
    ['fetched', { bits: OBJ | UNDEF }],
    ['kept', { bits: OBJ | UNDEF }],
  ]),
}

function queryShape(names: readonly string[]): Shape {
  const words =
    names.length === 0
      ? 'no route of this dialect passes a member of the query, and none called'
      : `of the query, routes of this dialect pass ${names.join(', ')}, and no`
  return {
    bits: OBJ | UNDEF,
    isNamed: true,
    members: new Map(names.map(name => [name, UNKNOWN])),
    missing: { rule: 'jsonata/query', words },
  }
}

/** A request or an answer. */
function compileWhole(source: Source, root: Operand, site: Pick<ExpressionSite, 'module' | 'globals' | 'into'>): Operand {
  const { module, globals, into } = site
  const node = module.parse(source)
  if (node === undefined) return NOTHING
  return compileFused(node, { ...site, source, root }) ?? module.compileTree(node, source, root, globals, into)
}

/** The tables that a mapping's functions may read. */
export function tablesOf(tables: MappingData['tables']): ReadonlyMap<string, Global> {
  return new Map([['tables', { code: js`tables`, shape: shapeOfTables(tables) }]])
}

/** Reports names that expressions of the answer's side read and no schema lists: compiles once more, and keeps only the findings. */
function checkNames(
  { data, responseNames, eventNames, eventKind, eventLine, findings }: MappingInput,
  module: Module,
  seen: ReadonlyMap<string, Global>,
  source: (pointer: Pointer, text: string) => Source,
  state: Shape | undefined,
): void {
  const trial = module.trial()
  const { response, stream } = data
  if (response !== undefined && responseNames)
    trial.export('response', ['input', 'ctx', 'carry'], into =>
      compileWhole(source(['response'], response), objectInput(js`input`, responseNames), { module: trial, globals: seen, into }),
    )
  if (stream && eventNames) compileReducer({ module: trial, stream, seen, source, eventKind, eventLine, eventNames }, state)
  const known = new Set(findings.map(({ file, line, column }) => `${file}:${line}:${column}`))
  for (const finding of trial.findings)
    if (finding.rule === 'jsonata/field' && !known.has(`${finding.file}:${finding.line}:${finding.column}`)) findings.push(finding)
}

/** The module of a mapping. The names `ctx`, `carry` and `state` are reserved for it. */
export function compileMapping(input: MappingInput): Module {
  const { data, document, findings } = input
  const saying = input.sayingOf ?? (pointer => ({ document, pointer }))
  const source = (pointer: Pointer, text: string): Source => ({ ...saying(pointer), text })
  const positionOf = (pointer: Pointer): SourcePosition => {
    const said = saying(pointer)
    return said.document.at(said.pointer)
  }
  const passed = queryShape(input.query)
  const context: Shape = { ...CONTEXT, members: new Map([...(CONTEXT.members as Map<string, Shape>), ['query', passed]]) }
  const ctx: Global = { code: js`ctx`, lasting: js`ctx`, shape: context }
  const query: Global = { code: js`ctx.query`, lasting: js`ctx.query`, shape: passed }
  const early = new Map([
    ['ctx', ctx],
    ['query', query],
  ])
  const module = new Module(findings, input.library, tablesOf(data.tables))
  // The names of exports and parameters must not be defined as functions.
  for (const name of [
    'tables',
    'ctx',
    'carry',
    'input',
    'state',
    'out',
    'start',
    'event',
    'done',
    'step',
    'finish',
    'hold_apart',
    'hold_when',
    'hold_part',
    'request',
    'response',
    'split',
    'join',
    'failure',
    'location',
    'answers',
    'fetch',
    'dropped',
    'refused',
    'sent',
  ])
    module.unit.name(name)
  module.lines.add(js`const tables = ${json(data.tables)}`)

  const request = objectInput(js`input`, input.requestShape)
  let carried: Shape | undefined
  if (data.carry !== undefined) {
    module.export('carry', ['input', 'ctx'], body => {
      const operand = module.compile(source(['carry'], data.carry as string), request, early, body, {
        isSerialised: false,
      })
      carried = operand.shape && operand.bits === OBJ ? { ...operand.shape, bits: OBJ } : undefined
      return operand
    })
  }
  const carry: Global = {
    code: js`carry`,
    lasting: js`carry`,
    clean: false,
    ...(carried ? { shape: carried } : data.carry === undefined ? { bits: UNDEF } : {}),
  }
  const seen = new Map([...early, ['carry', carry]])

  if (data.fetch !== undefined)
    module.export('fetch', ['input', 'ctx'], into =>
      compileWhole(source(['fetch'], data.fetch as string), request, { module, globals: early, into }),
    )
  if (data.split !== undefined)
    module.export('split', ['input', 'ctx'], body => module.compile(source(['split'], data.split as string), request, early, body))
  const { request: rendered } = data
  if (rendered !== undefined)
    module.export('request', ['input', 'ctx', 'carry'], into =>
      compileWhole(source(['request'], rendered), request, { module, globals: seen, into }),
    )
  const { whole, response } = data
  if (whole && response !== undefined) {
    const text = source(['response'], response)
    const read = (on: Module, into: Lines): Operand => on.compile(text, objectInput(js`input`), seen, into, { isSerialised: false })
    compileTelling({ module, whole, seen, source, read })
  }
  for (const name of ['response', 'failure', 'location'] as const) {
    const text = data[name]
    if (text !== undefined && !(name === 'response' && whole))
      module.export(name, ['input', 'ctx', 'carry'], into =>
        compileWhole(source([name], text), objectInput(js`input`), { module, globals: seen, into }),
      )
  }
  if (data.join !== undefined)
    module.export('join', ['answers', 'ctx', 'carry'], body =>
      module.compile(source(['join'], data.join as string), { code: js`answers`, bits: ARR, stable: true, clean: true }, seen, body),
    )
  if (data.stream) checkKinds(data.stream.steps, ['stream', 'steps'], input.eventKind, positionOf, findings)
  let state: Shape | undefined
  if (data.stream) {
    const { eventKind, eventLine } = input
    state = compileReducer({ module, stream: data.stream, seen, source, eventKind, eventLine })
  }
  for (const kind of ['dropped', 'refused'] as const) {
    for (const [path, rule] of Object.entries(data.fields[kind])) {
      if (sentAs(rule) === undefined || (kind === 'dropped' && (rule as { when?: string }).when === undefined)) continue
      findings.push({
        ...positionOf(['fields', kind, path, 'sent']),
        rule: 'mapping/sent',
        detail: `${path} is ${kind} with \`sent\` and another condition`,
        remedy: 'use `sent` only for a dropped field, and without `when`',
      })
    }
  }
  checkNames(input, module, seen, source, state)
  printFieldChecks(module, data.fields, request, early, source)
  module.checkAll(Object.keys(data.define))
  return module
}
