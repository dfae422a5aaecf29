// The inputs that are changed: requests, answers and streams of the mappings' own cases, and how each is requested.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import { type Client, clientsOf } from '../../cli/faults/client.js'
import { dialects } from '../../cli/simulator/dialects.js'
import { HOME } from '../../codegen/home.js'
import type { Plan } from '../../engine/plan.js'

export interface Corpus {
  clients: Client[]
  /** By dialect: what clients ask, what providers answer, and what they stream. */
  requests: Record<string, unknown[]>
  answers: Record<string, unknown[]>
  streams: Record<string, unknown[][]>
}

interface Case {
  request?: { in: unknown }
  response?: { in: unknown }
  stream?: { in?: unknown; fails?: unknown }[]
}

export function corpusOf(plan: Plan): Corpus {
  const clients = clientsOf(plan, dialects(HOME))
  const spoken = new Set(clients.map(({ dialect }) => dialect))
  const corpus: Corpus = { clients, requests: {}, answers: {}, streams: {} }
  for (const [pair, { from, to }] of Object.entries(plan.mappings)) {
    const folder = join(HOME, 'mappings', pair, 'cases')
    if (!spoken.has(from) || !spoken.has(to) || !existsSync(folder)) continue
    for (const file of readdirSync(folder).sort()) {
      for (const one of loadAll(readFileSync(join(folder, file), 'utf8')) as Case[]) {
        if (one.request) (corpus.requests[from] ??= []).push(one.request.in)
        if (one.response) (corpus.answers[to] ??= []).push(one.response.in)
        const events = one.stream?.flatMap(step => (step.in === undefined ? [] : [step.in])) ?? []
        // What fails is no good answer, and the first stream of a dialect is given as one.
        const isFailing = one.stream?.some(({ fails }) => fails !== undefined)
        if (events.length > 0 && !isFailing) (corpus.streams[to] ??= []).push(events)
      }
    }
  }
  return corpus
}
