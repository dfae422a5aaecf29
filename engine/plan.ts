// The types of the plan that codegen makes from the data and the engine executes. Nothing here runs, and nothing here names
// a dialect, a provider or a path.

/** Why a request is refused or has failed. Each dialect has its own form for every kind. */
export type Kind =
  | 'invalid_request'
  | 'authentication'
  | 'billing'
  | 'permission'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media'
  | 'rate_limit'
  | 'internal'
  | 'not_implemented'
  | 'upstream'
  | 'unavailable'
  | 'timeout'
  | 'overloaded'

/** A JSON value of unknown type; validators and mappings check it. */
export type Json = unknown
export type Body = Record<string, unknown>

/**
 * The usage of one exchange. `input` and `output` are tokens and include those that have a member of their own;
 * `cacheWrite` includes `cacheWrite1h`. The facts (tier, region and so on) may have a price of their own.
 */
export interface Usage {
  input?: number
  output?: number
  cached?: number
  cacheWrite?: number
  cacheWrite1h?: number
  audioInput?: number
  imageInput?: number
  reasoning?: number
  audioOutput?: number
  imageOutput?: number
  image?: number
  second?: number
  character?: number
  search?: number
  page?: number
  toolCall?: number
  request?: number
  tier?: string
  region?: string
  quality?: string
  size?: string
  resolution?: string
  /** How much its search read. */
  search_context?: string
}

/** Where a member is: in the body, the path, the query or a form. */
export interface Member {
  from: 'body' | 'path' | 'query' | 'form'
  path: readonly string[]
}

/** The framing of events. */
export type FramingName = 'sse' | 'json_array' | 'ndjson'

/** A member that asks for a stream, and whether the answer streams without it. */
export interface StreamFlag extends Member {
  isDefault?: boolean
}

/** An error of a validator, as ajv reports it. */
export interface SchemaError {
  instancePath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
}

export interface Validate {
  (value: unknown): boolean
  errors?: SchemaError[] | null
}

/** Finds something in passing bytes: an event is parsed only if it holds one of the markers. */
export interface Watch<Result> {
  markers: readonly string[]
  read(event: Json): Result
}

export interface StreamFormat {
  /** The member of a request that asks for a stream. */
  flag?: StreamFlag
  /** The provider decides whether to stream; the content type of its answer tells. */
  isOptional?: boolean
  framing: FramingName
  /** The member of an event that its `event:` line repeats. */
  eventLine?: string
  /** The data of the last event, which is not JSON and proves the end. */
  sentinel?: string
  /** Data that is not JSON, which may follow a finished answer. */
  trailer?: string
  /** Bytes that are sent between events while the stream is silent. */
  keepAlive?: string
  /** The member that a request needs so that usage is sent, and the events that a client which did not ask must not get. */
  ask?: { path: readonly string[]; value: Json; unasked(event: Json): boolean }
  end?: Watch<boolean>
  fail?: Watch<boolean>
  finish?: Watch<boolean>
  /** `adds`: the figures of several events are added up; else later ones replace earlier ones. */
  usage?: Watch<RawUsage | undefined> & { adds?: boolean }
  /** Whether an event carries content of the answer. */
  content?(event: Json): boolean
  /** Whether an event only says that an answer begins. */
  begin?(event: Json): boolean
}

/** The result of a format's usage expression, with the names of the data language. */
export type RawUsage = Record<string, unknown>

/** The fields of an error body. */
export interface ErrorFields {
  kind: Kind
  status: number
  type: string
  message: string
  code: string | null
  param: string | null
  details?: Json
  /** `context_length`: the request is too long for the model. */
  reason?: 'context_length'
  request_id: string
  /** For an event: the first and the last event that the client got before. */
  first?: Json
  last?: Json
  /** For an event: the event in which a provider of the client's dialect reported the failure. */
  failed?: Json
}

export interface ErrorRead {
  /** The kind, if the status does not decide it. */
  kind?: unknown
  message?: unknown
  type?: unknown
  code?: unknown
  param?: unknown
  details?: unknown
  /** `context_length`: the request is too long for the model. */
  reason?: unknown
  /** Seconds after which to try again, if the provider says so in the body. */
  retry_after?: unknown
}

