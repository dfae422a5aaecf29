// Patterns whose list is that of the provider's account (`list: account`): asked for when a configuration is taken and from time
// to time, beside all requests. While a provider is away, what it said last stays; before its first answer, the list is that of
// the provider's file.

import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { ProviderPlan } from '../engine/plan.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import type { Snapshot } from '../engine/snapshot/model.js'
import { type Answer, askModels } from './account.js'

/** Milliseconds between two questions. */
const EVERY = 600_000
/** How many names of one account are listed. */
const MOST = 5_000
/** What may be the name of a model: what grammar and clients take. */
const NAME = /^[^\s*\x00-\x1f]{1,256}$/

/** The names that accounts list, by upstream. */
export type Lists = ReadonlyMap<string, readonly string[]>

/** The upstreams that a file takes the lists of patterns from. */
export function askedUpstreams({ models }: Pick<GatewayConfig, 'models'>): string[] {
  const upstreams = Object.values(models).flatMap(({ list, targets }) => (list === 'account' ? [targets[0]?.upstream ?? ''] : []))
  return [...new Set(upstreams)]
}

/** A configuration in which every list of an account that is known is written out. */
export function withLists(gateway: GatewayConfig, lists: Lists): GatewayConfig {
  if (lists.size === 0) return gateway
  const models = Object.entries(gateway.models).map(([name, model]): [string, GatewayConfig['models'][string]] => {
    const known = model.list === 'account' ? lists.get(model.targets[0]?.upstream ?? '') : undefined
    return [name, known ? { ...model, list: known } : model]
  })
  return { ...gateway, models: Object.fromEntries(models) }
}

/** Whom to ask: the file, what is known of providers, and the accounts that are served with. */
export interface Asked {
  gateway: GatewayConfig
  providers: Readonly<Record<string, ProviderPlan>>
  accounts(): Snapshot['accounts']
}

/** Asks one upstream for what its account may use, in the order of the names. */
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

/** What a process knows of accounts, whatever is reloaded. */
export class AccountLists {
  readonly lists = new Map<string, readonly string[]>()
  private timer: NodeJS.Timeout | undefined
  /** Counts configurations: an answer to the question of an older one is heard, and leads to nothing. */
  private turn = 0
  private readonly silent = new Set<string>()

  constructor(
    private readonly log: Logger,
    private readonly every = EVERY,
  ) {}

  /**
   * Asks for the lists of a configuration, now and from time to time; `changed` is called after each answer that says something
   * new. It waits for nothing.
   */
  follow(asked: Asked, changed: () => void): void {
    clearInterval(this.timer)
    const turn = ++this.turn
    const upstreams = askedUpstreams(asked.gateway)
    for (const name of this.lists.keys()) if (!upstreams.includes(name)) this.lists.delete(name)
    if (upstreams.length === 0) return
    let isAsking = false
    const ask = async (): Promise<void> => {
      // One that answers late is not asked twice at a time: what is new would be told twice.
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
