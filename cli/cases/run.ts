// Runs the cases of a mapping: each in compiled form and in the interpreter, with the schemas of both dialects. Errors are
// findings at their position in the case.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { newAjv } from '../../codegen/read/ajv.js'
import { display } from '../../codegen/read/display.js'
import type { Finding } from '../../codegen/read/findings.js'
import { libraryOf } from '../../codegen/read/functions.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import { sayingOf } from '../../codegen/read/parts.js'
import type { Project } from '../../codegen/read/project.js'

import { schemaId } from '../../codegen/read/schemas.js'
import { type Pointer, parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import type { Context, Dialect, Mapping } from '../../engine/plan.js'
import type { CaseData } from '../../schemas/config/types.js'
import { differences, shown } from './differences.js'
import { failureOf } from './failure.js'
import { type Interpreted, interpret, stepsOf } from './interpreter.js'
import { eventsOf, frozen, seenBy, usualContext, wire } from './values.js'

export interface CaseResult {
  /** `file:line` of the case. */
  place: string
  name: string
  /** The issue that it waits for, if it is known to fail. */
  known?: number
  findings: Finding[]
}

export interface MappingResult {
  pair: string
  cases: CaseResult[]
  /** The number of steps in its stream, and how many of them the cases run. */
  steps: { all: number; fired: number }
  /** Errors of the cases as a whole: untested steps of the mapping's own, and untested parts. */
  findings: Finding[]
  /** The steps of its parts, by where they are written: whether a case fires them, and what is to be said where none does. */
  shared: Map<string, Finding | undefined>
}

/**
 * Steps of parts that no case fires of any mapping that uses them. A half of a dialect says what some of the dialects on the other
 * side never tell. `results` are those of mappings with all their cases.
 */
export function idleSteps(results: readonly MappingResult[]): Finding[] {
  const idle = new Map<string, Finding>()
  for (const { shared } of results)
    for (const [place, finding] of shared) if (finding !== undefined && results.every(one => !isFired(one, place))) idle.set(place, finding)
  return [...idle.values()]
}

function isFired({ shared }: MappingResult, place: string): boolean {
  return shared.has(place) && shared.get(place) === undefined
}

export interface MappingUnderTest {
  project: Project
  /** `<client>-to-<upstream>`. */
  pair: string
  compiled: Mapping
  /** Normalises a request as the client's dialect does before a mapping. */
  normalise?: Dialect['normaliseRequest'] | undefined
  /** Folders of case files. */
  folders: readonly string[]
  /** Whether these are all cases, so that gaps are reported. */
  isWhole: boolean
}

const PARTS = ['request', 'response', 'stream', 'split', 'join', 'failure', 'location'] as const

/** Runs every case of a mapping. Throws only if the files cannot be read. */
export function runCases(under: MappingUnderTest): MappingResult {
  const { project, pair, compiled, isWhole } = under
  const entry = project.mappings.get(pair)
  if (entry === undefined) throw new Error(`there is no mapping ${pair}`)
  const { data, document } = entry
  const [from, to] = pair.split('-to-') as [string, string]
  const fired = new Set<string>()
  const library = new Map([...libraryOf(entry, project)].map(([name, { text }]) => [name, text]))
  const interpreted = interpret(data, library, project.formats.get(to)?.data.stream?.event_line, pointer => fired.add(pointer.join('/')))
  const eventLine = project.formats.get(from)?.data.stream?.event_line
  const run = {
    compiled,
    interpreted,
    seen: seenBy(under.normalise),
    ajv: ajvOf(project),
    context: usualContext(project.configSchemas),
    from,
    to,
    ...(eventLine !== undefined && { eventLine }),
  }

  const files = under.folders.flatMap(folder => readCases(folder, project))
  const cases = files.flatMap(({ documents, findings, file }): CaseResult[] =>
    findings.length > 0 || documents.length === 0
      ? [{ place: file, name: '', findings: findings.length > 0 ? findings : [emptyFile(file)] }]
      : documents.map(one => resultOf(one, run)),
  )

  const steps = stepsOf(data.stream?.steps, ['stream', 'steps'])
  // A step that writes what several steps tell is one step.
  const placeOf = (pointer: (string | number)[]): string => {
    const said = sayingOf(entry, project.parts, pointer)
    return `${said.document.file} ${said.pointer.join('/')}`
  }
  const firedAt = new Set(steps.filter(({ pointer }) => fired.has(pointer.join('/'))).map(({ pointer }) => placeOf(pointer)))
  const idle = steps.filter(({ pointer }) => !firedAt.has(placeOf(pointer)))
  const findings: Finding[] = []
  const shared: MappingResult['shared'] = new Map([...firedAt].map(place => [place, undefined]))
  if (isWhole) {
    for (const { name, pointer } of idle) {
      const said = sayingOf(entry, project.parts, pointer)
      const finding: Finding = {
        ...said.document.at(said.pointer),
        rule: 'case/step',
        detail: `no case runs the step "${name}"`,
        remedy: 'add a case whose events run it, or remove the step',
      }
      if (said.document === document) findings.push(finding)
      else shared.set(placeOf(pointer), finding)
    }
    // A pair that is made of its halves has nothing of its own; their steps and expressions are run by the cases of other pairs.
    const isMade = [from, to].some(dialect => project.formats.get(dialect)?.document === document)
    const all = files.flatMap(({ documents }) => documents.map(({ value }) => value as Partial<CaseData> | null))
    for (const part of PARTS) {
      if (isMade || data[part] === undefined || all.some(one => one?.[part] !== undefined)) continue
      findings.push({
        ...document.key([part]),
        rule: 'case/missing',
        detail: `no case has ${part}`,
        remedy: `add one with ${part}: to mappings/${pair}/cases/`,
      })
    }
  }
  return { pair, cases, steps: { all: steps.length, fired: steps.length - idle.length }, findings, shared }
}

interface Run {
  compiled: Mapping
  interpreted: Interpreted
  /** A request as the mapping gets it. */
  seen(request: unknown): Record<string, unknown>
  ajv: Ajv2020
  context: Context
  from: string
  to: string
  eventLine?: string
}

const validators = new WeakMap<object, Ajv2020>()

/** Validates by the schemas of a project. Making one takes longer than any case. */
export function ajvOf(project: Project): Ajv2020 {
  let ajv = validators.get(project.schemas)
  if (ajv === undefined) {
    ajv = newAjv(project.schemas, { allErrors: true })
    validators.set(project.schemas, ajv)
  }
  return ajv
}

export interface CaseFile {
  file: string
  documents: YamlDocument[]
  findings: Finding[]
}

/** The files of a folder, each checked by a grammar. */
export function readCases(folder: string, project: Project, grammar: 'case' | 'exchange' | 'scenario' = 'case'): CaseFile[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return names.sort().map(name => {
    const file = display(join(folder, name))
    const findings: Finding[] = []
    const documents = parseYaml(file, readFileSync(join(folder, name), 'utf8'), findings)
    for (const document of documents) checkGrammar({ configSchemas: project.configSchemas, findings }, grammar, document)
    return { file, documents, findings }
  })
}

/** The finding about a file without a case. */
export function emptyFile(file: string): Finding {
  return { file, line: 1, column: 1, rule: 'case/empty', detail: 'the file has no case', remedy: 'write one, or remove the file' }
}

function resultOf(document: YamlDocument, run: Run): CaseResult {
  const given = document.value as CaseData
  const found = new Found(document, run.ajv)
  try {
    checkCase(given, run, found)
  } catch (error) {
    found.add([], 'case/error', failureOf(error), 'correct the mapping')
  }
  const place = `${document.file}:${document.at([]).line}`
  if (given.known === undefined) return { place, name: given.name, findings: found.findings }
  // A case that passes must lose the mark.
  const findings: Finding[] = []
  if (found.findings.length === 0)
    findings.push({
      ...document.key(['known']),
      rule: 'case/known',
      detail: 'the case passes, but is marked as known to fail',
      remedy: 'remove known:',
    })
  return { place, name: given.name, known: given.known, findings }
}

/** Collects the findings of a case, with their positions. */
class Found {
  readonly findings: Finding[] = []
  constructor(
    private readonly document: YamlDocument,
    private readonly ajv: Ajv2020,
  ) {}

  add(pointer: Pointer, rule: string, detail: string, remedy: string): void {
    this.findings.push({ ...this.document.at(pointer), rule, detail, remedy })
  }

  /** Compares the value in the case at a pointer with the result. */
  equal(pointer: Pointer, expected: unknown, made: unknown): void {
    for (const one of differences(expected, made)) {
      const at = [...pointer, ...one.pointer]
      this.add(
        at,
        'case/different',
        `${at.join('.')}: expected ${shown(one.expected)}, got ${shown(one.actual)}`,
        'correct the mapping, or the case',
      )
    }
  }

  /** Compares the compiled result with the interpreter's: a difference is a fault of the compiler. */
  same(pointer: Pointer, what: string, compiled: unknown, interpreted: unknown): void {
    for (const one of differences(interpreted, compiled))
      this.add(
        pointer,
        'case/compiler',
        `${[what, ...one.pointer].join('.')}: JSONata gives ${shown(one.expected)}, the compiled code gives ${shown(one.actual)}`,
        'write the expression in another way, and report this as a fault of Sluice',
      )
  }

  /** Checks a value against a schema of a dialect; without such a schema everything is valid. */
  valid(pointer: Pointer, dialect: string, part: 'request' | 'response' | 'event', value: unknown): void {
    const wrong = this.wrong(dialect, part, value)
    if (wrong !== undefined)
      this.add(
        pointer,
        'case/schema',
        `${pointer.join('.')} does not satisfy schemas/${dialect}/${part}.yaml: ${wrong}`,
        'correct the case, the mapping or the schema',
      )
  }

  wrong(dialect: string, part: 'request' | 'response' | 'event', value: unknown): string | undefined {
    const check = this.ajv.getSchema(schemaId(dialect, part))
    if (check === undefined || check(value)) return undefined
    return this.ajv.errorsText(check.errors, { separator: '; ' })
  }
}

function checkCase(given: CaseData, run: Run, found: Found): void {
  const ctx = frozen({ ...run.context, ...given.request?.ctx }) as Context
  const carry = checkRequest(given, ctx, run, found)
  checkResponse(given, ctx, run, found)
  checkStream(given, ctx, carry, run, found)
  checkParts(given, ctx, carry, run, found)
}

/** Returns the value that is carried to the answer: for an empty request if the case has none. */
function checkRequest({ request, dropped, refused }: CaseData, ctx: Context, run: Run, found: Found): unknown {
  const { compiled, interpreted, from, to } = run
  if (request === undefined) return frozen(compiled.carry?.({}, ctx))
  found.valid(['request', 'in'], from, 'request', request.in)
  const given = run.seen(request.in)
  const mine = frozen(structuredClone(given)) as Record<string, unknown>
  const refusal = compiled.refused?.(mine, ctx)
  found.equal(['refused', 'param'], refused?.param, refusal?.param)
  found.same(['request'], 'refused', wire(refusal), wire(interpreted.refused(given, ctx)))
  if (refused !== undefined) return undefined
  const carry = frozen(compiled.carry?.(mine, ctx))
  const sent = compiled.request?.(mine, ctx, carry)
  const named = compiled.dropped?.(mine, ctx, sent) ?? []
  found.same(['request'], 'dropped', named, interpreted.dropped(given, ctx, wire(sent)))
  if (dropped !== undefined) found.equal(['dropped'], dropped.toSorted(), named.toSorted())
  found.same(['request'], 'carry', wire(carry), wire(interpreted.carry(given, ctx)))
  found.same(['request'], 'fetch', wire(compiled.fetch?.(mine, ctx)), wire(interpreted.fetch(given, ctx)))
  if (!('out' in request)) return carry
  found.equal(['request', 'out'], request.out, wire(sent))
  found.same(['request'], 'request', wire(sent), wire(interpreted.request(given, ctx, interpreted.carry(given, ctx))))
  found.valid(['request', 'out'], to, 'request', request.out)
  return carry
}

function checkResponse({ request, response }: CaseData, known: Context, run: Run, found: Found): void {
  if (response === undefined) return
  const { compiled, interpreted, from, to } = run
  const ctx = frozen({ ...known, ...response.ctx }) as Context
  const asked = run.seen(response.request ?? request?.in ?? {})
  if (response.request !== undefined) found.valid(['response', 'request'], from, 'request', response.request)
  found.valid(['response', 'in'], to, 'response', response.in)
  const carry = frozen(compiled.carry?.(frozen(structuredClone(asked)) as Record<string, unknown>, ctx))
  const made = wire(compiled.response?.(frozen(structuredClone(response.in)), ctx, carry))
  found.equal(['response', 'out'], response.out, made)
  found.same(['response'], 'response', made, wire(interpreted.response(response.in, ctx, interpreted.carry(asked, ctx))))
  found.valid(['response', 'out'], from, 'response', response.out)
}

function checkStream({ request, stream }: CaseData, ctx: Context, carry: unknown, run: Run, found: Found): void {
  if (stream === undefined) return
  const { interpreted, from, to } = run
  const { stream: compiled } = run.compiled
  if (compiled === undefined) {
    found.add(['stream'], 'case/different', 'this mapping has no stream', 'add stream: to the mapping, or remove it from the case')
    return
  }
  const state = compiled.start()
  const plain = interpreted.start()
  const carried = interpreted.carry(run.seen(request?.in ?? {}), ctx)
  stream.forEach((item, index) => {
    const here: Pointer = ['stream', index]
    const isDone = item.on === 'done'
    if (!isDone) checkIn(here, `stream.${index}`, item, to, 'event', found)
    const out: string[] = []
    const fails = isDone ? compiled.done(state, ctx, carry, out) : compiled.event(state, frozen(structuredClone(item.in)), ctx, carry, out)
    const events = isDone ? interpreted.done(plain, ctx, carried) : interpreted.event(plain, structuredClone(item.in), ctx, carried)
    const emitted = eventsOf(out, run.eventLine)
    found.equal([...here, 'out'], item.out, emitted)
    found.same(here, `stream.${index}`, emitted, wire(events))
    found.equal([...here, 'fails'], item.fails, wire(fails))
    found.same(here, `stream.${index}.fails`, wire(fails), wire(interpreted.failed(plain)))
    for (const [number, event] of item.out.entries()) found.valid([...here, 'out', number], from, 'event', event)
  })
}

/** Checks that what a provider sends satisfies its schema, or breaks it if the case says so. */
function checkIn(
  here: Pointer,
  name: string,
  given: { in?: unknown; invalid?: boolean },
  to: string,
  kind: 'response' | 'event',
  found: Found,
): void {
  if (given.invalid !== true) found.valid([...here, 'in'], to, kind, given.in)
  else if (found.wrong(to, kind, given.in) === undefined)
    found.add([...here, 'invalid'], 'case/schema', `${name}.in satisfies its schema`, 'remove invalid:')
}

/** Checks the parts that apply to whole answers beside the mapping itself, and to split requests. */
function checkParts({ request, split, join, failure, location }: CaseData, ctx: Context, carry: unknown, run: Run, found: Found): void {
  const { compiled, interpreted, from, to } = run
  const asked = frozen(structuredClone(run.seen(request?.in ?? {}))) as Record<string, unknown>
  if (split !== undefined) {
    const made = wire(compiled.split?.(asked, ctx))
    found.equal(['split'], split, made)
    found.same(['split'], 'split', made, wire(interpreted.split(asked, ctx)))
    for (const [index, part] of split.entries()) found.valid(['split', index], from, 'request', part)
  }
  if (join !== undefined) {
    const made = wire(compiled.join?.(frozen(structuredClone(join.in)), ctx, carry))
    found.equal(['join', 'out'], join.out, made)
    found.same(['join'], 'join', made, wire(interpreted.join(join.in, ctx, carry)))
    found.valid(['join', 'out'], from, 'response', join.out)
  }
  const expected: [name: 'failure' | 'location', given: { in: unknown; out: unknown; invalid?: boolean } | undefined][] = [
    ['failure', failure],
    ['location', location],
  ]
  for (const [name, given] of expected) {
    if (given === undefined) continue
    checkIn([name], name, given, to, 'response', found)
    const made = wire(compiled[name]?.(frozen(structuredClone(given.in)), ctx, carry))
    found.equal([name, 'out'], given.out, made)
    found.same([name], name, made, wire(interpreted[name](given.in, ctx, carry)))
  }
}