export interface ErrorFormat {
  kinds: Readonly<Record<Kind, { type: string; code: string | null; status: number }>>
  body(facts: ErrorFields): Json
  /** The content type of a body; undefined: application/json. */
  type?: string
  /** The in-stream event, or a list of events, if it differs from the body. */
  event?(facts: ErrorFields): Json
  /** Whether that expression reads the events that the client got before. */
  recalls?: boolean
  read(body: Json, status: number | undefined): ErrorRead | undefined
  /** A second name for the header with the request's id. */
  requestIdHeader?: string
  /** How ids begin that clients of any dialect know: they look like keys, and are none. */
  ids: readonly string[]
}

/** Receives the parts of a request that its schema does not name. `at` is the path of the object that holds the part. */
export interface FoundUnnamed {
  member(at: string, name: string, value: unknown): void
  /** A member whose name is the kind of the object that holds it. */
  memberKind(at: string, name: string, value: unknown): void
  /** A value of the member `by`, which names the kind. */
  kind(at: string, by: string, value: unknown): void
}

/** Members that every answer has at a path, with their values when nothing is known. */
export interface Completion {
  /** Names from the root, `[]` for each element. */
  path: readonly string[]
  /** Members that an object must have for the rule to apply. */
  when?: Readonly<Record<string, Json>>
  members: Readonly<Record<string, Json>>
}

/** What to do with a member of a request that a model does not accept in the dialect's form. */
export interface FitRule {
  /** The names on the path to the member. */
  path: readonly string[]
  /** Whether the rule applies to models with these traits. */
  where(traits: Readonly<Record<string, Json>>): boolean
  /** Whether to refuse a request. Otherwise the member stays, unless `value` or `as` is given. */
  refuse?(body: Body, traits: Readonly<Record<string, Json>>): boolean
  /** Whether to change the member. Undefined: always. */
  when?(body: Body, traits: Readonly<Record<string, Json>>): boolean
  /** The new value; a result of undefined removes the member. Undefined: the member is always removed. */
  value?(body: Body, traits: Readonly<Record<string, Json>>): Json
  /** The sibling member that it is renamed to. */
  as?: string
  /** Whether the rule also applies to requests without the member. */
  isForAbsent?: boolean
  /** Whether setting the absent member is reported as a change. */
  tellsAbsent?: boolean
  /** A request with the member is refused. */
  isRefusal?: boolean
  why: string
}

/** A member of requests that holds images, audio, video or files. */
export interface MediaMember {
  /** As a refusal names it. */
  at: string
  /** The trait of models that says what they take of it. */
  trait: string
  /**
   * What a request holds there: nothing, one or a list of data URIs, addresses, or objects `{ kind, data }` with a MIME type and
   * base64.
   */
  each(body: Body): Json | undefined
}

/** The names of the headers that report one limit. */
export interface RateHeaders {
  limit?: string
  remaining?: string
  reset?: string
}

/** The headers that report limits to callers. */
export interface RateLimitFormat {
  /** The form of the time until a limit is fully available: `6m0s` from now, or RFC 3339. */
  reset: 'duration' | 'timestamp'
  requests?: RateHeaders
  tokens?: RateHeaders
  inputTokens?: RateHeaders
  outputTokens?: RateHeaders
}

/**
 * A path of texts, where `[]` stands for each element, `*` for each member and `**` for every text below. It ends at an object
 * that is excepted there.
 */
export type TextPath = readonly (string | Excepted)[]

/** Objects without texts, by the value of a member. */
export interface Excepted {
  member: string
  values: readonly string[]
}

/** The paths of texts that people or models wrote. */
export interface TextPaths {
  request: readonly TextPath[]
  response: readonly TextPath[]
  /** Whole texts in one event of a stream, and pieces that further events continue. */
  event: readonly TextPath[]
  pieces: readonly TextPath[]
  /** The members that distinguish texts which stream at the same time. */
  by: readonly string[]
  /** What repeats texts of an answer, or of an event, in another form. */
  repeats: readonly (readonly string[])[]
}

