// Prints a route of the plan from its file.

import type { Limits, RelayPlan, RoutePlan } from '../../engine/plan.js'
import { bodiesOf, callsUpstream, forwardedQuery, modelOf } from '../check/references.js'
import { identifier } from '../compile/identifier.js'
import type { Modules } from '../compile/modules.js'
import type { Entry, FormatData, Project, RouteData } from '../read/project.js'
import { bytes, milliseconds } from '../read/units.js'
import type { Printed } from './literal.js'
import { flagOf, list, memberOf, pathOf } from './members.js'
import { functionIn, functionOf } from './modules.js'

/** A route in the engine's form. */
export function routeOf(name: string, data: RouteData, project: Project, modules: Modules): Printed<RoutePlan> {
  // The check has found its dialect.
  const format = (project.formats.get(data.dialect) as Entry<FormatData>).data
  const callsModel = callsUpstream(data) && (data.model !== undefined || (data.follow === undefined && !data.shared))
  const model = modelOf(data, project)
  const flag = data.stream ?? format.stream?.flag
  const id = identifier(name)
  return {
    name,
    methods: methodsOf(data),
    paths: list(data.path),
    when: data.when,
    auth: data.auth,
    dialect: data.dialect,
    errorDialect: typeof data.error === 'object' ? data.error.like : data.error,
    error: typeof data.error === 'object' ? { type: data.error.type, body: functionOf(modules.routes, `${id}_error`) } : undefined,
    defaultModel: data.default_model,
    checksFields: data.validate === 'fields' ? true : undefined,
    bodies: bodiesOf(data),
    model: callsModel ? { ...memberOf(model), strip: data.strip, tag: data.tag } : undefined,
    stream: typeof flag === 'object' || typeof flag === 'string' ? flagOf(flag) : flag,
    framing: data.framing,
    limits: limitsOf(data.limits),
    caps: data.caps?.max_output === undefined ? undefined : { maxOutput: data.caps.max_output.replace(/^body\./, '').split('.') },
    asks: asksOf(data),
    forward: forwarded(data),
    forwardQuery: forwardedQuery(data),
    mirror: data.mirror.map(header => header.toLowerCase()),
    sealedIds: data.sealed_ids && {
      members: data.sealed_ids.members.map(pathOf),
      model: data.sealed_ids.model,
      events: data.sealed_ids.events.map(pathOf),
      query: data.sealed_ids.query,
      prefix: data.sealed_ids.prefix ?? '',
      isMapped: data.sealed_ids.mapped,
    },
    follow: data.follow === undefined ? undefined : memberOf(data.follow),
    unknownId: data.unknown_id,
    isShared: data.shared,
    joinLists: data.join_lists,
    relay: data.upgrade ? relayOf(data.relay) : undefined,
    answer: functionOf(modules.routes, `${id}_answer`),
    page: data.page,
    usage: data.usage && { from: queryMember(data.usage.from), to: queryMember(data.usage.to) },
    isStanding: data.standing ? true : undefined,
    kept: data.kept && { answer: functionIn(modules.routes, `${id}_kept`), isRemoved: data.kept.remove },
    conversation: data.conversation && {
      prefix: data.conversation.prefix,
      needsItems: data.conversation.items,
      answer: functionIn(modules.routes, `${id}_conversation`),
    },
    isReadiness: data.readiness ? true : undefined,
    fail: data.fail,
    failWith: data.fail_with,
    document: data.document,
    estimate: data.estimate && {
      text: functionIn(modules.routes, `${id}_estimate_text`),
      answer: functionIn(modules.routes, `${id}_estimate_answer`),
    },
  }
}

/** The methods of a route, none for any. What the gateway answers to GET itself it answers to HEAD (RFC 9110, 9.3.2). */
function methodsOf(data: RouteData): string[] {
  const methods = list(data.method)
  if (methods[0] === 'any') return []
  const isHead = methods.includes('GET') && !methods.includes('HEAD') && !callsUpstream(data) && data.fail === undefined
  return isHead ? [...methods, 'HEAD'] : methods
}

function limitsOf(data: RouteData['limits']): Limits {
  return {
    body: bytes(data.body),
    upload: milliseconds(data.upload),
    connect: milliseconds(data.connect),
    headers: milliseconds(data.headers),
    first_event: milliseconds(data.first_event),
    idle: milliseconds(data.idle),
    total: data.total === 'none' ? null : milliseconds(data.total),
  }
}

/** The members that limit a request's output. */
function asksOf({ asks, caps }: RouteData): RoutePlan['asks'] {
  const pathOfBody = (member: string): string[] => member.replace(/^body\./, '').split('.')
  const output = asks?.output ?? (caps?.max_output === undefined ? [] : [caps.max_output])
  if (output.length === 0 && asks?.answers === undefined) return undefined
  return { output: output.map(pathOfBody), ...(asks?.answers !== undefined && { answers: pathOfBody(asks.answers) }) }
}

function relayOf(data: RouteData['relay']): Printed<RelayPlan> {
  return {
    subprotocol: data.subprotocol,
    protocolHeaders: data.protocol_headers,
    frame: bytes(data.frame),
    idle: milliseconds(data.idle),
    ping: milliseconds(data.ping),
    highWater: bytes(data.high_water),
  }
}

/** The headers that are passed on, and those that a subprotocol stands for. */
function forwarded({ forward, relay }: RouteData): string[] {
  const meant = Object.values(relay.protocol_headers ?? {}).flatMap(headers => Object.keys(headers))
  return [...new Set([...forward, ...meant])].map(header => header.toLowerCase())
}

/** The name of a query parameter: `query.alt` is `alt`. */
function queryMember(path: string | undefined): string | undefined {
  return path?.replace(/^query\./, '')
}
