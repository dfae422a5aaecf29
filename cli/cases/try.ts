// `sluice try`: runs a mapping on one request, answer or stream, and shows input and result.

import { join } from 'node:path'
import { newAjv } from '../../codegen/read/ajv.js'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { libraryOf } from '../../codegen/read/functions.js'
import { sayingOf } from '../../codegen/read/parts.js'
import type { Project } from '../../codegen/read/project.js'
import { schemaId } from '../../codegen/read/schemas.js'
import { nearest } from '../../codegen/read/suggest.js'
import type { Context, Mapping } from '../../engine/plan.js'
import { type CommandResult, UsageError } from '../output.js'
import { folderOf } from '../overlay.js'
import { loadPlan } from '../plan.js'
import { projectOf } from '../project.js'
import { failureOf } from './failure.js'
import { eventsIn, readInput, valueIn } from './input.js'
import { interpret, stepsOf } from './interpreter.js'
import { eventsOf, frozen, seenBy, usualContext, wire } from './values.js'

export interface TryOptions {
  /** The folder of an overlay. */
  folder: string
  /** A file; `-` is stdin. */
  input: string
  /** A file with the client's request, for values that a mapping carries to the answer. */
  request?: string
  /** JSON or YAML: members of `$ctx`. */
  ctx?: string
}

export type Part = 'request' | 'response' | 'stream'

/** Returns the result of a mapping. Throws a UsageError for an unknown name, a DataError for invalid data. */
export async function tryMapping(pair: string, part: Part, options: TryOptions): Promise<CommandResult> {
  const folder = folderOf(options.folder)
  const project = projectOf(folder)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const [client = '', upstream = ''] = pair.split('-to-')
  const mapping = project.mappings.get(pair)
  if (mapping === undefined) {
    const pairs = [...project.mappings.keys()]
    const akin = pairs.filter(name => name.startsWith(`${client}-to-`) || name.endsWith(`-to-${upstream}`))
    const near = nearest(pairs, pair)
    const hint = near === undefined ? '' : ` Did you mean ${near}?`
    throw new UsageError(`There is no mapping ${pair}.${hint} The mappings are: ${(akin.length > 0 ? akin : pairs).join(', ')}.`)
  }
  const plan = await loadPlan(join(folder, 'gateway.yaml'), [pair])
  const compiled = plan.mappings[pair] as Mapping
  if (compiled[part] === undefined) throw new UsageError(`${pair} has no ${part}.`)
  const given = options.ctx === undefined ? {} : valueIn(options.ctx, '--ctx')
  const ctx = frozen({ ...usualContext(project.configSchemas), ...Object(given) }) as Context
  const trial = new Trial(project, pair, compiled, seenBy(plan.dialects[compiled.from]?.normaliseRequest), ctx, options)
  try {
    return trial[part](readInput(options.input))
  } catch (error) {
    if (error instanceof UsageError) throw error
    // A mapping is not made for what its caller may not send.
    if (trial.isInputWrong) throw new DataError(trial.findings)
    const detail = failureOf(error)
    const failure = { file: mapping.document.file, line: 1, column: 1, rule: 'case/error', detail, remedy: 'correct the mapping' }
    throw new DataError([...trial.findings, failure])
  }
}

class Trial {
  readonly findings: Finding[] = []
  isInputWrong = false
  private readonly ajv
  private readonly from: string
  private readonly to: string

  constructor(
    private readonly project: Project,
    private readonly pair: string,
    private readonly compiled: Mapping,
    private readonly seen: (body: unknown) => Record<string, unknown>,
    private readonly ctx: Context,
    private readonly options: TryOptions,
  ) {
    this.ajv = newAjv(project.schemas, { allErrors: true })
    const [from, to] = pair.split('-to-') as [string, string]
    this.from = from
    this.to = to
  }

  request(text: string): CommandResult {
    const before = valueIn(text, 'the request')
    this.checkInput('the request', this.from, 'request', before)
    const body = frozen(this.seen(before))
    const refused = wire(this.compiled.refused?.(body, this.ctx))
    const carry = frozen(this.compiled.carry?.(body, this.ctx))
    const made = refused === undefined ? this.compiled.request?.(body, this.ctx, carry) : undefined
    const after = wire(made)
    if (refused === undefined) this.check('the result', this.to, 'request', after)
    const dropped = refused === undefined ? (this.compiled.dropped?.(body, this.ctx, made) ?? []) : []
    const why = this.reasons()
    const lines = [
      ...section('before', before),
      ...(refused === undefined ? section('after', after) : [`refused: ${refused.param}: ${refused.why}`]),
      ...dropped.map(path => `dropped: ${path}${why.has(path) ? `: ${why.get(path) as string}` : ''}`),
    ]
    const carried = wire(carry)
    if (carried !== undefined) lines.push(...section('carried to the answer', carried))
    return {
      json: { before, after, dropped, ...(refused && { refused }), ...(carried !== undefined && { carry: carried }) },
      text: lines.join('\n'),
      findings: this.findings,
    }
  }

