// What codegen makes of the data and the engine executes. Shapes only: nothing here runs, and nothing here knows a
// dialect, a provider or a path.

/** Why a request is refused or has failed. Each dialect has a word for every one of them. */
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

/** A JSON value as it came; what is in it is for validators and mappings to say. */
export type Json = unknown
export type Body = Record<string, unknown>

/**
 * What one exchange used. `input` and `output` are tokens and include those that have a name of their own; `cacheWrite` includes
 * `cacheWrite1h`. What is said of it in words may have a price of its own.
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
}

/** Where a member is: in the body, the path, the query or a form. */
export interface Member {
  from: 'body' | 'path' | 'query' | 'form'
  path: readonly string[]
}

/** How events are framed. */
export type FramingName = 'sse' | 'json_array' | 'ndjson'

/** A member that asks for a stream, and whether there is one where it is absent. */
export interface StreamFlag extends Member {
  isDefault?: boolean
}

/** An error of a validator, as ajv gives it. */
export interface SchemaError {
  instancePath: string
  keyword: string
  params: Record<string, unknown>
  message?: string
  parentSchema?: { description?: string }
}

export interface Validate {
  (value: unknown): boolean
  errors?: SchemaError[] | null
}

/** Looks for something in passing bytes: an event is parsed only where one of the markers is in it. */
export interface Watch<Result> {
  markers: readonly string[]
  read(event: Json): Result
}

export interface StreamFormat {
  /** The member of a request that asks for a stream. */
  flag?: StreamFlag
  /** Whether a stream comes is for the provider to say, by the type of its answer. */
  isOptional?: boolean
  framing: FramingName
  /** The member of an event that its `event:` line repeats. */
  eventLine?: string
  /** Data that is no JSON, stands last and proves the end. */
  sentinel?: string
  /** Bytes that are sent between events while the stream is silent. */
  keepAlive?: string
  /** What a request must hold so that usage comes, and the events that a client which did not ask is spared. */
  ask?: { path: readonly string[]; value: Json; unasked(event: Json): boolean }
  end?: Watch<boolean>
  fail?: Watch<boolean>
  finish?: Watch<boolean>
  usage?: Watch<RawUsage | undefined>
  /** Whether an event carries some of the answer. */
  content?(event: Json): boolean
  /** Whether an event only says that an answer begins. */
  begin?(event: Json): boolean
}

/** What a format's expression gives for usage: the names of the data language. */
export type RawUsage = Record<string, unknown>

/** What an error body is made of. */
export interface ErrorFields {
  kind: Kind
  status: number
  type: string
  message: string
  code: string | null
  param: string | null
  details?: Json
  request_id: string
  /** Of an event: the first and the last event that the client was told before. */
  first?: Json
  last?: Json
}

export interface ErrorRead {
  /** Where the status does not say what has happened. */
  kind?: unknown
  message?: unknown
  type?: unknown
  code?: unknown
  param?: unknown
  details?: unknown
  /** `context_length`: the request is too long for the model. */
  reason?: unknown
}

export interface ErrorFormat {
  kinds: Readonly<Record<Kind, { type: string; code: string | null; status: number }>>
  body(facts: ErrorFields): Json
  /** The content type of a body; absent: JSON's own. */
  type?: string
  /** The in-stream event, or a list of them, where it differs from the body. */
  event?(facts: ErrorFields): Json
  /** Whether that looks at what the client was told before. */
  recalls?: boolean
  read(body: Json, status: number | undefined): ErrorRead | undefined
  /** A second name for the header that carries the request's id. */
  requestIdHeader?: string
}

/** Is told what a request holds that its schema does not name. `at` is the path of the object that holds it. */
export interface FoundUnnamed {
  member(at: string, name: string, value: unknown): void
  /** A member that is the kind of what holds it. */
  memberKind(at: string, name: string, value: unknown): void
  /** A value of the member `by`, which names the kind. */
  kind(at: string, by: string, value: unknown): void
}

/** Members that are there at a place of every answer, with what they are where nothing is known. */
export interface Completion {
  /** Names from the whole, `[]` for each element. */
  path: readonly string[]
  /** Members that an object must have for this to be about it. */
  when?: Readonly<Record<string, Json>>
  members: Readonly<Record<string, Json>>
}

