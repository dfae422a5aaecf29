// Same dialect, same framing: whole events pass unchanged. An event is parsed only if it holds a marker, or may not be
// JSON.

import { now } from '../../core/deadlines.js'
import { GatewayError } from '../../core/errors.js'
import type { LogEntry } from '../../core/exchange.js'
import type { Json, StreamFormat } from '../../plan.js'
import { jsonOr } from '../../wire/json/parse.js'
import { sureEvents } from '../../wire/json/well-formed.js'
import { endOfBytes, isSentinel, parseBlock } from '../../wire/sse.js'
import type { Outcome } from '../outcome.js'
import { allMarkersOf, EventWatch, failureOfError } from './event-watch.js'
import type { EventHandler, Output } from './handler.js'
import { forEachEvent } from './raw-events.js'
import { cutOff, notJson } from './stream-errors.js'

/** Scans of one block. Behind the last one, every event is parsed. */
const MOST_SCANS = 4

/** `lineEnd` is the provider's. */
export function passing({ attempt, rendered }: Outcome, lineEnd: string, output: Output): EventHandler {
  const { binding, exchange } = attempt
  const { log } = exchange
  const format = binding.to.stream as StreamFormat
  const markers = allMarkersOf(format)
  const watch = new EventWatch(binding, log, rendered.isAsked)
  /**
   * Inspects each event; events that the client did not ask for are left out. Returns whether the stream is over.
   * @param behind what came together with the events, and is not inspected yet
   */
  const inspect = (block: Buffer, behind: Buffer): boolean => {
    let isEnd = false
    let isWhole = true
    let failure: GatewayError | undefined
    const kept: string[] = []
    let rest = ''
    forEachEvent(block.toString('utf8'), (raw, data, isError) => {
      if (isEnd || failure) {
        isWhole = false
        rest += raw
        return
      }
      if (data === undefined) {
        kept.push(raw)
        return
      }
      if (isError) {
        failure = failureOfError(data, binding)
        return
      }
      if (isSentinel(data, format.sentinel)) {
        isEnd = true
        kept.push(raw)
        return
      }
      if (isSentinel(data, format.trailer)) {
        isEnd = watch.isFinished
        if (isEnd) kept.push(raw)
        else failure = cutOff()
        return
      }
      let event: Json
      try {
        event = JSON.parse(data)
      } catch {
        failure = notJson(binding)
        return
      }
      const verdict = typeof event === 'object' && event !== null ? watch.look(event, data) : 'goes on'
      if (verdict === 'failed') failure = watch.failure
      else if (verdict === 'unasked') isWhole = false
      else {
        isEnd = verdict === 'ended'
        kept.push(raw)
      }
    })
    if (isWhole && !failure) output.write(block)
    else if (kept.length > 0) output.write(kept.join(''))
    if (failure) output.fail(withAnswer(failure, rest + behind.toString('utf8')))
    else if (isEnd) output.end()
    return isEnd || failure !== undefined
  }
  /** A failure with the event that tells most of it: some providers send an error, and then the answer that has failed. */
  const withAnswer = (failure: GatewayError, behind: string): GatewayError => {
    let { event } = failure.more
    if (event === undefined) return failure
    forEachEvent(behind, (_raw, data) => {
      const later: Json = data === undefined ? undefined : jsonOr(data, undefined)
      if (typeof later !== 'object' || later === null || watch.look(later, data as string) !== 'failed') return
      event = watch.failure?.more.event ?? event
    })
    return new GatewayError(failure.kind, failure.message, { ...failure.more, event })
  }
  return {
    block(block) {
      if (format.content && log.firstToken === undefined) noteFirstToken(block, format, exchange)
      const part = (from: number, to: number): Buffer => (from === 0 && to === block.length ? block : block.subarray(from, to))
      for (let at = 0, scans = 1; at < block.length; scans++) {
        const sure = at + sureEvents(part(at, block.length), markers)
        if (sure > at) output.write(part(at, sure))
        // Some providers report usage in every event: then no further scan would find any that passes.
        const isLast = scans === MOST_SCANS || (sure === at && scans > 1)
        at = isLast ? block.length : endOfBytes(block, sure)
        if (at > sure && inspect(part(sure, at), part(at, block.length))) return
      }
    },
    bodyEnd() {
      if (!watch.isFinished) {
        output.fail(cutOff())
        return
      }
      // The provider proved the end in its own way, without the sentinel that clients wait for.
      if (format.sentinel !== undefined) output.write(`data: ${format.sentinel}${lineEnd}${lineEnd}`)
      output.end()
    },
  }
}

function noteFirstToken(block: Buffer, format: StreamFormat, exchange: { log: LogEntry; began: number }): void {
  parseBlock(block, data => {
    if (isSentinel(data, format.sentinel)) return false
    try {
      const event: Json = JSON.parse(data)
      if (typeof event === 'object' && event !== null && format.content?.(event)) exchange.log.firstToken = now() - exchange.began
    } catch {
      // Another stage judges what is not JSON.
    }
    return exchange.log.firstToken !== undefined
  })
}
