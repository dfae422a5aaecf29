// Finds the bindings that serve a model, in order. Priorities come first, weights decide inside one; an ejected target
// comes last, so that a request which no other target can serve is still tried.

import { elsewhere, GatewayError, modelUnknown, unknownId, unservedTask } from '../core/errors.js'
import type { Exchange } from '../core/exchange.js'
import { memberAt } from '../core/members.js'
import type { Binding, Key, Model, Route, Snapshot, Target } from '../snapshot/model.js'
import type { Task } from '../snapshot/sealer.js'
import { byRules, byWeight } from './order.js'
import { type Input, saidAt } from './read.js'

export interface Choice {
  /** Undefined if the request follows a task or an account, and names no model. */
  model?: Model
  bindings: readonly Binding[]
  /** The models that the caller may use, if the request is about whole accounts. */
  usable?: readonly Model[]
  /** Receives the target that answered, if the next request of the session should go there, too, or undefined if its answer broke off. */
  stick?(target: Target | undefined): void
  /** The task that the request follows, and its id as the client sent it. */
  task?: Task
  given?: string
  /** The request's query with the provider's ids for sealed ones; undefined: it can hold none. */
  query?: Readonly<Record<string, string>>
}

/** Throws `not_found` or `permission` if the caller may not use the model. */
export function choose(route: Route, input: Input, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): Choice {
  const choice = chosen(route, input, key, exchange, snapshot)
  const names = route.sealedIds?.query
  return names === undefined || names.length === 0 ? choice : withOpened(names, choice, route, key, exchange, snapshot)
}

/** The choice with the ids in the query opened, of the upstreams that know them only, and of the accounts whose pages follow. */
function withOpened(
  names: readonly string[],
  choice: Choice,
  route: Route,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
): Choice {
  const query = { ...exchange.query }
  let { bindings } = choice
  for (const name of names) {
    const given = query[name]
    if (given === undefined || given === '') continue
    const task = taskOf(given, route, key?.name, snapshot)
    const at = bindings.findIndex(({ target }) => target.upstream === task?.upstream)
    bindings = at < 0 ? [] : route.joinLists ? bindings.slice(at) : bindings.filter(({ target }) => target.upstream === task?.upstream)
    if (task === undefined || bindings.length === 0)
      throw new GatewayError('invalid_request', `Invalid '${name}': it must be an id from an answer to this API key.`, {
        param: name,
        code: 'invalid_value',
      })
    query[name] = task.id
  }
  return { ...choice, bindings, query }
}

function chosen(route: Route, input: Input, key: Key | undefined, exchange: Exchange, snapshot: Snapshot): Choice {
  const given = route.follow && saidAt(route.follow, input, exchange)
  const followed = typeof given === 'string' && given !== '' ? { given, task: taskOf(given, route, key?.name, snapshot) } : undefined
  if (route.model !== undefined) {
    const choice = chooseModel(route, input, key, exchange, snapshot)
    // Only the upstream that has a task can serve requests about it.
    if (followed?.task === undefined) return choice
    const { given: id, task } = followed
    const bindings = choice.bindings.filter(({ target }) => target.upstream === task.upstream)
    if (bindings.length === 0 && choice.bindings.length > 0) throw elsewhere(route, id, input.model)
    return { ...choice, given: id, task, bindings }
  }
  if (route.isShared && followed === undefined) return accounts(route, key, snapshot)
  if (followed?.task === undefined) throw unknownId(route, given)
  const { given: id, task } = followed
  const account = snapshot.accounts.get(task.upstream)
  if (account !== undefined && !account.bindings.has(route.dialect)) throw unservedTask(route, id)
  if (makesMore(route, snapshot)) {
    if (task.requested === '') throw modelUnknown(route, id)
    // It costs what the model costs, so the model must still be there, and be the caller's.
    const choice = chooseModel(route, input, key, exchange, snapshot, task.requested)
    const bindings = choice.bindings.filter(({ target }) => target.upstream === task.upstream && target.model === task.model)
    if (bindings.length === 0) throw unknownId(route, given)
    return { ...choice, given: id, task, bindings }
  }
  exchange.log.model = task.requested
  const binding = account?.bindings.get(route.dialect)
  if (binding === undefined) throw unknownId(route, given)
  return { bindings: [binding], given: id, task }
}

/** Whether an answer about a task tells a usage: then it is about a new one. The usage of the task was counted when it was made. */
export function makesMore(route: Route, snapshot: Snapshot): boolean {
  return snapshot.plan.dialects[route.dialect]?.usage !== undefined
}