/** What becomes of a member of a request that a model does not take as it may be said. */
export interface FitRule {
  /** The names that lead to the member. */
  path: readonly string[]
  /** Whether the rule is about models with these traits. */
  where(traits: Readonly<Record<string, Json>>): boolean
  /** Whether a request is refused. What is not, keeps its member, unless `value` or `as` is there. */
  refuse?(body: Body, traits: Readonly<Record<string, Json>>): boolean
  /** Whether the member is changed. Absent: it is. */
  when?(body: Body, traits: Readonly<Record<string, Json>>): boolean
  /** What is sent in its place; nothing, where it is taken out. Absent: it always is. */
  value?(body: Body, traits: Readonly<Record<string, Json>>): Json
  /** The member beside it that it is sent as. */
  as?: string
  /** Whether the rule is also for requests that say nothing of the member. */
  isForAbsent?: boolean
  /** What is set where a request says nothing of the member is told as a change of it. */
  tellsAbsent?: boolean
  /** A request that says something of the member is refused. */
  isRefusal?: boolean
  why: string
}

/** Names of headers that tell of one limit. */
export interface RateHeaders {
  limit?: string
  remaining?: string
  reset?: string
}

/** The headers that tell callers what is left of their limits. */
export interface RateLimitFormat {
  /** How the time is written at which a limit is whole again: `6m0s` from now, or RFC 3339. */
  reset: 'duration' | 'timestamp'
  requests?: RateHeaders
  tokens?: RateHeaders
  inputTokens?: RateHeaders
  outputTokens?: RateHeaders
}

/** Where texts stand that people or models wrote: paths, where `[]` stands for each element and `**` for every text below. */
export interface TextPlaces {
  request: readonly (readonly string[])[]
  response: readonly (readonly string[])[]
  /** Whole in an event of a stream, and in pieces that go on in further events. */
  event: readonly (readonly string[])[]
  pieces: readonly (readonly string[])[]
  /** Members that tell apart texts which are streamed at the same time. */
  by: readonly string[]
  /** Values of members of events that hold no texts; absent: none is known to hold none. */
  except?: Readonly<Record<string, readonly string[]>>
  /** What repeats texts of an answer, or of an event, in another form. */
  repeats: readonly (readonly string[])[]
}

export interface Dialect {
  name: string
  response: 'json' | 'bytes'
  /** What a request is about, and what an answer is; absent: anything. */
  takes?: string
  gives?: string
  model: Member
  /** All that the dialect says of a request: what a mapping relies on. */
  validateRequest?: Validate
  /**
   * The validator of types, and of what is required: what the same dialect's provider judges further itself. Few requests
   * need it, so it is loaded for the first that does.
   */
  shape?(): Promise<Validate>
  /** What may be said in several ways, said in the one that the schemas know. Changes the body that it is given. */
  normaliseRequest?(body: Body): Body
  /** The same of a provider's answer. Throws where a value has a type that says nothing. */
  normaliseResponse?(body: Json): Json
  /** The same of an event of its stream. */
  normaliseEvent?(event: Json): Json
  /** Goes through a request and tells what the schema of requests does not name. */
  unnamed?(body: Body, found: FoundUnnamed): void
  /** Judges some members of a request, of which others may be still to come. */
  validateFields?: Validate
  stream?: StreamFormat
  usage?(body: Json): RawUsage | undefined
  /** What a request will be counted by where its answer does not tell it. */
  asked?(body: Body): RawUsage | undefined
  /** Where a request says for whom, and in which conversation, it asks. */
  labels?: { endUser?: readonly Member[]; session?: readonly Member[] }
  /** How answers are kept that a mapping has made, and how requests go on from them. */
  keep?: KeepRule
  /** What tells a whole answer from a body that says nothing: bytes that hold a marker are one, of others `isOne` decides. */
  answer?: { markers: readonly string[]; isOne(body: Json): Json }
  /** Lists of numbers in an answer that a client may ask for as base64 of 32-bit floats, and where it asks. */
  vectors?: { path: readonly string[]; form: Member }
  /** Where JSON of the application's own stands, whose digits pass as they were written. */
  verbatim?: { request?: readonly (readonly string[])[]; response?: readonly (readonly string[])[]; event?: readonly (readonly string[])[] }
  /** Where its texts stand; absent: nobody knows. */
  texts?: TextPlaces
  /** What is added to answers, and to events by their kind, that a mapping made. */
  complete?: { response: readonly Completion[]; events: Readonly<Record<string, readonly Completion[]>> }
  /** The top-level members that `usage` looks at. */
  usageMembers?: readonly string[]
  rateLimits?: RateLimitFormat
  error: ErrorFormat
  /** What models may not take. A request that says it is changed, and the client is told, or it is refused. */
  fit?: readonly FitRule[]
  /** Whether a request asks for something, by the name of that. */
  asks?: Readonly<Record<string, (body: Body) => boolean>>
  /**
   * Same dialect: a request whose bytes hold a marker, a quote and the beginning of a string, is rebuilt before it is sent, unless
   * `request` gives nothing.
   */
  clean?: { markers: readonly string[]; request(body: Body, ctx: Context): Json | undefined }
}

