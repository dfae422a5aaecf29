// Retries, health and routing in gateway.yaml → the engine's form.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import type { ConcurrencyConfig } from '../../engine/balance/concurrency.js'
import type { HealthConfig } from '../../engine/balance/health.js'
import { duration } from '../../engine/core/durations.js'
import type { RetryConfig, RoutingConfig } from '../../engine/snapshot/config.js'
import type { GatewayData, GatewayModel, GatewayUpstream } from '../../schemas/config/types.js'
import type { Find } from './find.js'

/** A practical infinity: messages between processes cannot carry Infinity. */
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

export function routingOf({ retry, hedge, choose, sticky, mirror }: GatewayModel): RoutingConfig {
  return {
    retry: retryOf(retry),
    choose,
    ...(hedge && { hedgeAfter: time(hedge.after) }),
    ...(sticky && { sticky: { by: sticky.by, lasts: time(sticky.for) } }),
    ...(mirror && { mirror: { ...mirror.to, share: Number.parseFloat(mirror.share) / 100, most: mirror.max_requests } }),
  }
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

/** Checks the health settings of an upstream beyond the grammar. */
export function checkHealth(written: GatewayUpstream['health'], pointer: Pointer, find: Find): void {
  if (time(written.base_ejection_time) > time(written.max_ejection_time))
    find(
      [...pointer, 'base_ejection_time'],
      'upstream/ejection',
      `base_ejection_time ${written.base_ejection_time} is longer than max_ejection_time ${written.max_ejection_time}`,
      'make max_ejection_time longer, or base_ejection_time shorter',
    )
}

/** Checks the routing settings of a model beyond the grammar. */
export function checkRouting(name: string, { retry, mirror, targets, list }: GatewayModel, upstreams: readonly string[], find: Find): void {
  const here: Pointer = ['models', name]
  const { base_interval: base, max_interval: most } = retry.back_off
  if (time(base) > time(most))
    find(
      [...here, 'retry', 'back_off', 'base_interval'],
      'model/back-off',
      `base_interval ${base} is longer than max_interval ${most}`,
      'make max_interval longer, or base_interval shorter',
    )
  if (mirror && !upstreams.includes(mirror.to.upstream))
    find(
      [...here, 'mirror', 'to', 'upstream'],
      'names/upstream',
      `there is no upstream ${mirror.to.upstream}`,
      useOneOf(upstreams, mirror.to.upstream),
    )
  if (name.includes('*')) return
  targets.forEach(({ model }, index) => {
    if (model?.includes('*'))
      find(
        [...here, 'targets', index, 'model'],
        'model/pattern',
        `the name ${name} has no * for ${model}`,
        `name the model, or call this one ${name}/*`,
      )
  })
  if (list) find([...here, 'list'], 'model/pattern', `the name ${name} has no * for a list`, 'remove the list, or put a * into the name')
}

/** Reports names that match no model, or two. `listed` are the models that upstreams list. */
export function checkNames(file: GatewayData, listed: Readonly<Record<string, unknown>>, find: Find): void {
  const owners = new Map<string, string>([...Object.keys(listed), ...Object.keys(file.models)].map(name => [name, name]))
  for (const [name, { aliases }] of Object.entries(file.models)) {
    aliases.forEach((alias, index) => {
      const owner = owners.get(alias)
      const pointer: Pointer = ['models', name, 'aliases', index]
      if (name.includes('*'))
        find(
          pointer,
          'model/alias',
          `${name} matches many models, so it cannot have the alias ${alias}`,
          'give the alias to a model of its own',
        )
      else if (owner !== undefined)
        find(pointer, 'model/alias', `${alias} is already a name of ${owner}`, 'choose another alias, or remove it')
      owners.set(alias, name)
    })
  }
  const { default_model: wanted } = file
  if (wanted === undefined || owners.has(wanted)) return
  const fits = [...owners.keys()].some(name => {
    const [before, after] = name.split('*')
    return after !== undefined && wanted.startsWith(before as string) && wanted.endsWith(after)
  })
  if (!fits) find(['default_model'], 'model/default', `there is no model ${wanted}`, useOneOf(owners.keys(), wanted))
}
