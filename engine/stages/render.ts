// Makes the upstream request: its path and headers, and as its body the client's own bytes with the necessary edits, or what
// a mapping makes of them.

import { unknownId } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt, setMember } from '../core/members.js'
import { holdsString } from '../core/string-search.js'
import { isOmitted } from '../core/text.js'
import type { Body, Context, Json, RawUsage, RelayPlan, StreamFormat } from '../plan.js'
import type { UpstreamRequest } from '../upstream/call.js'
import { passedOn } from '../upstream/request-header.js'
import { releaseDigits } from '../wire/json/digits.js'
import { type Edit, editedPieces, editMembers, type MemberSpan, onlyMember, withValue } from '../wire/json/scan.js'
import type { Attempt } from './attempt.js'
import { callersCredential } from './callers-credential.js'
import { endpointBody } from './endpoint-body.js'
import { fitted } from './fit.js'
import { checkLost, withEndpointDrops } from './lost-fields.js'
import { mappedBody } from './mapped-body.js'

export interface Rendered {
  request: UpstreamRequest
  ctx: Context
  carry: Json
  /** The gateway asked for usage events, which the client did not. */
  isAsked: boolean
  /** Fields of the request that the provider does not see. */
  dropped: readonly string[]
  /** Those of them that the schema of the client's dialect does not name: names that the client made. */
  unnamed?: readonly string[]
  /** What is counted in a request that a mapping made. */
  asked?: RawUsage | undefined
}

const NONE: readonly string[] = Object.freeze([])

/** The part of an attempt that mappings see. */
export function contextOf({ binding, choice, input, route, exchange }: Attempt): Context {
  const { target } = binding
  const { task } = choice
  const followed = route.model === undefined ? task : undefined
  const ctx: Context = {
    model: followed?.model ?? target.model,
    requested: followed?.requested ?? input.model,
    provider: target.provider.name,
    stream: input.stream,
    max_output: target.maxOutput,
    id: exchange.id.slice(-24),
    created: Math.floor(exchange.startedAt / 1000),
    tag: binding.tag,
    traits: target.traits,
    query: route.queryFor(choice.query ?? exchange.query),
  }
  if (task) ctx.task = task.id
  if (input.turn?.isReferable) ctx.kept = { previous: input.turn.previous ?? null, conversation: input.turn.conversation ?? null }
  return ctx
}

/** `unnamed` are members of the request that the schema does not name, so that no mapping has read them. */
export function render(attempt: Attempt, ctx: Context, unnamed: readonly string[]): Rendered {
  const { binding, input } = attempt
  const headers = headersOf(attempt)
  const { method } = binding.endpoint
  const request: UpstreamRequest = {
    dispatcher: binding.pool,
    origin: binding.origin,
    method,
    path: pathOf(attempt),
    headers,
    name: binding.target.name,
    idHeader: binding.to.error.requestIdHeader,
  }
  if (binding.target.isCallers) request.hides = callersCredential(attempt).text
  const hasBody = method !== 'GET' && method !== 'DELETE'
  if (binding.mapping) {
    const { text, ...rest } = mappedBody(attempt, ctx, unnamed, hasBody)
    if (text !== undefined) {
      headers.push('content-type', 'application/json')
      request.body = text
    }
    return { request, ctx, isAsked: false, ...rest }
  }
  if (input.form) {
    headers.push('content-type', input.form.type)
    request.body = input.form.relayed(ctx.model)
    return { request, ctx, carry: undefined, isAsked: false, dropped: NONE }
  }
  if (input.bytes.length === 0) return { request, ctx, carry: undefined, isAsked: false, dropped: NONE }
  const { body, isAsked, told, drops } = editedBytes(attempt, ctx)
  if (!hasBody) return { request, ctx, carry: undefined, isAsked, dropped: NONE }
  headers.push('content-type', 'application/json')
  if (Array.isArray(body)) headers.push('content-length', String(body.reduce((sum, piece) => sum + piece.length, 0)))
  request.body = body
  return { request, ctx, carry: undefined, isAsked, dropped: drops ? withEndpointDrops(told, input.outline, attempt) : told }
}

