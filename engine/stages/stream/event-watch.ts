// Finds the events of a provider that report a failure, usage, the finish or the end. The one place for streams that pass
// and streams that are translated. An event is inspected only if its text holds a marker of its dialect.

import type { GatewayError } from '../../core/errors.js'
import type { LogEntry } from '../../core/exchange.js'
import { asPattern } from '../../core/text.js'
import { addUsage, mergeUsage, readUsage } from '../../core/usage.js'
import type { Json, StreamFormat, Watch } from '../../plan.js'
import type { Binding } from '../../snapshot/model.js'
import { errorFrom, statusOfWord } from '../../upstream/refusal.js'
import { markersOf } from '../../wire/event-templates.js'
import { isTooDeep } from '../../wire/json/depth.js'
import { jsonOr } from '../../wire/json/parse.js'

/** The failure that an event reports, if it does. */
export function failureOf(event: Json, text: string, binding: Binding): GatewayError | undefined {
  const fail = binding.to.stream?.fail
  if (!fail || !has(text, fail) || !fail.read(event)) return undefined
  const read = binding.to.error.read(event, undefined)
  // What is nested too deep could not be written again.
  return errorFrom(read, statusOfWord(read, binding.to), binding, undefined, isTooDeep(event, text.length) ? undefined : event)
}

/** The failure that an event is by its lines: what the dialect reads of it, or its data as it is. */
export function failureOfError(data: string, binding: Binding): GatewayError {
  const event: Json = jsonOr(data, undefined)
  const isObject = typeof event === 'object' && event !== null
  const known = isObject ? failureOf(event, data, binding) : undefined
  if (known) return known
  const read = isObject ? binding.to.error.read(event, undefined) : undefined
  return errorFrom(typeof read?.message === 'string' ? read : { message: data }, statusOfWord(read, binding.to), binding)
}

/** Whether the answer is complete after an event. */
export function finishes(event: Json, text: string, { finish }: StreamFormat): boolean {
  return finish !== undefined && has(text, finish) && finish.read(event)
}

/** What an event means: the stream continues, has failed, has ended, or the client did not ask for the event. */
export type Verdict = 'goes on' | 'failed' | 'ended' | 'unasked'

/** Watches the events of one stream. */
export class EventWatch {
  /** The answer is complete, but its end may still follow. */
  isFinished = false
  /** Set together with the verdict `failed`. */
  failure: GatewayError | undefined
  private readonly format: StreamFormat

  /** `isAsked`: the gateway asked for usage events, and the client did not. */
  constructor(
    private readonly binding: Binding,
    private readonly log: LogEntry,
    private readonly isAsked: boolean,
  ) {
    this.format = binding.to.stream as StreamFormat
  }

  /** Inspects an event whose text holds a marker. */
  look(event: Json, text: string): Verdict {
    const { format, log } = this
    const { usage: watched } = format
    const tellsUsage = watched !== undefined && has(text, watched)
    if (tellsUsage) {
      const report = readUsage(watched.read, event)
      if (watched.adds) addUsage(log, report)
      else {
        const usage = mergeUsage(log.usage, report)
        if (usage) log.usage = usage
      }
    }
    this.failure = failureOf(event, text, this.binding)
    if (this.failure) return 'failed'
    if (tellsUsage && this.isAsked && format.ask?.unasked(event)) return 'unasked'
    if (finishes(event, text, format)) this.isFinished = true
    return format.end && has(text, format.end) && format.end.read(event) ? 'ended' : 'goes on'
  }
}

function has(text: string, watched: Watch<unknown>): boolean {
  for (let index = 0; index < watched.markers.length; index++) if (text.includes(watched.markers[index] as string)) return true
  return false
}

const probes = new WeakMap<StreamFormat, RegExp>()

/** One pattern for all markers of a format: one pass over a block instead of one for each marker. */
export function probeOf(format: StreamFormat): RegExp {
  let probe = probes.get(format)
  if (probe === undefined) {
    probe = new RegExp(allMarkersOf(format).map(asPattern).join('|'))
    probes.set(format, probe)
  }
  return probe
}

const markers = new WeakMap<StreamFormat, readonly string[]>()

/** The texts of which an event that has to be inspected holds one; the same list each time. */
export function allMarkersOf(format: StreamFormat): readonly string[] {
  let all = markers.get(format)
  if (all === undefined) {
    all = [...markersOf(format), ...(format.sentinel === undefined ? [] : [format.sentinel])]
    markers.set(format, all)
  }
  return all
}
