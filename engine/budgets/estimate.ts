// Estimates the usage of an exchange whose provider did not report it: the client went away, the stream was cut, or a figure is
// missing.

import { GONE, type Held, type LogEntry } from '../core/exchange.js'
import { hasRare, markRare } from '../core/meters.js'
import type { Usage } from '../plan.js'
import { TokenCounter } from './token-counter.js'

/**
 * Whether an exchange may have cost more than its usage says.
 * @param isText whether the answer is text, whose usage has both counts of tokens
 */
export function isUnreported({ usage, isPartial, status, attempts }: LogEntry, isText: boolean): boolean {
  if (usage !== undefined) return isPartial === true || (isText && (usage.input === undefined || usage.output === undefined))
  // A failure before the answer began costs nothing, except that a client which went away may have cost something.
  return attempts > 0 && (status < 400 || status === GONE)
}

/** The reported figures, completed by estimates of the tokens. A report in the middle of a stream may be too low. */
export function estimated({ usage, isPartial }: LogEntry, input: number, output: number): Usage {
  const reported = usage?.output ?? 0
  const isFinal = usage?.output !== undefined && isPartial !== true
  const all = { ...usage, input: usage?.input ?? input, output: isFinal ? reported : Math.max(reported, output) }
  if (usage !== undefined && hasRare(usage)) markRare(all)
  return all
}

/** The estimate of an exchange without a budget, for the ledger. */
export class Estimate implements Held {
  readonly purse = undefined
  private counter: TokenCounter | undefined

  /**
   * @param input tokens of the request
   * @param isStream whether the answer streams: a whole text without a usage stays unknown
   * @param isText whether the answer is text; else the tokens of the request are all
   */
  constructor(
    private readonly input: number,
    private readonly isStream: boolean,
    private readonly isText: boolean,
  ) {}

  note(block: Buffer): void {
    this.counter ??= new TokenCounter()
    this.counter.count(block)
  }

  usage(log: LogEntry): Usage | undefined {
    // Without events, a recording shows nothing of its transcript.
    const isUnknown = this.isText ? !this.isStream && log.status < 400 : this.input === 0 && this.counter === undefined
    return isUnknown || !isUnreported(log, this.isText) ? log.usage : estimated(log, this.input, this.counter?.total() ?? 0)
  }
}
