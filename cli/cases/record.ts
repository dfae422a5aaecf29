// `sluice test --record`: records one live exchange with a provider as a case of its mapping. The request is sent once,
// exactly as the gateway would send it; secrets and ids are masked before anything is written.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dump } from 'js-yaml'
import { display } from '../../codegen/read/display.js'
import { DataError } from '../../codegen/read/findings.js'
import { GatewayError } from '../../engine/core/errors.js'
import type { Context, Mapping } from '../../engine/plan.js'
import type { Binding, Snapshot } from '../../engine/snapshot/model.js'
import { pairOf } from '../../engine/snapshot/pairs.js'
import { admit } from '../../engine/stages/admit.js'
import type { Attempt } from '../../engine/stages/attempt.js'
import { choose } from '../../engine/stages/choose.js'
import { checkServed } from '../../engine/stages/lost-fields.js'
import { forMapping, read } from '../../engine/stages/read.js'
import { contextOf, render } from '../../engine/stages/render.js'
import { call, collect } from '../../engine/upstream/call.js'
import { signed } from '../../engine/upstream/sign.js'
import { alone, fileOf } from '../check.js'
import { exchangeOf } from '../explain/exchange.js'
import { namedKey } from '../explain/explain.js'
import { type GivenRequest, requestIn, requestOfCurl } from '../explain/request-text.js'
import { type CommandResult, UsageError } from '../output.js'
import { prepare } from '../prepare.js'
import { projectOf } from '../project.js'
import { eventsIn, readInput } from './input.js'
import { masked } from './mask.js'
import { runCases } from './run.js'
import { eventsOf, frozen, usualContext, wire } from './values.js'

export interface RecordOptions {
  input: string
  curl?: string
  path?: string
  method?: string
  /** The name of a configured key. */
  key?: string
  /** The name of the case. */
  name?: string
}

/** Bytes. */
const LARGEST = 16 * 1024 * 1024

interface Exchanged {
  pair: string
  mapping: Mapping
  ctx: Context
  asked: Record<string, unknown>
  answer: string
  secret: string | undefined
}

/** Sends the request and writes the case. Throws a UsageError if no mapping applies, or if the provider refuses. */
export async function record(folder: string, options: RecordOptions): Promise<CommandResult> {
  const given = options.curl === undefined ? requestIn(readInput(options.input), options.path, options.method) : requestOfCurl(options.curl)
  const config = fileOf(folder)
  const { snapshot } = await prepare(config, alone)
  let exchanged: Exchanged
  try {
    exchanged = await exchange(given, options.key, snapshot)
  } catch (error) {
    if (error instanceof GatewayError) throw new UsageError(`The request is refused: ${error.message}`)
    throw error
  } finally {
    await snapshot.close()
  }
  const root = dirname(config)
  const project = projectOf(root)
  if (project.findings.length > 0) throw new DataError(project.findings)
  const { pair, mapping } = exchanged
  const [from] = pair.split('-to-') as [string, string]
  const name = options.name ?? `recorded from ${exchanged.ctx.provider}`
  const value = caseOf(name, exchanged, usualContext(project.configSchemas), project.formats.get(from)?.data.stream?.event_line)
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  const cases = join(root, 'mappings', pair, 'cases')
  const file = join(cases, `${slug}.yaml`)
  if (existsSync(file)) throw new UsageError(`${file} exists already; give the case another --name.`)
  mkdirSync(cases, { recursive: true })
  writeFileSync(file, dump(value, { lineWidth: 120, noRefs: true }), { flag: 'wx' })
  const { cases: results } = runCases({ project, pair, compiled: mapping, folders: [cases], isWhole: false })
  const findings = results.filter(({ place }) => place.startsWith(display(file))).flatMap(one => one.findings)
  return { json: { file, pair, case: value }, text: `${file}\nRead it before you keep it: texts are not masked.`, findings }
}