  response(text: string): CommandResult {
    const before = valueIn(text, 'the answer')
    this.checkInput('the answer', this.to, 'response', before)
    const after = wire(this.compiled.response?.(frozen(before), this.ctx, this.carry()))
    this.check('the result', this.from, 'response', after)
    return { json: { before, after }, text: [...section('before', before), ...section('after', after)].join('\n'), findings: this.findings }
  }

  stream(text: string): CommandResult {
    const { stream } = this.compiled
    if (stream === undefined) throw new UsageError(`${this.pair} has no stream.`)
    const events = eventsIn(text)
    const fired: string[] = []
    const eventLine = this.project.formats.get(this.from)?.data.stream?.event_line
    const interpreted = this.interpreted(fired)
    const carry = this.carry()
    const state = stream.start()
    const plain = interpreted?.start()
    const rows: { in?: unknown; steps: string[]; out: unknown[]; fails?: unknown }[] = []
    for (const event of [...events, undefined]) {
      const out: string[] = []
      fired.length = 0
      const isEnd = event === undefined
      if (!isEnd) this.checkInput(`event ${rows.length + 1}`, this.to, 'event', event)
      const fails = wire(isEnd ? stream.done(state, this.ctx, carry, out) : stream.event(state, frozen(event), this.ctx, carry, out))
      if (interpreted && plain) {
        if (isEnd) interpreted.done(plain, this.ctx, carry)
        else interpreted.event(plain, structuredClone(event), this.ctx, carry)
      }
      const emitted = eventsOf(out, eventLine)
      for (const one of emitted) this.check('an emitted event', this.from, 'event', one)
      rows.push({ ...(isEnd ? {} : { in: event }), steps: [...fired], out: emitted, ...(fails !== undefined && { fails }) })
      // Nothing is sent after a failure.
      if (fails !== undefined) break
    }
    const lines = rows.flatMap(({ in: event, steps, out, fails }) => [
      `< ${event === undefined ? '(the end)' : JSON.stringify(event)}`,
      ...steps.map(step => `    ${step}`),
      ...(steps.length === 0 && interpreted ? ['    no step runs'] : []),
      ...out.map(one => `> ${JSON.stringify(one)}`),
      ...(fails === undefined ? [] : [`! ${JSON.stringify(fails)}`]),
    ])
    return { json: { events: rows }, text: lines.join('\n'), findings: this.findings }
  }

  /** The steps of a mapping's own stream; each step that runs is added to `fired`. */
  private interpreted(fired: string[]): ReturnType<typeof interpret> | undefined {
    const entry = this.project.mappings.get(this.pair)
    if (entry === undefined) return undefined
    const { data } = entry
    const named = new Map(
      stepsOf(data.stream?.steps, ['stream', 'steps']).map(({ name, pointer }) => {
        const said = sayingOf(entry, this.project.parts, pointer)
        const { file, line } = said.document.at(said.pointer)
        return [pointer.join('/'), `${name || 'a step'} (${file}:${line})`]
      }),
    )
    const library = new Map([...libraryOf(entry, this.project)].map(([name, source]) => [name, source.text]))
    const kind = this.project.formats.get(this.to)?.data.stream?.event_line
    return interpret(data, library, kind, pointer => fired.push(named.get(pointer.join('/')) ?? pointer.join('/')))
  }

  private carry(): unknown {
    const asked = this.options.request === undefined ? {} : valueIn(readInput(this.options.request), this.options.request)
    return frozen(this.compiled.carry?.(frozen(this.seen(asked)), this.ctx))
  }

  /** The reasons for dropped fields, by path. */
  private reasons(): Map<string, string> {
    const rules = Object.entries(this.project.mappings.get(this.pair)?.data.fields.dropped ?? {})
    return new Map(rules.map(([path, rule]) => [path, typeof rule === 'string' ? rule : rule.why]))
  }

  private checkInput(...given: Parameters<Trial['check']>): void {
    const known = this.findings.length
    this.check(...given)
    if (this.findings.length > known) this.isInputWrong = true
  }

  private check(what: string, dialect: string, part: 'request' | 'response' | 'event', value: unknown): void {
    const check = this.ajv.getSchema(schemaId(dialect, part))
    if (check === undefined || check(value)) return
    this.findings.push({
      file: this.options.input === '-' ? 'stdin' : this.options.input,
      line: 1,
      column: 1,
      rule: 'case/schema',
      detail: `${what} does not satisfy schemas/${dialect}/${part}.yaml: ${this.ajv.errorsText(check.errors, { separator: '; ' })}`,
      remedy: 'correct the input, the mapping or the schema',
    })
  }
}

function section(title: string, value: unknown): string[] {
  return [`${title}:`, JSON.stringify(value, null, 2) ?? 'nothing']
}
