// Another dialect, or another framing: events are parsed, reduced and written anew.

import { now } from '../../core/deadlines.js'
import { GatewayError } from '../../core/errors.js'
import type { LogEntry } from '../../core/exchange.js'
import { textOf } from '../../core/text.js'
import { pushEvents } from '../../jsonata/events.js'
import type { Json, State, StreamFormat } from '../../plan.js'
import { failureFrom } from '../../upstream/refusal.js'
import { createEventTemplates } from '../../wire/event-templates.js'
import { keepDigitsAt, mayHold } from '../../wire/json/digits.js'
import { isSentinel } from '../../wire/sse.js'
import type { Outcome } from '../outcome.js'
import { EventWatch, failureOfError, probeOf } from './event-watch.js'
import type { EventHandler, Output } from './handler.js'
import { forEachEvent } from './raw-events.js'
import { cutOff, misunderstanding, notJson } from './stream-errors.js'
import type { EventWriter } from './write.js'

/** `log` takes what the events tell: their usage, and the time of the first token. */
export function translating(
  { attempt, rendered }: Pick<Outcome, 'attempt' | 'rendered'>,
  writer: EventWriter,
  output: Output,
  log: LogEntry = attempt.exchange.log,
): EventHandler {
  const { binding, exchange } = attempt
  const { mapping } = binding
  const format = binding.to.stream as StreamFormat
  const reducer = mapping?.stream
  if (mapping !== undefined && reducer === undefined) throw new GatewayError('not_implemented', 'This model cannot stream on this route.')
  const state: State = reducer ? reducer.start() : {}
  const { ctx, carry } = rendered
  const probe = probeOf(format)
  // A value of another type is converted if its meaning is clear, else it is an error.
  const normalise = mapping && binding.to.normaliseEvent
  binding.templates ??= createEventTemplates(format, normalise)
  const events = binding.templates.reader()
  // Mappings see exact numbers of the application as marked texts, so that their digits survive.
  const verbatim = binding.to.verbatim?.event
  const kept = (block: Buffer): string => (verbatim ? keepDigitsInEvents(block, verbatim) : textOf(block))
  const watch = new EventWatch(binding, log, false)
  const write = (list: readonly string[]): void => {
    const text = writer.events(list)
    if (text !== '') output.write(text)
  }
  const finish = (out: string[]): void => {
    const failure = failureFrom(reducer?.done(state, ctx, carry, out), binding)
    write(out)
    if (failure) output.fail(failure)
    else output.end()
  }
  return {
    block(block) {
      const out: string[] = []
      let isEnd = false
      let failure: GatewayError | undefined
      const isJson = events.read(kept(block), (value, text, isNormal, isError) => {
        if (isError) {
          failure = failureOfError(text as string, binding)
          return true
        }
        if (text !== undefined && isSentinel(text, format.sentinel)) {
          isEnd = true
          return true
        }
        if (typeof value !== 'object' || value === null) return false
        const event = value as Json
        const verdict = text !== undefined && probe.test(text) ? watch.look(event, text) : 'goes on'
        if (verdict === 'failed') {
          failure = watch.failure
          return true
        }
        if (normalise && !isNormal) failure = misunderstanding(event, normalise)
        if (failure) return true
        if (log.firstToken === undefined && format.content?.(event)) log.firstToken = now() - exchange.began
        if (reducer) failure = failureFrom(reducer.event(state, event, ctx, carry, out), binding)
        else pushEvents(out, event, binding.from.stream?.eventLine)
        isEnd = verdict === 'ended'
        return isEnd || failure !== undefined
      })
      if (!isJson) failure = notJson(binding)
      if (failure) {
        write(out)
        output.fail(failure)
      } else if (isEnd) finish(out)
      else if (out.length > 0) write(out)
    },
    bodyEnd() {
      if (watch.isFinished) finish([])
      else output.fail(cutOff())
    },
  }
}

/** A block of events with the digits at some paths kept. */
function keepDigitsInEvents(block: Buffer, paths: readonly (readonly string[])[]): string {
  const text = textOf(block)
  if (!mayHold(text, paths)) return text
  let kept = ''
  forEachEvent(text, (raw, data, isError) => {
    const before = data === undefined || isError ? undefined : Buffer.from(data)
    const after = before && keepDigitsAt(before, paths)
    // Mappings never see the other lines of an event.
    kept += after === before ? raw : `data: ${textOf(after as Buffer)}\n\n`
  })
  return kept
}
