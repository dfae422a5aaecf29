// gateway.yaml → the configuration that the engine links. Reports all errors at once, with positions.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { statusOf } from '../../codegen/read/status.js'
import { useOneOf } from '../../codegen/read/suggest.js'
import { size } from '../../codegen/read/units.js'
import { parseFilled, type SourcePosition, type YamlDocument } from '../../codegen/read/yaml.js'
import type { TokenOptions } from '../../engine/control/tokens.js'
import { duration } from '../../engine/core/durations.js'
import { rateLimitsIn } from '../../engine/limits/rate-text.js'
import type { PlanFacts } from '../../engine/plan.js'
import type { Exposed, GatewayConfig } from '../../engine/snapshot/config.js'
import type { GatewayData } from '../../schemas/config/types.js'
import { address } from '../address.js'
import { unreadable } from '../overlay/inputs.js'
import { BudgetReader } from './budgets.js'
import { callsOf } from './calls.js'
import { type Capacity, usualCapacity } from './capacity.js'
import { expressionFindings } from './expressions.js'
import { type Find, findIn } from './find.js'
import { checkGroups, groupsOf } from './groups.js'
import { keysOf } from './keys.js'
import { limitsOf } from './limits.js'
import { checkModels, modelsListed, modelsOf } from './models.js'
import { patternsOf } from './patterns.js'
import { checkRateLimits } from './rate-limits.js'
import { relaysOf, routeNameOf } from './relays.js'
import { checkNames } from './routing.js'
import { type ReadSecret, secretReader } from './secret.js'
import { type StoreSettings, storeSettings } from './store-settings.js'
import { upstreamsOf } from './upstreams.js'

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

/** Characters. */
const LEAST_SEAL = 16
const IS_STATE = /^(?:redis|valkey)s?:\/\/\S+$/
/** The default seal: it lasts as long as the process, whatever is reloaded. */
const OWN_SEAL = randomBytes(32).toString('hex')

/** How a configuration is read. */
export interface ReadOptions {
  /** Files of secrets that cannot be read hold random texts: for runs that send nothing to a provider. */
  mayLackSecrets?: boolean
  /** The names of providers that an overlay may add, if it does not compile. */
  otherProviders?: ReadonlySet<string>
}

/** The result of reading a configuration. */
export interface ReadConfig {
  /** The first one without what its grammar refuses. */
  documents: readonly YamlDocument[]
  /** All errors; a configuration with any is not served. */
  findings: readonly Finding[]
  /** What could be read, in spite of errors; undefined if that is nothing. */
  loaded?: Loaded
}

/** Reads and checks a configuration against a plan. Throws a DataError with every finding. */
export async function loadConfig(path: string, plan: PlanFacts, displayed: string, options: ReadOptions = {}): Promise<Loaded> {
  return good(await readConfig(path, plan, displayed, options))
}

