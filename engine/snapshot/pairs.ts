// Which mappings a configuration needs. Reading the code of all of them would be a large part of a start.

import type { Plan, PlanFacts, ProviderPlan } from '../plan.js'
import type { GatewayConfig } from './config.js'

/** The name of the mapping between two dialects. */
export function pairOf(client: string, upstream: string): string {
  return `${client}-to-${upstream}`
}

/** The dialect in which a client's request is sent: the client's own if it is spoken, else the first with a mapping. */
export function dialectFor(client: string, spoken: readonly string[], has: (pair: string) => boolean): string | undefined {
  return spoken.includes(client) ? client : spoken.find(dialect => has(pairOf(client, dialect)))
}

/** Finds the same for one of the dialects of a provider, or for all. */
export type SpokenTo = (client: string, provider: ProviderPlan, asked: string | undefined) => string | undefined

/** Each target of a configuration asks for all clients, and most have a provider in common. */
export function createSpokenTo({ mappings, leftOut }: Plan): SpokenTo {
  const found = new Map<ProviderPlan, Map<string, string | undefined>>()
  const has = (pair: string): boolean => pair in mappings || leftOut?.has(pair) === true
  return (client, provider, asked) => {
    let known = found.get(provider)
    if (known === undefined) found.set(provider, (known = new Map()))
    const key = `${client} ${asked ?? ''}`
    if (!known.has(key)) known.set(key, dialectFor(client, asked === undefined ? Object.keys(provider.speaks) : [asked], has))
    return known.get(key)
  }
}

/** Those of the mappings that a request to one of the upstreams may need. */
export function pairsFor({ upstreams }: Pick<GatewayConfig, 'upstreams'>, plan: PlanFacts, all: ReadonlySet<string>): Set<string> {
  const preferred = new Set((plan.catalogue ?? []).flatMap(({ facts }) => facts.prefer ?? []).map(({ speaks }) => speaks))
  const needed = new Set<string>()
  for (const provider of new Set(Object.values(upstreams).map(({ provider }) => provider))) {
    const speaks = plan.providers[provider]?.speaks ?? {}
    const spoken = Object.keys(speaks)
    for (const client of Object.keys(plan.dialects)) {
      const usual = dialectFor(client, spoken, pair => all.has(pair))
      if (usual === undefined) continue
      const others = spoken.filter(dialect => preferred.has(dialect) || dialect === speaks[usual]?.fallback)
      for (const dialect of [usual, ...others]) if (all.has(pairOf(client, dialect))) needed.add(pairOf(client, dialect))
    }
  }
  return needed
}
