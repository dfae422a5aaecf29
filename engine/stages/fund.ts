// Checks that an exchange may spend. It reserves the possible cost in each of its budgets before a provider is called; the
// actual cost is settled when the exchange has ended.

import type { Budget } from '../budgets/budgets.js'
import { Estimate } from '../budgets/estimate.js'
import { Hold, type Shortage, type Terms } from '../budgets/hold.js'
import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { askedUsage, chargeOf, mergeUsage } from '../core/usage.js'
import type { Dialect, Usage } from '../plan.js'
import type { Binding, Key, Model, Route, Snapshot } from '../snapshot/model.js'
import { type Choice, chooseModel, makesMore } from './choose.js'
import { requestedOutput } from './limit.js'
import { isFree, isPriced, tellsInputOnly, tellsOutput } from './priced.js'
import type { Input } from './read.js'

/** The possible targets, and the money that is held for the exchange. */
export interface Funded {
  choice: Choice
  hold?: Hold
}

const OTHER = 'x-sluice-model'

/** Milliseconds; `retry-after` names the end of a window that ends sooner. */
const SOON = 3_600_000

/**
 * Reserves money for an exchange that has a budget, and estimates the usage of another one for the ledger. Throws, or
 * rejects with, `billing` if a budget is spent, `rate_limit` if other exchanges hold its rest, and `unavailable` if its
 * balance is unknown.
 */
export function fund(
  route: Route,
  input: Input,
  key: Key | undefined,
  choice: Choice,
  exchange: Exchange,
  snapshot: Snapshot,
): Funded | Promise<Funded> {
  const { model } = choice
  const rules = snapshot.budgets
  // Counting tokens costs nothing, nor does the state of a task.
  if (model === undefined || route.estimate || (choice.task && !makesMore(route, snapshot))) return { choice }
  const budgets = budgetsOf(key, model, exchange, snapshot)
  const isUpstreams = rules.hasUpstreams && choice.bindings.some(({ target }) => target.budgets.length > 0)
  if (budgets.length === 0 && !isUpstreams) {
    const estimate = snapshot.store && estimateOf(route, input, choice, snapshot)
    if (estimate) exchange.log.held = estimate
    return { choice }
  }
  const dialect = snapshot.plan.dialects[route.dialect] as Dialect
  if (dialect.asks?.later?.(input.outline)) checkLater(choice, budgets)
  const units = mergeUsage(undefined, askedUsage(dialect, input))
  const given: Asked = { route, input, key, choice, exchange, snapshot, units }
  const asked = { ...given, choice: pricedOnes(given, budgets) }
  const hold = holdOf(asked, budgets)
  exchange.log.held = hold
  exchange.onOver(() => hold.settle(chargeOf(exchange)))
  const result = hold.begin()
  if (result === undefined) return { choice: asked.choice, hold }
  return settleShortage(result, asked, hold)
}

interface Asked {
  route: Route
  input: Input
  key: Key | undefined
  choice: Choice
  exchange: Exchange
  snapshot: Snapshot
  /** What is counted in the request itself; undefined if nothing is. */
  units: Usage | undefined
}

/**
 * Reserves money for an exchange without a model, at a target with one price for each request. Rejects as `fund` does.
 * Returns the hold, if the exchange has a budget.
 */