/** How a dialect's answers are kept, and how requests go on from them. */
export interface KeepRule {
  /** Whether the answer to a request is to be kept. */
  when(body: Body): boolean
  /** Where a request names the answer from which it goes on. */
  previous: readonly string[]
  /** What a request, and an answer, adds to the conversation: lists. */
  items(body: Body): Json
  output(answer: Json): Json
  /** A request with what was said before. */
  continued(body: Body, before: Json): Json
  /** What the bytes of a request hold that refers to kept items, the ids of these, and the request with them in their place. */
  markers: readonly string[]
  references(body: Body): Json
  resolved(body: Body, items: Json): Json
  /** The members that hold the id of an answer, and of an item. */
  id: string
  itemId: string
  /** Only an event that holds one of these may tell the whole answer. */
  final: readonly string[]
  answer(event: Json): Json
}

/** What mappings see as `$ctx`. */
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
  /** What the request's query says, as far as the route passes it on. */
  query?: Readonly<Record<string, string>>
  /** The provider's id of the task that the request follows. */
  task?: string
  /** There where the answer is kept: the id of the one from which it goes on, or null. */
  kept?: { previous: string | null }
  fetched?: Record<string, Json>
}

/** The state of a stream reducer: an object of one shape. */
export type State = Record<string, unknown>

export interface Reducer {
  start(): State
  /**
   * Takes one event of the provider and appends the client's events to `out`, two texts for each: its kind, as it stands on
   * the event line ('' where the dialect's events have none), and its JSON. Gives what went wrong, if something did, as
   * `failure` of a mapping does: nothing more is told then.
   */
  event(state: State, event: Json, ctx: Context, carry: Json, out: string[]): Json
  /** The proven end. */
  done(state: State, ctx: Context, carry: Json, out: string[]): Json
}

export interface Mapping {
  from: string
  to: string
  /** The dialect between, where the pair is made of two others. */
  via?: string
  carry?(body: Body, ctx: Context): Json
  /** Absent where the provider's requests have no body. */
  request?(body: Body, ctx: Context, carry: Json): Json
  response?(body: Json, ctx: Context, carry: Json): Json
  /** The client requests that the provider is asked one by one, and the one answer that theirs make. */
  split?(body: Body, ctx: Context): Json
  join?(answers: readonly Json[], ctx: Context, carry: Json): Json
  /** What went wrong, where a provider's good status does not mean success: `{ kind, message, code, param }`. */
  failure?(body: Json, ctx: Context, carry: Json): Json
  /** The address of the bytes that are the client's answer. */
  location?(body: Json, ctx: Context, carry: Json): Json
  stream?: Reducer
  /** URLs that the engine fetches before `request` runs. */
  fetch?(body: Body, ctx: Context): Json
  /** URLs that it fetches then: those of the second of two mappings. */
  fetchMore?(body: Body, ctx: Context): Json
  /** Source fields of this request that the provider does not see as they were said. `sent` is what `request` made. */
  dropped?(body: Body, ctx: Context, sent?: Json): string[]
  /** The first source field of this request that cannot be served. */
  refused?(body: Body, ctx: Context): { param: string; why: string; named?: Json } | undefined
  /** The fields that `dropped` and `refused` are about: of kinds that stand there, the mapping says itself what becomes. */
  judges: readonly string[]
  /** It carries over what no schema names. */
  passesRest?: boolean
}