/** What is known of an answer that reports no usage: its bytes, and the text of the last of them. */
export interface AnswerSize {
  length: number
  end: string
  /** What is counted in its request. */
  asked: RawUsage | undefined
}

export interface Dialect {
  name: string
  response: 'json' | 'bytes'
  /** The media that a request takes, and that an answer gives; undefined: any. */
  takes?: string
  gives?: string
  model: Member
  /** The whole schema of a request, which a mapping relies on. */
  validateRequest?: Validate
  /**
   * The validator of types and required members only; a provider of the same dialect judges the rest itself. Few requests
   * need it, so the first of them loads it.
   */
  shape?(): Promise<Validate>
  /** Brings values with several accepted forms into the one that the schemas know. Changes the given body. */
  normaliseRequest?(body: Body): Body
  /** The same for a provider's answer. Throws if a value has a type that cannot be converted. */
  normaliseResponse?(body: Json): Json
  /** The same for an event of its stream. */
  normaliseEvent?(event: Json): Json
  /** Reports the parts of a request that the schema does not name. */
  unnamed?(body: Body, found: FoundUnnamed): void
  /** Checks some members of a request while others may still follow. */
  validateFields?: Validate
  stream?: StreamFormat
  usage?(body: Json): RawUsage | undefined
  /** The usage that follows from a request, if its answer does not report it. */
  asked?(body: Body): RawUsage | undefined
  /** The usage that follows from the length of an answer and from its end, if it reports none. */
  estimated?(answer: AnswerSize): RawUsage | undefined
  /** What its answers may report or let estimate, and what `asked` may count: names of the data language. Undefined: neither. */
  meters?: { told: readonly string[]; asked: readonly string[] }
  /** The members with the end user and the conversation of a request. */
  labels?: { endUser?: readonly Member[]; session?: readonly Member[] }
  /** How to keep translated answers, and how requests continue them. */
  keep?: KeepRule
  /**
   * Distinguishes an answer from a body without one: an object with a marker, and with one of the members that `isOne` reads,
   * is one; `isOne` decides about others.
   */
  answer?: { markers: readonly string[]; members: readonly string[]; isOne(body: Json): Json }
  /** Where an answer, or the first event of a stream, names the model, if the client wants the name that it requested there. */
  answerModel?: readonly (readonly string[])[]
  /** Content types that bytes never have which are an answer. */
  noAnswer?: readonly string[]
  /**
   * Lists of numbers in an answer that a client may want as base64 of 32-bit floats, the member that asks for it, and how many
   * a request wants.
   */
  vectors?: { path: readonly string[]; form: Member; wanted?(request: Json): Json }
  /** Paths of the application's own JSON, whose digits pass as they were written. */
  verbatim?: { request?: readonly (readonly string[])[]; response?: readonly (readonly string[])[]; event?: readonly (readonly string[])[] }
  /** The paths of its texts; undefined: unknown. */
  texts?: TextPaths
  /** Members that are added to a mapping's answers, and to its events by kind. */
  complete?: { response: readonly Completion[]; events: Readonly<Record<string, readonly Completion[]>> }
  /** The top-level members that `usage` looks at. */
  usageMembers?: readonly string[]
  rateLimits?: RateLimitFormat
  error: ErrorFormat
  /** Rules for members that some models do not accept. The request is changed and the client told, or it is refused. */
  fit?: readonly FitRule[]
  /** Where requests hold what some models do not take. */
  media?: readonly MediaMember[]
  /** Whether a request asks for a feature, by the feature's name. */
  asks?: Readonly<Record<string, (body: Body) => boolean>>
  /**
   * Same dialect: a request that holds such a string or key (any request, if absent) is rebuilt before it is sent, unless
   * `request` returns undefined.
   */
  clean?: { strings?: StringSearch; request(body: Body, ctx: Context): Json | undefined }
}

/** Strings and keys that begin with one of some texts, or equal one. */
export interface StringSearch {
  begins: readonly string[]
  equals: readonly string[]
}

