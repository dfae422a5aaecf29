// The cases of a mapping: each through what was compiled and through the interpreter, with the schemas of both dialects.
// What is wrong is told as findings at the place in the case that says otherwise.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import { libraryFor } from '../../codegen/compile/mapping.js'
import { newAjv } from '../../codegen/compile/validators.js'
import { display } from '../../codegen/read/display.js'
import type { Finding } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import { sayingOf } from '../../codegen/read/parts.js'
import type { Project } from '../../codegen/read/project.js'

import { schemaId } from '../../codegen/read/schemas.js'
import { type Pointer, parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import type { Context, Dialect, Mapping } from '../../engine/plan.js'
import type { CaseData } from '../../schemas/config/types.js'
import { differences, shown } from './differences.js'
import { type Interpreted, interpret, stepsOf } from './interpreter.js'
import { eventsOf, frozen, seenBy, usualContext, wire } from './values.js'

export interface CaseResult {
  /** `file:line` of the case. */
  place: string
  name: string
  /** The issue that it waits for, where it is known to fail. */
  known?: number
  findings: Finding[]
}

export interface MappingResult {
  pair: string
  cases: CaseResult[]
  /** How many steps its stream has, and how many of them the cases fire. */
  steps: { all: number; fired: number }
  /** What is wrong with the cases as a whole: steps of the mapping's own that none fires, parts that none is about. */
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
  /** What the client's dialect says in one way before a mapping sees it. */
  normalise?: Dialect['normaliseRequest'] | undefined
  /** Folders of case files. */
  folders: readonly string[]
  /** Whether the cases are all that there are, so that what they leave out is told. */
  isWhole: boolean
}

const PARTS = ['request', 'response', 'stream', 'split', 'join', 'failure', 'location'] as const

/** Runs every case of a mapping. Throws only where the files cannot be read. */
export function runCases(under: MappingUnderTest): MappingResult {
  const { project, pair, compiled, isWhole } = under
  const entry = project.mappings.get(pair)
  if (entry === undefined) throw new Error(`there is no mapping ${pair}`)
  const { data, document } = entry
  const [from, to] = pair.split('-to-') as [string, string]
  const fired = new Set<string>()
  const library = new Map([...libraryFor(entry, project)].map(([name, { text }]) => [name, text]))
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
        detail: `no case fires the step "${name}"`,
        remedy: 'add a case whose events fire it, or take the step out',
      }
      if (said.document === document) findings.push(finding)
      else shared.set(placeOf(pointer), finding)
    }
    const all = files.flatMap(({ documents }) => documents.map(({ value }) => value as Partial<CaseData> | null))
    for (const part of PARTS) {
      if (data[part] === undefined || all.some(one => one?.[part] !== undefined)) continue
      findings.push({
        ...document.key([part]),
        rule: 'case/missing',
        detail: `no case is about ${part}`,
        remedy: `add one with ${part}: to mappings/${pair}/cases/`,
      })
    }
  }
  return { pair, cases, steps: { all: steps.length, fired: steps.length - idle.length }, findings, shared }
}

interface Run {
  compiled: Mapping
  interpreted: Interpreted
  /** A request as the mapping sees it. */
  seen(request: unknown): Record<string, unknown>
  ajv: Ajv2020
  context: Context
  from: string
  to: string
  eventLine?: string
}

const validators = new WeakMap<object, Ajv2020>()

/** Making one takes longer than any case. */
function ajvOf(project: Project): Ajv2020 {
  let ajv = validators.get(project.schemas)
  if (ajv === undefined) {
    ajv = newAjv(project.schemas, { allErrors: true })
    validators.set(project.schemas, ajv)
  }
  return ajv
}

interface CaseFile {
  file: string
  documents: YamlDocument[]
  findings: Finding[]
}

function readCases(folder: string, project: Project): CaseFile[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return names.sort().map(name => {
    const file = display(join(folder, name))
    const findings: Finding[] = []
    const documents = parseYaml(file, readFileSync(join(folder, name), 'utf8'), findings)
    for (const document of documents) checkGrammar({ configSchemas: project.configSchemas, findings }, 'case', document)
    return { file, documents, findings }
  })
}

function emptyFile(file: string): Finding {
  return { file, line: 1, column: 1, rule: 'case/empty', detail: 'the file holds no case', remedy: 'write one, or remove the file' }
}

