// gateway.yaml → the configuration that the engine links. Reports all errors at once, with positions.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { useOneOf } from '../../codegen/read/suggest.js'
import { size } from '../../codegen/read/units.js'
import { type Place, type Pointer, parseYaml, type YamlDocument } from '../../codegen/read/yaml.js'
import type { TokenOptions } from '../../engine/control/tokens.js'
import { duration } from '../../engine/core/durations.js'
import { rateLimitsIn } from '../../engine/limits/rate-text.js'
import type { Limits, Plan } from '../../engine/plan.js'
import { entriesFor } from '../../engine/snapshot/catalogue.js'
import type { Exposed, GatewayConfig, GroupConfig, KeyConfig, ModelConfig, UpstreamConfig } from '../../engine/snapshot/config.js'
import { isAddressRange } from '../../engine/snapshot/key.js'
import type { GatewayData, GatewayGroup, GatewayModel, GatewayUpstream } from '../../schemas/config/types.js'
import { address } from '../address.js'
import { BudgetReader } from './budgets.js'
import { callsOf } from './calls.js'
import { type Capacity, usualCapacity } from './capacity.js'
import { expressionFindings } from './expressions.js'
import { patternsOf } from './patterns.js'
import { checkRateLimits, isRate, rateLimitsOf } from './rate-limits.js'
import { relaysOf, routeNameOf } from './relays.js'
import { checkHealth, checkNames, checkRouting, concurrencyOf, healthOf, routingOf } from './routing.js'
import { type StoreSettings, storeSettings } from './store-settings.js'

/** The settings of the process itself. */
export interface Settings {
  host: string
  port: number
  /** Milliseconds. */
  grace: number
  drain: number
  workers: number
  logLevel: string
  isAccessLogged: boolean
  /** Whether it serves the OpenAPI document and its page. */
  hasReference: boolean
  capacity: Capacity
  /** A short hash of the file. */
  hash: string
  /** Undefined: only the keys of the file exist, and usage is not counted. */
  store?: StoreSettings
  /** The identity provider whose tokens are keys. */
  tokens?: TokenOptions
  /** The address of the shared state of limits; it may contain a password. */
  state?: string
}

export interface Loaded {
  settings: Settings
  gateway: GatewayConfig
}

type Secret = GatewayUpstream['secret']

