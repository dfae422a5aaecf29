// Interprets a mapping as docs/data-language.md defines it, without the compiler: expressions run in JSONata's interpreter,
// and the reducer, the field ledger and `$was` are implemented as plainly as the page describes them.

import { seesAsk } from '../../codegen/read/functions.js'
import { holdersFirst, holdersOf } from '../../codegen/read/holders.js'
import type { MappingData } from '../../codegen/read/parts.js'
import { jsonScan } from '../../engine/jsonata/json.js'
import { says } from '../../engine/jsonata/values.js'
import type { Context } from '../../engine/plan.js'
import type { MappingStep as Step } from '../../schemas/config/types.js'
import { oracle } from './oracle.js'

type Values = Record<string, unknown>

export interface Interpreted {
  carry(body: unknown, ctx: Context): unknown
  fetch(body: unknown, ctx: Context): unknown
  split(body: unknown, ctx: Context): unknown
  join(answers: unknown, ctx: Context, carry: unknown): unknown
  failure(body: unknown, ctx: Context, carry: unknown): unknown
  location(body: unknown, ctx: Context, carry: unknown): unknown
  request(body: unknown, ctx: Context, carry: unknown): unknown
  response(body: unknown, ctx: Context, carry: unknown): unknown
  dropped(body: unknown, ctx: Context, sent?: unknown): string[]
  refused(body: unknown, ctx: Context): { param: string; why: string; named?: unknown } | undefined
  start(): Values
  event(state: Values, event: unknown, ctx: Context, carry: unknown): unknown[]
  done(state: Values, ctx: Context, carry: unknown): unknown[]
  /** The failure that a step reported for the last event or the end. */
  failed(state: Values): unknown
}

