// From a request to its answer: reads the body, finds the script, makes the bytes. Answers are cached, so that a repeated
// request costs a comparison and a lookup; a benchmark repeats one all the time.

import { createHash } from 'node:crypto'
import { isMultipart } from '../../engine/core/media-type.js'
import { isObject } from '../../engine/core/members.js'
import { type Answer, answer, refusal } from './answer.js'
import type { Dialect, Match } from './dialects.js'
import { formOf } from './form.js'
import { filledScript } from './grammar.js'
import type { Scenes } from './scenes.js'
import { type Asked, completed, type FilledScript, type Options, type TaskView, type WholeScript } from './script.js'
import type { Tasks } from './tasks.js'

/** The error in a body, if there is one. */
export type Validate = (dialect: string, body: unknown) => string | undefined
/** The known traits of a model, by name. */
export type TraitsOf = (model: string) => Readonly<Record<string, unknown>>

type Reading = { model: string; streams: boolean; options: Options; key: string; asked: () => Asked; task: string | undefined }
/** The parts of a request beside its path and body. */
export type Head = { type: string; range: string; base: string }
/** What a dialect file makes of a request. */
type Said = Omit<Asked, 'turn'> & { turns: number }
type Kept = { body: Buffer; type: string; reading: Reading | Answer }

const REMEMBERED = 1000
const READINGS = 8
const LARGEST = 1_048_576

