// Patterns with `list: account`: the provider is asked for its models when a configuration is taken and periodically, apart
// from all requests. While a provider is away its last list stays; before its first answer the provider file's list is
// used.

import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { ProviderPlan } from '../engine/plan.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { type Answer, askModels } from './account.js'

/** Milliseconds between two requests. */
const EVERY = 600_000
/** The most names of one account. */
const MOST = 5_000
/** What may be the name of a model, for the grammar and for clients. */
const NAME = /^[^\s*\x00-\x1f]{1,256}$/

/** The models of accounts, by upstream. */
export type Lists = ReadonlyMap<string, readonly string[]>

/** The upstreams whose account lists a configuration uses. */
export function upstreamsWithLists({ models }: Pick<GatewayConfig, 'models'>): string[] {
  const upstreams = Object.values(models).flatMap(({ list, targets }) => (list === 'account' ? [targets[0]?.upstream ?? ''] : []))
  return [...new Set(upstreams)]
}

/** A configuration with every known account list written out. */
export function withLists(gateway: GatewayConfig, lists: Lists): GatewayConfig {
  if (lists.size === 0) return gateway
  const models = Object.entries(gateway.models).map(([name, model]): [string, GatewayConfig['models'][string]] => {
    const known = model.list === 'account' ? lists.get(model.targets[0]?.upstream ?? '') : undefined
    return [name, known ? { ...model, list: known } : model]
  })
  return { ...gateway, models: Object.fromEntries(models) }
}

/** What is needed to ask: the configuration, the providers, and the linked accounts. */
export interface Asked {
  gateway: GatewayConfig
  providers: Readonly<Record<string, ProviderPlan>>
  accounts(): Snapshot['accounts']
}

/** Asks one upstream for the models of its account; the names are sorted. */
export async function askAccount(upstream: string, { gateway, providers, accounts }: Asked): Promise<Answer> {
  const target = accounts().get(upstream)
  const path = target && providers[target.provider.name]?.modelsPath
  const base = gateway.upstreams[upstream]?.base ?? target?.provider.base
  if (target === undefined || path === undefined || base === undefined)
    return { rule: 'online/not-found', detail: `${upstream} has no list of models`, remedy: 'list the names' }
  const answer = await askModels(target, new URL(base), path)
  if ('rule' in answer) return answer
  const names = [...new Set(answer.names.filter(name => NAME.test(name)))].sort()
  return { names: names.slice(0, MOST), isPart: answer.isPart || names.length > MOST }
}

/** The account lists of a process, which survive reloads. */
export class AccountLists {
  readonly lists = new Map<string, readonly string[]>()
  private timer: NodeJS.Timeout | undefined
  /** Counts configurations: an answer for an older one is ignored. */
  private turn = 0
  private readonly silent = new Set<string>()

  constructor(
    private readonly log: Logger,
    private readonly every = EVERY,
  ) {}

  /**
   * Asks for the lists of a configuration, now and periodically; `changed` is called after each answer with a new list.
   * Returns at once.
   */
  follow(asked: Asked, changed: () => void): void {
    clearInterval(this.timer)
    const turn = ++this.turn
    const upstreams = upstreamsWithLists(asked.gateway)
    for (const name of this.lists.keys()) if (!upstreams.includes(name)) this.lists.delete(name)
    if (upstreams.length === 0) return
    let isAsking = false
    const ask = async (): Promise<void> => {
      // A slow provider is not asked again meanwhile: its news would be reported twice.
      if (isAsking) return
      isAsking = true
      const before = new Map(this.lists)
      try {
        await Promise.all(upstreams.map(async upstream => this.hear(upstream, await askAccount(upstream, asked))))
      } finally {
        isAsking = false
      }
      if (turn === this.turn && !isDeepStrictEqual(before, this.lists)) changed()
    }
    void ask()
    this.timer = setInterval(() => void ask(), this.every)
    this.timer.unref()
  }

  private hear(upstream: string, answer: Answer): void {
    if ('names' in answer) {
      this.lists.set(upstream, answer.names)
      if (answer.isPart) this.log.warn({ upstream, models: answer.names.length }, 'the account has more models than lists show')
      if (this.silent.delete(upstream)) this.log.info({ upstream }, "the account's list of models is available again")
    } else if (!this.silent.has(upstream)) {
      this.silent.add(upstream)
      this.log.warn(
        { upstream, rule: answer.rule, cause: answer.detail },
        "the account's list of models is not available; the last one stays in use",
      )
    }
  }

  close(): void {
    this.turn++
    clearInterval(this.timer)
  }
}
