// How requests are given to targets, as it is written in gateway.yaml → as the engine takes it.

import { duration } from '../codegen/read/units.js'
import type { ConcurrencyConfig } from '../engine/balance/concurrency.js'
import type { HealthConfig } from '../engine/balance/health.js'
import type { RetryConfig, RoutingConfig } from '../engine/snapshot/config.js'
import type { GatewayModel, GatewayUpstream } from '../schemas/config/types.js'

/** More than can be reached: what is handed from one process to another cannot say infinite. */
const NEVER = Number.MAX_SAFE_INTEGER

const time = (text: string): number => duration(text) as number

export function healthOf(written: GatewayUpstream['health']): HealthConfig {
  const orNever = (value: number | string): number => (typeof value === 'number' ? value : NEVER)
  return {
    consecutiveFailures: orNever(written.consecutive_failures),
    failurePercentage: orNever(written.failure_percentage_threshold),
    requestVolume: written.failure_percentage_request_volume,
    interval: time(written.interval),
    baseEjection: time(written.base_ejection_time),
    maxEjection: time(written.max_ejection_time),
    trials: written.trial_requests,
    slowStart: written.slow_start_window === undefined ? 0 : time(written.slow_start_window),
  }
}

export function concurrencyOf(written: NonNullable<GatewayUpstream['concurrency']>): ConcurrencyConfig {
  return {
    maxRequests: written.max_requests,
    maxPending: written.max_pending_requests,
    pendingTimeout: time(written.pending_timeout),
  }
}

export function routingOf({ retry, hedge }: GatewayModel): RoutingConfig {
  return { retry: retryOf(retry), ...(hedge && { hedgeAfter: time(hedge.after) }) }
}

function retryOf({ on, attempts, back_off, budget }: GatewayModel['retry']): RetryConfig {
  return {
    on,
    ...(attempts !== undefined && { attempts }),
    baseInterval: time(back_off.base_interval),
    maxInterval: time(back_off.max_interval),
    ...(typeof budget === 'object' && { budget: { percent: budget.percent, minPerSecond: budget.min_per_second } }),
  }
}
