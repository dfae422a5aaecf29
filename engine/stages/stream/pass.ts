// Same dialect, same framing: whole events pass unchanged. An event is parsed only if it holds a marker, or may not be
// JSON.

import { now } from '../../core/deadlines.js'
import type { GatewayError } from '../../core/errors.js'
import type { LogEntry } from '../../core/exchange.js'
import type { Json, StreamFormat } from '../../plan.js'
import { areSurelyEvents } from '../../wire/json/well-formed.js'
import { parseBlock } from '../../wire/sse.js'
import type { Outcome } from '../outcome.js'
import { allMarkersOf, EventWatch } from './event-watch.js'
import type { EventHandler, Output } from './handler.js'
import { forEachEvent } from './raw-events.js'
import { cutOff, notJson } from './stream-errors.js'

/** `lineEnd` is the provider's. */
export function passing({ attempt, rendered }: Outcome, lineEnd: string, output: Output): EventHandler {
  const { binding, exchange } = attempt
  const { log } = exchange
  const format = binding.to.stream as StreamFormat
  const markers = allMarkersOf(format)
  const watch = new EventWatch(binding, log, rendered.isAsked)
  /** Inspects each event of a block; events that the client did not ask for are left out. */
  const inspect = (text: string, block: Buffer): void => {
    let isEnd = false
    let isWhole = true
    let failure: GatewayError | undefined
    const kept: string[] = []
    forEachEvent(text, (raw, data) => {
      if (isEnd || failure) return
      if (data === undefined) {
        kept.push(raw)
        return
      }
      if (data === format.sentinel) {
        isEnd = true
        kept.push(raw)
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
    if (!failure && isWhole && !isEnd) output.write(block)
    else if (kept.length > 0) output.write(kept.join(''))
    if (failure) output.fail(failure)
    else if (isEnd) output.end()
  }
  return {
    block(block) {
      if (format.content && log.firstToken === undefined) noteFirstToken(block, format, exchange)
      if (areSurelyEvents(block, markers)) output.write(block)
      else inspect(block.toString('utf8'), block)
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
    if (data === format.sentinel) return false
    try {
      const event: Json = JSON.parse(data)
      if (typeof event === 'object' && event !== null && format.content?.(event)) exchange.log.firstToken = now() - exchange.began
    } catch {
      // Another stage judges what is not JSON.
    }
    return exchange.log.firstToken !== undefined
  })
}
