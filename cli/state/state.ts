// The counters of limits: of this process alone, of the supervisor for all workers, or of a Redis for all instances.

import type { Logger } from 'pino'
import { now } from '../../engine/core/deadlines.js'
import { Sharing } from '../../engine/limits/shared.js'
import { type Counted, countedAnew } from '../../engine/snapshot/snapshot.js'
import { type LimitAnswer, type LimitQuestion, SupervisedCounter } from './workers.js'

/** Milliseconds that a start waits for Redis, so that the first requests count there. */
const PATIENCE = 1_000

export interface State extends Counted {
  /** The configured address of the shared state; undefined: limits are not shared. */
  at: string | undefined
  /** Logs when it counts alone, and together again; an earlier change is logged at once. */
  report(log: Logger): void
  close(): Promise<void>
}

/** @param isWorker whether a supervisor started this process, and counts for its workers */
export async function openState(at: string | undefined, isWorker = false): Promise<State> {
  if (at !== undefined) return openRedis(at)
  return isWorker ? openSupervised() : { at, ...countedAnew(), report: () => undefined, close: async () => undefined }
}

async function openRedis(at: string): Promise<State> {
  const reports = new Reports('the shared state of limits is away; each process counts its own part', 'limits are shared again')
  // Its client is large, so it is loaded only if limits are shared.
  const { RedisCounter } = await import('./redis.js')
  const counter = new RedisCounter(at)
  const sharing = new Sharing(counter, reports, now)
  await counter.ready(PATIENCE)
  await counter.probe().catch(error => sharing.failed(error))
  sharing.start()
  return {
    at,
    ...countedAnew(sharing),
    report: log => reports.to(log),
    async close() {
      sharing.close()
      await counter.close()
    },
  }
}

/** The messages of a worker on the channel to its supervisor. */
export type ToSupervisor = { limits: LimitQuestion }
export type FromSupervisor = { limits: LimitAnswer }

function openSupervised(): State {
  const reports = new Reports(
    'the process that counts limits does not answer; this one counts its own part',
    'limits are counted together again',
  )
  const counter = new SupervisedCounter(question => process.send?.({ limits: question } satisfies ToSupervisor, () => undefined))
  const hear = (message: Partial<FromSupervisor>): void => {
    if (message.limits !== undefined) counter.answered(message.limits)
  }
  process.on('message', hear)
  const sharing = new Sharing(counter, reports, now)
  sharing.start()
  return {
    at: undefined,
    ...countedAnew(sharing),
    report: log => reports.to(log),
    async close() {
      sharing.close()
      process.off('message', hear)
    },
  }
}

/** Logs one line each time that the counter goes away, and comes back. */
class Reports {
  private log: Logger | undefined
  private error: unknown
  private isAway = false

  constructor(
    private readonly isGone: string,
    private readonly isBack: string,
  ) {}

  to(log: Logger): void {
    this.log = log
    if (this.isAway) this.away(this.error)
  }

  away(error: unknown): void {
    this.isAway = true
    this.error = error
    // The address may contain a password; the client's errors name only the host.
    this.log?.warn({ cause: error instanceof Error ? error.message : String(error) }, this.isGone)
  }

  back(): void {
    this.isAway = false
    this.log?.info(this.isBack)
  }
}