export async function fundRequest(
  route: Route,
  binding: Binding,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<Hold | undefined> {
  const { target } = binding
  const budgets = budgetsOf(key, undefined, exchange, snapshot)
  if (budgets.length === 0 && target.budgets.length === 0) return undefined
  if (target.cost === undefined && [...budgets, ...target.budgets].some(({ config }) => config.whenSpent !== 'warn'))
    throw new GatewayError('permission', `The cost of a request to '${route.name}' is unknown, but a budget limits it.`)
  const terms: Terms = { input: 0, most: 0, first: 0, isText: false, partial: 'none', price: priceOf([binding], exchange) }
  const hold = new Hold(budgets, terms, exchange.startedAt, shortage => exchange.endWith(refusalOf(shortage)))
  exchange.log.held = hold
  exchange.onOver(() => hold.settle(chargeOf(exchange)))
  for (let shortage = await hold.begin(); shortage !== undefined; shortage = await hold.begin()) {
    // There is no model, so no other model can take its place.
    if (shortage.budget.config.whenSpent !== 'warn') throw refusalOf(shortage)
    tell(exchange, 'x-sluice-budget', shortage.budget)
    hold.force(shortage.budget)
  }
  return hold
}

/** Acts on a spent budget: refuses, continues, or continues with another model. */
async function settleShortage(first: Shortage | undefined | Promise<Shortage | undefined>, from: Asked, hold: Hold): Promise<Funded> {
  const { route, input, key, exchange, snapshot } = from
  let { choice } = from
  for (let shortage = await first; shortage !== undefined; shortage = await hold.begin()) {
    const { budget, denial } = shortage
    const { whenSpent } = budget.config
    if (whenSpent === 'refuse' || (denial === 'away' && whenSpent !== 'warn')) throw refusalOf(shortage)
    tell(exchange, 'x-sluice-budget', budget)
    hold.force(budget)
    if (whenSpent === 'warn' || choice.model?.name === whenSpent.use) continue
    // One replacement is allowed, and not a further one.
    if (exchange.log.told?.[OTHER] !== undefined) throw refusalOf(shortage)
    const asked = choice.model
    // The operator decides that this model is cheaper; its own budgets still count.
    choice = pricedOnes(
      { ...from, choice: chooseModel(route, input, key, exchange, snapshot, whenSpent.use) },
      hold.entries.map(entry => entry.budget),
    )
    hold.exchange(asked?.budgets ?? NONE, choice.model?.budgets ?? NONE)
    hold.terms.price = priceOf(choice.bindings, exchange, from.units)
    exchange.log.told = { ...exchange.log.told, [OTHER]: whenSpent.use }
  }
  return { choice, hold }
}

function tell(exchange: Exchange, header: string, { id, owner }: Budget): void {
  exchange.log.told = { ...exchange.log.told, [header]: owner.isTold ? `${id} is spent` : 'a budget is spent' }
}

/** The budgets of the key, the model, the end user, the tags and the whole gateway, without those of the target. */
function budgetsOf(key: Key | undefined, model: Model | undefined, exchange: Exchange, snapshot: Snapshot): readonly Budget[] {
  const own = key === undefined ? NONE : snapshot.standingOf(key).budgets
  const rules = snapshot.budgets
  const ofModel = model?.budgets ?? NONE
  if (!rules.hasAny && ofModel.length === 0) return own
  const { labels } = exchange.log
  const ofUser = labels?.endUser !== undefined ? rules.ofEndUser(labels.endUser) : NONE
  const ofTags = rules.hasTags ? rules.ofTags(tagsOf(key, labels?.tags)) : NONE
  return joined(joined(joined(joined(own, ofModel), ofUser), ofTags), rules.all)
}

function joined(left: readonly Budget[], right: readonly Budget[]): readonly Budget[] {
  if (right.length === 0) return left
  return left.length === 0 ? right : [...left, ...right]
}

const NONE: readonly Budget[] = []

function tagsOf(key: Key | undefined, more: readonly string[] | undefined): ReadonlySet<string> {
  return new Set([...(key?.tags ?? []), ...(more ?? [])])
}

/** Leaves out targets without a known price while a budget counts: a missing price is not 0. */
function pricedOnes({ route, choice, exchange, units }: Asked, budgets: readonly Budget[]): Choice {
  if (budgets.every(({ config }) => config.whenSpent === 'warn') && !choice.bindings.some(({ target }) => target.budgets.length > 0))
    return choice
  const hasPrice = (binding: Binding): boolean => isPriced(binding, route, exchange.startedAt, units)
  if (choice.bindings.every(hasPrice)) return choice
  const bindings = choice.bindings.filter(hasPrice)
  if (bindings.length === 0)
    throw new GatewayError(
      'permission',
      `The cost of the model '${choice.model?.name}' on this route is unknown, but a budget limits it.`,
      {
        param: 'model',
        code: 'model_not_priced',
      },
    )
  return { ...choice, bindings }
}

/** Throws `permission` if a budget counts: what comes later is not counted. */
function checkLater({ bindings }: Choice, budgets: readonly Budget[]): void {
  const counting = [...budgets, ...bindings.flatMap(({ target }) => target.budgets)]
  if (counting.some(({ config }) => config.whenSpent !== 'warn'))
    throw new GatewayError('permission', 'The answer to this request comes later, so its cost is unknown, but a budget limits it.')
}

/** What the ledger estimates of an exchange without a budget; undefined if its tokens follow neither from a text nor from its request. */
function estimateOf(route: Route, input: Input, { bindings }: Choice, snapshot: Snapshot): Estimate | undefined {
  if (snapshot.budgets.partial === 'none' || route.relay !== undefined) return undefined
  const isText = route.asks !== undefined && route.countsTokens
  if (!isText && !bindings.some(tellsInputOnly) && !isTranscribed(input, bindings)) return undefined
  return new Estimate(tokensOf(route, input, bindings, snapshot), input.stream, isText)
}

/** Whether a stream shows how much of the answer to a form there was. */
function isTranscribed({ form }: Input, bindings: readonly Binding[]): boolean {
  return form !== undefined && bindings.some(({ to }) => to.estimated !== undefined && to.stream !== undefined)
}

/**
 * The tokens of a request, from its length. A conversation is not longer than the context of its model; of texts that get a
 * vector or a score each, the context bounds only one.
 */
function tokensOf({ asks }: Route, { bytes }: Input, bindings: readonly Binding[], { budgets }: Snapshot): number {
  const tokens = Math.ceil(bytes.length / budgets.bytesPerToken)
  return asks === undefined ? tokens : Math.min(contextOf(bindings), tokens)
}

/** The largest context among targets; infinite if one of them is unknown. */
function contextOf(bindings: readonly Binding[]): number {
  let most = 0
  for (const { target } of bindings) most = Math.max(most, target.context ?? Number.POSITIVE_INFINITY)
  return most
}

function holdOf({ route, input, choice: { bindings }, exchange, snapshot, units }: Asked, budgets: readonly Budget[]): Hold {
  const { step, whole, partial } = snapshot.budgets
  const isStream = input.stream || route.relay !== undefined
  let [maxOutput, isHidden] = [0, false]
  for (const { target } of bindings) {
    maxOutput = Math.max(maxOutput, target.maxOutput)
    if (target.traits.hidden_reasoning === true) isHidden = true
  }
  // What a form costs, only its answer tells.
  const most = input.form || !bindings.some(tellsOutput) ? 0 : requestedOutput(route, input, maxOutput)
  const terms: Terms = {
    input: tokensOf(route, input, bindings, snapshot),
    most,
    // Hidden reasoning does not stream, so it cannot be paid in steps.
    first: isStream && !isHidden ? 0 : Math.min(most, requestedOutput(route, input, whole)),
    step: isStream ? step : undefined,
    isText: route.asks !== undefined && route.relay === undefined,
    partial,
    price: priceOf(bindings, exchange, units),
  }
  return new Hold(budgets, terms, exchange.startedAt, shortage => exchange.endWith(refusalOf(shortage)))
}

/**
 * The highest charge of so many tokens, and of the units of the request, among the possible targets, with or without cache
 * writes. What is not free costs something, although it may be known only when it is there: a spent budget has nothing left.
 */
function priceOf(bindings: readonly Binding[], exchange: Exchange, units?: Usage): Terms['price'] {
  const { startedAt, log } = exchange
  const times = log.times ?? 1
  const least = bindings.every(binding => isFree(binding, startedAt)) ? 0 : 1
  return (input, output) => {
    let most = 0
    for (const { target } of bindings) {
      most = Math.max(most, target.cost?.most(input, output, startedAt) ?? 0)
      if (units) most = Math.max(most, target.cost?.({ ...units, input, output }, startedAt) ?? target.cost?.(units, startedAt) ?? 0)
    }
    return Math.max(least, Math.ceil(most * times))
  }
}

/** Adds a target's own budgets to a hold. Returns the refusal, because another target may have money left. */
export async function enter(hold: Hold | undefined, budgets: readonly Budget[]): Promise<GatewayError | undefined> {
  if (hold === undefined || budgets.length === 0) return undefined
  const shortage = await hold.enter(budgets)
  return shortage && refusalOf(shortage)
}

/** The error for a spent budget. */
function refusalOf({ budget, denial, missing }: Shortage): GatewayError {
  const { owner, words, id, until } = budget
  const whose = owner.isTold ? `The budget of ${owner.words}` : 'A budget of this gateway'
  const headers = { 'x-sluice-budget': owner.isTold ? id : 'gateway' }
  const cause = `the budget ${id} (${words})`
  if (denial === 'away')
    return new GatewayError('unavailable', 'Budgets cannot be checked at the moment.', {
      retryAfter: '1',
      reason: 'budget',
      cause: `${cause}: its balance is unknown`,
    })
  if (denial === 'held')
    return new GatewayError('rate_limit', `${whose} is reserved for other requests under way. Try again in 1s.`, {
      retryAfter: '1',
      reason: 'budget',
      headers,
      cause: `${cause} is reserved by other requests`,
    })
  const rest = until - Date.now()
  const anew = Number.isFinite(until) ? ` It resets at ${new Date(until).toISOString().slice(0, 19)}Z.` : ''
  return new GatewayError('billing', `${whose} ${tooLittle(budget, missing)}.${anew}`, {
    // Clients would retry at once, in vain.
    headers: { ...headers, 'x-should-retry': 'false' },
    reason: 'budget',
    ...(rest <= SOON && rest > 0 && { retryAfter: String(Math.ceil(rest / 1_000)) }),
    cause: `${cause} ${missing ? 'has too little left' : 'is spent'}`,
  })
}

/** What a budget lacks; its figures only for callers who may see them. */
function tooLittle(budget: Budget, missing: Shortage['missing']): string {
  const { owner, words } = budget
  if (missing === undefined) return `is spent${owner.isTold ? `: ${words}` : ''}`
  if (!owner.isTold) return 'has too little left for this request'
  const { needed, left } = missing
  return `(${words}) has ${budget.money(left)} left, and this request may cost ${budget.money(needed)}: a shorter answer or prompt costs less`
}