/** A binding's path, with the id of the followed task and the query parameters that the route passes on. */
export function pathOf({ binding, choice, route, input, exchange }: Attempt): string {
  const { task } = choice
  let whole = input.stream ? binding.streamPath : binding.path
  if (task && binding.isOpen) {
    whole = whole
      .replaceAll('{model}', encodeURIComponent(task.model))
      .replaceAll('{task}', encodeURIComponent(task.id))
      .replaceAll('{+task}', task.id.split('/').map(segment).join('/'))
  }
  if (binding.mapping || route.forwardQuery.length === 0) return whole
  const text = new URLSearchParams(route.queryFor(choice.query ?? exchange.query)).toString()
  return text === '' ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${text}`
}

/** A path segment that cannot change the path: the provider chose the text, and a segment of dots would climb. */
function segment(text: string): string {
  return /^\.+$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
}

/** The headers of an upstream request except its body's: the binding's, the credential, and those that the route passes on. */
export function headersOf(attempt: Attempt): string[] {
  const { binding, route, exchange } = attempt
  const headers = binding.headers.slice()
  headers.push('x-request-id', exchange.id)
  if (binding.token) headers.push(binding.token.header, binding.token.value())
  if (binding.target.isCallers) addCallers(headers, attempt)
  if (binding.mapping) return headers
  for (const name of route.forward) {
    const value = exchange.headers[name] ?? (route.relay && saidByProtocol(name, route.relay, exchange))
    if (value === undefined || binding.heldHeaders?.has(name)) continue
    const passed = passedOn(name, value)
    if (binding.headerNames.has(name)) headers[headers.indexOf(name) + 1] = passed
    else headers.push(name, passed)
  }
  return headers
}

/** The value of a header that the client could not set, and for which it offered a subprotocol. */
function saidByProtocol(header: string, { protocolHeaders }: RelayPlan, { headers }: Exchange): string | undefined {
  const offered = headers['sec-websocket-protocol']
  if (protocolHeaders === undefined || offered === undefined) return undefined
  for (const item of offered.split(',')) {
    const protocol = item.trim()
    // A name of the client may be one that every object has.
    const said = Object.hasOwn(protocolHeaders, protocol) ? protocolHeaders[protocol]?.[header] : undefined
    if (said !== undefined) return said
  }
  return undefined
}

function addCallers(headers: string[], attempt: Attempt): void {
  const { header, value } = callersCredential(attempt)
  const at = headers.indexOf(header)
  if (at >= 0) headers[at + 1] = value
  else headers.push(header, value)
}

interface EditedBytes {
  body: Buffer | Buffer[]
  /** The gateway asked for usage events, which the client did not. */
  isAsked: boolean
  /** The names of members that were changed or dropped for the model, or renamed. */
  told: readonly string[]
  /** Members that the provider's endpoint rejects were dropped. */
  drops: boolean
}

/** The client's bytes, edited if some must change. An edited long body is a list of pieces, so that it need not be copied. */
function editedBytes({ binding, choice, input, route }: Attempt, ctx: Context): EditedBytes {
  const { to, endpoint } = binding
  let { bytes, outline: body, members } = input
  const ask: StreamFormat['ask'] = input.stream ? to.stream?.ask : undefined
  const { clean } = to
  const isMarked = clean !== undefined && bytes.length > 0 && (clean.strings === undefined || holdsString(body, clean.strings))
  // Bytes that are rewritten anyway may take the normalised form, which the expression knows.
  if (isMarked) input.normalise?.()
  const cleaned = isMarked ? clean.request(input.body, ctx) : undefined
  if (cleaned !== undefined) {
    body = cleaned as Body
    bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
    members = undefined
  }
  if (endpoint.request) input.normalise?.()
  const whole = (): Body => (cleaned === undefined ? input.body : body)
  const isPatched = endpoint.request !== undefined || endpoint.dropInside !== undefined
  const own = isPatched ? endpointBody(endpoint, cleaned === undefined ? input.outline : body, whole) : undefined
  const isRebuilt = cleaned !== undefined || own !== undefined
  if (own !== undefined) {
    body = own
    bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
    members = undefined
  }
  let edits: Map<string, Edit> | undefined
  const edit = (name: string, change: Edit): void => {
    edits ??= new Map()
    edits.set(name, { ...edits.get(name), ...change })
  }
  const model = to.model.from === 'body' ? (to.model.path[0] as string) : undefined
  // A provider that has the model in its path may refuse it in the body.
  const isRemoved = model !== undefined && own !== undefined && own[model] === undefined
  if (model !== undefined && !isRemoved && route.model !== undefined && (body[model] !== ctx.model || mayRepeat(bytes, model, members)))
    edit(model, { value: JSON.stringify(ctx.model) })
  if (route.follow?.from === 'body') {
    const name = route.follow.path[0] as string
    if (typeof body[name] === 'string' && choice.task) edit(name, { value: JSON.stringify(choice.task.id) })
    else if (body[name] !== undefined && body[name] !== null) throw unknownId(route, input.body[name])
  }
  let isAsked = false
  if (ask && !endpoint.drop?.includes(ask.path[0] as string)) {
    isAsked = memberAt(body, ask.path) !== ask.value
    if (isAsked) {
      const first = ask.path[0] as string
      const holder = { [first]: isOmitted(body[first]) ? input.body[first] : body[first] } as Body
      setMember(holder, ask.path, ask.value)
      edit(first, { value: JSON.stringify(holder[first]) })
    }
  }
  const fits = binding.fit && fitted(binding.fit, body, () => (isRebuilt ? body : input.body), ctx.traits)
  if (fits) {
    checkLost(fits.told, choice, fits.why)
    for (const [name, change] of fits.edits)
      edit(name, change.value === undefined ? change : { ...change, value: releaseDigits(change.value) })
  }
  let told = fits?.told ?? NONE
  let drops = endpoint.dropInside !== undefined
  for (const name of endpoint.drop ?? []) {
    if (body[name] === undefined) continue
    edit(name, { drop: true })
    drops = true
  }
  for (const name in endpoint.rename) {
    if (body[name] === undefined) continue
    const other = endpoint.rename[name] as string
    edit(name, { rename: other })
    told = [...told, `${name} as ${other}`]
    if (body[other] === undefined || endpoint.rename[other] !== undefined) continue
    // Two members of one name: readers would differ on which one counts.
    checkLost([other], choice, `${name} takes its place`)
    edit(other, { drop: true })
    told = [...told, other]
  }
  if (edits === undefined) return { body: bytes, isAsked, told, drops }
  // A signer needs the whole body.
  if (members !== undefined && !binding.signer) return { body: inFew(editedPieces(bytes, edits, members)), isAsked, told, drops }
  const edited = (members === undefined ? oneValue(bytes, body, edits) : undefined) ?? editMembers(bytes, edits, members)
  // The bytes parsed as an object before; if the scan fails, the fault is the gateway's and not the caller's.
  if (edited === undefined) throw new Error('a parsed body could not be scanned')
  return { body: edited, isAsked, told, drops }
}

/** Bytes; shorter pieces are joined, because each piece costs a write. */
const SHORT = 16 * 1024

function inFew(pieces: readonly Buffer[]): Buffer[] {
  const few: Buffer[] = []
  const short: Buffer[] = []
  for (const piece of pieces) {
    if (piece.length >= SHORT && short.length > 0) few.push(Buffer.concat(short.splice(0)))
    if (piece.length >= SHORT) few.push(piece)
    else short.push(piece)
  }
  if (short.length > 0) few.push(Buffer.concat(short))
  return few
}

/** Whether a key may occur more than once in the bytes: readers would then differ on which one counts. */
function mayRepeat(bytes: Buffer, key: string, members: readonly MemberSpan[] | undefined): boolean {
  return members ? members.filter(member => member.key === key).length > 1 : onlyMember(bytes, key) === undefined
}

/** The bytes with another value for one member, if that is the only edit and the member is found without a scan. */
function oneValue(bytes: Buffer, body: Body, edits: ReadonlyMap<string, Edit>): Buffer | undefined {
  if (edits.size !== 1) return undefined
  const [name, { value, rename, drop }] = edits.entries().next().value as [string, Edit]
  if (value === undefined || rename !== undefined || drop || !Object.hasOwn(body, name)) return undefined
  const member = onlyMember(bytes, name)
  return member && withValue(bytes, member, value)
}