/** `fired` receives the pointer to every step that ran. */
export function interpret(
  data: MappingData,
  library: ReadonlyMap<string, string>,
  eventKind: string | undefined,
  fired: (pointer: readonly (string | number)[]) => void,
): Interpreted {
  const tables = data.tables ?? {}
  const own = {
    parse_json(text: unknown): unknown {
      try {
        return typeof text === 'string' ? JSON.parse(text) : undefined
      } catch {
        return undefined
      }
    },
    to_json: (value: unknown): unknown => (value === undefined ? undefined : JSON.stringify(value)),
    // A test of its own covers it.
    json_scan: jsonScan,
  }
  // Functions of one block see each other in any order; they see no input.
  const definitions = { ...Object.fromEntries(library), ...data.define }
  const names = Object.keys(definitions)
  const defined: Values = {}
  if (names.length > 0) {
    const block = names.map(name => `$${name} := ${definitions[name]}`).join(';\n')
    const values = oracle(`(${block};\n[${names.map(name => `$${name}`).join(', ')}])`)(undefined, { ...own, tables }) as unknown[]
    names.forEach((name, index) => {
      defined[name] = values[index]
    })
  }

  const always = { ...own, ...defined, tables }
  const parsed = new Map<string, ReturnType<typeof oracle>>()
  const evaluate = (text: string, input: unknown, variables: Values): unknown => {
    let expression = parsed.get(text)
    if (expression === undefined) {
      expression = oracle(text, Infinity, always)
      parsed.set(text, expression)
    }
    const query = (variables.ctx as Context | undefined)?.query
    return expression(input, { query, ...variables })
  }
  // A text that is put together anew has to be copied and hashed before it is found, and some are long.
  const conditions = new Map<string, string>()
  const holds = (text: string, input: unknown, variables: Values): boolean => {
    let condition = conditions.get(text)
    if (condition === undefined) {
      condition = `(${text}) ? true : false`
      conditions.set(text, condition)
    }
    return evaluate(condition, input, variables) === true
  }

  const steps = (list: readonly Step[], pointer: readonly (string | number)[], kind: unknown, run: Run): void => {
    list.forEach((step, index) => {
      const here = [...pointer, index]
      const kinds = step.on === undefined ? undefined : [step.on].flat()
      if (kinds !== undefined && !kinds.includes(kind as string)) return
      if (pointer.length === 2 && kind === 'done' && kinds === undefined) return
      // An expression that keeps the state keeps its present value.
      run.variables.state = { ...run.state }
      if (step.when !== undefined && !holds(step.when, run.input, run.variables)) return
      if (step.for !== undefined) {
        for (const item of elements(evaluate(step.for, run.input, run.variables))) {
          const inner = { ...run, variables: { ...run.variables, state: { ...run.state }, item } }
          lets(step.let, inner)
          steps(step.steps ?? [], [...here, 'steps'], kind, inner)
        }
        return
      }
      if (step.name !== undefined) fired(here)
      if (step.let !== undefined) {
        const inner = { ...run, variables: { ...run.variables } }
        lets(step.let, inner)
        steps(step.steps ?? [], [...here, 'steps'], kind, inner)
        return
      }
      run.variables.was = run.variables.state
      if (step.set !== undefined) merge(run.state, evaluate(step.set, run.input, run.variables))
      run.variables.state = { ...run.state }
      if (run.isWhole && step.whole !== undefined) throw new Whole(evaluate(step.whole, run.input, run.variables))
      if (step.emit !== undefined && !run.isWhole) run.out.push(...elements(evaluate(step.emit, run.input, run.variables)))
      if (step.fail !== undefined) throw new Failed(evaluate(step.fail, run.input, run.variables))
      steps(step.steps ?? [], [...here, 'steps'], kind, run)
    })
  }
  const lets = (list: Record<string, string> | undefined, run: Run): void => {
    for (const [name, text] of Object.entries(list ?? {})) run.variables[name] = evaluate(text, run.input, run.variables)
  }

  /** Waiting events of each stream, by its state. */
  const held = new WeakMap<Values, { key: unknown; events: unknown[] }[]>()
  const failures = new WeakMap<Values, unknown>()
  /** Events that were emitted before a step fails are sent all the same. */
  const caught = (state: Values, run: (out: unknown[]) => void): unknown[] => {
    const out: unknown[] = []
    failures.delete(state)
    try {
      run(out)
    } catch (error) {
      if (!(error instanceof Failed)) throw error
      failures.set(state, error.what)
    }
    return out
  }
  /** The whole answer that the steps of a stream write. */
  const told = (
    input: unknown,
    { state: first, steps: list }: NonNullable<MappingData['whole']>,
    ctx: Context,
    carry: unknown,
  ): unknown => {
    const state = structuredClone(first)
    try {
      steps(list, ['whole', 'steps'], undefined, { input, state, variables: { ctx, carry, state }, out: [], isWhole: true })
    } catch (error) {
      if (!(error instanceof Whole)) throw error
      return error.answer
    }
    return undefined
  }
  const runOf = (input: unknown, state: Values, ctx: Context, carry: unknown, out: unknown[]): Run => {
    const run: Run = { input, state, variables: { ctx, carry, state: { ...state } }, out, isWhole: false }
    lets(data.stream?.let, run)
    return run
  }
  const takeOne = (input: unknown, state: Values, ctx: Context, carry: unknown, out: unknown[]): void => {
    const kind = eventKind === undefined ? undefined : memberOf(input, eventKind)
    // An event with this kind is not the end.
    steps(data.stream?.steps ?? [], ['stream', 'steps'], kind === 'done' ? undefined : kind, runOf(input, state, ctx, carry, out))
  }

  const withAsk = (when: string, body: unknown, variables: Values): Values =>
    seesAsk(when) ? { ...variables, ask: evaluate('$read_ask($, $ctx)', body, variables) } : variables
  const rulesOf = { dropped: holdersFirst(Object.entries(data.fields?.dropped ?? {})), refused: Object.entries(data.fields?.refused ?? {}) }
  const used = (kind: 'dropped' | 'refused', body: unknown, variables: Values): [string, string, string?][] =>
    rulesOf[kind]
      .filter(([path, rule]) =>
        typeof rule === 'object' && rule.sent !== undefined
          ? isLost(body, path, variables.sent, rule.sent)
          : typeof rule === 'object' && rule.when !== undefined
            ? (!seesAsk(rule.when) || isUsed(body, path, isThere)) && holds(rule.when, body, withAsk(rule.when, body, variables))
            : isUsed(body, path, saying(path)),
      )
      .map(([path, rule]) => [path, ...(typeof rule === 'string' ? [rule] : ([rule.why, rule.when] as const))] as [string, string, string?])

  return {
    carry: (body, ctx) => (data.carry === undefined ? undefined : evaluate(data.carry, body, { ctx })),
    fetch: (body, ctx) => (data.fetch === undefined ? undefined : evaluate(data.fetch, body, { ctx })),
    request: (body, ctx, carry) => (data.request === undefined ? undefined : evaluate(data.request, body, { ctx, carry })),
    response(body, ctx, carry) {
      const value = data.response === undefined ? undefined : evaluate(data.response, body, { ctx, carry })
      return data.whole ? told(value, data.whole, ctx, carry) : value
    },
    split: (body, ctx) => (data.split === undefined ? undefined : evaluate(data.split, body, { ctx })),
    join: (answers, ctx, carry) => (data.join === undefined ? undefined : evaluate(data.join, answers, { ctx, carry })),
    failure: (body, ctx, carry) => (data.failure === undefined ? undefined : evaluate(data.failure, body, { ctx, carry })),
    location: (body, ctx, carry) => (data.location === undefined ? undefined : evaluate(data.location, body, { ctx, carry })),
    dropped(body, ctx, sent) {
      const found = used('dropped', body, { ctx, sent }).map(([path]) => path)
      return found.filter(path => !holdersOf(path).some(holder => found.includes(holder)))
    },
    refused(body, ctx) {
      const [first] = used('refused', body, { ctx })
      return (
        first && {
          param: first[0],
          why: first[1],
          ...(first[2] && { named: JSON.parse(JSON.stringify(evaluate(first[2], body, withAsk(first[2], body, { ctx })))) }),
        }
      )
    },
    start: () => structuredClone(data.stream?.state ?? {}),
    failed: state => failures.get(state),
    event: (state, event, ctx, carry) =>
      caught(state, out => {
        const { hold } = data.stream ?? {}
        const ask = (text: string, input: unknown): unknown => evaluate(text, input, runOf(input, state, ctx, carry, out).variables)
        const waits = (input: unknown): boolean =>
          hold !== undefined && holds(hold.when, input, runOf(input, state, ctx, carry, out).variables)
        const take = (input: unknown): void => takeOne(input, state, ctx, carry, out)
        const waiting = held.get(state) ?? []
        held.set(state, waiting)
        const apart = hold?.apart === undefined ? undefined : ask(hold.apart, event)
        for (const one of Array.isArray(apart) ? apart : [event]) {
          if (waits(one)) {
            const key = ask(hold?.part as string, one)
            const its = key === undefined ? waiting.at(-1) : waiting.find(part => part.key === key)
            if (its !== undefined && its.key === key) its.events.push(one)
            else waiting.push({ key, events: [one] })
            continue
          }
          take(one)
          while (waiting[0] && !waits(waiting[0].events[0])) for (const late of waiting.shift()?.events ?? []) take(late)
        }
      }),
    done: (state, ctx, carry) =>
      caught(state, out => {
        const nothing = Object.fromEntries(Object.keys(data.stream?.let ?? {}).map(name => [name, undefined]))
        const run: Run = { input: undefined, state, variables: { ctx, carry, state, ...nothing }, out, isWhole: false }
        for (const part of held.get(state) ?? []) for (const event of part.events) takeOne(event, state, ctx, carry, run.out)
        held.delete(state)
        steps(data.stream?.steps ?? [], ['stream', 'steps'], 'done', run)
      }),
  }
}

