// The plan as a module: routes, dialects, providers and mappings put together, ready to be executed.

import { createHash } from 'node:crypto'
import type { Kind, RoutePlan } from '../../engine/plan.js'
import type { FormatData, MappingData, RouteData } from '../../schemas/config/types.js'
import { bodiesOf, callsUpstream } from '../check/references.js'
import { composedPairs, compositionOf } from '../compile/composed.js'
import { KINDS } from '../compile/format.js'
import { identifier } from '../compile/identifier.js'
import { snakeOf } from '../compile/normalise.js'
import { children, type Node, parse } from '../jsonata/ast.js'
import { jsonKey } from '../jsonata/js.js'
import type { Entry, ErrorData, Project } from '../read/project.js'
import { duration, size } from '../read/units.js'

/** A JavaScript expression, printed as it is among JSON. */
class Code {
  constructor(readonly text: string) {}
}

function print(value: unknown, depth = 0): string {
  if (value instanceof Code) return value.text
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const indent = '  '.repeat(depth + 1)
  const end = '  '.repeat(depth)
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[${value.map(item => print(item, depth + 1)).join(', ')}]`
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  if (members.length === 0) return '{}'
  return `{\n${members.map(([key, item]) => `${indent}${jsonKey(key)}: ${print(item, depth + 1)},`).join('\n')}\n${end}}`
}

/** The member that asks for a stream, and whether there is one where it is absent. */
function flagOf(flag: NonNullable<FormatData['stream']>['flag']): object | undefined {
  if (flag === undefined) return undefined
  return typeof flag === 'string' ? memberOf(flag) : { ...memberOf(flag.member), isDefault: flag.default === true ? true : undefined }
}

function memberOf(text: string): { from: string; path: string[] } {
  const [from, ...path] = text.split('.')
  return { from: from as string, path }
}

/** Fields of which a mapping itself says what becomes, whatever stands there. What it drops in some cases it says of these alone. */
function judgesOf({ dropped, refused }: MappingData['fields']): string[] {
  const always = Object.entries(dropped).filter(([, rule]) => typeof rule === 'string' || (rule.when ?? rule.sent) === undefined)
  return [...Object.keys(refused), ...always.map(([path]) => path)]
}

/** `data[].id` as the names of members, where `[]` stands for each element. */
function pathOf(text: string): string[] {
  return text.split('.').flatMap(part => (part.endsWith('[]') ? [part.slice(0, -2), '[]'] : [part]))
}

/** A path, and all others that mean the same where each name may be written in snake case, too. */
function spellingsOf(path: readonly string[]): string[][] {
  return path.reduce<string[][]>(
    (found, name) => [...new Set([name, snakeOf(name)])].flatMap(written => found.map(before => [...before, written])),
    [[]],
  )
}

function completions(rules: NonNullable<FormatData['complete']>['response']): unknown {
  return (rules ?? []).map(({ at, when, members }) => ({ path: at === undefined ? [] : pathOf(at), when, members }))
}

function relayOf(data: RouteData['relay']): unknown {
  return {
    subprotocol: data.subprotocol,
    frame: size(data.frame),
    idle: duration(data.idle),
    ping: duration(data.ping),
    highWater: size(data.high_water),
  }
}

/** A module that stands somewhere, and the names that it exports. */
export interface Exports {
  /** As an import from the plan says it. */
  from: string
  names: ReadonlySet<string>
}

/** Where codegen has put what the plan refers to. */
export interface Modules {
  formats: ReadonlyMap<string, Exports>
  mappings: ReadonlyMap<string, Exports>
  /** Other modules that the plan imports: by their local name, as an import says them. */
  imports: ReadonlyMap<string, string>
  /** For each function of these: the local name of its module. */
  validators: ReadonlyMap<string, string>
  normalisers: ReadonlyMap<string, string>
  unnamed: ReadonlyMap<string, string>
  routes: ReadonlyMap<string, string>
  /** By the dialects' own names, as an import says them: these are loaded when they are needed. */
  shapes: ReadonlyMap<string, string>
  /** The validator of gateway.yaml, as an import says it. */
  gateway: string | undefined
  /** What is known of models, as an import says it. */
  catalogue: string
  /** What puts pairs together that have no mapping, as an import says it. */
  compose: string
  /** A plan that has the same entries but for those that differ: where it stands, and the hash of each of its entries. */
  base?: { from: string; entries: Readonly<Record<string, string>> }
}

/** A plan as a module, and the hash of each of its entries, by its part of the plan and its name. */
export interface PrintedPlan {
  text: string
  entries: Record<string, string>
}

export function printPlan(project: Project, modules: Modules): PrintedPlan {
  const lines = ['// Made from routes/, schemas/, mappings/, providers/ and models/ by codegen; do not edit.']
  const imports: { local: string; line: string }[] = []
  const imported = (local: string, from: string): void => void imports.push({ local, line: `import * as ${local} from '${from}'` })
  for (const [name, { from }] of modules.formats) imported(localOf('format', name, modules), from)
  for (const [name, { from }] of modules.mappings) imported(localOf('mapping', name, modules), from)
  if (modules.gateway !== undefined) imports.push({ local: 'gateway', line: `import { gateway } from '${modules.gateway}'` })
  imports.push({ local: 'catalogue', line: `import { catalogue } from '${modules.catalogue}'` })
  for (const [local, from] of modules.imports) imported(local, from)
  const dialects: Record<string, unknown> = {}
  for (const [name, { data }] of project.formats) dialects[name] = dialect(name, data, project, modules)
  const mappings: Record<string, unknown> = {}
  for (const [name, { names: exports }] of modules.mappings) {
    const [from, to] = name.split('-to-')
    const local = localOf('mapping', name, modules)
    const given = (key: string): Code | undefined => (exports.has(key) ? new Code(`${local}.${key}`) : undefined)
    mappings[name] = {
      from,
      to,
      carry: given('carry'),
      fetch: given('fetch'),
      request: given('request'),
      response: given('response'),
      split: given('split'),
      join: given('join'),
      failure: given('failure'),
      location: given('location'),
      stream: exports.has('event') ? { start: given('start'), event: given('event'), done: given('done') } : undefined,
      dropped: given('dropped'),
      refused: given('refused'),
      judges: judgesOf((project.mappings.get(name) as Entry<MappingData>).data.fields),
    }
  }
  const providers: Record<string, unknown> = {}
  for (const [name, { data }] of project.providers) {
    providers[name] = {
      name,
      title: data.title,
      base: data.base,
      credential: data.credential.jwt ? { ...data.credential, jwt: { lifetime: duration(data.credential.jwt.lifetime) } } : data.credential,
      headers: lowerCase(data.headers),
      secretEnv: data.secret_env,
      models: data.models,
      traits: data.traits,
      speaks: Object.fromEntries(
        Object.entries(data.speaks)
          .filter(([key]) => project.formats.has(key))
          .map(([key, endpoint]) => [key, endpoint]),
      ),
    }
  }
  const { base } = modules
  const entries: Record<string, string> = {}
  /** An entry of the plan; where the base has the same, that one. */
  const entry = (part: string, name: string, value: unknown, known: string): unknown => {
    // Modules stand elsewhere as the base sees them.
    const text = print(value).replaceAll(base ? base.from.replace(/plan\.js$/, '') : './', './')
    const hash = createHash('sha256').update(text).digest('hex')
    entries[`${part}/${name}`] = hash
    return base?.entries[`${part}/${name}`] === hash ? new Code(known) : value
  }
  const shared = (part: string, values: Record<string, unknown>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, entry(part, name, value, `base.${part}[${JSON.stringify(name)}]`)]),
    )
  const plan = {
    dialects: shared('dialects', dialects),
    routes: project.routes.map(({ name, data }) =>
      entry('routes', name, route(name, data, project, modules), `base.routes.find(route => route.name === ${JSON.stringify(name)})`),
    ),
    keyLocations: Object.fromEntries(
      [...project.keyLocations].map(([name, { protocol_prefix, ...place }]) => [name, { ...place, protocolPrefix: protocol_prefix }]),
    ),
    providers: shared('providers', providers),
    catalogue: new Code('catalogue'),
    mappings: shared('mappings', mappings),
    validateGateway: modules.gateway !== undefined ? new Code('gateway') : undefined,
  }
  const composed = composedPairs(project)
  const text = `export const plan = ${
    composed.length === 0
      ? print(plan)
      : `withComposed(${print(plan)}, ${print(Object.fromEntries(composed.map(pair => [pair.name, compositionOf(pair)])))})`
  }`
  if (composed.length > 0) lines.push(`import { withComposed } from '${modules.compose}'`)
  if (base !== undefined) lines.push(`import { plan as base } from '${base.from}'`)
  for (const { local, line } of imports)
    if (base === undefined || new RegExp(`[\\s(]${local.replaceAll('$', '\\$')}\\b`).test(text)) lines.push(line)
  lines.push('', text, '')
  return { text: lines.join('\n'), entries }
}

/** The local name of a format's or mapping's module. One that is not the base's has another, since what reads it differs then. */
function localOf(kind: 'format' | 'mapping', name: string, { base, formats, mappings }: Modules): string {
  const from = (kind === 'format' ? formats : mappings).get(name)?.from
  return `${base && from?.startsWith('./') ? 'own_' : ''}${kind}_${identifier(name)}`
}

/** A function of one of the modules that the plan imports, where there is one of this name. */
function functionOf(modules: ReadonlyMap<string, string>, name: string): Code | undefined {
  const module = modules.get(name)
  return module === undefined ? undefined : new Code(`${module}.${name}`)
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function list(value: string | string[] | undefined): string[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value]
}

/** The members of its input that an expression may look at; nothing where it may look at any. */
export function topMembers(text: string): string[] | undefined {
  const found = new Set<string>()
  let isKnown = true
  const visit = (node: Node): void => {
    if (node.type === 'path') {
      const [first, ...rest] = node.steps
      if (first.type === 'name') found.add(first.value)
      else visit(first)
      // Behind the first step the context is another.
      if (first.type !== 'name' && rest.length > 0) isKnown = false
      return
    }
    if (['name', 'wildcard', 'descendant', 'parent', 'lambda', 'transform', 'partial'].includes(node.type)) isKnown = false
    if (node.type === 'variable' && (node.value === '' || node.value === '$')) isKnown = false
    for (const child of children(node)) visit(child)
  }
  try {
    visit(parse(text))
  } catch {
    return undefined
  }
  return isKnown ? [...found] : undefined
}

/** What a dialect says of errors, and the dialects that it refers to, nearest first. */
function errorWords(name: string, project: Project): { source: string; data: ErrorData }[] {
  const found: { source: string; data: ErrorData }[] = []
  let source: string | undefined = name
  while (source !== undefined && found.length < 5) {
    const said: string | ErrorData | undefined = project.formats.get(source)?.data.error
    if (said === undefined) break
    const data: ErrorData = typeof said === 'string' ? { like: said } : said
    found.push({ source, data })
    source = data.like
  }
  return found
}

function dialect(name: string, data: FormatData, project: Project, modules: Modules): unknown {
  const { names: exports } = modules.formats.get(name) as Exports
  const local = localOf('format', name, modules)
  const given = (key: string, of = local, from = exports): Code | undefined => (from.has(key) ? new Code(`${of}.${key}`) : undefined)
  const { stream } = data
  const watch = (key: 'end' | 'fail' | 'finish' | 'usage'): unknown => {
    const item = stream?.watch?.[key]
    return item && { markers: list(item.marker), read: given(`watch_${key}`) }
  }
  // Words for errors may be another dialect's, in part or in whole: the nearest one that says something counts.
  const words = errorWords(name, project)
  const word = (key: string): Code | undefined => {
    const of = words.find(({ source }) => modules.formats.get(source)?.names.has(key))
    return of && new Code(`${localOf('format', of.source, modules)}.${key}`)
  }
  const shape = modules.shapes.get(name)
  const of = (kind: 'validators' | 'normalisers', part: string): Code | undefined =>
    functionOf(modules[kind], `${identifier(name)}_${part}`)
  const isInSnakeCase = data.normalise?.includes('snake_case_names') === true
  const verbatim = (side: string, paths: readonly string[]): string[][] =>
    paths.map(pathOf).flatMap(path => (side === 'request' && isInSnakeCase ? spellingsOf(path) : [path]))
  return {
    name,
    response: data.response,
    takes: data.takes,
    gives: data.gives,
    model: memberOf(data.model),
    validateRequest: of('validators', 'request'),
    shape: shape === undefined ? undefined : new Code(`() => import('${shape}').then(shapes => shapes.${identifier(name)})`),
    normaliseRequest: of('normalisers', 'request'),
    normaliseResponse: of('normalisers', 'response'),
    normaliseEvent: of('normalisers', 'event'),
    unnamed: functionOf(modules.unnamed, identifier(name)),
    stream: stream && {
      flag: flagOf(stream.flag),
      isOptional: stream.optional === true ? true : undefined,
      framing: stream.framing,
      eventLine: stream.event_line,
      sentinel: stream.sentinel,
      keepAlive: stream.keep_alive,
      ask: stream.ask && { path: stream.ask.member.split('.'), value: stream.ask.value, unasked: given('unasked') },
      end: watch('end'),
      fail: watch('fail'),
      finish: watch('finish'),
      usage: watch('usage'),
      content: given('watch_content'),
      begin: given('watch_begin'),
    },
    usage: given('usage'),
    asked: given('asked'),
    labels: data.labels && { endUser: data.labels.end_user?.map(memberOf), session: data.labels.session?.map(memberOf) },
    keep: data.keep && {
      when: new Code(`body => ${local}.keep_when(body) === true`),
      previous: pathOf(data.keep.previous.replace(/^body\./, '')),
      items: given('keep_items'),
      continued: given('keep_continued'),
      markers: list(data.keep.marker),
      references: given('keep_references'),
      resolved: given('keep_resolved'),
      id: data.keep.id,
      output: given('keep_output'),
      itemId: data.keep.item_id,
      final: list(data.keep.final),
      answer: given('keep_answer'),
    },
    answer: data.answer && { markers: data.answer.marker, isOne: given('answer') },
    complete: data.complete && {
      response: completions(data.complete.response),
      events: Object.fromEntries(Object.entries(data.complete.events).map(([kind, rules]) => [kind, completions(rules)])),
    },
    vectors: data.vectors && { path: pathOf(data.vectors.path), form: memberOf(data.vectors.form) },
    verbatim: data.verbatim && Object.fromEntries(Object.entries(data.verbatim).map(([side, paths]) => [side, verbatim(side, paths)])),
    usageMembers: data.usage === undefined ? undefined : topMembers(data.usage),
    fit:
      data.fit &&
      Object.entries(data.fit).map(([path, { as, why }], index) => ({
        path: path.split('.'),
        where: new Code(`traits => ${local}.fit_where_${index}(traits) === true`),
        value: given(`fit_value_${index}`),
        as,
        why,
      })),
    asks:
      data.asks && Object.fromEntries(Object.keys(data.asks).map(key => [key, new Code(`body => ${local}.asks_${key}(body) === true`)])),
    rateLimits: rateLimits(data, project),
    clean: data.clean && { markers: [data.clean.marker].flat().map(marker => `"${marker}`), request: given('clean') },
    error: {
      kinds: Object.fromEntries(
        Object.entries(KINDS).map(([kind, status]) => {
          const known = words.map(({ data: said }) => said.kinds?.[kind as Kind]).find(entry => entry !== undefined)
          return [kind, { type: known?.type ?? kind, code: known?.code ?? null, status: known?.status ?? status }]
        }),
      ),
      body: word('error_body'),
      event: word('error_event'),
      recalls: words.some(({ data: said }) => /\$(?:first|last)\b/.test(said.event ?? '')) ? true : undefined,
      read: word('error_read'),
      requestIdHeader: words.map(({ data: said }) => said.request_id).find(header => header !== undefined),
    },
  }
}

