// LiteLLM's config.yaml, documented at https://docs.litellm.ai/docs/proxy/configs and /docs/proxy/config_settings.

import { isObject } from '../../engine/core/members.js'
import type { Model, Plan, Target, Verdict } from './plan.js'

type Data = Record<string, unknown>

/** LiteLLM's provider names that differ from our files in providers/. */
const ALIASES: Readonly<Record<string, string>> = {
  ollama_chat: 'ollama',
  hosted_vllm: 'vllm',
  lm_studio: 'lm-studio',
  cohere_chat: 'cohere',
  azure: 'azure-deployments',
}

const record = (value: unknown): Data => (isObject(value) ? value : {})
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const MILLION = 1_000_000

/** Converts a whole file into a plan. Every setting gets a line. */
export function readLitellm(file: unknown, plan: Plan): void {
  const { model_list, router_settings, litellm_settings, general_settings, environment_variables, ...rest } = record(file)
  for (const entry of list(model_list)) reserveVariable(record(record(entry).litellm_params), plan)
  for (const [index, entry] of list(model_list).entries()) readModel(record(entry), `model_list[${index}]`, plan)
  const router = record(router_settings)
  const settings = record(litellm_settings)
  readAliases(router.model_group_alias, plan)
  for (const [path, value] of [
    ['router_settings.fallbacks', router.fallbacks],
    ['litellm_settings.fallbacks', settings.fallbacks],
  ] as const)
    readFallbacks(path, value, plan)
  for (const [section, members] of [
    ['router_settings', router],
    ['litellm_settings', settings],
  ] as const)
    for (const [name, value] of Object.entries(members)) if (!READ_ELSEWHERE.has(name)) tellSetting(`${section}.${name}`, name, value, plan)
  for (const [name, value] of Object.entries(record(general_settings))) readGeneral(name, value, plan)
  for (const name of Object.keys(record(environment_variables)))
    plan.tell(`environment_variables.${name}`, 'by hand', 'set it in the environment that the gateway is started in')
  for (const name of Object.keys(rest)) plan.tell(name, 'unsupported', 'there is no equivalent')
}

const READ_ELSEWHERE: ReadonlySet<string> = new Set(['model_group_alias', 'fallbacks'])

function readModel(entry: Data, path: string, plan: Plan): void {
  const params = record(entry.litellm_params)
  const info = record(entry.model_info)
  const name = String(entry.model_name ?? '')
  const asked = String(params.model ?? '')
  // A star of the name stands for what the one of the provider's name does; there is one of each.
  const stars = (text: string): number => text.split('*').length - 1
  if (stars(name) !== stars(asked) || stars(name) > 1) {
    plan.tell(`${path}.model_name`, 'by hand', `${name} matches many models: a model such as \`${name.split('*')[0]}*\` (docs/routing.md)`)
    return
  }
  const slash = asked.indexOf('/')
  const prefix = prefixOf(asked)
  const provider = providerOf(prefix, plan)
  if (provider === undefined) {
    plan.tell(`${path}.litellm_params.model`, 'unsupported', `there is no provider ${prefix}; write a file in providers/ for it`)
    return
  }
  plan.tell(`${path}.model_name`, 'exact', `the model ${name}`)
  plan.tell(
    `${path}.litellm_params.model`,
    slash < 0 ? 'approximate' : 'exact',
    slash < 0 ? 'no provider is named; openai is assumed' : `the provider ${provider}`,
  )
  const secret = secretOf(params.api_key, provider, `${path}.litellm_params.api_key`, plan)
  const base = baseOf(params.api_base ?? params.base_url, `${path}.litellm_params.api_base`, provider, plan)
  const upstream = plan.upstream(provider, { secret, ...(base !== undefined && { base }) })
  const model = plan.model(name)
  const [weight, priority] = ['weight', 'order'].map(member => numberIn(params, member, `${path}.litellm_params`, plan))
  const target: Target = {
    upstream,
    model: slash < 0 ? asked : asked.slice(slash + 1),
    ...knownAs(info.base_model, `${path}.model_info.base_model`, plan),
    ...(weight !== undefined && { weight }),
    ...(priority !== undefined && { priority }),
  }
  model.targets.push(target)
  const rates = readRates(params, path, plan)
  if (Object.keys(rates).length > 0) (plan.gateway.upstreams[upstream] as { limits?: object }).limits = rates
  readFacts(model, params, info, path, plan)
  for (const member of Object.keys(params))
    if (!PARAMS.has(member)) readParam(`${path}.litellm_params.${member}`, member, params[member], target, plan)
  for (const member of Object.keys(info))
    if (!FACTS.has(member))
      plan.tell(`${path}.model_info.${member}`, 'unsupported', 'there is no equivalent; see models/ for facts about models')
  for (const member of Object.keys(entry))
    if (!['model_name', 'litellm_params', 'model_info'].includes(member))
      plan.tell(`${path}.${member}`, 'unsupported', 'there is no equivalent')
}

