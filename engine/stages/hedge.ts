// A second target is asked where the first takes too long to begin. Who is first answers; the other call is cancelled, and
// stays in the log and in the counts of its target.

import { asGatewayError } from '../core/errors.js'
import type { LogEntry } from '../core/exchange.js'
import { factsOf } from '../core/log.js'
import type { Binding } from '../snapshot/model.js'
import type { Attempt, ClientRequest } from './attempt.js'
import { pause } from './back-off.js'
import { Branch } from './branch.js'
import { failover, noteFailure } from './failover.js'

/**
 * The first result of two fail-overs that share the bindings: the second one begins after so many milliseconds without a result,
 * where a binding is left and the budget allows it. Throws the last failure where both fail.
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
  const run = async (): Promise<Result> => {
    const branch = new Branch(exchange)
    branches.push(branch)
    let result: Result
    try {
      result = await failover({ ...request, exchange: branch }, bindings, attempt, queue)
    } catch (error) {
      if (!branch.isOver) {
        branch.isOver = true
        // What the last one failed of is told of the exchange itself.
        if (branches.some(other => !other.isOver)) noteFailure(branch.log, branch.log.target ?? '', asGatewayError(error))
        take(exchange.log, branch.log)
        failure = error
      }
      throw error
    }
    // Two may come in one turn: the first one counts.
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
  if (isEarly || queue.isEmpty || exchange.isAborted || choice.model?.retry.budget?.take() === false) return first
  return Promise.any([first, run()]).catch(() => {
    throw failure
  })
}

const yes = (): true => true

/** Cancels what a branch has asked: it may cost something all the same. */
function giveUp(branch: Branch, log: LogEntry): void {
  const { target = '', call, attempts, failed } = branch.log
  branch.cancel()
  log.attempts += attempts
  if (failed) log.failed = [...(log.failed ?? []), ...failed]
  log.cancelled ??= []
  log.cancelled.push({ target, ...(call && factsOf(call)) })
}

/** What a branch found out is what there is to be said of the exchange. */
function take(log: LogEntry, { attempts, failed, target, upstreamDialect, price, call, usage }: LogEntry): void {
  log.attempts += attempts
  if (failed) log.failed = [...(log.failed ?? []), ...failed]
  Object.assign(log, { target, upstreamDialect, price, call }, usage && { usage })
}

/** Bindings, each for one taker. */
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