/** The failure that a step reported. */
class Failed extends Error {
  constructor(readonly what: unknown) {
    super(JSON.stringify(what))
  }
}

/** The whole answer that a step has. */
class Whole extends Error {
  constructor(readonly answer: unknown) {
    super()
  }
}

interface Run {
  input: unknown
  state: Values
  variables: Values
  out: unknown[]
  /** The steps write a whole answer, so they emit nothing. */
  isWhole: boolean
}

/** Every step of a reducer that can run: loops, and the groups that replace a `tell`, have no action of their own. */
export function stepsOf(
  list: readonly Step[] | undefined,
  pointer: readonly (string | number)[],
): { name: string; pointer: (string | number)[] }[] {
  return (list ?? []).flatMap((step, index) => {
    const here = [...pointer, index]
    const own = step.name !== undefined && step.for === undefined ? [{ name: step.name, pointer: here }] : []
    return [...own, ...stepsOf(step.steps, [...here, 'steps'])]
  })
}

function elements(value: unknown): unknown[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value.flatMap(item => (Array.isArray(item) ? item : [item])) : [value]
}

function merge(state: Values, change: unknown): void {
  for (const [name, value] of Object.entries((change ?? {}) as Values)) if (value !== undefined) state[name] = value
}

/** Whether there is a value at a path for which `test` is true. */
function isUsed(value: unknown, path: string, test: (value: unknown) => boolean): boolean {
  const within = (value: unknown, [part, ...rest]: readonly string[]): boolean => {
    if (part === undefined) return test(value)
    const depth = (part.match(/\[\]/g) ?? []).length
    let found: unknown[] = [memberOf(value, part.replaceAll('[]', ''))]
    for (let level = 0; level < depth; level++) found = found.flatMap(item => (Array.isArray(item) ? (item as unknown[]) : []))
    return found.some(item => within(item, rest))
  }
  return within(value, path.split('.'))
}

/** Null and an empty list count as absent. */
const isThere = (value: unknown): boolean => value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)

/** An empty text, list or object says nothing, except as an item of a list. */
const saying = (path: string): ((value: unknown) => boolean) => (path.endsWith('[]') ? isThere : says)

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Values)[name] : undefined
}

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => (inner as Values | null | undefined)?.[name], value)

/** Whether the made request lacks a field, or has another value for it. */
function isLost(body: unknown, path: string, made: unknown, sent: string | string[]): boolean {
  const value = at(body, path)
  if (!says(value)) return false
  return typeof sent === 'string' ? value !== at(made, sent) : sent.every(member => at(made, member) === undefined)
}