function resultOf(document: YamlDocument, run: Run): CaseResult {
  const given = document.value as CaseData
  const found = new Found(document, run.ajv)
  try {
    checkCase(given, run, found)
  } catch (error) {
    found.add([], 'case/error', `the mapping fails: ${error instanceof Error ? error.message : String(error)}`, 'mend the mapping')
  }
  const place = `${document.file}:${document.at([]).line}`
  if (given.known === undefined) return { place, name: given.name, findings: found.findings }
  // Once it passes, the mark has to go.
  const findings: Finding[] = []
  if (found.findings.length === 0)
    findings.push({
      ...document.key(['known']),
      rule: 'case/known',
      detail: 'the case passes, and is marked as one that fails',
      remedy: 'take known: out',
    })
  return { place, name: given.name, known: given.known, findings }
}

/** What is wrong with a case, with its places. */
class Found {
  readonly findings: Finding[] = []
  constructor(
    private readonly document: YamlDocument,
    private readonly ajv: Ajv2020,
  ) {}

  add(pointer: Pointer, rule: string, detail: string, remedy: string): void {
    this.findings.push({ ...this.document.at(pointer), rule, detail, remedy })
  }

  /** What the case says at a pointer, and what was made. */
  equal(pointer: Pointer, expected: unknown, made: unknown): void {
    for (const one of differences(expected, made)) {
      const at = [...pointer, ...one.pointer]
      this.add(
        at,
        'case/different',
        `${at.join('.')}: expected ${shown(one.expected)}, made ${shown(one.actual)}`,
        'mend the mapping, or the case',
      )
    }
  }

  /** What was compiled, and what the interpreter makes: they differ only by a fault of the compiler. */
  same(pointer: Pointer, what: string, compiled: unknown, interpreted: unknown): void {
    for (const one of differences(interpreted, compiled))
      this.add(
        pointer,
        'case/compiler',
        `${[what, ...one.pointer].join('.')}: JSONata gives ${shown(one.expected)}, what was compiled gives ${shown(one.actual)}`,
        'write the expression in another way, and report this as a fault of Sluice',
      )
  }

  /** A value by a schema of a dialect; a dialect that has no such schema says nothing. */
  valid(pointer: Pointer, dialect: string, part: 'request' | 'response' | 'event', value: unknown): void {
    const wrong = this.wrong(dialect, part, value)
    if (wrong !== undefined)
      this.add(
        pointer,
        'case/schema',
        `${pointer.join('.')} is not valid by schemas/${dialect}/${part}.yaml: ${wrong}`,
        'mend the case, the mapping or the schema',
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

/** Gives what is carried to the answer: of an empty request, where the case has none. */
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
    found.add(['stream'], 'case/different', 'this mapping has no stream', 'add stream: to the mapping, or take it out of the case')
    return
  }
  const state = compiled.start()
  const plain = interpreted.start()
  const carried = interpreted.carry(run.seen(request?.in ?? {}), ctx)
  stream.forEach((item, index) => {
    const here: Pointer = ['stream', index]
    const isDone = item.on === 'done'
    if (!isDone) found.valid([...here, 'in'], to, 'event', item.in)
    const out: string[] = []
    const fails = isDone ? compiled.done(state, ctx, carry, out) : compiled.event(state, frozen(structuredClone(item.in)), ctx, carry, out)
    const events = isDone ? interpreted.done(plain, ctx, carried) : interpreted.event(plain, structuredClone(item.in), ctx, carried)
    const told = eventsOf(out, run.eventLine)
    found.equal([...here, 'out'], item.out, told)
    found.same(here, `stream.${index}`, told, wire(events))
    found.equal([...here, 'fails'], item.fails, wire(fails))
    found.same(here, `stream.${index}.fails`, wire(fails), wire(interpreted.failed(plain)))
    for (const [number, event] of item.out.entries()) found.valid([...here, 'out', number], from, 'event', event)
  })
}

/** What is said of whole answers beside what they are mapped to, and of requests that are several. */
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
  const told: [name: 'failure' | 'location', given: { in: unknown; out: unknown; invalid?: boolean } | undefined][] = [
    ['failure', failure],
    ['location', location],
  ]
  for (const [name, given] of told) {
    if (given === undefined) continue
    const isInvalid = given.invalid === true
    if (!isInvalid) found.valid([name, 'in'], to, 'response', given.in)
    else if (found.wrong(to, 'response', given.in) === undefined)
      found.add([name, 'invalid'], 'case/schema', `${name}.in is valid by its schema`, 'take invalid: out')
    const made = wire(compiled[name]?.(frozen(structuredClone(given.in)), ctx, carry))
    found.equal([name, 'out'], given.out, made)
    found.same([name], name, made, wire(interpreted[name](given.in, ctx, carry)))
  }
}