const PARAMS: ReadonlySet<string> = new Set([
  ...['model', 'api_key', 'api_base', 'base_url', 'weight', 'order', 'rpm', 'tpm', 'max_parallel_requests'],
  ...['input_cost_per_token', 'output_cost_per_token'],
])
const FACTS: ReadonlySet<string> = new Set([
  'max_input_tokens',
  'max_output_tokens',
  'input_cost_per_token',
  'output_cost_per_token',
  'mode',
  'id',
  'base_model',
])

const prefixOf = (model: string): string => (model.includes('/') ? model.slice(0, model.indexOf('/')) : 'openai')

/** Which model a deployment is; it may be written with the provider's name before it. */
function knownAs(given: unknown, path: string, plan: Plan): Pick<Target, 'known_as'> {
  if (given === undefined) return {}
  const name = String(given)
  const isPrefixed = name.includes('/') && providerOf(prefixOf(name), plan) !== undefined
  const known = isPrefixed ? name.slice(name.indexOf('/') + 1) : name
  plan.tell(path, 'exact', `known_as of the target: ${known}`)
  return { known_as: known }
}

function providerOf(prefix: string, { project }: Plan): string | undefined {
  const known = [...project.providers].find(([, { data }]) => data.known_as?.litellm?.includes(prefix))?.[0]
  const name = known ?? ALIASES[prefix] ?? prefix
  return project.providers.has(name) ? name : undefined
}

/** The variable that LiteLLM reads a setting from. */
const variableIn = (given: unknown): string | undefined => (typeof given === 'string' ? /^os\.environ\/(\w+)$/.exec(given)?.[1] : undefined)

/** Keeps the variable of a deployment's account for it, so that no key in the file gets its name. */
function reserveVariable(params: Data, plan: Plan): void {
  const variable = variableIn(params.api_key)
  const provider = providerOf(prefixOf(String(params.model ?? '')), plan)
  if (variable !== undefined) plan.variables.add(variable)
  // Without a key LiteLLM reads the usual variable.
  else if (!isSaid(params.api_key) && provider !== undefined && !plan.isOwn(provider)) plan.variables.add(plan.usualVariable(provider))
}

const isSaid = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Replaces a secret by a variable, which is told; the secret itself is never written. */
function secretOf(given: unknown, provider: string, path: string, plan: Plan): string {
  const read = variableIn(given)
  if (read !== undefined) {
    plan.tell(path, 'exact', `$${read}`)
    return `$${read}`
  }
  if (!isSaid(given) && plan.isOwn(provider)) {
    plan.tell(path, 'exact', `secret: none, because there is no key for ${provider}`)
    return 'none'
  }
  const variable = isSaid(given) ? plan.variableFor(given, provider) : plan.usualVariable(provider)
  plan.tell(
    path,
    'by hand',
    `${isSaid(given) ? 'the file contains a key' : 'the file has no key'}; set it as ${variable} in the environment`,
  )
  return `$${variable}`
}

function baseOf(given: unknown, path: string, provider: string, plan: Plan): string | undefined {
  if (typeof given !== 'string' || given === '') {
    if (plan.project.providers.get(provider)?.data.base !== undefined) return undefined
    plan.tell(path, 'by hand', `${provider} has an address for each account: give the upstream its base`)
    return undefined
  }
  if (given.startsWith('os.environ/')) {
    plan.tell(path, 'by hand', 'gateway.yaml needs the address itself, not a variable')
    // `check` finds it: without a base the key would go to the provider's own address.
    return given.replace('os.environ/', '$')
  }
  plan.tell(path, 'exact', 'the base of the upstream')
  return given
}

