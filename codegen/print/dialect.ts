// Prints a dialect of the plan from its format.

import type {
  Completion,
  Dialect,
  ErrorFormat,
  KeepRule,
  Kind,
  RateLimitFormat,
  StringSearch,
  TextPath,
  TextPaths,
} from '../../engine/plan.js'
import { saidOf } from '../check/references.js'
import { identifier } from '../compile/identifier.js'
import type { Exports, Modules } from '../compile/modules.js'
import { exactName, type Js, js, json } from '../jsonata/js.js'
import { madeMembers } from '../jsonata/made-members.js'
import { topMembers } from '../jsonata/top-members.js'
import { KINDS } from '../read/kinds.js'
import type { ErrorData, FormatData, Project } from '../read/project.js'
import { Code, type Printed } from './literal.js'
import { flagOf, list, memberOf, pathOf, spellingsOf } from './members.js'
import { addressInBase, functionOf, localOf, memberOfImport } from './modules.js'

/** A dialect in the engine's form. */
export function dialectOf(name: string, data: FormatData, project: Project, modules: Modules): Printed<Dialect> {
  const { names: exports } = modules.formats.get(name) as Exports
  const local = localOf('format', name, modules)
  const given = (key: string): Code | undefined => (exports.has(key) ? memberOfImport(local, key) : undefined)
  /** The same for a function that must exist, because the format defines it. */
  const own = (key: string): Code => memberOfImport(local, key)
  /** A test of the format with one input. */
  const isTrue = (key: string): Code => testOf(local, key)
  /** A test with two inputs: a request, and the traits of its model. */
  const isTrueOfBoth = (key: string): Code => {
    const name = exactName(key)
    return new Code(js`(body, traits) => ${local}.${name}(body, traits) === true`, local)
  }
  const { stream } = data
  const watch = (key: 'end' | 'fail' | 'finish' | 'usage'): { markers: string[]; read: Code } | undefined => {
    const item = stream?.watch?.[key]
    return item && { markers: list(item.marker), read: own(`watch_${key}`) }
  }
  const usage = watch('usage')
  // A format may reuse another dialect's errors, in part or as a whole: the nearest definition counts.
  const words = errorWords(name, project)
  const word = (key: string): Code | undefined => {
    const of = words.find(({ source }) => modules.formats.get(source)?.names.has(key))
    return of && memberOfImport(localOf('format', of.source, modules), key)
  }
  const hasWord = (key: string): Code => {
    const code = word(key)
    if (code === undefined) throw new Error(`${name}: no dialect that it refers to has ${key}`)
    return code
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
    shape: shape === undefined ? undefined : shapeOf(name, shape, modules),
    normaliseRequest: of('normalisers', 'request'),
    normaliseResponse: of('normalisers', 'response'),
    normaliseEvent: of('normalisers', 'event'),
    unnamed: functionOf(modules.unnamed, identifier(name)),
    validateFields: of('validators', 'fields'),
    stream: stream && {
      flag: stream.flag === undefined ? undefined : flagOf(stream.flag),
      isOptional: stream.optional === true ? true : undefined,
      framing: stream.framing,
      eventLine: stream.event_line,
      sentinel: stream.sentinel,
      trailer: stream.trailer,
      keepAlive: stream.keep_alive,
      ask: stream.ask && { path: stream.ask.member.split('.'), value: stream.ask.value, unasked: own('unasked') },
      end: watch('end'),
      fail: watch('fail'),
      finish: watch('finish'),
      usage: usage && { ...usage, adds: stream.watch.usage?.adds === true ? true : undefined },
      content: given('watch_content'),
      begin: given('watch_begin'),
    },
    usage: given('usage'),
    asked: given('asked'),
    estimated: given('estimated'),
    meters: metersOf(data),
    labels: data.labels && { endUser: data.labels.end_user?.map(memberOf), session: data.labels.session?.map(memberOf) },
    keep: keepRule(name, project, modules),
    answer: data.answer && { markers: data.answer.marker, members: topMembers(data.answer.when) ?? [], isOne: own('answer') },
    answerModel: data.answer_model?.map(pathOf),
    noAnswer: data.no_answer,
    complete: data.complete && {
      response: completions(data.complete.response),
      events: Object.fromEntries(Object.entries(data.complete.events).map(([kind, rules]) => [kind, completions(rules)])),
    },
    vectors: data.vectors && { path: pathOf(data.vectors.path), form: memberOf(data.vectors.form), wanted: given('wanted') },
    verbatim: data.verbatim && Object.fromEntries(Object.entries(data.verbatim).map(([side, paths]) => [side, verbatim(side, paths)])),
    texts: data.texts && textsOf(data.texts, verbatim),
    usageMembers: data.usage === undefined ? undefined : topMembers(data.usage),
    fit:
      data.fit &&
      Object.entries(data.fit).map(([path, { refuse, when, as, why, absent }], index) => ({
        path: path.split('.'),
        where: isTrue(`fit_where_${index}`),
        refuse: refuse === undefined ? undefined : isTrueOfBoth(`fit_refuse_${index}`),
        when: when === undefined ? undefined : isTrueOfBoth(`fit_when_${index}`),
        value: given(`fit_value_${index}`),
        as,
        isForAbsent: absent,
        tellsAbsent: absent,
        why,
      })),
    media: data.media && Object.entries(data.media).map(([trait, { at }]) => ({ at, trait, each: own(`media_${trait}`) })),
    asks: data.asks && Object.fromEntries(Object.keys(data.asks).map(key => [key, isTrue(`asks_${key}`)])),
    rateLimits: rateLimits(name, project),
    clean: cleaning(name, project, modules),
    error: {
      kinds: kindsOf(words),
      body: hasWord('error_body'),
      event: word('error_event'),
      recalls: words.some(({ data: said }) => /\$(?:first|last)\b/.test(said.event ?? '')) ? true : undefined,
      read: hasWord('error_read'),
      requestIdHeader: words.map(({ data: said }) => said.request_id).find(header => header !== undefined),
      ids: idsOf(project),
    },
  }
}

