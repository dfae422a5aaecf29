// Calls a second target if the first is slow to begin. The first answer wins; the other call is cancelled, and stays in the
// log and in its target's counts.

import { asGatewayError, GatewayError } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import type { Binding } from '../snapshot/model.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { pause } from './back-off.js'
import { Branch } from './branch.js'
import { failover, noteFailure } from './failover.js'

/**
 * The first result of two fail-overs that share the bindings. The second begins after `after` milliseconds without a
 * result, if a binding is left and the retry budget allows it. Throws the last failure if both fail.
 */
export async function hedge<Result extends { attempt: Attempt }>(
  request: ClientRequest,
  bindings: readonly Binding[],
  after: number,
  attempt: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  const { exchange, choice } = request
  const queue = new Queue(bindings)
  const branches: Branch[] = []
  let failure: unknown
  // The client pays for one of the calls, which must be known before the exchange is over.
  exchange.onAbort(() => {
    const [first, ...others] = branches.filter(({ isOver }) => !isOver)
    if (first === undefined) return
    for (const other of others) giveUp(other, exchange.log)
    take(exchange.log, first.log)
    first.isOver = true
    failure = goneAway()
  })
  const run = async (): Promise<Result> => {
    const branch = new Branch(exchange)
    branches.push(branch)
    const begin = async (one: Attempt): Promise<Result> => {
      branch.attempt = one
      // Another was faster while this one entered its target.
      if (branch.isOver) {
        leave(branch)
        throw goneAway()
      }
      try {
        return await attempt(one)
      } catch (error) {
        branch.attempt = undefined
        throw error
      }
    }
    let result: Result
    try {
      result = await failover({ ...request, exchange: branch }, bindings, begin, queue)
    } catch (error) {
      if (!branch.isOver) {
        branch.isOver = true
        // The last failure is reported as the exchange's own.
        if (branches.some(other => !other.isOver)) noteFailure(branch.log, branch.log.target ?? '', asGatewayError(error))
        take(exchange.log, branch.log)
        failure = error
      }
      throw error
    }
    // Both may answer in one turn of the event loop: the first one counts.
    if (branch.isOver) throw failure
    for (const other of branches) if (other !== branch && !other.isOver) giveUp(other, exchange.log)
    take(exchange.log, branch.log)
    branch.adopt()
    return { ...result, attempt: { ...result.attempt, exchange } }
  }
  const first = run()
  const waiting = new Branch(exchange)
  const isEarly = await Promise.race([first.then(yes, yes), pause(after, waiting)])
  waiting.cancel()
  if (isEarly || queue.isEmpty || exchange.isEnded || choice.model?.retry.budget?.take() === false) return first
  return Promise.any([first, run()]).catch(() => {
    throw failure
  })
}

const yes = (): true => true

const goneAway = (): GatewayError => new GatewayError('upstream', 'The request is not needed any more.')

/** Cancels the calls of a branch. They may still cost something, but only what the faster target did is charged. */
function giveUp(branch: Branch, log: LogEntry): void {
  const { target = '', call, attempts, failed } = branch.log
  branch.cancel()
  leave(branch)
  log.attempts += attempts
  if (failed) log.failed = [...(log.failed ?? []), ...failed]
  log.cancelled ??= []
  log.cancelled.push({ target, ...(call && factsOf(call)) })
}

function leave({ attempt }: Branch): void {
  attempt?.hold?.leave(attempt.binding.target.budgets)
}

/** Copies the log facts of a branch to the exchange. */
function take(log: LogEntry, { attempts, failed, target, upstreamDialect, price, call, usage }: LogEntry): void {
  log.attempts += attempts
  if (failed) log.failed = [...(log.failed ?? []), ...failed]
  Object.assign(log, { target, upstreamDialect, price, call }, usage && { usage })
}

/** Bindings that each go to one fail-over. */
class Queue implements Iterable<Binding> {
  private at = 0

  constructor(private readonly bindings: readonly Binding[]) {}

  get isEmpty(): boolean {
    return this.at >= this.bindings.length
  }

  *[Symbol.iterator](): Generator<Binding> {
    while (this.at < this.bindings.length) yield this.bindings[this.at++] as Binding
  }
}