/** How to keep a dialect's answers, and how requests continue them. */
export interface KeepRule {
  /** Whether to keep the answer to a request. Absent, none is kept, but requests continue those of another dialect. */
  when?(body: Body): boolean
  /** The path of the id of the answer that a request continues. */
  previous: readonly string[]
  /** The items that a request, and an answer, adds to the conversation: lists. */
  items(body: Body): Json
  output(answer: Json): Json
  /** A request with the earlier conversation added. */
  continued(body: Body, before: Json): Json
  /** Markers of references to kept items, the ids in a request, and the request with the items in their place. */
  markers: readonly string[]
  references(body: Body): Json
  resolved(body: Body, items: Json): Json
  /** The members that hold the id of an answer, and of an item. */
  id: string
  itemId: string
  /** Only an event with one of these markers may hold the whole answer. */
  final: readonly string[]
  answer(event: Json): Json
  told?: ToldRule
  ownIds?: OwnIds
  conversation?: ConversationRule
}

/** What an answer says of what its request continues. */
interface ToldRule {
  /** The paths of the answer in events. */
  events: readonly (readonly string[])[]
  members(view: { previous: string | null; conversation: string | null }): Json
}

/** How requests name a conversation that the gateway keeps, and what is in one. */
interface ConversationRule {
  /** The paths at which a request may hold its id. */
  members: readonly (readonly string[])[]
  /** What the routes keep about it, and its turns in order → its items: a list of `{ id, item }`, with `is_removed: true` if only the place is left. */
  items(view: { about: Json; turns: { id: string; input: Json; output: Json }[] }): Json
  /** Why a request cannot become part of one with some items: `{ message, param, code }`. */
  refuse?(body: Body, there: Json): Json
}

/** The ids that the gateway replaces by its own: the paths of an answer's id and of its items, in answers and events. */
interface OwnIds {
  answers: readonly (readonly string[])[]
  items: readonly (readonly string[])[]
  /** Whether the id of an item may be replaced. */
  isOwn(item: Json): boolean
  /** The members in which the ids occur. */
  members: readonly string[]
}

/** The variable `$ctx` of mappings. */
export interface Context {
  model: string
  requested: string
  provider: string
  stream: boolean
  max_output: number
  id: string
  created: number
  tag: string
  traits: Readonly<Record<string, Json>>
  /** The query parameters that the route passes on. */
  query?: Readonly<Record<string, string>>
  /** The provider's id of the task that the request follows. */
  task?: string
  /** Set if the answer is kept: the ids of the answer and of the conversation that it continues, or null. */
  kept?: { previous: string | null; conversation: string | null }
  fetched?: Record<string, Json>
}

/** The state of a stream reducer: an object with the same members throughout. */
export type State = Record<string, unknown>

export interface Reducer {
  start(): State
  /**
   * Reduces one event of the provider and appends the client's events to `out`, two texts for each: its kind, as on the
   * event line ('' if the dialect's events have none), and its JSON. Returns a failure, as a mapping's `failure` does;
   * nothing more is sent then.
   */
  event(state: State, event: Json, ctx: Context, carry: Json, out: string[]): Json
  /** Called at the proven end. */
  done(state: State, ctx: Context, carry: Json, out: string[]): Json
}

export interface Mapping {
  from: string
  to: string
  carry?(body: Body, ctx: Context): Json
  /** Undefined if the provider's requests have no body. */
  request?(body: Body, ctx: Context, carry: Json): Json
  response?(body: Json, ctx: Context, carry: Json): Json
  /** Splits a request into requests that are sent one by one, and joins their answers. */
  split?(body: Body, ctx: Context): Json
  join?(answers: readonly Json[], ctx: Context, carry: Json): Json
  /** The failure in an answer with a good status: `{ kind, message, code, param }`. */
  failure?(body: Json, ctx: Context, carry: Json): Json
  /** The address of the bytes of the client's answer. */
  location?(body: Json, ctx: Context, carry: Json): Json
  stream?: Reducer
  /** URLs that the engine fetches before `request` runs. */
  fetch?(body: Body, ctx: Context): Json
  /** Source fields of this request that the provider does not see, or sees changed. `sent` is the result of `request`. */
  dropped?(body: Body, ctx: Context, sent?: Json): string[]
  /** The first source field of this request that cannot be served. */
  refused?(body: Body, ctx: Context): { param: string; why: string; named?: Json } | undefined
  /** The fields that `dropped` and `refused` judge: unknown kinds there are the mapping's own matter. */
  judges: readonly string[]
  /** It passes on members that no schema names. */
  passesRest?: boolean
}

