// Reports of dropped fields are right. If a member that is not reported is removed from a request, the provider's request must
// change; otherwise the member was lost and must be reported.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraries } from '../../cli/cases/arbitrary.js'
import { fieldsOf } from '../../codegen/check/ledger.js'
import { schemaId } from '../../codegen/read/schemas.js'
import type { Body, Context, Mapping } from '../../engine/plan.js'
import { frozen } from '../fixtures.js'
import { providerOf } from './dialects/table.js'
import { CONTEXT, hasSchema, holds, plan, project, runs, schemaOf, seen, TIMEOUT, wrong } from './plan.js'

const tame = arbitraries(project.schemas, { strange: false })

/** What a mapping makes of a request: what is sent of it, and what is kept for the answer. */
function madeOf(mapping: Mapping, body: Body, ctx: Context): { sent: string; kept: string; told: readonly string[] } {
  const carry = mapping.carry?.(body, ctx)
  const parts = mapping.split?.(body, ctx)
  const asked = Array.isArray(parts) && parts.length > 1 ? (parts as Body[]) : [body]
  const made = asked.map(part => mapping.request?.(part, ctx, mapping.carry?.(part, ctx)))
  const told = mapping.dropped?.(asked[0] as Body, ctx, made[0]) ?? []
  return { sent: JSON.stringify([made, mapping.fetch?.(body, ctx)]), kept: JSON.stringify(carry), told }
}

const tools = ({ tools, functions }: Body): boolean => [tools, functions].flat().some(tool => tool !== undefined && tool !== null)
/** Whether a member says no more than a request without it: its default, or what only counts beside another. */
function saysNothing(path: string, value: unknown, body: Body): boolean {
  const [name, inner] = path.split('.') as [string, string | undefined]
  const holder = (inner === undefined ? body : body[name]) as Body
  const last = inner ?? name
  if (value === '' || (value === false && last !== 'parallel_tool_calls')) return true
  switch (last) {
    case 'stream':
    case 'model':
    case 'encoding_format':
    case 'role':
      return true
    case 'n':
    case 'frame_count':
    case 'candidateCount':
      return Number(value) <= 1
    case 'effort':
      return ['enabled', 'disabled'].includes(String((body.thinking as Body | undefined)?.type))
    case 'taskType':
    case 'input_type':
      return /document/i.test(String(value))
    case 'user':
      return body.safety_identifier !== undefined
    case 'safety_identifier':
      return value === body.user
    case 'strict_tools':
      // Where a call is required, it always has the form of its schema.
      return body.tool_choice !== undefined
    case 'truncate':
      // Without it, a provider refuses a text that is too long.
      return value === 'NONE'
    case 'output_dtype':
      return value === 'float'
    case 'output_dimension':
      return value === body.dimensions
    case 'content_type':
      return value === 'image/png'
    case 'reasoning_effort':
      // Another member may ask for as much.
      return value === 'none' || value === 'default' || body.thinking !== undefined
    case 'best_of':
      return Number(value) <= Number(body.n ?? 1)
    case 'temperature':
      return value === 1
    case 'display':
      return value === 'summarized' || value === 'omitted'
    case 'max_tokens':
      return 'max_completion_tokens' in body
    case 'num_predict':
      return Number(value) <= 0
    case 'max_completion_tokens':
      return value === body.max_tokens
    case 'responseJsonSchema':
      return value === true
    case 'response_format':
      return value === 'b64_json'
    case 'size':
      return value === 'auto'
    case 'mediaResolution':
      return true
    case 'generate_summary':
      return true
    case 'type':
      // Without a request, the model decides whether it thinks; a kind without a budget may be its default.
      return name === 'thinking' && ['enabled', 'disabled', 'adaptive'].includes(String(value))
    case 'include_usage':
      return body.stream !== true
    case 'function_call':
    case 'tool_choice':
    case 'parallel_tool_calls':
    case 'disable_parallel_tool_use':
      // Functions are called one at a time anyway, and none is where none may be.
      if (last === 'parallel_tool_calls' && (isEmpty(body.tools) || allowsNone(body) || body.function_call === 'none')) return true
      return !tools(body) || (last === 'function_call' && body.tool_choice !== undefined) || value === true || value === 'auto'
    case 'top_logprobs':
      return value === 0 || holder.logprobs !== true
    case 'logprobs':
      return value === 0 || holder.responseLogprobs !== true
    case 'k':
    case 'topK':
      return Number(value) <= 0
    case 'top_n':
    case 'top_k':
      if (!('documents' in body)) return Number(value) <= 0
      if (last === 'top_k' ? body.top_n !== undefined : value === body.top_k) return true
      return Number(value) >= (body.documents as unknown[]).length
    case 'service_tier':
    case 'truncation':
      return value === 'auto' || value === 'on_demand' || value === 'disabled' || value === true
    case 'responseMimeType':
      // A schema already asks for JSON.
      return value === 'text/plain' || value === 'text/x.enum' || holder.responseSchema !== undefined || 'responseJsonSchema' in holder
    case 'stop':
    case 'input':
      return !/\S/.test(String(value))
    default:
      return false
  }
}