/** The names in what an answer tells of its usage, and in what a request tells of it; undefined: neither tells any. */
function metersOf({ usage, stream, estimated, asked }: FormatData): Dialect['meters'] {
  const told = [usage, stream?.watch?.usage?.read, estimated].flatMap(text => (text === undefined ? [] : madeMembers(text)))
  const meters = asked === undefined ? [] : madeMembers(asked)
  return told.length + meters.length === 0 ? undefined : { told: [...new Set(told)], asked: meters }
}

/** The form of each kind of error, from the nearest dialect that defines it. */
function kindsOf(words: readonly Words[]): ErrorFormat['kinds'] {
  const entries = Object.entries(KINDS).map(([kind, status]) => {
    const known = words.map(({ data }) => data.kinds?.[kind as Kind]).find(entry => entry !== undefined)
    return [kind, { type: known?.type ?? kind, code: known?.code ?? null, status: known?.status ?? status }] as const
  })
  return Object.fromEntries(entries) as ErrorFormat['kinds']
}

/** The prefixes of ids of all dialects: a call keeps its id when its conversation moves to another provider. */
function idsOf(project: Project): string[] {
  const ids = [...project.formats.values()].flatMap(({ data: { error } }) => (typeof error === 'object' ? (error.ids ?? []) : []))
  return [...new Set(ids)].sort()
}

interface Words {
  /** The name of the dialect. */
  source: string
  data: ErrorData
}