/** A pair that has no mapping of its own: by way of which dialect it is made of two others. */
export interface Composition {
  from: string
  via: string
  to: string
  /** For members of the request between: the client's fields that they are made of. Of a member that is not here that is not known. */
  members: Readonly<Record<string, readonly string[]>>
}

export interface Limits {
  /** Bytes. */
  body: number
  /** Milliseconds. A body goes on as long as 16 KiB of it, or the rest, come in `upload`. */
  upload: number
  connect: number
  headers: number
  first_event: number
  idle: number
  /** Null: no limit. */
  total: number | null
}

/** What is counted of a key, and what the request's body holds, as far as a route asks for it. */
export interface CountedView {
  body?: Json
  /** What the key has used, by day and model. */
  usage?: Json
  /** The day, as in 2026-11-22, where the usage of days is told. */
  today?: string
  /** What the key is limited by, and the budgets that it counts in. */
  limits?: Json
  budgets?: Json
}

export interface AnswerView extends CountedView {
  models: Json
  /** What the caller's key is and may; never the key itself, nor its hash. */
  key?: Json
  query: Readonly<Record<string, string>>
  path: Readonly<Record<string, string>>
  now: number
  /** The address that the reader of a page asks: scheme, host and port. */
  address?: string
}

/** An answer that is made once, and is the same for whoever reads it but for the address that is asked. */
export interface PagePlan {
  /** The name that the operator switches it on by. */
  name: string
  type: string
  headers?: Readonly<Record<string, string>>
}

export interface KeptView {
  /** Its id, the answer itself, and what its request added to the conversation. */
  kept: { id: string; answer: Json; input: Json }
  query: Readonly<Record<string, string>>
}

/** Members of the query that name the first and the last of some days. */
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
  /** Empty stands for any method. */
  paths: readonly string[]
  when?: Condition
  auth: readonly string[]
  dialect: string
  /** The dialect of its errors, where that is another. */
  errorDialect?: string
  /** The content type of its errors, and their words, where they are its own. */
  error?: { type?: string; body?(facts: ErrorFields): Json }
  /** The texts of a form are checked when they arrive. */
  checksFields?: boolean
  /** The model of requests that name none. */
  defaultModel?: string
  /** The kinds of body that it takes; empty for none. */
  bodies: readonly ('json' | 'multipart')[]
  model?: Member & { strip?: string }
  stream?: boolean | StreamFlag
  framing?: FramingName
  /** The operator may say otherwise. */
  limits: Limits
  caps?: { maxOutput?: readonly string[] }
  /** Members of the body: the tokens of output that are asked for, of which the first that is there counts, and how many answers. */
  asks?: { output: readonly (readonly string[])[]; answers?: readonly string[] }
  forward: readonly string[]
  /** Members of the query that are passed on. */
  forwardQuery: readonly string[]
  mirror: readonly string[]
  sealedIds?: SealedIds
  /** Where the request holds an id that was sealed. */
  follow?: Member
  /** Whether the answer is about all that the upstream's account holds. */
  isShared: boolean
  relay?: RelayPlan
  answer?(view: AnswerView): Json
  page?: PagePlan
  /** The name of a document about the gateway, which is the answer. */
  document?: string
  /** The members of the query that name the days whose usage the answer tells. */
  usage?: DayMembers
  /** Whether the answer tells limits and budgets of the key. */
  isStanding?: boolean
  /** What is told of an answer that is kept here, and whether it is removed. */
  kept?: { answer(view: KeptView): Json; isRemoved: boolean }
  /** It refuses from the moment on that the gateway is asked to end. */
  isReadiness?: boolean
  fail?: Kind
  estimate?: { text(body: Json): Json; answer(tokens: number, body: Json): Json }
}

/** Which ids of an answer are sealed for the caller: paths in the whole and in events, where `[]` stands for each element. */
export interface SealedIds {
  members: readonly (readonly string[])[]
  events: readonly (readonly string[])[]
  prefix: string
  /** Whether ids of answers that were translated can be followed, too. */
  isMapped: boolean
}

/** How frames of a socket are relayed: bytes, and milliseconds. */
export interface RelayPlan {
  subprotocol?: string
  frame: number
  idle: number
  ping: number
  highWater: number
}

/** Where a key may be. */
export interface KeyLocation {
  header?: string
  prefix?: string
  query?: string
  protocolPrefix?: string
  /** It is read before the places of a route, which then hold the caller's own credential. */
  beside?: boolean
}