/** The same, with the findings in the result. */
export async function readConfig(path: string, plan: PlanFacts, displayed: string, options: ReadOptions = {}): Promise<ReadConfig> {
  const findings: Finding[] = []
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (statusOf(path) !== 'ENOENT') return { documents: [], findings: [{ ...unreadable(path, error), file: displayed }] }
    const detail = 'the file cannot be read'
    const remedy = 'name an existing file, or write one with `sluice init`'
    return { documents: [], findings: [{ file: displayed, line: 1, column: 1, rule: 'file/missing', detail, remedy }] }
  }
  const documents = parseFilled(displayed, text, findings)
  // A file that is not YAML may be a secret, so its text is not quoted.
  const [document] = documents
  if (document === undefined || findings.length > 0)
    return { documents, findings: findings.map(finding => ({ ...finding, detail: finding.detail.replaceAll(/(["'<]).*["'>]/g, '…') })) }
  const { rest = document, ...result } = await read(document, plan, dirname(resolve(path)), options)
  return { documents: [rest, ...documents.slice(1)], ...result }
}

function good({ findings, loaded }: Omit<ReadConfig, 'documents'>): Loaded {
  if (findings.length > 0 || loaded === undefined) throw new DataError(findings)
  return loaded
}

/** The same for the content of a configuration without a file; findings call it `name`. */
export async function configOf(content: object, plan: PlanFacts, name = 'content'): Promise<Loaded> {
  return good(await read(withoutPositions(name, content), plan, process.cwd()))
}

/** The same for a document that is a part of another file. `folder` is where its files of secrets are. */
export async function configIn(document: YamlDocument, plan: PlanFacts, folder: string): Promise<Loaded> {
  return good(await read(document, plan, resolve(folder)))
}

/** A document whose values have no positions. */
function withoutPositions(file: string, value: unknown): YamlDocument {
  const start = (): SourcePosition => ({ file, line: 1, column: 1 })
  return { file, value, at: start, key: start, inside: start }
}

async function read(
  document: YamlDocument,
  plan: PlanFacts,
  folder: string,
  options: ReadOptions = {},
): Promise<Omit<ReadConfig, 'documents'> & { rest?: YamlDocument }> {
  // Defaults are filled into a copy: the document is what is written.
  const value = structuredClone(document.value ?? {})
  if (plan.validateGateway(value)) {
    const findings = await expressionFindings(value as GatewayData, document)
    const loaded = link(value as GatewayData, plan, folder, findIn(document, findings), options)
    return { findings, loaded }
  }
  // Only errors need the full validator, which knows the position of each.
  const { findInRest, gatewayFindings, restOfGateway } = await import('./gateway-findings.js')
  const findings = gatewayFindings(document)
  const rest = restOfGateway(document)
  const file = structuredClone(rest.value) as GatewayData
  if (!plan.validateGateway(file)) return { findings }
  findings.push(...(await expressionFindings(file, rest)))
  const loaded = link(file, plan, folder, findInRest(findIn(rest, findings), rest), options)
  return { findings, loaded, rest }
}

/** Reads each section, checks what the grammar cannot, and puts the configuration together. */
function link(
  file: GatewayData,
  plan: PlanFacts,
  folder: string,
  find: Find,
  { mayLackSecrets = false, otherProviders }: ReadOptions,
): Loaded {
  const secret = secretReader(folder, mayLackSecrets, find)
  const budgets = new BudgetReader(file, find)
  const groups = groupsOf(file, budgets, find)
  checkRateLimits(file.key_limits, ['key_limits'], find)
  const keys = keysOf(file, secret, budgets, find)
  const upstreams = upstreamsOf(file, plan, secret, budgets, find, otherProviders)
  checkModels(file, upstreams, plan, find)
  const listed = modelsListed(file, upstreams)
  checkNames(file, listed, find)
  const models = modelsOf(file, listed, plan, budgets)
  const proxies = relaysOf(file, upstreams, plan, find)
  const routeNames = [...plan.routes.map(({ name }) => name), ...Object.keys(file.relay).map(routeNameOf)]
  const calls = callsOf(file, routeNames, secret, find)
  const patterns = patternsOf(file, routeNames, find)
  const budgetRules = budgets.rules()
  budgets.finish()
  checkPages(file, plan, find)
  const seal = sealOf(file, secret, find)
  return {
    settings: settingsOf(file, folder, secret, seal, find),
    gateway: {
      keys,
      upstreams,
      models,
      groups,
      budgets: budgetRules,
      ...(file.key_limits && { keyLimits: rateLimitsIn(file.key_limits) }),
      limits: limitsOf(file.limits),
      ...(Object.keys(proxies).length > 0 && { proxies }),
      ...(Object.keys(calls).length > 0 && { calls }),
      ...(Object.keys(patterns).length > 0 && { patterns }),
      maxOutput: file.max_output,
      ...(file.default_model !== undefined && { defaultModel: file.default_model }),
      currency: file.currency,
      seal: seal ?? [OWN_SEAL],
      keeps: file.kept.for !== 'none',
      mayFetchPrivate: file.fetch.private,
      labels: labelHeaders(file.labels),
      ...(file.cors && { crossOrigin: { origins: file.cors.origins, maxAge: duration(file.cors.max_age) as number } }),
      ...(file.expose.length > 0 && { exposes: exposedOf(file.expose) }),
      pages: Object.assign(Object.create(null), file.pages),
    },
  }
}

function checkPages(file: GatewayData, { routes }: PlanFacts, find: Find): void {
  const pages = new Set(routes.flatMap(({ page }) => page?.name ?? []))
  for (const [name, groups] of Object.entries(file.pages)) {
    if (!pages.has(name)) find(['pages', name], 'names/page', `there is no page ${name}`, useOneOf(pages, name))
    checkGroups(file, groups, ['pages', name], find)
  }
}

/** The secrets of sealed ids, the first of which seals; undefined if neither the file nor the environment has one. */
function sealOf(file: GatewayData, secret: ReadSecret, find: Find): string[] | undefined {
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
  return seal ?? (process.env.SLUICE_SEAL ? [process.env.SLUICE_SEAL] : undefined)
}

function settingsOf(file: GatewayData, folder: string, secret: ReadSecret, seal: readonly string[] | undefined, find: Find): Settings {
  const state = file.state === undefined ? undefined : secret(file.state, ['state'])
  if (state !== undefined && !IS_STATE.test(state))
    find(['state'], 'state/address', 'the value is not the address of a Redis', 'write one such as redis://127.0.0.1:6379/0')
  if (file.jwt && !URL.canParse(file.jwt.jwks)) find(['jwt', 'jwks'], 'jwt/jwks', 'the value is not a URL', 'write the URL of the keys')
  const store = storeSettings(file, folder, secret, find, seal)
  const { host, port } = address(file.listen)
  return {
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

function labelHeaders({ end_user, session, tags }: GatewayData['labels']): NonNullable<GatewayConfig['labels']> {
  return {
    ...(end_user !== undefined && { endUser: end_user }),
    ...(session !== undefined && { session }),
    ...(tags !== undefined && { tags }),
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