async function exchange(given: GivenRequest, key: string | undefined, snapshot: Snapshot): Promise<Exchanged> {
  const found = snapshot.router({ ...given, hasKeyIn: () => true })
  if (found?.kind !== 'route') throw new UsageError(`${given.method} ${given.path} is not a route: sluice routes lists them.`)
  const { route, params } = found
  const one = exchangeOf(given, params)
  const caller = key === undefined ? await admit(route, one, snapshot) : namedKey(key, route, snapshot)
  const input = await read(route, one, snapshot)
  const choice = choose(route, input, caller, one, snapshot)
  const binding = [...choice.bindings].sort((left, right) => left.target.priority - right.target.priority)[0]
  if (binding?.mapping === undefined) throw new UsageError('No mapping applies: the provider speaks the dialect of the client.')
  const limits = { ...route.limits, ...binding.target.limits }
  const plain: Attempt = {
    route,
    input,
    choice,
    exchange: one,
    snapshot,
    binding,
    limits,
    lease: undefined,
    targetLease: undefined,
    hold: undefined,
  }
  const attempt = { ...plain, input: await forMapping(plain) }
  const ctx = contextOf(attempt)
  const asked = attempt.input.body as Record<string, unknown>
  refuseSeveral(binding, asked, ctx)
  const { request } = render(attempt, ctx, checkServed(attempt, ctx))
  const response = await call(signed(request, binding), limits, one)
  const bytes = await collect(response, LARGEST)
  if (bytes === undefined) throw new UsageError('The answer is too long for a case.')
  if (response.status >= 400) throw new UsageError(`The provider answered with status ${response.status}; nothing is recorded.`)
  return {
    pair: pairOf(binding.from.name, binding.to.name),
    mapping: binding.mapping,
    ctx,
    asked,
    answer: bytes.toString('utf8'),
    secret: binding.target.secret,
  }
}

/** A case covers one call. */
function refuseSeveral({ mapping }: Binding, asked: Record<string, unknown>, ctx: Context): void {
  const parts = mapping?.split?.(asked, ctx)
  const fetched = mapping?.fetch?.(asked, ctx)
  if ((Array.isArray(parts) && parts.length > 1) || (Array.isArray(fetched) && fetched.length > 0))
    throw new UsageError('This request needs several calls, which one case cannot describe.')
}

/** Members of `$ctx` that a mapping may read and that a case does not begin with. */
const CONTEXT = ['provider', 'stream', 'max_output', 'tag', 'task', 'traits'] as const

function caseOf(name: string, exchanged: Exchanged, usual: Context, eventLine: string | undefined): object {
  const { mapping, secret } = exchanged
  const isStream = exchanged.ctx.stream
  const parsed = isStream ? eventsIn(exchanged.answer) : [JSON.parse(exchanged.answer) as unknown]
  const { asked, answers } = masked({ asked: wire(exchanged.asked), answers: parsed }, secret)
  const ctx: Record<string, unknown> = {}
  for (const member of CONTEXT)
    if (exchanged.ctx[member] !== undefined && JSON.stringify(exchanged.ctx[member]) !== JSON.stringify(usual[member]))
      ctx[member] = exchanged.ctx[member]
  const whole = frozen({ ...usual, ...ctx }) as Context
  const body = frozen(structuredClone(asked)) as Record<string, unknown>
  const carry = frozen(mapping.carry?.(body, whole))
  const made = mapping.request?.(body, whole, carry)
  const dropped = mapping.dropped?.(body, whole, made) ?? []
  const request = { in: asked, out: wire(made), ...(Object.keys(ctx).length > 0 && { ctx }) }
  const head = { name, request, ...(dropped.length > 0 && { dropped }) }
  if (!isStream)
    return { ...head, response: { in: answers[0], out: wire(mapping.response?.(frozen(structuredClone(answers[0])), whole, carry)) } }
  const { stream } = mapping
  if (stream === undefined) throw new UsageError('The mapping has no stream.')
  const state = stream.start()
  const rows = [...answers, undefined].map(event => {
    const out: string[] = []
    const fails = wire(
      event === undefined ? stream.done(state, whole, carry, out) : stream.event(state, frozen(structuredClone(event)), whole, carry, out),
    )
    const written = { out: eventsOf(out, eventLine), ...(fails !== undefined && { fails }) }
    return event === undefined ? { on: 'done', ...written } : { in: event, ...written }
  })
  return { ...head, stream: rows }
}
