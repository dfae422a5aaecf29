// Upstreams in gateway.yaml.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { PlanFacts } from '../../engine/plan.js'
import type { UpstreamConfig } from '../../engine/snapshot/config.js'
import type { GatewayData, GatewayUpstream } from '../../schemas/config/types.js'
import type { BudgetReader } from './budgets.js'
import type { Find } from './find.js'
import { limitsOf } from './limits.js'
import { checkRateLimits, rateLimitsOf } from './rate-limits.js'
import { checkHealth, concurrencyOf, healthOf } from './routing.js'
import type { ReadSecret } from './secret.js'

/** In place of a secret: callers send their own credential. */
const CALLER = 'caller'

/** The meaning of `pass_headers: true`: the providers' headers about the account's rate limits. */
const RATE_LIMITS = ['*-ratelimit-*', 'ratelimit', 'ratelimit-*']

/** The upstreams of a configuration, by name, without those whose provider does not exist. `otherProviders` are those of an overlay that does not compile. */
export function upstreamsOf(
  file: GatewayData,
  plan: PlanFacts,
  secret: ReadSecret,
  budgets: BudgetReader,
  find: Find,
  otherProviders: ReadonlySet<string> = new Set(),
): Record<string, UpstreamConfig> {
  const upstreams: Record<string, UpstreamConfig> = Object.create(null)
  for (const [name, upstream] of Object.entries(file.upstreams)) {
    if (!Object.hasOwn(plan.providers, upstream.provider)) {
      if (!otherProviders.has(upstream.provider))
        find(
          ['upstreams', name, 'provider'],
          'names/provider',
          `there is no provider ${upstream.provider}`,
          useOneOf([...Object.keys(plan.providers), ...otherProviders], upstream.provider),
        )
      continue
    }
    checkUpstream(name, upstream, plan, find)
    upstreams[name] = upstreamOf(name, upstream, secret, budgets)
  }
  return upstreams
}

function checkUpstream(name: string, upstream: GatewayUpstream, { providers }: PlanFacts, find: Find): void {
  const provider = providers[upstream.provider]
  if (upstream.base !== undefined && !URL.canParse(upstream.base))
    find(['upstreams', name, 'base'], 'upstream/base', 'the value is not a URL', 'write one such as http://127.0.0.1:11434')
  if (upstream.base === undefined && provider?.base === undefined)
    find(
      ['upstreams', name],
      'upstream/base',
      `${upstream.provider} has an address for each account, but this upstream has none`,
      'give it the base: of your own account',
    )
  checkRateLimits(upstream.limits, ['upstreams', name, 'limits'], find)
  checkHealth(upstream.health, ['upstreams', name, 'health'], find)
  const { jwt, header } = provider?.credential ?? {}
  if (upstream.secret === CALLER && (jwt || header === undefined))
    find(
      ['upstreams', name, 'secret'],
      'upstream/caller',
      `${upstream.provider} does not accept a caller's credential`,
      'give the upstream its own secret',
    )
}

function upstreamOf(name: string, upstream: GatewayUpstream, secret: ReadSecret, budgets: BudgetReader): UpstreamConfig {
  const rateLimits = rateLimitsOf(upstream.limits)
  const deadlines = limitsOf(upstream.limits)
  const isCallers = upstream.secret === CALLER
  const value = upstream.secret === 'none' || isCallers ? undefined : secret(upstream.secret, ['upstreams', name, 'secret'])
  return {
    provider: upstream.provider,
    ...(value !== undefined && { secret: value }),
    ...(isCallers && { isCallers }),
    ...(upstream.base !== undefined && { base: upstream.base }),
    ...(Object.keys(upstream.headers).length > 0 && { headers: upstream.headers }),
    ...(Object.keys(deadlines).length > 0 && { limits: deadlines }),
    ...(rateLimits && { rateLimits }),
    ...(upstream.pass_headers && { passHeaders: upstream.pass_headers === true ? RATE_LIMITS : upstream.pass_headers }),
    ...(upstream.shared && { isShared: true }),
    ...(upstream.times !== 1 && { times: upstream.times }),
    ...(upstream.budget !== undefined && { budgets: budgets.read(upstream.budget, ['upstreams', name, 'budget']) ?? [] }),
    health: healthOf(upstream.health),
    ...(upstream.concurrency && { concurrency: concurrencyOf(upstream.concurrency) }),
  }
}
