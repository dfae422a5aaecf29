// Compiles a dialect's format, which holds what its schemas cannot express, to a module.

import type { Global } from '../jsonata/context.js'
import { access, js } from '../jsonata/js.js'
import { ANY, ARR, FUN, NOTHING, NULL, NUM, OBJ, type Shape, STR, UNDEF } from '../jsonata/types.js'
import type { Finding } from '../read/findings.js'
import type { Library, Source } from '../read/functions.js'
import type { Entry, FormatData } from '../read/project.js'
import { Module, objectInput } from './module.js'

/** The variables of an error's expressions. */
export const FACTS: ReadonlyMap<string, Global> = new Map(
  Object.entries({
    kind: { bits: STR },
    status: { bits: NUM },
    message: { bits: STR },
    type: { bits: STR },
    code: { bits: STR | NULL },
    param: { bits: STR | NULL },
    details: { bits: ANY & ~FUN },
    request_id: { bits: STR },
    reason: { bits: STR | UNDEF },
  } satisfies Record<string, Shape>).map(([name, shape]) => [name, { code: js`facts${access(name)}`, shape }]),
)

/**
 * The additional variables of an in-stream error: the first and the last event that the client got before, and the provider's
 * event that reported the failure.
 */
const TOLD: ReadonlyMap<string, Global> = new Map(
  ['first', 'last', 'failed'].map(name => [name, { code: js`facts${access(name)}`, shape: { bits: OBJ | UNDEF }, clean: true }]),
)

/**
 * The module of a format, with those of `usage`, `asked`, `wanted`, `estimated`, `answer`, `watch_…`, `error_body`, `error_event`,
 * `error_read` and `clean` that it defines.
 */
export function compileFormat(format: Entry<FormatData>, requestShape: Shape, library: Library, findings: Finding[]): Module {
  const { data, document } = format
  const module = new Module(findings, library)
  for (const name of ['input', 'facts', 'ctx', 'status', 'traits', 'before', 'items']) module.unit.name(name)
  const source = (pointer: (string | number)[], text: string): Source => ({ document, pointer, text })
  const onInput = (name: string, pointer: (string | number)[], text: string | undefined): void => {
    if (text === undefined) return
    module.export(name, ['input'], body =>
      module.compile(source(pointer, text), objectInput(js`input`), new Map(), body, { isSerialised: false }),
    )
  }
  onInput('usage', ['usage'], data.usage)
  onInput('asked', ['asked'], data.asked)
  onInput('wanted', ['vectors', 'wanted'], data.vectors?.wanted)
  onInput('estimated', ['estimated'], data.estimated)
  onInput('answer', ['answer', 'when'], data.answer?.when)
  const watch = data.stream?.watch
  for (const name of ['end', 'fail', 'finish', 'usage'] as const) {
    const item = watch?.[name]
    const key = item && 'read' in item ? 'read' : 'when'
    onInput(`watch_${name}`, ['stream', 'watch', name, key], item && ('read' in item ? item.read : item.when))
  }
  onInput('watch_content', ['stream', 'watch', 'content'], watch?.content)
  onInput('watch_begin', ['stream', 'watch', 'begin'], watch?.begin)
  onInput('unasked', ['stream', 'ask', 'unasked'], data.stream?.ask?.unasked)
  const error = data.error
  if (typeof error === 'object') {
    const ofFacts = (name: string, pointer: (string | number)[], text: string | undefined, seen = FACTS): void => {
      if (text === undefined) return
      module.export(name, ['facts'], body =>
        module.compile(source(pointer, text), { code: js`undefined`, bits: 1, stable: true, clean: true }, seen, body),
      )
    }
    ofFacts('error_body', ['error', 'body'], error.body)
    if (error.read !== undefined) {
      const text = error.read
      // An upstream's error may have any form.
      module.export('error_read', ['input', 'status'], body =>
        module.compile(
          source(['error', 'read'], text),
          { code: js`input`, bits: ANY & ~FUN, stable: true, clean: true },
          new Map([['status', { code: js`status`, bits: NUM | UNDEF }]]),
          body,
          { isSerialised: false },
        ),
      )
    }
    ofFacts('error_event', ['error', 'event'], error.event, new Map([...FACTS, ...TOLD]))
  }
  const { keep } = data
  if (typeof keep === 'object') {
    const seen: Record<string, Global> = { continued: { code: js`before`, bits: ARR }, resolved: { code: js`items`, bits: OBJ } }
    const names: Record<string, string> = { continued: 'before', resolved: 'items' }
    for (const name of ['when', 'items', 'continued', 'references', 'resolved', 'output', 'answer'] as const) {
      const more = names[name]
      const globals = new Map(more === undefined ? [] : [[more, seen[name] as Global]])
      module.export(`keep_${name}`, more === undefined ? ['input'] : ['input', more], body =>
        module.compile(source(['keep', name], keep[name]), objectInput(js`input`), globals, body, { isSerialised: false }),
      )
    }
    const { conversation, own_ids: own } = keep
    const there: Global = { code: js`there`, bits: ARR }
    for (const [name, part, globals] of [
      ['conversation', 'items', {}],
      ['refuse', 'refuse', { there }],
    ] as const) {
      const text = conversation?.[part]
      if (text === undefined) continue
      module.export(`keep_${name}`, ['input', ...Object.keys(globals)], body =>
        module.compile(source(['keep', 'conversation', part], text), objectInput(js`input`), new Map(Object.entries(globals)), body, {
          isSerialised: false,
        }),
      )
    }
    if (keep.told) {
      const { members } = keep.told
      module.export('keep_told', ['input'], body =>
        module.compile(source(['keep', 'told', 'members'], members), objectInput(js`input`), new Map(), body, { isSerialised: false }),
      )
    }
    if (own)
      module.export('keep_own', ['input'], body =>
        module.compile(source(['keep', 'own_ids', 'when'], own.when), objectInput(js`input`), new Map(), body, { isSerialised: false }),
      )
  }
  const { clean } = data
  if (typeof clean === 'object') {
    const ctx: Global = { code: js`ctx`, bits: OBJ }
    module.export('clean', ['input', 'ctx'], body =>
      module.compile(source(['clean', 'request'], clean.request), objectInput(js`input`, requestShape), new Map([['ctx', ctx]]), body),
    )
  }
  const traits = new Map<string, Global>([['traits', { code: js`traits`, bits: OBJ }]])
  Object.entries(data.fit ?? {}).forEach(([path, { where, refuse, when, value }], index) => {
    module.export(`fit_where_${index}`, ['traits'], body =>
      module.compile(source(['fit', path, 'where'], where), NOTHING, traits, body, {
        isSerialised: false,
      }),
    )
    for (const [key, text] of Object.entries({ refuse, when, value })) {
      if (text === undefined) continue
      module.export(`fit_${key}_${index}`, ['input', 'traits'], body =>
        module.compile(source(['fit', path, key], text), objectInput(js`input`, requestShape), traits, body, { isSerialised: false }),
      )
    }
  })
  for (const [trait, { each }] of Object.entries(data.media ?? {}))
    module.export(`media_${trait}`, ['input'], body =>
      module.compile(source(['media', trait, 'each'], each), objectInput(js`input`, requestShape), new Map(), body, {
        isSerialised: false,
      }),
    )
  for (const [name, text] of Object.entries(data.asks ?? {}))
    module.export(`asks_${name}`, ['input'], body =>
      module.compile(source(['asks', name], text), objectInput(js`input`, requestShape), new Map(), body, { isSerialised: false }),
    )
  return module
}