export interface Limits {
  /** Bytes. */
  body: number
  /** Milliseconds. A body must bring 16 KiB, or its rest, within each period of `upload`. */
  upload: number
  connect: number
  headers: number
  first_event: number
  idle: number
  /** Null: no limit. */
  total: number | null
}

/** The usage of a key, and the request's body, as far as a route asks for them. */
export interface CountedView {
  body?: Json
  /** The usage of the key by day and model. */
  usage?: Json
  /** The day, as in 2026-11-22, if the usage of days is part of the answer. */
  today?: string
  /** The limits and budgets of the key. */
  limits?: Json
  budgets?: Json
}

interface AnswerView extends CountedView {
  models: Json
  /** The facts and permissions of the caller's key; never the key itself, nor its hash. */
  key?: Json
  query: Readonly<Record<string, string>>
  path: Readonly<Record<string, string>>
  now: number
  /** The address that the reader of a page used: scheme, host and port. */
  address?: string
}

/** An answer that is made once, and differs between readers only in the address that they used. */
interface PagePlan {
  /** The name that the operator enables it by. */
  name: string
  type: string
  headers?: Readonly<Record<string, string>>
}

interface KeptView {
  /** Its id, the answer itself, and the items that its request added to the conversation. */
  kept: { id: string; answer: Json; input: Json }
  query: Readonly<Record<string, string>>
}

interface ConversationView {
  /**
   * Its id, what is kept about it (null of a new one), its items as its dialect lists them, if the route needs them, and the id of
   * the turn that becomes part of it.
   */
  conversation: { id: string; about: Json; items: Json; next: string }
  body: Json
  query: Readonly<Record<string, string>>
  path: Readonly<Record<string, string>>
  now: number
}

/** The query parameters with the first and the last day. */
export interface DayMembers {
  from?: string
  to?: string
}

export interface Condition {
  header?: string
  query?: Readonly<Record<string, string>>
  auth?: readonly string[]
}

export interface RoutePlan {
  name: string
  methods: readonly string[]
  /** Empty means any method. */
  paths: readonly string[]
  when?: Condition
  auth: readonly string[]
  dialect: string
  /** The dialect of its errors, if it is another. */
  errorDialect?: string
  /** The content type and body of its errors, if they differ from the dialect's. */
  error?: { type?: string; body?(facts: ErrorFields): Json }
  /** Whether the text parts of a form are checked when they arrive. */
  checksFields?: boolean
  /** The model of requests that name none. */
  defaultModel?: string
  /** The kinds of body that it takes; empty for none. */
  bodies: readonly ('json' | 'multipart')[]
  model?: Member & { strip?: string; tag?: string }
  stream?: boolean | StreamFlag
  framing?: FramingName
  /** The operator may configure others. */
  limits: Limits
  /** The member that may not exceed the catalogue's limit of the model. */
  caps?: { maxOutput?: readonly string[] }
  /** Members of the body: the maximum of output tokens, of which the first present one counts, and the number of answers. */
  asks?: { output: readonly (readonly string[])[]; answers?: readonly string[] }
  forward: readonly string[]
  /** Query parameters that are passed on. */
  forwardQuery: readonly string[]
  mirror: readonly string[]
  sealedIds?: SealedIds
  /** The member that holds a sealed id. */
  follow?: Member
  /** What the client is told of an id that is not its own; `{id}` stands for it. */
  unknownId?: { status?: number; code?: string; message: string }
  /** Whether the answer covers everything in the upstream's account. */
  isShared: boolean
  /** How the lists of several accounts become one. */
  joinLists?: ListMembers
  relay?: RelayPlan
  answer?(view: AnswerView): Json
  page?: PagePlan
  /** The name of the document about the gateway that is the answer. */
  document?: string
  /** The query parameters with the days whose usage the answer reports. */
  usage?: DayMembers
  /** Whether the answer reports limits and budgets of the key. */
  isStanding?: boolean
  /** What is told of a kept answer, `{ body }` or `{ refused }`, and whether it is removed. */
  kept?: { answer(view: KeptView): Json; isRemoved: boolean }
  /**
   * What is told of a kept conversation, or of one that begins: `{ body }` or `{ refused }`, and `about`, `items` and `removed` if it
   * changes.
   */
  conversation?: { prefix?: string; needsItems: boolean; answer(view: ConversationView): Json }
  /** Whether it refuses as soon as the gateway is draining. */
  isReadiness?: boolean
  fail?: Kind
  /** The status and the message of that failure, if they are not those of its kind. */
  failWith?: { status: number; message: string }
  estimate?: { text(body: Json): Json; answer(tokens: number, body: Json): Json }
}

