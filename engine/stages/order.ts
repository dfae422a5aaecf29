// Orders the targets of a model: by priority, ejected ones last, and inside a priority by weight, latency, load or price.
// An expression may forbid targets, and a session's target comes first.

import { now } from '../core/deadlines.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { describeCause } from '../core/source-map.js'
import { boolean } from '../jsonata/values.js'
import type { Key, Model, RequestView, Route, Target } from '../snapshot/model.js'
import { expectedInput, requestedOutput } from './limit.js'
import type { Input } from './read.js'

/** Added to a score to sort a target behind all priorities. */
const LAST = 1e6
/** Milliseconds for a target whose first answer is still awaited. */
const UNKNOWN = 1e9

interface Ranked {
  target: Target
  rank: number
  /** Lower is better. */
  score: number
  lot: number
}

/** By priority; inside one, randomly by weight. */
export function byWeight(targets: readonly Target[]): readonly Target[] {
  return ranked(targets, now(), () => 0)
}

export interface Order {
  targets: readonly Target[]
  /** Receives the target that answered, or undefined if its answer broke off. */
  stick?(target: Target | undefined): void
}

/** By all rules of the model. Throws `permission` if no target may serve the request. */
export function byRules(model: Model, route: Route, input: Input, key: Key | undefined, exchange: Exchange): Order {
  const time = now()
  const view = viewOf(input, key, exchange)
  const allowed = model.targets.filter(target => target.weight > 0 && mayServe(target, view, exchange))
  if (allowed.length === 0 && model.targets.length > 0)
    throw new GatewayError('permission', `No target of the model '${model.name}' may serve this request.`, { param: 'model' })
  const targets = ranked(allowed, time, scoreOf(model, route, input, exchange, time))
  const { sticky } = model
  const text = sticky && textOf(sticky.by, view)
  if (sticky === undefined || text === undefined) return { targets }
  const { store } = sticky
  const name = store.get(text)
  const stick = (target: Target | undefined): void => (target === undefined ? store.forget(text) : store.set(text, target.name))
  const stays = targets.find(target => target.name === name && !target.health.isAside(time))
  return { stick, targets: stays ? [stays, ...targets.filter(target => target !== stays)] : targets }
}

function ranked(targets: readonly Target[], time: number, score: (target: Target) => number): Target[] {
  const drawn = targets
    .filter(target => target.weight > 0)
    .map(
      (target): Ranked => ({
        target,
        rank: target.priority + (target.health.isAside(time) ? LAST : 0),
        score: score(target),
        lot: Math.random() ** (1 / (target.weight * target.health.share(time))),
      }),
    )
  drawn.sort((left, right) => left.rank - right.rank || left.score - right.score || right.lot - left.lot)
  return drawn.map(({ target }) => target)
}

/** A rule that scores two targets equally leaves the order to their weights. */
function scoreOf({ choose }: Model, route: Route, input: Input, exchange: Exchange, time: number): (target: Target) => number {
  const weightOf = (target: Target): number => target.weight * target.health.share(time)
  switch (choose) {
    case 'weighted':
      return () => 0
    case 'latency': {
      const kind = input.stream ? 'stream' : 'whole'
      return target => {
        const active = target.concurrency?.active ?? 0
        const load = target.latency?.[kind].load(time) ?? 0
        // The first request measures the unknown latency; others go elsewhere meanwhile.
        return load === 0 && active > 0 ? UNKNOWN + active : (load * (active + 1)) / weightOf(target)
      }
    }
    case 'least_busy':
      return target => (target.concurrency?.active ?? 0) / weightOf(target)
    case 'cheapest': {
      const usage = { input: expectedInput(input), output: requestedOutput(route, input) }
      return target => target.cost?.(usage, exchange.startedAt) ?? Number.MAX_VALUE
    }
  }
}

function viewOf(input: Input, key: Key | undefined, { headers }: Exchange): RequestView {
  return {
    key: key && { name: key.name, team: key.team, tags: key.tags, groups: key.groups },
    groups: key?.groups ?? [],
    headers,
    // A long body is parsed only if an expression reads it.
    get request() {
      return input.body
    },
  }
}

/** An expression that fails forbids the target, and the log says so. */
function mayServe(target: Target, view: RequestView, { log }: Exchange): boolean {
  if (target.only === undefined) return true
  try {
    return boolean(target.only(view)) === true
  } catch (error) {
    log.failed ??= []
    log.failed.push({ target: target.name, kind: 'internal', cause: `its only: ${describeCause(error)}` })
    return false
  }
}

/** The session key of a request; undefined if the expression gives none, or fails. */
function textOf(by: (view: RequestView) => unknown, view: RequestView): string | undefined {
  try {
    const value = by(view)
    if (value === undefined || value === null || value === '') return undefined
    return typeof value === 'string' ? value : JSON.stringify(value)
  } catch {
    return undefined
  }
}