/** A number, which may be written as a text; another value is told. Undefined if there is none. */
function numberIn(data: Data, member: string, path: string, plan: Plan): number | undefined {
  const value = data[member] ?? undefined
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number === 'number' && Number.isFinite(number)) return number
  if (value !== undefined) plan.tell(`${path}.${member}`, 'by hand', 'it is not written as a number: write it into gateway.yaml')
  return undefined
}

function readRates(params: Data, path: string, plan: Plan): Record<string, string | number> {
  const rates: Record<string, string | number> = {}
  const names = { rpm: 'requests', tpm: 'tokens' } as const
  for (const [theirs, ours] of Object.entries(names)) {
    const rate = numberIn(params, theirs, `${path}.litellm_params`, plan)
    if (rate === undefined) continue
    rates[ours] = `${rate}/1m`
    plan.tell(
      `${path}.litellm_params.${theirs}`,
      'approximate',
      `${ours}: ${rates[ours]} of the upstream, so for all models that it serves together`,
    )
  }
  const most = numberIn(params, 'max_parallel_requests', `${path}.litellm_params`, plan)
  if (most !== undefined) {
    rates.in_flight = most
    plan.tell(
      `${path}.litellm_params.max_parallel_requests`,
      'approximate',
      'in_flight of the upstream, so for all models that it serves together',
    )
  }
  return rates
}

function readFacts(model: Model, params: Data, info: Data, path: string, plan: Plan): void {
  for (const [from, facts] of [
    ['litellm_params', params],
    ['model_info', info],
  ] as const) {
    const [input, output] = (['input_cost_per_token', 'output_cost_per_token'] as const).map(name =>
      numberIn(facts, name, `${path}.${from}`, plan),
    )
    if (input === undefined && output === undefined) continue
    if (input === undefined || output === undefined) {
      plan.tell(`${path}.${from}`, 'by hand', 'it has the price of only one direction: give the model `price: { input: …, output: … }`')
      continue
    }
    const rounded = (price: number): number => Number((price * MILLION).toPrecision(12))
    model.price = { input: rounded(input), output: rounded(output) }
    plan.tell(`${path}.${from}.input_cost_per_token`, 'exact', `price.input for a million tokens: ${model.price.input}`)
    plan.tell(`${path}.${from}.output_cost_per_token`, 'exact', `price.output for a million tokens: ${model.price.output}`)
  }
  for (const [theirs, ours] of [
    ['max_input_tokens', 'context'],
    ['max_output_tokens', 'max_output'],
  ] as const) {
    const most = numberIn(info, theirs, `${path}.model_info`, plan)
    if (most === undefined) continue
    model.limits = { ...model.limits, [ours]: most }
    const isSame = ours === 'max_output'
    plan.tell(
      `${path}.model_info.${theirs}`,
      isSame ? 'exact' : 'approximate',
      isSame ? 'limits.max_output' : 'limits.context, which counts input and output together',
    )
  }
  if (info.mode !== undefined) plan.tell(`${path}.model_info.mode`, 'exact', 'not needed: the route determines the mode')
  if (info.id !== undefined) plan.tell(`${path}.model_info.id`, 'unsupported', 'targets have no ids; the log has upstream and model')
}

/** Parameters with the same name in chat and messages; a request overrides them. */
const SAME: ReadonlySet<string> = new Set(['temperature', 'top_p', 'max_tokens'])

function readParam(path: string, member: string, value: unknown, target: Target, plan: Plan): void {
  const { provider } = plan.gateway.upstreams[target.upstream] as { provider: string }
  const speaks = Object.keys(plan.project.providers.get(provider)?.data.speaks ?? {})
  const headers = Object.entries(record(value)).filter((one): one is [string, string] => typeof one[1] === 'string')
  if (SAME.has(member) && ['chat', 'messages'].some(dialect => speaks.includes(dialect))) {
    target.defaults = { ...target.defaults, [member]: value }
    plan.tell(path, 'exact', 'defaults of the target')
  } else if (/^(extra_headers|headers)$/.test(member) && headers.length > 0) {
    target.headers = Object.fromEntries(headers)
    plan.tell(path, 'exact', 'headers of the target')
  } else tellParam(path, member, plan)
}

