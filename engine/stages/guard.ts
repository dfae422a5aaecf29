// Runs the guards of a route: when the key is known, when the body was read, and when the answer arrives.

import { GatewayError } from '../core/errors.js'
import type { Exchange, Sink } from '../core/exchange.js'
import { failureOf } from '../core/log.js'
import { mediaTypeOf } from '../core/media-type.js'
import { isObject } from '../core/members.js'
import type { Body, Dialect, Json, TextPaths } from '../plan.js'
import type { Moment } from '../snapshot/config.js'
import type { ExchangeView, Guards, Key, LinkedCall, LinkedPattern, LinkedScope, Route, Snapshot } from '../snapshot/model.js'
import type { FormTexts } from '../wire/form.js'
import { framings } from '../wire/framing.js'
import { jsonOr } from '../wire/json/parse.js'
import { eachText, emptyAt } from '../wire/json/texts.js'
import { type Choice, modelNamed, taskOf } from './choose.js'
import { type ChosenTarget, consult, noSuchTarget, type Said } from './consult.js'
import { type AnswerGuard, GuardedExchange } from './guarded-exchange.js'
import { type Input, inputOf, saidAt } from './read.js'
import { Redactor } from './redactor.js'
import { replaced, withMembers } from './replaced.js'
import { SlidingSink } from './stream/sliding-sink.js'
import { TextSink } from './stream/text-sink.js'
import { createRecall, createWriter } from './stream/write.js'