/** The error definitions of a dialect and of those that it refers to, nearest first. */
function errorWords(name: string, project: Project): Words[] {
  const found: Words[] = []
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

/** The paths of texts. `spelled` returns the possible spellings of a path. */
function textsOf(
  { by, except, request = [], response = [], event = [], pieces = [], repeats = [] }: NonNullable<FormatData['texts']>,
  spelled: (side: string, paths: readonly string[]) => string[][],
): TextPaths {
  const excepted = Object.entries(except ?? {}).map(([path, values]) => ({ path: pathOf(path), values }))
  // A member of a whole body would except all of it: a client could write it there.
  const within = excepted.filter(({ path }) => path.length > 1)
  const texts = (side: string, paths: readonly string[]): TextPath[] =>
    spelled(side, paths).map(path => withExcepted(path, side === 'event' ? excepted : within))
  return {
    request: texts('request', request),
    response: texts('response', response),
    event: texts('event', event),
    pieces: texts('event', pieces),
    by: by ?? [],
    repeats: spelled('event', repeats),
  }
}

/** A path with what is excepted on it, each behind the object whose member tells it. */
function withExcepted(path: readonly string[], excepted: readonly { path: readonly string[]; values: readonly string[] }[]): TextPath {
  const told = excepted.filter(
    ({ path: other }) => other.length <= path.length && other.slice(0, -1).every((name, index) => name === path[index]),
  )
  return path.flatMap((name, index) => [
    ...told.flatMap(({ path: other, values }) => (other.length - 1 === index ? [{ member: other[index] as string, values }] : [])),
    name,
  ])
}

/** A test with one input, which an imported function makes. */
function testOf(local: Js, key: string): Code {
  const name = exactName(key)
  return new Code(js`value => ${local}.${name}(value) === true`, local)
}

function completions(rules: NonNullable<FormatData['complete']>['response']): Completion[] {
  return (rules ?? []).map(({ at, when, members }) => ({ path: at === undefined ? [] : pathOf(at), ...(when && { when }), members }))
}

/** How answers are kept. Under the name of another dialect, only its answers are, and requests of this one continue them. */
function keepRule(name: string, project: Project, modules: Modules): Printed<KeepRule> | undefined {
  const said = saidOf('keep', name, project)
  if (said === undefined) return undefined
  const { source, data } = said
  const local = localOf('format', source, modules)
  const own = (key: string): Code => memberOfImport(local, `keep_${key}`)
  return {
    when: source === name ? testOf(local, 'keep_when') : undefined,
    previous: pathOf(data.previous.replace(/^body\./, '')),
    items: own('items'),
    continued: own('continued'),
    markers: list(data.marker),
    references: own('references'),
    resolved: own('resolved'),
    id: data.id,
    output: own('output'),
    itemId: data.item_id,
    final: list(data.final),
    answer: own('answer'),
    conversation: data.conversation && {
      members: list(data.conversation.member).map(path => pathOf(path.replace(/^body\./, ''))),
      items: own('conversation'),
      refuse: data.conversation.refuse === undefined ? undefined : own('refuse'),
    },
    told: data.told && { events: data.told.events.map(pathOf), members: own('told') },
    ownIds: data.own_ids && {
      answers: data.own_ids.answers.map(pathOf),
      items: data.own_ids.items.map(pathOf),
      isOwn: testOf(local, 'keep_own'),
      members: data.own_ids.members,
    },
  }
}

/** What is removed between a client and a provider of the dialect. */
function cleaning(name: string, project: Project, modules: Modules): Printed<NonNullable<Dialect['clean']>> | undefined {
  const said = saidOf('clean', name, project)
  return (
    said && {
      strings: searchOf([said.data.marker].flat()),
      request: memberOfImport(localOf('format', said.source, modules), 'clean'),
    }
  )
}

/** The headers that report limits. */
function rateLimits(name: string, project: Project): Printed<RateLimitFormat> | undefined {
  const said = saidOf('rate_limits', name, project)
  if (said === undefined) return undefined
  const { reset, requests, tokens, input_tokens, output_tokens } = said.data
  return { reset, requests, tokens, inputTokens: input_tokens, outputTokens: output_tokens }
}

/** Loads the loose validator of a dialect's requests on demand. */
function shapeOf(name: string, address: string, modules: Modules): Code {
  const load = (from: string) => js`() => import(${json(from)}).then(shapes => shapes.${exactName(identifier(name))})`
  return new Code(load(address), undefined, load(addressInBase(address, modules)))
}

/** A marker with the closing quote is a whole string. */
function searchOf(markers: readonly string[]): StringSearch {
  const whole = markers.filter(marker => marker.endsWith('"'))
  return { begins: markers.filter(marker => !whole.includes(marker)), equals: whole.map(marker => marker.slice(0, -1)) }
}
