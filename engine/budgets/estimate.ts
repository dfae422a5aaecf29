// Estimates the usage of an exchange whose provider did not report it: the client went away, or the stream was cut.

import { GONE, type Held, type LogEntry } from '../core/exchange.js'
import { hasRare, markRare } from '../core/meters.js'
import type { Usage } from '../plan.js'
import { TokenCounter } from './token-counter.js'

/** Whether an exchange may have cost more than its usage says. */
export function isUnreported({ usage, isPartial, status, attempts }: LogEntry): boolean {
  if (usage !== undefined) return isPartial === true
  // A failure before the answer began costs nothing, except that a client which went away may have cost something.
  return attempts > 0 && (status < 400 || status === GONE)
}

/** The reported figures, completed by estimates of the tokens. */
export function estimated(usage: Usage | undefined, input: number, output: number): Usage {
  const all = { ...usage, input: usage?.input ?? input, output: Math.max(usage?.output ?? 0, output) }
  if (usage !== undefined && hasRare(usage)) markRare(all)
  return all
}

/** The estimate of an exchange without a budget, for the ledger. */
export class Estimate implements Held {
  readonly purse = undefined
  private counter: TokenCounter | undefined

  /**
   * @param input tokens of the request
   * @param isStream whether the answer streams: a whole answer without a usage stays unknown
   */
  constructor(
    private readonly input: number,
    private readonly isStream: boolean,
  ) {}

  note(block: Buffer): void {
    this.counter ??= new TokenCounter()
    this.counter.count(block)
  }

  usage(log: LogEntry): Usage | undefined {
    const isUnknown = !this.isStream && log.status < 400
    return isUnknown || !isUnreported(log) ? log.usage : estimated(log.usage, this.input, this.counter?.total() ?? 0)
  }
}