export function responder(
  scenes: Scenes,
  tasks: Tasks,
  validate: Validate | undefined,
  traitsOf: TraitsOf = () => ({}),
): (match: Match, path: string, head: Head, body: Buffer) => Answer {
  const made = new WeakMap<FilledScript, Map<string, Answer>>()
  const readings = new WeakMap<Match, Kept[]>()

  return (match, path, head, body) => {
    const { dialect } = match
    try {
      const reading = recent(readings, match, head.type, body, () => read(match, head.type, body, validate, traitsOf))
      if ('pieces' in reading) return reading
      const { streams, options, key, asked } = reading
      const found = dialect.task && followed(dialect, tasks, reading)
      if (found && 'pieces' in found) return found
      const model = found?.model ?? reading.model
      const script = scenes.find(model, path, asked)
      if (!script)
        return refused(dialect, 404, `The simulator has no model ${model}. Its names begin with sim; other names need a scenario.`)
      const said = asked()
      if (dialect.task || dialect.answersBytes) {
        const whole = {
          ...completed(script, model, options, said, head.base),
          ...(dialect.task && taskOf(dialect, tasks, script, model, options, found)),
        }
        return answer(dialect, match.path.framing, script, whole, streams, head.range)
      }
      let answers = made.get(script)
      if (!answers) made.set(script, (answers = new Map()))
      return remembered(answers, `${said.turn} ${key}`, () =>
        answer(dialect, match.path.framing, script, completed(script, model, options, said, head.base), streams),
      )
    } catch (error) {
      // An error in a dialect file or a script is shown to the client at once.
      return refused(dialect, 500, `The simulator failed: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
}

/** The task that a request refers to; an unknown one is an error. */
function followed(dialect: Dialect, tasks: Tasks, { task: id }: Reading): TaskView | Answer | undefined {
  const { does, early } = dialect.task as NonNullable<Dialect['task']>
  if (id === undefined) return does === 'begin' || does === 'list' ? undefined : refused(dialect, 400, 'The id of the task is missing.')
  const task = tasks.find(id, does === 'look')
  if (!task) return refused(dialect, 404, `There is no task ${id}.`)
  if (does === 'fetch' && task.state !== 'completed' && early) return refused(dialect, early.status, early.message)
  if (does === 'end') tasks.end(id)
  return task
}

function taskOf(
  dialect: Dialect,
  tasks: Tasks,
  script: FilledScript,
  model: string,
  options: Options,
  found: TaskView | undefined,
): Pick<WholeScript, 'task' | 'tasks'> {
  const does = dialect.task?.does
  if (does === 'list') return { tasks: tasks.all() }
  if (does !== 'begin') return found ? { task: found } : {}
  // A refused request begins no task.
  return script.status >= 400 ? {} : { task: tasks.begin(model, script, options, found?.id) }
}

function read(match: Match, type: string, body: Buffer, validate: Validate | undefined, traitsOf: TraitsOf): Reading | Answer {
  const { dialect, path, variables, query } = match
  const input = parsed(dialect, body, type)
  if (input === undefined) return refused(dialect, 400, 'The body could not be read.')
  const id = dialect.task?.id?.(input, { path: variables, query })
  const task = typeof id === 'string' ? id : undefined
  const model = dialect.named ?? nameOf(match, input) ?? (dialect.task && dialect.task.does !== 'begin' ? '' : task && '')
  if (model === undefined) return refused(dialect, 400, 'The model is missing.')
  const wrong = dialect.body === 'none' ? undefined : validate?.(dialect.name, input)
  if (wrong !== undefined) return refused(dialect, 400, wrong)

  const param = dialect.refuses?.(input, { traits: traitsOf(model) })
  if (typeof param === 'string')
    return refusal(
      dialect,
      filledScript({
        error: { message: `Unsupported parameter: '${param}' is not supported with this model.`, param, code: 'unsupported_parameter' },
      }),
      400,
    )

  const bindings = { path: variables, query }
  const streams = path.stream ?? asksForStream(dialect, input, query)
  const options = (dialect.options(input, bindings) ?? {}) as Options
  let asked: Asked | undefined
  return {
    model,
    streams,
    options,
    task,
    key: `${dialect.name} ${streams ? path.framing?.kind : ''} ${model} ${JSON.stringify(options)}`,
    asked: () => (asked ??= complete(dialect.read(input, bindings))),
  }
}

/** Forms and queries hold only text. */
export function asksForStream(dialect: Dialect, input: unknown, query: Record<string, string>): boolean {
  if (dialect.flag === undefined) return false
  const [part, ...steps] = dialect.flag.member.split('.')
  const value = (part === 'query' ? query[steps.join('.')] : member(input, steps)) ?? dialect.flag.default
  return value === true || value === 'true'
}

function refused(dialect: Dialect, status: number, message: string): Answer {
  return refusal(dialect, filledScript({ error: { message } }), status)
}

function parsed(dialect: Dialect, body: Buffer, type: string): unknown {
  if (dialect.body === 'none') return {}
  if (dialect.body === 'multipart' || (dialect.body === 'either' && isMultipart(type))) return formOf(body, type)
  try {
    const value: unknown = JSON.parse(body.toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The model's name, from where the dialect has it; '' if the dialect has none. */
function nameOf({ dialect, variables, query }: Match, input: unknown): string | undefined {
  if (dialect.model === undefined) return ''
  const [part, ...steps] = dialect.model.split('.')
  const name = part === 'path' ? variables.model : part === 'query' ? query[steps.join('.')] : member(input, steps)
  return typeof name === 'string' ? name : undefined
}

function member(value: unknown, steps: string[]): unknown {
  return steps.reduce<unknown>(
    (at, step) => (typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[step] : undefined),
    value,
  )
}

function complete(read: unknown): Asked {
  const { tools = [], results = [], calls = 0, turns = 0, serial = false, schema, text = '' } = (read ?? {}) as Partial<Said>
  // The text of a request may be long, and each answer that is kept has this in its key.
  const turn = createHash('sha256').update(`${calls} ${turns} ${text}`).digest('hex')
  return { tools, results, calls, turn, serial, schema, text }
}

/** The parsed last few bodies: comparing bytes is many times cheaper than parsing. */
function recent(
  readings: WeakMap<Match, Kept[]>,
  match: Match,
  type: string,
  body: Buffer,
  make: () => Reading | Answer,
): Reading | Answer {
  let kept = readings.get(match)
  if (!kept) readings.set(match, (kept = []))
  const found = kept.find(one => one.type === type && one.body.equals(body))
  if (found) return found.reading
  const reading = make()
  if (body.length > LARGEST) return reading
  if (kept.length >= READINGS) kept.shift()
  kept.push({ body: Buffer.from(body), type, reading })
  return reading
}

export function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size >= REMEMBERED) known.clear()
  const made = make()
  known.set(key, made)
  return made
}