/**
 * The ids of an answer that are sealed for the caller: paths in a whole answer and in events, where `[]` stands for each
 * element.
 */
interface SealedIds {
  members: readonly (readonly string[])[]
  /** The member beside an id that names the upstream's model, in a list of a whole account. */
  model?: string
  events: readonly (readonly string[])[]
  /** Query parameters that hold such an id. */
  query: readonly string[]
  prefix: string
  /** Whether ids of translated answers can be followed, too. */
  isMapped: boolean
}

/** The members of a page of a list, the member of an item with its id, and the query parameter with the length of a page. */
export interface ListMembers {
  items: string
  id: string
  first: string
  last: string
  more: string
  limit: string
}

/** The limits of a socket relay: bytes, and milliseconds. */
export interface RelayPlan {
  subprotocol?: string
  /** The headers that subprotocols of a client stand for. */
  protocolHeaders?: Readonly<Record<string, Readonly<Record<string, string>>>>
  frame: number
  idle: number
  ping: number
  highWater: number
}

/** A location of a key in requests. */
export interface KeyLocation {
  header?: string
  prefix?: string
  query?: string
  protocolPrefix?: string
  /** It is read before the route's locations, which then hold the caller's own credential. */
  beside: boolean
}

export interface Endpoint {
  method: string
  path: string
  query?: Readonly<Record<string, string>>
  stream?: { path?: string; query?: Readonly<Record<string, string>> }
  /** The names of members that the endpoint refuses. */
  drop?: readonly string[]
  /** The same inside of members: the path as it is written, and its names, where `[]` stands for each element. */
  dropInside?: readonly { at: string; path: readonly string[] }[]
  rename?: Readonly<Record<string, string>>
  /** Members that the endpoint refuses, with the reason. */
  refuse?: Readonly<Record<string, string>>
  /** Whether the endpoint keeps answers for later requests to continue. */
  keeps: boolean
  /** The subprotocol that is offered when a socket is opened. */
  subprotocol?: string
  /** The dialect of the endpoint that is tried if the mapping to this one refuses a request. */
  fallback?: string
  /** The provider's own places of usage, in place of the dialect's: for whole answers and events. */
  usage?: Watch<RawUsage | undefined> & { members?: readonly string[]; told: readonly string[] }
  /** Patches a request of the dialect into the provider's; returns undefined if it needs no patch. Long texts may be cut. */
  request?(body: Body): Json
  /** Patches the provider's answer into the dialect's; returns undefined if it needs no patch. */
  response?(body: Json): Json
  /** Patches the provider's event into the dialect's, or a list of them; returns undefined if it needs no patch. */
  event?(event: Json): Json
  /** Patches the body of the provider's refusal into the dialect's; returns undefined if it needs no patch. */
  error?(body: Json): Json
}

/**
 * How a provider expects its secret: in which header; with `jwt`, as a short-lived token made from it; with `sign`, as a
 * signature of each request.
 */
export interface Credential {
  header?: string
  prefix?: string
  query?: string
  jwt?: { lifetime: number }
  sign?: Signing
}

/** The names in a service's signature: `date` and `digest` are headers, `key_prefix` precedes the secret. */
interface Signing {
  algorithm: string
  key_prefix?: string
  ending: string
  region: string
  service: string
  date: string
  digest?: string
}