function tellParam(path: string, member: string, plan: Plan): void {
  if (/^(timeout|stream_timeout)$/.test(member))
    plan.tell(path, 'by hand', 'give the upstream limits: first_event for a stream, headers for a whole answer')
  else if (/^(max_retries|num_retries)$/.test(member))
    plan.tell(path, 'approximate', 'the next target is called once; give the model another target')
  else if (/^(temperature|top_p|max_tokens|seed|stop|user|extra_body|reasoning_effort)$/.test(member))
    plan.tell(path, 'by hand', "defaults or force of the target, by the provider's name for it (docs/parameters.md)")
  else if (/^(extra_headers|headers|organization)$/.test(member)) plan.tell(path, 'by hand', 'headers of the upstream')
  else if (/^(aws_|vertex_)/.test(member)) plan.tell(path, 'unsupported', 'no provider supports the credential of this account')
  else if (member === 'api_version') plan.tell(path, 'approximate', 'the version is in the provider’s file')
  else plan.tell(path, 'unsupported', 'there is no equivalent')
}

function readAliases(given: unknown, plan: Plan): void {
  for (const [alias, target] of Object.entries(record(given))) {
    const name = typeof target === 'string' ? target : String(record(target).model ?? '')
    const path = `router_settings.model_group_alias.${alias}`
    const model = plan.gateway.models[name]
    if (model === undefined) plan.tell(path, 'by hand', `there is no model ${name} for this alias`)
    else {
      model.aliases = [...(model.aliases ?? []), alias]
      plan.tell(path, 'exact', `an alias of ${name}`)
    }
  }
}

/** Adds the targets of a model's fallbacks behind its own. */
function readFallbacks(path: string, given: unknown, plan: Plan): void {
  const models = structuredClone(plan.gateway.models)
  const before = {
    ...models,
    ...Object.fromEntries(Object.values(models).flatMap(model => (model.aliases ?? []).map(alias => [alias, model]))),
  }
  list(given).forEach((entry, index) => {
    for (const [name, others] of Object.entries(record(entry))) {
      const model = plan.gateway.models[name]
      const missing = list(others)
        .map(String)
        .filter(other => before[other] === undefined)
      if (model === undefined || missing.length > 0) {
        plan.tell(`${path}[${index}].${name}`, 'by hand', `there is no model ${model === undefined ? name : missing.join(', ')}`)
        continue
      }
      for (const other of list(others).map(String)) {
        const last = Math.max(...model.targets.map(target => target.priority ?? 1))
        for (const target of before[other]?.targets ?? []) model.targets.push({ ...target, priority: last + (target.priority ?? 1) })
      }
      plan.tell(`${path}[${index}].${name}`, 'exact', `targets of ${list(others).join(', ')} behind its own`)
    }
  })
}

/** The results for settings of the router and of the library. */
const SETTINGS: readonly [name: RegExp, verdict: Verdict, why: string][] = [
  [
    /^(num_retries|max_fallbacks|retry_after|retry_policy)$/,
    'approximate',
    'each target is called once, if nothing was sent yet; retry of a model changes that (docs/routing.md)',
  ],
  [
    /^(disable_cooldowns|allowed_fails_policy)$/,
    'by hand',
    'health of the upstreams: when a target is ejected, and for how long (docs/routing.md)',
  ],
  [/^enable_pre_call_checks$/, 'exact', 'not needed: a conversation that is too long goes to targets with a larger context'],
  [
    /^(context_window_fallbacks|content_policy_fallbacks|default_fallbacks)$/,
    'by hand',
    'give the models further targets; a target whose known context is too small is skipped',
  ],
  [/^redis_/, 'by hand', 'state: the address of the Redis'],
  [/^drop_params$/, 'approximate', 'unsupported hints are dropped and reported; other unsupported fields are refused'],
  [/^(set_verbose|json_logs|log_raw_request_response)$/, 'approximate', 'log: { level: … }; the log is JSON always'],
  [/^(cache|cache_params|enable_caching_on_provider_specific_optional_params)$/, 'unsupported', 'answers are not cached'],
  [/callback/, 'unsupported', 'exchanges go to the access log and the ledger; with a store, /metrics is for Prometheus'],
  [/^(guardrails|moderation)/, 'by hand', 'patterns (docs/patterns.md), or a service that is asked (docs/calls.md)'],
  [
    /(budget|max_internal_user)/,
    'by hand',
    'budgets: { all: 100/month }, and of keys, groups and models; they need a store (docs/budgets.md)',
  ],
]