/** Whether a list of allowed tools allows none of those that are offered. */
function allowsNone({ tool_choice: choice, tools: offered }: Body): boolean {
  const allowed = (choice as { allowed_tools?: { tools?: unknown } } | undefined)?.allowed_tools
  const namesIn = (list: unknown): unknown[] =>
    [list].flat().map(tool => (tool as { function?: { name?: unknown } } | null | undefined)?.function?.name)
  const names = new Set(namesIn(offered))
  return allowed !== undefined && !namesIn(allowed.tools).some(name => name !== undefined && names.has(name))
}

const isEmpty = (list: unknown): boolean => list === undefined || (Array.isArray(list) && list.length === 0)

/** Plain members: of the request itself, and of the objects that it holds. */
function* plainMembers(body: Body, named: ReadonlySet<string>): Generator<[path: string, value: unknown, without: Body]> {
  for (const [name, value] of Object.entries(body)) {
    const { [name]: _, ...without } = body
    if (typeof value !== 'object') yield [name, value, without]
    else if (value !== null && !Array.isArray(value) && named.has(name))
      for (const [inner, item] of Object.entries(value)) {
        const { [inner]: __, ...rest } = value as Body
        if (typeof item !== 'object') yield [`${name}.${inner}`, item, { ...body, [name]: rest }]
      }
  }
}

for (const [pair, mapping] of Object.entries(plan.mappings)) {
  const { from, to } = mapping
  // Requests of this one have one of two forms, and nothing says that a member is of the other.
  if (mapping.request === undefined || !hasSchema(from, 'request') || from === 'engine_embeddings') continue
  const named = new Set(
    fieldsOf(project.schemas, schemaId(from, 'request')).flatMap(({ path, members }) => (members.length > 0 ? [path] : [])),
  )
  const context = (providerOf(to)?.traits ?? fc.constant({})).map((traits): Context => ({ ...CONTEXT, traits }))

  describe(pair, () => {
    test("a member that does not change the provider's request is reported", { timeout: TIMEOUT }, async () => {
      await holds(
        fc.property(tame.of(schemaOf(from, 'request')), context, (value, ctx) => {
          const body = frozen(seen(from, value))
          if (mapping.refused?.(body, ctx)) return
          const parts = mapping.split?.(body, ctx)
          // Nothing is left to send: the answer is made here.
          if (Array.isArray(parts) && parts.length === 0) return
          const made = madeOf(mapping, body, ctx)
          for (const [path, item, without] of plainMembers(body, named)) {
            const isTold = made.told.some(other => path === other || path.startsWith(`${other}.`))
            if (isTold || wrong(from, 'request', without) !== undefined) continue
            if (saysNothing(path, item, body)) continue
            expect(madeOf(mapping, without, ctx), `${path} is not told, and makes a difference`).not.toEqual(made)
          }
        }),
        runs(180),
      )
    })
  })
}