/** Consults the services about the key. Throws the error that the client gets. */
export async function guardAdmission(
  guards: Guards,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<void> {
  const calls = callsAt('admit', guards, key, undefined)
  if (calls.length === 0) return
  const view = viewOf(guards, route, key, exchange)
  const said: Said = { target: undefined }
  for (const call of calls) await consult(call, view, exchange, kindsOf(route, snapshot), said)
}

/** A request after its guards, and the target that they chose. */
export interface GuardedRequest {
  input: Input
  target: ChosenTarget | undefined
}

/**
 * Consults the services about a request, one after the other: each sees the changes of those before. Throws the error that
 * the client gets.
 */
export async function guardRequest(
  guards: Guards,
  asked: Input,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<GuardedRequest> {
  let input = asked
  let target: ChosenTarget | undefined
  for (const call of callsAt('request', guards, key, modelFor(asked, route, key, exchange, snapshot))) {
    const before = input
    let { bytes } = before
    const said: Said = {
      target,
      change(replacements) {
        // A form, or a request without a body, has nothing to replace.
        if (before.bytes.length > 0) bytes = replaced(before.bytes, before.body, replacements)
      },
    }
    await consult(call, { ...viewOf(guards, route, key, exchange), ...requestOf(input) }, exchange, kindsOf(route, snapshot), said)
    target = said.target
    if (bytes === before.bytes) continue
    input = await inputOf(bytes, route, exchange, dialectOf(route, snapshot), route.defaultModel ?? snapshot.defaultModel)
  }
  const patterns = patternsFor('request', guards, key, modelFor(input, route, key, exchange, snapshot))
  const { texts } = dialectOf(route, snapshot)
  if (patterns.length === 0 || !texts?.request.length || input.bytes.length === 0) return { input, target }
  const bytes = redacted(input.bytes, texts, 'request', new Redactor(patterns, exchange.log))
  if (bytes !== input.bytes) input = await inputOf(bytes, route, exchange, dialectOf(route, snapshot))
  return { input, target }
}

/** What is done to the texts of a form while it arrives; nothing where no pattern looks at them. */
export function formTexts(
  guards: Guards,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): FormTexts | undefined {
  const names = (dialectOf(route, snapshot).texts?.request ?? []).flatMap(([name, ...rest]) =>
    rest.every(part => part === '[]') ? [name as string] : [],
  )
  if (names.length === 0 || patternsFor('request', guards, key, undefined).length === 0) return undefined
  let redactor: Redactor | undefined
  return {
    names: new Set(names),
    masked(text, model) {
      redactor ??= new Redactor(patternsFor('request', guards, key, modelOf(model, route, snapshot)), exchange.log)
      return redactor.whole(text)
    },
  }
}

/** Looks at what passes on a socket. */
export interface SocketGuard {
  /** A frame of the client's as it goes on. Throws where it may not. */
  request(frame: Buffer): Buffer
  /** What takes frames of the upstream and gives those that need not wait to `send`; `fail` ends the session. */
  answers(send: (frame: string) => void, fail: (error: GatewayError) => void): Sink
}

/** What looks at the frames of a socket; nothing where no pattern does. */
export function socketGuard(
  guards: Guards,
  route: Route,
  key: Key | undefined,
  input: Input,
  exchange: Exchange,
  snapshot: Snapshot,
): SocketGuard | undefined {
  const { texts } = dialectOf(route, snapshot)
  const model = modelOf(input.model, route, snapshot)
  const [asked, told] = [patternsFor('request', guards, key, model), patternsFor('answer', guards, key, model)]
  if (texts === undefined || (asked.length === 0 && told.length === 0)) return undefined
  const redactor = new Redactor(asked, exchange.log)
  return {
    request: frame => (asked.length === 0 || !isJsonObject(frame) ? frame : redacted(frame, texts, 'request', redactor)),
    answers(send, fail) {
      const lines: Sink = {
        write(text) {
          for (const line of text.toString().split('\n')) if (line !== '') send(line)
          return true
        },
        end(text = '') {
          this.write(text)
        },
        destroy() {},
        onDrain() {},
      }
      // Without a pattern nothing waits.
      return told.length === 0 ? lines : new SlidingSink(lines, texts, new Redactor(told, exchange.log), 'frames', fail, fail)
    },
  }
}

/** Whether a frame holds a JSON object. Another frame has no texts to look at; it passes, and the provider refuses it. */
function isJsonObject(frame: Buffer): boolean {
  return isObject(jsonOr(frame.toString('utf8'), undefined))
}

/** The bytes of an object with its texts as patterns leave them. Throws where something may not pass. */
function redacted(bytes: Buffer, texts: TextPaths, side: 'request' | 'response', redactor: Redactor): Buffer {
  const body = JSON.parse(bytes.toString('utf8')) as Json
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return bytes
  const names = new Set<string>()
  const paths = texts[side]
  // Only answers repeat their texts.
  if (side === 'response' && emptyAt(body, texts.repeats))
    for (const [name] of texts.repeats) if (Object.hasOwn(body, name as string)) names.add(name as string)
  eachText(body, paths, (text, holder, key, path) => {
    const masked = redactor.whole(text)
    if (masked === text) return
    holder[key] = masked
    names.add(paths[path]?.[0] as string)
  })
  return withMembers(bytes, body as Body, names)
}

/** The bindings of the chosen target; if there is none, all of them, or what is thrown for the failure of the call. */
export function narrowed(choice: Choice, chosen: ChosenTarget, exchange: Exchange): Choice {
  const bindings = choice.bindings.filter(({ target: { name, upstream } }) => name === chosen.name || upstream === chosen.name)
  if (bindings.length > 0) return { ...choice, bindings }
  noSuchTarget(chosen, exchange)
  return choice
}

/** Checks the answer of an exchange before the client gets it. */
export class GuardedAnswers implements AnswerGuard {
  readonly exchange: Exchange
  private calls: readonly LinkedCall[]
  private patterns: readonly LinkedPattern[]
  private input: Input | undefined

  constructor(
    private readonly guards: Guards,
    private readonly route: Route,
    private readonly key: Key | undefined,
    private readonly own: Exchange,
    private readonly snapshot: Snapshot,
  ) {
    this.exchange = new GuardedExchange(own, this)
    // Until the model is known, what holds for any model applies: the gateway may answer with what it has kept.
    this.calls = callsAt('answer', guards, key, undefined)
    this.patterns = patternsFor('answer', guards, key, undefined)
  }

  /** Prepares for the answer to this request. Throws before any call if that answer could not be checked. */
  expect(input: Input): void {
    this.input = input
    const { guards, route, key, own, snapshot } = this
    const model = modelFor(input, route, key, own, snapshot)
    this.calls = callsAt('answer', guards, key, model)
    this.patterns = patternsFor('answer', guards, key, model)
    if (input.stream) this.refuseStreams()
  }

  private refuseStreams(): void {
    const refusing = this.calls.find(({ refusesStreams }) => refusesStreams)
    if (refusing === undefined) return
    throw new GatewayError(
      'invalid_request',
      'Answers of this model cannot be streamed on this route: send the request without streaming.',
      {
        param: 'stream',
        cause: `the call ${refusing.name} sees whole answers only`,
      },
    )
  }

  async whole(given: Buffer): Promise<Buffer> {
    const { guards, route, key, own, snapshot, input } = this
    let bytes = given
    for (const call of this.calls) {
      const body = JSON.parse(bytes.toString('utf8')) as Json
      const view = { ...viewOf(guards, route, key, own), ...(input && requestOf(input)), answer: body }
      const said: Said = {
        target: undefined,
        change(replacements) {
          bytes = replaced(bytes, body as Body, replacements)
        },
      }
      await consult(call, view, own, kindsOf(route, snapshot), said)
    }
    const { texts } = dialectOf(route, snapshot)
    if (texts === undefined || this.patterns.length === 0) return bytes
    return redacted(bytes, texts, 'response', new Redactor(this.patterns, own.log))
  }

  stream(type: string, open: (mayChange: boolean) => Sink): Sink {
    this.refuseStreams()
    const { route, own, snapshot, patterns } = this
    const dialect = dialectOf(route, snapshot)
    const name = route.framing ?? dialect.stream?.framing
    const { texts } = dialect
    const framing = name === undefined ? undefined : framings[name]
    const media = mediaTypeOf(type)
    if (patterns.length === 0 || texts === undefined) return open(false)
    const note = (error: GatewayError): void => {
      own.log.error = failureOf(error)
      own.log.isPartial = true
    }
    if (framing === undefined || !framing.isStream(media)) {
      // What is neither a stream of events nor a text has none.
      if (!isText(media, dialect)) return open(false)
      return new TextSink(open(true), new Redactor(patterns, own.log), error => {
        note(error)
        own.endWith(error)
      })
    }
    const sink = open(true)
    return new SlidingSink(
      sink,
      texts,
      new Redactor(patterns, own.log),
      framing.isList ? 'list' : framing.passes ? 'events' : 'lines',
      error => {
        note(error)
        own.endWith(error)
      },
      error => {
        note(error)
        createWriter(dialect, framing, sink, own, '\n', createRecall()).fail(error, '')
      },
    )
  }
}

/**
 * Whether an answer is one text: transcripts and subtitles are. Where a dialect answers with text, each type is text that is
 * not surely something else; providers give none, or one for any bytes.
 */
function isText(media: string, { gives }: Dialect): boolean {
  if (gives === 'text') return !/^(?:audio|image|video)\//.test(media)
  return (media.startsWith('text/') && media !== 'text/event-stream') || media === 'application/x-subrip'
}

function dialectOf(route: Route, snapshot: Snapshot): Dialect {
  return snapshot.plan.dialects[route.dialect] as Dialect
}

function kindsOf(route: Route, snapshot: Snapshot): ReadonlySet<string> {
  return new Set(Object.keys(dialectOf(route, snapshot).error.kinds))
}

/** The model's own name, by whichever it was asked. */
function modelOf(model: string, route: Route, snapshot: Snapshot): string {
  return modelNamed(model, route, snapshot)?.name ?? model
}

/** The model that a request names, or with which the task was made that it follows; undefined if nothing tells it. */
function modelFor(input: Input, route: Route, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): string | undefined {
  if (route.model !== undefined || route.follow === undefined) return modelOf(input.model, route, snapshot)
  const given = saidAt(route.follow, input, exchange)
  const task = typeof given === 'string' ? taskOf(given, route, key?.name, snapshot) : undefined
  return task && modelOf(task.requested, route, snapshot)
}

/** What holds for a key and a model; of a model that is not known yet, whatever may. */
function holding<Guard extends LinkedScope>(guards: readonly Guard[], key: Key | undefined, model: string | undefined): Guard[] {
  return guards.filter(({ forKey, forModel }) => forKey(key?.name ?? '') && (model === undefined || forModel(model)))
}

function callsAt(moment: Moment, { calls }: Guards, key: Key | undefined, model: string | undefined): LinkedCall[] {
  return holding(
    calls.filter(({ at }) => at === moment),
    key,
    model,
  )
}

function patternsFor(side: 'request' | 'answer', { patterns }: Guards, key: Key | undefined, model: string | undefined): LinkedPattern[] {
  return holding(
    patterns.filter(({ inRequest, inAnswer }) => (side === 'request' ? inRequest : inAnswer)),
    key,
    model,
  )
}

function viewOf({ keyHeaders }: Guards, route: Route, key: Key | undefined, exchange: Exchange): ExchangeView {
  const { headers, method, path, query } = exchange
  return {
    key: key && { name: key.name, team: key.team, tags: key.tags, groups: key.groups },
    groups: key?.groups ?? [],
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !keyHeaders.has(name))),
    route: route.name,
    method,
    path,
    query,
    request: {},
  }
}

function requestOf({ body, model }: Input): Pick<ExchangeView, 'model' | 'request'> {
  return { model, request: body }
}