function tellSetting(path: string, name: string, value: unknown, plan: Plan): void {
  if ((name === 'timeout' || name === 'request_timeout') && typeof value === 'number' && value >= 1) {
    plan.gateway.limits = { total: `${Math.round(value)}s` }
    plan.tell(path, 'approximate', `limits.total: ${Math.round(value)}s, for all targets of a request together`)
    return
  }
  if (name === 'routing_strategy') readStrategy(path, String(value), plan)
  else if (name === 'allowed_fails' || name === 'cooldown_time') readHealth(path, name, value, plan)
  else {
    const [, verdict, why] = SETTINGS.find(([pattern]) => pattern.test(name)) ?? [
      undefined,
      'unsupported' as const,
      'there is no equivalent',
    ]
    plan.tell(path, verdict, why)
  }
}

/** LiteLLM's strategies with what a model says for them. */
const STRATEGIES: Readonly<Record<string, [choose: string | undefined, verdict: Verdict, why: string]>> = {
  'simple-shuffle': [undefined, 'exact', 'targets of one priority are shared by weight'],
  'least-busy': ['least_busy', 'exact', 'choose: least_busy of each model with several targets'],
  'cost-based-routing': ['cheapest', 'exact', 'choose: cheapest of each model with several targets'],
  'latency-based-routing': ['latency', 'approximate', 'choose: latency of each model with several targets, by the time to the first event'],
  'usage-based-routing': ['least_busy', 'approximate', 'choose: least_busy of each model with several targets'],
  'usage-based-routing-v2': ['least_busy', 'approximate', 'choose: least_busy of each model with several targets'],
}

function readStrategy(path: string, name: string, plan: Plan): void {
  const [choose, verdict, why] = STRATEGIES[name] ?? [
    undefined,
    'by hand' as const,
    'targets of one priority share requests by weight; choose of a model changes that',
  ]
  for (const model of Object.values(plan.gateway.models)) if (choose !== undefined && model.targets.length > 1) model.choose = choose
  plan.tell(path, verdict, why)
}

function readHealth(path: string, name: 'allowed_fails' | 'cooldown_time', value: unknown, plan: Plan): void {
  const amount = Math.round(Number(value))
  if (!(amount >= 1)) {
    plan.tell(path, 'by hand', 'health of the upstreams (docs/routing.md)')
    return
  }
  const health = name === 'allowed_fails' ? { consecutive_failures: amount + 1 } : { base_ejection_time: `${Math.min(amount, 120)}s` }
  for (const upstream of Object.values(plan.gateway.upstreams)) upstream.health = { ...upstream.health, ...health }
  plan.tell(path, 'approximate', `health of each upstream: ${JSON.stringify(health).replaceAll(/["{}]/g, '').replace(':', ': ')}`)
}

function readGeneral(name: string, value: unknown, plan: Plan): void {
  const path = `general_settings.${name}`
  if (name === 'master_key') {
    const variable = typeof value === 'string' ? /^os\.environ\/(\w+)$/.exec(value)?.[1] : undefined
    plan.gateway.keys.push({ name: 'master', value: `$${variable ?? 'SLUICE_MASTER_KEY'}` })
    if (variable !== undefined) plan.tell(path, 'approximate', 'the key master, for every model; the admin API has tokens of its own')
    else plan.tell(path, 'by hand', 'the file contains a key; set it as SLUICE_MASTER_KEY in the environment')
  } else if (name === 'database_url')
    plan.tell(path, 'by hand', 'store: … here, then `sluice keys import litellm` with a dump of LiteLLM_VerificationToken')
  else if (/^(max_parallel_requests|global_max_parallel_requests)$/.test(name)) plan.tell(path, 'by hand', 'key_limits: { in_flight: … }')
  else if (name === 'max_request_size_mb') plan.tell(path, 'by hand', 'limits: { body: … }')
  else plan.tell(path, 'unsupported', 'there is no equivalent')
}