/** A secret may have been written in place of its path: only a text that looks like a path is quoted. */
const IS_PATH = /^\.{0,2}\/|^[\w-]+(\/[\w-]+)*\.[a-z]{1,5}$/
const IS_VARIABLE = /^\$[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/

/** In place of a secret: callers send their own credential. */
const CALLER = 'caller'

/** Characters. */
const LEAST_SEAL = 16
const IS_STATE = /^(?:redis|valkey)s?:\/\/\S+$/
/** The default seal: it lasts as long as the process, whatever is reloaded. */
const OWN_SEAL = randomBytes(32).toString('hex')

/** The meaning of `pass_headers: true`: the providers' headers about the account's rate limits. */
const RATE_LIMITS = ['*-ratelimit-*', 'ratelimit', 'ratelimit-*']

/** How a configuration is read. */
export interface ReadOptions {
  /** Files of secrets that cannot be read hold random texts: for runs that send nothing to a provider. */
  mayLackSecrets?: boolean
}

/** Reads and checks a configuration against a plan. Throws a DataError with every finding. */
export async function loadConfig(path: string, plan: Plan, displayed: string, options: ReadOptions = {}): Promise<Loaded> {
  const findings: Finding[] = []
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    throw new DataError([
      {
        file: displayed,
        line: 1,
        column: 1,
        rule: 'file/missing',
        detail: 'the file cannot be read',
        remedy: 'name an existing file, or write one with `sluice init`',
      },
    ])
  }
  const documents = parseYaml(displayed, text, findings)
  // A file that is not YAML may be a secret, so its text is not quoted.
  if (findings.length > 0)
    throw new DataError(findings.map(finding => ({ ...finding, detail: finding.detail.replaceAll(/(["'<]).*["'>]/g, '…') })))
  return read(documents[0] ?? unplaced(displayed, {}), plan, dirname(resolve(path)), options)
}

/** The same for the content of a configuration without a file. */
export async function configOf(content: object, plan: Plan): Promise<Loaded> {
  return read(unplaced('defaults', content), plan, process.cwd())
}

/** The same for a document that is a part of another file. `folder` is where its files of secrets are. */
export function configIn(document: YamlDocument, plan: Plan, folder: string): Promise<Loaded> {
  return read(document, plan, resolve(folder))
}

/** A document whose values have no positions. */
function unplaced(file: string, value: unknown): YamlDocument {
  const place = (): Place => ({ file, line: 1, column: 1 })
  return { file, value, at: place, key: place, inside: place }
}

async function read(document: YamlDocument, plan: Plan, folder: string, options: ReadOptions = {}): Promise<Loaded> {
  const value = document.value ?? {}
  if (!plan.validateGateway(value)) {
    // Only errors need the full validator, which knows the position of each.
    const { gatewayFindings } = await import('./gateway-findings.js')
    throw new DataError(gatewayFindings(document))
  }
  const findings = await expressionFindings(value as GatewayData, document)
  const loaded = link(value as GatewayData, document, plan, folder, findings, options)
  if (findings.length > 0) throw new DataError(findings)
  return loaded
}

function link(
  file: GatewayData,
  document: YamlDocument,
  plan: Plan,
  folder: string,
  findings: Finding[],
  { mayLackSecrets = false }: ReadOptions,
): Loaded {
  const find = (pointer: Pointer, rule: string, detail: string, remedy: string): void => {
    findings.push({ ...document.at(pointer), rule, detail, remedy })
  }
  const secret = (given: Secret, pointer: Pointer): string | undefined => {
    if (typeof given === 'object') {
      try {
        const text = readFileSync(resolve(folder, given.file), 'utf8').trim()
        if (text === '')
          find(
            pointer,
            'secret/file',
            `${IS_PATH.test(given.file) ? given.file : 'the named file'} is empty`,
            'write only the secret into it',
          )
        return text
      } catch {
        if (mayLackSecrets) return randomBytes(24).toString('hex')
        find(pointer, 'secret/file', `${IS_PATH.test(given.file) ? given.file : 'the named file'} cannot be read`, 'name an existing file')
        return undefined
      }
    }
    if (!given.startsWith('$')) return given
    const name = given.slice(1)
    const found = Object.hasOwn(process.env, name) ? process.env[name] : undefined
    if (found === undefined || found === '')
      find(
        pointer,
        'secret/environment',
        `${IS_VARIABLE.test(given) ? given : 'the named variable'} is not set in the environment`,
        `set ${IS_VARIABLE.test(given) ? given.slice(1) : 'it'}, or remove the entry`,
      )
    return found
  }
  const budgets = new BudgetReader(file, document, findings)
  const groupsFile: Record<string, GatewayGroup> = Object.assign(Object.create(null), file.groups)
  const groups: Record<string, GroupConfig> = Object.create(null)
  for (const [name, group] of Object.entries(groupsFile)) {
    checkRateLimits(group.limits, ['groups', name, 'limits'], document, findings)
    checkRateLimits(group.key_limits, ['groups', name, 'key_limits'], document, findings)
    const rateLimits = rateLimitsOf(group.limits)
    groups[name] = {
      ...(rateLimits && { rateLimits }),
      ...(group.key_limits && { keyLimits: rateLimitsIn(group.key_limits) }),
      ...(group.models && { models: group.models }),
      ...(group.times !== 1 && { times: group.times }),
      ...(group.hidden && { isHidden: true }),
      ...(group.budget !== undefined && { budgets: budgets.read(group.budget, ['groups', name, 'budget']) ?? [] }),
    }
  }
  checkRateLimits(file.key_limits, ['key_limits'], document, findings)
  const checkGroups = (named: readonly string[], pointer: Pointer): void => {
    if (file.groups === undefined) return
    const known = [...new Set(['default', ...Object.keys(groupsFile)])]
    named.forEach((group, index) => {
      if (!known.includes(group)) find([...pointer, index], 'names/group', `there is no group ${group}`, useOneOf(known, group))
    })
  }
  const names = new Set<string>()
  const owners = new Map<string, string>()
  const keys = file.keys.map((key, index): KeyConfig => {
    if (names.has(key.name)) find(['keys', index, 'name'], 'key/name', `two keys are named ${key.name}`, 'give each its own name')
    names.add(key.name)
    const value = key.value === undefined ? undefined : secret(key.value, ['keys', index, 'value'])
    const expires = key.expires === undefined ? undefined : Date.parse(key.expires)
    const sha256 =
      key.sha256 ??
      createHash('sha256')
        .update(value ?? '')
        .digest('hex')
    const other = owners.get(sha256)
    // An unreadable secret was reported already.
    if (other !== undefined && (key.sha256 ?? value) !== undefined)
      find(['keys', index], 'key/value', `${other} and ${key.name} have the same value`, 'give each its own')
    owners.set(sha256, key.name)
    key.ips?.forEach((range, place) => {
      if (!isAddressRange(range))
        find(['keys', index, 'ips', place], 'key/ips', `${range} is not an address or a range`, 'write one such as 10.0.0.0/8')
    })
    checkRateLimits(key.limits, ['keys', index, 'limits'], document, findings)
    checkGroups(key.groups, ['keys', index, 'groups'])
    return {
      name: key.name,
      sha256,
      groups: key.groups,
      ...(key.limits && { rateLimits: rateLimitsIn(key.limits) }),
      ...(key.models && { models: key.models }),
      ...(expires !== undefined && { expires }),
      ...(key.team !== undefined && { team: key.team }),
      ...(key.routes && { routes: key.routes }),
      ...(key.ips && { ips: key.ips }),
      ...(key.tags && { tags: key.tags }),
      ...(key.budget !== undefined && { budgets: budgets.read(key.budget, ['keys', index, 'budget']) ?? [] }),
      enabled: key.enabled,
    }
  })
  // A model may have any name, also one that objects inherit.
  const upstreams: Record<string, UpstreamConfig> = Object.create(null)
  const listed: Record<string, GatewayModel> = Object.create(null)
  for (const [name, upstream] of Object.entries(file.upstreams)) {
    if (!Object.hasOwn(plan.providers, upstream.provider)) {
      find(
        ['upstreams', name, 'provider'],
        'names/provider',
        `there is no provider ${upstream.provider}`,
        useOneOf(Object.keys(plan.providers), upstream.provider),
      )
      continue
    }
    if (upstream.base !== undefined && !URL.canParse(upstream.base))
      find(['upstreams', name, 'base'], 'upstream/base', 'the value is not a URL', 'write one such as http://127.0.0.1:11434')
    if (upstream.base === undefined && plan.providers[upstream.provider]?.base === undefined)
      find(
        ['upstreams', name],
        'upstream/base',
        `${upstream.provider} has an address for each account, but this upstream has none`,
        'give it the base: of your own account',
      )
    checkRateLimits(upstream.limits, ['upstreams', name, 'limits'], document, findings)
    checkHealth(upstream.health, ['upstreams', name, 'health'], find)
    const rateLimits = rateLimitsOf(upstream.limits)
    const deadlines = limitsOf(upstream.limits)
    const isCallers = upstream.secret === CALLER
    const { jwt, header } = plan.providers[upstream.provider]?.credential ?? {}
    if (isCallers && (jwt || header === undefined))
      find(
        ['upstreams', name, 'secret'],
        'upstream/caller',
        `${upstream.provider} does not accept a caller's credential`,
        'give the upstream its own secret',
      )
    const value = upstream.secret === 'none' || isCallers ? undefined : secret(upstream.secret, ['upstreams', name, 'secret'])
    upstreams[name] = {
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
    for (const model of upstream.models) listed[model] = { targets: [{ upstream: name }] } as GatewayModel
  }
  for (const [name, model] of Object.entries(file.models)) {
    model.targets.forEach((target, index) => {
      if (!Object.hasOwn(file.upstreams, target.upstream)) {
        find(
          ['models', name, 'targets', index, 'upstream'],
          'names/upstream',
          `there is no upstream ${target.upstream}`,
          useOneOf(Object.keys(file.upstreams), target.upstream),
        )
      }
      const provider = upstreams[target.upstream]?.provider
      const { known_as: known } = target
      if (known !== undefined && provider !== undefined && entriesFor(plan.catalogue ?? [], provider, known).length === 0) {
        find(
          ['models', name, 'targets', index, 'known_as'],
          'names/fact',
          `there is no model ${known} in models/`,
          'name one that `sluice models` shows, or remove the entry',
        )
      }
    })
    const spokenBy = (of: readonly { upstream: string }[]): string[] => [
      ...new Set(of.flatMap(({ upstream }) => Object.keys(plan.providers[upstreams[upstream]?.provider ?? '']?.speaks ?? {}))),
    ]
    const checkPatch = (patch: GatewayModel['patch'], of: readonly { upstream: string }[], pointer: Pointer): void => {
      if (typeof patch !== 'object') return
      const spoken = spokenBy(of)
      for (const dialect of Object.keys(patch))
        if (spoken.length > 0 && !spoken.includes(dialect))
          find([...pointer, dialect], 'model/patch', `no provider of this model speaks ${dialect}`, useOneOf(spoken, dialect))
    }
    checkPatch(model.patch, model.targets, ['models', name, 'patch'])
    model.targets.forEach((target, index) => {
      checkPatch(target.patch, [target], ['models', name, 'targets', index, 'patch'])
    })
    const origins = model.targets.map(({ upstream }) => callersOrigin(upstreams[upstream], plan))
    const first = origins.find(origin => origin !== undefined)
    origins.forEach((origin, index) => {
      if (origin !== undefined && origin !== first)
        find(
          ['models', name, 'targets', index, 'upstream'],
          'upstream/caller',
          `this host would get the caller's credential for another host`,
          'keep the targets of one host, or give this upstream its own secret',
        )
    })
    checkRateLimits(model.limits, ['models', name, 'limits'], document, findings)
    checkRouting(name, model, Object.keys(file.upstreams), find)
    const lister = upstreams[model.targets[0]?.upstream ?? '']
    if (model.list === 'account' && lister && (plan.providers[lister.provider]?.modelsPath === undefined || lister.secret === 'caller'))
      find(
        ['models', name, 'list'],
        'model/list',
        `the upstream ${model.targets[0]?.upstream} cannot list the models of its account`,
        'list the names',
      )
    checkGroups(model.groups, ['models', name, 'groups'])
  }
  const proxies = relaysOf(file, upstreams, plan, limitsOf, find)
  const routeNames = [...plan.routes.map(({ name }) => name), ...Object.keys(file.relay).map(routeNameOf)]
  const calls = callsOf(file, routeNames, secret, find)
  const patterns = patternsOf(file, routeNames, find)
  const state = file.state === undefined ? undefined : secret(file.state, ['state'])
  if (state !== undefined && !IS_STATE.test(state))
    find(['state'], 'state/address', 'the value is not the address of a Redis', 'write one such as redis://127.0.0.1:6379/0')
  // A model that an upstream lists has no settings of its own, so the grammar's defaults apply.
  const written: Record<string, GatewayModel> = Object.assign(listed, file.models)
  plan.validateGateway({ models: written })
  const models: Record<string, ModelConfig> = Object.create(null)
  for (const [name, { budget, ...model }] of Object.entries(written)) {
    const own = budgets.read(budget, ['models', name, 'budget'])
    models[name] = { ...modelOf(model), ...(own && { budgets: own }) }
  }
  checkNames(file, listed, find)
  const budgetRules = budgets.rules()
  budgets.finish()
  const pages = new Set(plan.routes.flatMap(({ page }) => page?.name ?? []))
  for (const [name, groups] of Object.entries(file.pages)) {
    if (!pages.has(name)) find(['pages', name], 'names/page', `there is no page ${name}`, useOneOf(pages, name))
    checkGroups(groups, ['pages', name])
  }
  const seal = file.seal?.map((given, index) => {
    const text = secret(given, ['seal', index])
    if (text !== undefined && text.length < LEAST_SEAL)
      find(
        ['seal', index],
        'seal/length',
        `a seal of ${text.length} characters can be guessed`,
        `give it ${LEAST_SEAL} random characters or more`,
      )
    return text ?? ''
  })
  if (file.jwt && !URL.canParse(file.jwt.jwks)) find(['jwt', 'jwks'], 'jwt/jwks', 'the value is not a URL', 'write the URL of the keys')
  const own = process.env.SLUICE_SEAL ? [process.env.SLUICE_SEAL] : undefined
  const store = storeSettings(file, folder, secret, find, seal ?? own)
  const { host, port } = address(file.listen)
  return {
    settings: {
      host,
      port,
      grace: duration(file.grace) as number,
      drain: file.drain === undefined ? 0 : (duration(file.drain) as number),
      workers: file.workers,
      logLevel: file.log.level,
      isAccessLogged: file.log.access,
      hasReference: file.reference,
      capacity: capacityOf(file.capacity),
      hash: createHash('sha256').update(JSON.stringify(file)).digest('hex').slice(0, 12),
      ...(store && { store }),
      ...(state !== undefined && { state }),
      ...(file.jwt && { tokens: tokenOptions(file.jwt) }),
    },
    gateway: {
      keys,
      upstreams,
      models,
      groups,
      ...(budgetRules && { budgets: budgetRules }),
      ...(file.key_limits && { keyLimits: rateLimitsIn(file.key_limits) }),
      limits: limitsOf(file.limits),
      ...(Object.keys(proxies).length > 0 && { proxies }),
      ...(Object.keys(calls).length > 0 && { calls }),
      ...(Object.keys(patterns).length > 0 && { patterns }),
      maxOutput: file.max_output,
      ...(file.default_model !== undefined && { defaultModel: file.default_model }),
      currency: file.currency,
      seal: seal ?? own ?? [OWN_SEAL],
      keeps: file.kept.for !== 'none',
      mayFetchPrivate: file.fetch.private,
      labels: labelHeaders(file.labels),
      ...(file.cors && { crossOrigin: { origins: file.cors.origins, maxAge: duration(file.cors.max_age) as number } }),
      ...(file.expose.length > 0 && { exposes: exposedOf(file.expose) }),
      pages: Object.assign(Object.create(null), file.pages),
    },
  }
}

function tokenOptions(jwt: NonNullable<GatewayData['jwt']>): TokenOptions {
  const { issuer, audience, jwks, groups_from, name_from, team_from, refresh } = jwt
  return {
    issuer,
    audience: [audience].flat(),
    jwks,
    nameFrom: name_from,
    refresh: duration(refresh) as number,
    ...(groups_from !== undefined && { groupsFrom: groups_from }),
    ...(team_from !== undefined && { teamFrom: team_from }),
  }
}

/** The origin that an upstream sends callers' credentials to; undefined if it sends none. */
function callersOrigin(upstream: UpstreamConfig | undefined, plan: Plan): string | undefined {
  const base = upstream?.isCallers && (upstream.base ?? plan.providers[upstream.provider]?.base)
  return base && URL.canParse(base) ? new URL(base).origin : undefined
}

function labelHeaders({ end_user, session, tags }: GatewayData['labels']): NonNullable<GatewayConfig['labels']> {
  return {
    ...(end_user !== undefined && { endUser: end_user }),
    ...(session !== undefined && { session }),
    ...(tags !== undefined && { tags }),
  }
}

/** A model's settings, without the facts about its inputs and outputs. */
function modelOf(written: GatewayModel): ModelConfig {
  const { limits, retry, hedge, choose, sticky, mirror, hidden, list, ...model } = written
  const rateLimits = rateLimitsOf(limits)
  const { context, max_output } = limits ?? {}
  return {
    ...model,
    ...(limits && { limits: { ...(context !== undefined && { context }), ...(max_output !== undefined && { max_output }) } }),
    ...(rateLimits && { rateLimits }),
    routing: routingOf(written),
    ...(hidden && { isHidden: true }),
    ...(list && { list }),
  }
}

function exposedOf(names: GatewayData['expose']): Exposed {
  return { target: names.includes('target'), attempts: names.includes('attempts'), cost: names.includes('cost') }
}

function capacityOf(written: GatewayData['capacity']): Capacity {
  const usual = usualCapacity()
  return {
    connections: written.connections ?? usual.connections,
    bodies: (written.bodies === undefined ? undefined : size(written.bodies)) ?? usual.bodies,
  }
}

/** Deadlines and sizes, `none` for no limit; other members of `limits` are read elsewhere. */
function limitsOf(written: GatewayData['limits'] | GatewayUpstream['limits']): Partial<Limits> {
  const limits: Record<string, number | null | undefined> = {}
  for (const [key, value] of Object.entries(written)) {
    if (isRate(key)) continue
    const text = String(value)
    limits[key] = text === 'none' ? null : key === 'body' ? size(text) : duration(text)
  }
  return limits as Partial<Limits>
}