export interface ProviderPlan {
  name: string
  title: string
  /** Undefined: each upstream has its own. */
  base?: string
  credential: Credential
  headers: Readonly<Record<string, string>>
  secretEnv?: string
  models: readonly string[]
  /** The path of the account's model list, with its query. */
  modelsPath?: string
  traits: Readonly<Record<string, Json>>
  /** By dialect, in order of preference. */
  speaks: Readonly<Record<string, Endpoint>>
}

/** The facts of a model, from one entry or combined from several. An absent fact is unknown. */
export interface ModelFacts {
  displayName?: string
  owner?: string
  /** Days, such as `2026-11-22`. */
  created?: string
  deprecated?: string
  retired?: string
  /** Tokens. */
  context?: number
  maxOutput?: number
  inputs?: readonly string[]
  outputs?: readonly string[]
  /** Dialects preferred for certain requests; the first whose conditions all hold counts. */
  prefer?: readonly { when: readonly string[]; speaks: string }[]
  traits?: Readonly<Record<string, Json>>
  /** Each from a day on, oldest first: prices by meter, and exceptions from them. */
  prices?: readonly Prices[]
  source?: string
  /** The day on which the source was read. */
  read?: string
}

/** The cost of a usage at a time (milliseconds since 1970) in nano-units of a currency; undefined if something has no price. */
export interface Cost {
  (usage: Usage, time: number): number | undefined
  /** The facts that select a price for a usage; undefined: the price is always the same. */
  kind?: PriceKind
  /** The highest cost of so many tokens, whatever part of the input a cache takes; 0 if they have no price. */
  most(input: number, output: number, time: number): number
}

/** The facts, beside quantities, that an exchange's price depends on; only values that the prices name. */
export interface PriceKind {
  /** The region that processed it. */
  region(usage: Usage): string | undefined
  /** Its tier, quality, size, resolution and search context: a JSON text. */
  facts(usage: Usage): string | undefined
}

export interface Prices {
  from: string
  currency: string
  when?: readonly Readonly<Record<string, Json>>[]
  /** The factor of all prices in a region. */
  regions?: Readonly<Record<string, number>>
  readonly [meter: string]: Json
}

export interface CatalogueEntry {
  /** Its position in the data: `file:line`. */
  at: string
  name: string
  /** The names that it matches, where `*` stands for anything. */
  match: readonly string[]
  /** The providers that these names, prices and dates belong to; undefined: all. */
  providers?: readonly string[]
  /** An entry of a higher layer wins over one of a lower. */
  layer: number
  facts: ModelFacts
}

export type Catalogue = readonly CatalogueEntry[]

/** A release of the catalogue. */
export interface CatalogueRelease {
  /** Three numbers. */
  version: string
  /** A day. */
  released: string
  /** Where its data says so: `file:line`. */
  at: string
  /** The facts that this gateway does not understand, because the release is newer than itself. */
  leftOut?: readonly string[]
}

/** What is compiled of the data, except for the mappings. */
export interface PlanFacts {
  dialects: Readonly<Record<string, Dialect>>
  routes: readonly RoutePlan[]
  keyLocations: Readonly<Record<string, KeyLocation>>
  providers: Readonly<Record<string, ProviderPlan>>
  /** The known models; undefined: none. */
  catalogue?: Catalogue
  /** The releases that the catalogue is made of: the one that came with the gateway, then the operator's. */
  releases?: readonly CatalogueRelease[]
  /** Checks the gateway's configuration against its schema, and fills in the defaults. */
  validateGateway: Validate
}

/** The plan with the mappings that a configuration needs, or with all. */
export interface Plan extends PlanFacts {
  /** By `<client>-to-<upstream>`. */
  mappings: Readonly<Record<string, Mapping>>
  /** The mappings that were left out, because the configuration needs none of them. */
  leftOut?: ReadonlySet<string>
}

/** The module that codegen makes. The code of the mappings is by far its largest part, so each is loaded on its own. */
export interface PlanModule {
  plan: PlanFacts
  mappings: Readonly<Record<string, () => Promise<Mapping>>>
}
