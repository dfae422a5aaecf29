// Reads the beginning of a stream before the client gets anything: a failure there can still go to another target.

import { type Deadline, now, unwatch, watch } from '../../core/deadlines.js'
import { GatewayError } from '../../core/errors.js'
import { Gathered } from '../../core/gathered.js'
import { textOf } from '../../core/text.js'
import type { Json, StreamFormat } from '../../plan.js'
import type { Binding } from '../../snapshot/model.js'
import type { UpstreamResponse } from '../../upstream/call.js'
import { framings } from '../../wire/framing.js'
import { jsonOr } from '../../wire/json/parse.js'
import { isSentinel, parseBlock } from '../../wire/sse.js'
import type { Outcome } from '../outcome.js'
import { errorIn } from '../read-answer.js'
import { failureOf, failureOfError, finishes } from './event-watch.js'
import { joined } from './pieces.js'
import { asStreamError, EVENT_LIMIT, misunderstanding, notJson } from './stream-errors.js'
import { translating } from './translate.js'

/** How much of a stream, and how long (milliseconds), is held before its first content. */
const BEGINNING = 256 * 1024
const PATIENCE = 5_000

/** The call, and its answer, which has not begun yet. */
type Awaited = Pick<Outcome, 'attempt' | 'rendered'> & { response: UpstreamResponse }

/**
 * Reads a stream up to its first event with content; throws a failure that comes before it. Waits only briefly for content
 * after the answer has begun: the client wants to see that it has.
 */
export function firstEvents(awaited: Awaited): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const { response: upstream } = awaited
    const { binding } = awaited.attempt
    const format = binding.to.stream as StreamFormat
    const blocks = framings[format.framing].blocks(EVENT_LIMIT)
    const got = new Gathered()
    /** The blocks of whole events in it. */
    const judged: Buffer[] = []
    let length = 0
    let isEvent = false
    /** The answer is to be translated, complete, and has no content. */
    let isEmpty = false
    const settle = (): void => {
      const failure = isEmpty ? failureOfEmpty(judged, awaited) : undefined
      if (failure) {
        upstream.cancel()
        refuse(failure)
        return
      }
      unwatch(patience)
      upstream.detach()
      upstream.pause()
      upstream.startIdle()
      resolve(joined(got.pieces))
    }
    const refuse = (error: unknown): void => {
      unwatch(patience)
      reject(error)
    }
    const patience: Deadline = { slot: -1, due: Number.POSITIVE_INFINITY, fire: settle }
    const judge = (block: Buffer): void => {
      judged.push(block)
      length += block.length
      let isBegun = false
      let failure: GatewayError | undefined
      const isFirst = !isEvent
      parseBlock(block, (data, isError) => {
        const isEnd = isSentinel(data, format.sentinel)
        // What came before it, if anything, only announced an answer.
        const isOnlyEnd = isEnd && !isEmpty
        isEvent = true
        const event: Json = isEnd ? undefined : jsonOr(data, NOT_JSON)
        if (isError) failure = failureOfError(data, binding)
        else failure = isOnlyEnd ? notBegun() : event === NOT_JSON ? notJson(binding) : failureIn(event, data, binding)
        if (failure) return true
        const isLast = binding.mapping !== undefined && format.content !== undefined && finishes(event, data, format)
        isEmpty = (isEmpty || isLast) && !isTrue(format.content, event)
        isBegun = !isTrue(format.begin, event) && !(isEmpty && isLast)
        return isBegun
      })
      if (failure) {
        upstream.cancel()
        refuse(failure)
      } else if (isBegun || length > BEGINNING) {
        settle()
      } else if (isEvent && isFirst) {
        upstream.startIdle()
        patience.due = now() + PATIENCE
        watch(patience)
      }
    }
    upstream.receive({
      data(chunk) {
        got.push(chunk)
        try {
          const block = blocks.push(chunk)
          if (block) judge(block)
        } catch (error) {
          upstream.cancel()
          refuse(asStreamError(error))
        }
      },
      end() {
        const rest = blocks.rest()
        try {
          if (rest) judge(rest)
        } catch (error) {
          refuse(asStreamError(error))
        }
        if (isEmpty) {
          settle()
          return
        }
        const told = isEvent ? undefined : failureInBody(got.take(), binding)
        refuse(told ?? notBegun())
      },
      fail: refuse,
    })
  })
}

const NOT_JSON = Symbol('not JSON')

const notStreamed = (): GatewayError => new GatewayError('upstream', 'The upstream sent a whole answer, but a stream was asked for.')

const notBegun = (): GatewayError => new GatewayError('upstream', 'The upstream ended its answer before it began.')

/** Whether an expression of a format holds for an event that is an object or a list. */
function isTrue(read: ((event: Json) => boolean) | undefined, event: Json): boolean {
  return typeof event === 'object' && event !== null && read?.(event) === true
}

/** The failure that a translated answer without content is, if it is one. */
function failureOfEmpty(blocks: readonly Buffer[], { attempt, rendered }: Awaited): GatewayError | undefined {
  let failure: GatewayError | undefined
  let isOver = false
  const over = (error?: GatewayError): void => {
    if (!isOver) failure = error
    isOver = true
  }
  const nowhere = { events: () => '', fail: () => undefined, end: () => undefined }
  // The next target's usage must not be mixed with that of this answer.
  const log = { status: 0, bytesIn: 0, bytesOut: 0, attempts: 0 }
  try {
    const handler = translating({ attempt, rendered }, nowhere, { write: () => undefined, end: over, fail: over }, log)
    for (const block of blocks) if (!isOver) handler.block(block)
    if (!isOver) handler.bodyEnd()
    return failure
  } catch (error) {
    // Nobody above a deadline, or above the end of a body, takes what is thrown.
    return asStreamError(error)
  }
}

/** The failure of a body that is not a stream, but JSON: an error, or a whole answer. */
function failureInBody(bytes: Buffer, binding: Binding): GatewayError | undefined {
  const text = textOf(bytes)
  const body: Json = jsonOr(text, undefined)
  if (typeof body !== 'object' || body === null) return undefined
  return failureOf(body, text, binding) ?? errorIn(body, binding) ?? (binding.to.answer?.isOne(body) ? notStreamed() : undefined)
}

function failureIn(event: Json, data: string, binding: Binding): GatewayError | undefined {
  if (typeof event !== 'object' || event === null) return undefined
  const normalise = binding.mapping && binding.to.normaliseEvent
  return failureOf(event, data, binding) ?? (normalise && misunderstanding(event, normalise))
}