export interface Endpoint {
  method: string
  path: string
  query?: Readonly<Record<string, string>>
  stream?: { path?: string; query?: Readonly<Record<string, string>> }
  drop?: readonly string[]
  rename?: Readonly<Record<string, string>>
  /** Members that it refuses, with why. */
  refuse?: Readonly<Record<string, string>>
  /** False: answers that a request goes on from later are not kept there. */
  keeps?: boolean
  /** The subprotocol that is offered to it where a socket is opened. */
  subprotocol?: string
  /** The dialect of the endpoint that is tried where the mapping to this one refuses a request. */
  fallback?: string
  /** Where the provider tells usage, in place of what the dialect says: of whole answers and events. */
  usage?: Watch<RawUsage | undefined> & { members?: readonly string[] }
  /** The dialect's answer from the provider's; nothing where that is one already. */
  response?(body: Json): Json
  /** The dialect's event, or a list of such, from the provider's; nothing where that is one already. */
  event?(event: Json): Json
}

/**
 * Where a provider reads a secret; with `jwt`, a token that is made of it and holds for some milliseconds; with `sign`, a
 * signature of each request.
 */
export interface Credential {
  header?: string
  prefix?: string
  query?: string
  jwt?: { lifetime: number }
  sign?: Signing
}

/** The words of a service for a signature: `date` and `digest` are headers, `key_prefix` stands before the secret. */
export interface Signing {
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
  /** Absent: each upstream has its own. */
  base?: string
  credential: Credential
  headers: Readonly<Record<string, string>>
  secretEnv?: string
  models: readonly string[]
  /** Where an account's models are listed, with what is asked in the query. */
  modelsPath?: string
  traits: Readonly<Record<string, Json>>
  /** By dialect, in order of preference. */
  speaks: Readonly<Record<string, Endpoint>>
}

/** What one entry says, and what several say. What is absent is not known. */
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
  /** Dialects to be asked in by what is asked; the first whose conditions all hold counts. */
  prefer?: readonly { when: readonly string[]; speaks: string }[]
  traits?: Readonly<Record<string, Json>>
  /** Each from a day on, the oldest first: prices by meter, and exceptions from them. */
  prices?: readonly Prices[]
  source?: string
  /** The day on which the source was looked at. */
  read?: string
}

/** The cost of a usage at a time, which is in milliseconds since 1970: nano-units of a currency; nothing where something has no price. */
export interface Cost {
  (usage: Usage, time: number): number | undefined
  /** Which of the prices holds for a usage, where they differ by what kind of exchange it was; absent: they do not. */
  kind?: PriceKind
}

/** What the price of an exchange depends on, beside what was counted: words that the prices know, and no other. */
export interface PriceKind {
  /** Where it was processed. */
  region(usage: Usage): string | undefined
  /** Its tier, quality, size and resolution: a text of JSON. */
  facts(usage: Usage): string | undefined
}

export interface Prices {
  from: string
  currency: string
  when?: readonly Readonly<Record<string, Json>>[]
  /** What all of them are multiplied by in a region. */
  regions?: Readonly<Record<string, number>>
  readonly [meter: string]: Json
}

export interface CatalogueEntry {
  /** Where it stands: `file:line`. */
  at: string
  name: string
  /** The names that it is about, where `*` is anything. */
  match: readonly string[]
  /** The providers whose names, prices and dates these are; absent: all. */
  providers?: readonly string[]
  /** An entry of a higher layer goes before one of a lower. */
  layer: number
  facts: ModelFacts
}

export type Catalogue = readonly CatalogueEntry[]

export interface Plan {
  dialects: Readonly<Record<string, Dialect>>
  routes: readonly RoutePlan[]
  keyLocations: Readonly<Record<string, KeyLocation>>
  providers: Readonly<Record<string, ProviderPlan>>
  /** What is known of models; absent: nothing. */
  catalogue?: Catalogue
  /** By `<client>-to-<upstream>`. */
  mappings: Readonly<Record<string, Mapping>>
  /** Pairs that are made of two of these, likewise; absent: none. */
  composed?: Readonly<Record<string, Mapping>>
  /** Whether the operator's file satisfies its grammar; where it does, the grammar's defaults are in it. */
  validateGateway: Validate
}