/** The name of a member of the query, from its place. */
function queryMember(place: string | undefined): string | undefined {
  return place?.replace(/^query\./, '')
}

/** The headers that tell of limits; another dialect's where that is named. */
function rateLimits({ rate_limits: said }: FormatData, project: Project): unknown {
  const data = typeof said === 'string' ? project.formats.get(said)?.data.rate_limits : said
  if (typeof data !== 'object') return undefined
  const { reset, requests, tokens, input_tokens, output_tokens } = data
  return { reset, requests, tokens, inputTokens: input_tokens, outputTokens: output_tokens }
}

/** Members that say how much a request asks for. */
function asksOf({ asks, caps }: RouteData): RoutePlan['asks'] {
  const pathOfBody = (member: string): string[] => member.replace(/^body\./, '').split('.')
  const output = asks?.output ?? (caps?.max_output === undefined ? [] : [caps.max_output])
  if (output.length === 0 && asks?.answers === undefined) return undefined
  return { output: output.map(pathOfBody), ...(asks?.answers !== undefined && { answers: pathOfBody(asks.answers) }) }
}

function route(name: string, data: RouteData, project: Project, modules: Modules): unknown {
  // Its dialect was found before.
  const format = (project.formats.get(data.dialect) as Entry<FormatData>).data
  const limits: Record<string, number | null | undefined> = {}
  for (const [key, text] of Object.entries(data.limits)) limits[key] = text === 'none' ? null : key === 'body' ? size(text) : duration(text)
  const callsModel = callsUpstream(data) && (data.model !== undefined || (data.follow === undefined && !data.shared))
  const model = data.model ?? format.model
  const flag = data.stream ?? format.stream?.flag
  const id = identifier(name)
  return {
    name,
    methods: list(data.method)[0] === 'any' ? [] : list(data.method),
    paths: list(data.path),
    when: data.when,
    auth: data.auth,
    dialect: data.dialect,
    errorDialect: data.error,
    defaultModel: data.default_model,
    bodies: bodiesOf(data),
    model: callsModel ? { ...memberOf(model), strip: data.strip } : undefined,
    stream: typeof flag === 'boolean' ? flag : flagOf(flag),
    framing: data.framing,
    limits,
    caps: data.caps?.max_output === undefined ? undefined : { maxOutput: data.caps.max_output.replace(/^body\./, '').split('.') },
    asks: asksOf(data),
    forward: data.forward.map(header => header.toLowerCase()),
    forwardQuery: data.forward_query,
    mirror: data.mirror.map(header => header.toLowerCase()),
    sealedIds: data.sealed_ids && {
      members: data.sealed_ids.members.map(pathOf),
      events: data.sealed_ids.events.map(pathOf),
      prefix: data.sealed_ids.prefix ?? '',
      isMapped: data.sealed_ids.mapped,
    },
    follow: data.follow === undefined ? undefined : memberOf(data.follow),
    isShared: data.shared,
    relay: data.upgrade && relayOf(data.relay),
    answer: functionOf(modules.routes, `${id}_answer`),
    page: data.page,
    usage: data.usage && { from: queryMember(data.usage.from), to: queryMember(data.usage.to) },
    kept: data.kept && { answer: functionOf(modules.routes, `${id}_kept`), isRemoved: data.kept.remove },
    isReadiness: data.readiness ? true : undefined,
    fail: data.fail,
    document: data.document,
    estimate: data.estimate && {
      text: functionOf(modules.routes, `${id}_estimate_text`),
      answer: functionOf(modules.routes, `${id}_estimate_answer`),
    },
  }
}