/** The content of a sealed id; undefined if the id is not the caller's. */
export function taskOf(given: string, route: Route, caller: string | undefined, snapshot: Snapshot): Task | undefined {
  const { sealedIds } = route
  const prefixes = sealedIds ? [sealedIds.prefix] : []
  for (const prefix of new Set([...prefixes, ...snapshot.prefixes])) {
    if (!given.startsWith(prefix)) continue
    const task = snapshot.sealer.open(given.slice(prefix.length), caller ?? '')
    if (task) return task
  }
  return undefined
}

/** The upstreams whose whole account callers may see. */
function accounts(route: Route, key: Key | undefined, snapshot: Snapshot): Choice {
  const usable = [...snapshot.models.values()].filter(model => mayUse(key, model))
  const used = new Set(usable.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)))
  const bindings: Binding[] = []
  let isHidden = false
  for (const target of snapshot.accounts.values()) {
    const binding = target.bindings.get(route.dialect)
    if (binding === undefined || !used.has(target.upstream)) continue
    if (target.isShared) bindings.push(binding)
    else isHidden = true
  }
  if (bindings.length === 0 && isHidden)
    throw new GatewayError('permission', 'This route shows everything in an account, which the operator has not allowed (`shared`).')
  if (bindings.length === 0) throw new GatewayError('not_found', 'No upstream that this API key may use serves this route.')
  return { bindings, usable }
}

/**
 * The model that a client's name means. A name with the route's tag counts without it, unless a model or a pattern has it; a
 * model's own name comes before patterns.
 */
export function modelNamed(name: string, route: Route, snapshot: Snapshot): Model | undefined {
  const { models } = snapshot
  const tag = route.model?.tag
  const bare = tag !== undefined && name.endsWith(tag) ? name.slice(0, -tag.length) : undefined
  if (bare === undefined) return models.get(name) ?? snapshot.find(name)
  return models.get(name) ?? models.get(bare) ?? snapshot.find(name) ?? snapshot.find(bare)
}

/** The bindings of a model; `name` is the name in the client's request. */
export function chooseModel(
  route: Route,
  input: Input,
  key: Key | undefined,
  exchange: Exchange,
  snapshot: Snapshot,
  name = input.model,
): Choice {
  exchange.log.model = name
  const model = modelNamed(name, route, snapshot)
  if (model === undefined) {
    throw new GatewayError('not_found', `The model '${name}' does not exist.`, { param: 'model', code: 'model_not_found' })
  }
  exchange.log.isKnownModel = true
  exchange.log.model = model.name
  if (model.pattern !== undefined) exchange.log.modelPattern = model.pattern
  if (!mayUse(key, model)) {
    throw new GatewayError('permission', `This API key may not use the model '${name}'.`, {
      param: 'model',
      code: 'model_not_allowed',
    })
  }
  checkOutput(route, input, model)
  if (model.single) return { model, bindings: bindingsOf(model.single, route) }
  if (model.isPlain) return { model, bindings: bindingsOf(byWeight(model.targets), route) }
  const { targets, stick } = byRules(model, route, input, key, exchange)
  return { model, bindings: bindingsOf(targets, route), ...(stick && { stick }) }
}

function bindingsOf(targets: readonly Target[], route: Route): Binding[] {
  const bindings: Binding[] = []
  for (const target of targets) {
    const binding = target.bindings.get(route.dialect)
    if (binding !== undefined) bindings.push(binding)
  }
  return bindings
}

export function mayUse(key: Key | undefined, model: Model): boolean {
  if (key === undefined) return true
  return key.groups.some(group => model.groups.has(group)) && key.matches(model.name)
}

/** The operator's limit holds for all that the request may ask for; the catalogue's only where the route's dialect has it. */
function checkOutput(route: Route, input: Input, { name, config, maxOutput }: Model): void {
  const declared = config.limits?.max_output
  if (declared !== undefined) for (const path of route.asks?.output ?? []) checkMember(path, input, declared, name)
  else if (maxOutput !== undefined && route.caps?.maxOutput) checkMember(route.caps.maxOutput, input, maxOutput, name)
}

function checkMember(path: readonly string[], input: Input, most: number, model: string): void {
  input.normalise?.()
  const asked = memberAt(input.outline, path)
  if (typeof asked !== 'number' || asked <= most) return
  const name = path.join('.')
  throw new GatewayError(
    'invalid_request',
    `${name}: ${asked} > ${most}, which is the maximum allowed number of output tokens for ${model}.`,
    { param: name, code: 'invalid_value' },
  )
}
