// The channels of new-api: its table `channels`, or the result of GET /api/channel/, from model/channel.go and
// constant/channel.go of QuantumNous/new-api.

import type { Plan } from './plan.js'

type Channel = Record<string, unknown>

/** Channel types by number, with our providers. */
const TYPES: Readonly<Record<number, string>> = {
  1: 'openai',
  3: 'azure-deployments',
  4: 'ollama',
  14: 'anthropic',
  17: 'dashscope',
  20: 'openrouter',
  24: 'gemini',
  25: 'moonshot',
  26: 'zai',
  27: 'perplexity',
  34: 'cohere',
  38: 'jina',
  40: 'siliconflow',
  42: 'mistral',
  43: 'deepseek',
  45: 'volcengine',
  48: 'xai',
  50: 'kling',
  51: 'jimeng',
  55: 'openai',
}

/** Figures and notes, which are not settings. */
const FIGURES: ReadonlySet<string> = new Set([
  ...[
    'id',
    'name',
    'created_time',
    'test_time',
    'response_time',
    'balance',
    'balance_updated_time',
    'used_quota',
    'test_model',
    'remark',
    'tag',
  ],
  ...['other_info', 'channel_info', 'need_reconcile'],
])
const READ: ReadonlySet<string> = new Set([
  'type',
  'key',
  'status',
  'weight',
  'priority',
  'base_url',
  'models',
  'model_mapping',
  'header_override',
  'param_override',
  'group',
])

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Converts all channels into a plan. Throws if the file has none. */
export function readNewApi(file: unknown, plan: Plan): void {
  const channels = channelsIn(file)
  const highest = Math.max(0, ...channels.map(({ priority }) => Number(priority ?? 0)))
  for (const [index, channel] of channels.entries()) readChannel(channel, `[${index}]`, highest, plan)
  readGroups(channels, plan)
}

function channelsIn(file: unknown): Channel[] {
  const { data, items } = Object(file) as { data?: unknown; items?: unknown }
  if (Array.isArray(file)) return file as Channel[]
  if (data !== undefined) return channelsIn(data)
  return Array.isArray(items) ? (items as Channel[]) : []
}

function readChannel(channel: Channel, path: string, highest: number, plan: Plan): void {
  const type = Number(channel.type)
  const provider = TYPES[type]
  if (provider === undefined || !plan.project.providers.has(provider)) {
    plan.tell(`${path}.type`, 'unsupported', `there is no provider for a channel of type ${type}; write a file in providers/ for it`)
    return
  }
  if (Number(channel.status ?? 1) !== 1) {
    plan.tell(`${path}.status`, 'approximate', 'the channel is disabled, so it is left out')
    return
  }
  plan.tell(`${path}.type`, 'exact', `the provider ${provider}`)
  const secret = `$CHANNEL_${String(channel.id ?? path.replaceAll(/\D/g, ''))}_KEY`
  if (text(channel.key).includes('\n'))
    plan.tell(`${path}.key`, 'by hand', `several keys: an upstream for each; ${secret.slice(1)} is the first`)
  else plan.tell(`${path}.key`, 'by hand', `set it as ${secret.slice(1)} in the environment`)
  const base = text(channel.base_url)
  const isNeeded = plan.project.providers.get(provider)?.data.base === undefined
  if (base !== '') plan.tell(`${path}.base_url`, 'exact', 'the base of the upstream')
  else if (isNeeded) plan.tell(`${path}.base_url`, 'by hand', `${provider} has an address for each account: give the upstream its base`)
  const headers = objectIn(channel.header_override)
  const plain = Object.entries(headers).filter((one): one is [string, string] => typeof one[1] === 'string' && !one[1].includes('{'))
  if (Object.keys(headers).length > 0)
    plan.tell(`${path}.header_override`, plain.length === Object.keys(headers).length ? 'exact' : 'by hand', 'headers of the upstream')
  const upstream = plan.upstream(provider, {
    secret,
    ...(base !== '' && { base }),
    ...(plain.length > 0 && { headers: Object.fromEntries(plain) }),
  })
  const mapped = objectIn(channel.model_mapping)
  const names = namesIn(channel.models)
  const weight = Number(channel.weight ?? 0)
  // In new-api the highest number is first, here the lowest.
  const priority = highest - Number(channel.priority ?? 0) + 1
  const force = objectIn(channel.param_override)
  // Later versions have an expression language of their own there.
  const isPlain = Object.keys(force).length > 0 && !('operations' in force)
  if (Object.keys(force).length > 0)
    plan.tell(`${path}.param_override`, isPlain ? 'exact' : 'by hand', 'force of the targets (docs/parameters.md)')
  for (const name of names)
    plan.model(name).targets.push({
      upstream,
      model: String(mapped[name] ?? name),
      ...(priority > 1 && { priority }),
      ...(weight > 0 && { weight }),
      ...(isPlain && { force }),
    })
  plan.tell(`${path}.models`, 'exact', `targets of ${names.length} models`)
  if (Object.keys(mapped).length > 0) plan.tell(`${path}.model_mapping`, 'exact', 'the models of these targets')
  if (channel.priority !== undefined && channel.priority !== null)
    plan.tell(`${path}.priority`, 'exact', `priority: ${priority}; the lowest is called first`)
  if (channel.weight !== undefined && channel.weight !== null)
    plan.tell(
      `${path}.weight`,
      weight > 0 ? 'exact' : 'approximate',
      weight > 0 ? `weight: ${weight}` : 'weight 0 becomes 1, because it still serves in new-api',
    )
  for (const [name, value] of Object.entries(channel))
    if (!READ.has(name) && !FIGURES.has(name) && isSaid(value)) tellOther(path, name, plan)
}

/** A group has a channel there, and a model here: a model has its groups where all of its channels have the same. */
function readGroups(channels: readonly Channel[], plan: Plan): void {
  const groupsOf = new Map<string, string[]>()
  const used = channels.map((channel, index) => ({
    at: `[${index}].group`,
    groups: namesIn(channel.group).sort(),
    models: namesIn(channel.models).filter(name => Number(channel.status ?? 1) === 1 && name in plan.gateway.models),
  }))
  for (const { groups, models } of used) for (const name of models) groupsOf.set(name, [...(groupsOf.get(name) ?? []), groups.join(',')])
  for (const { at, groups, models } of used) {
    if (groups.length === 0 || models.length === 0) continue
    const same = models.filter(name => new Set(groupsOf.get(name)).size === 1)
    const isUsual = groups.join() === 'default'
    if (!isUsual) for (const name of same) plan.model(name).groups = groups
    if (same.length < models.length)
      plan.tell(at, 'by hand', 'groups of the models, whose channels have different ones, and of the keys that may use them')
    else plan.tell(at, 'exact', isUsual ? 'not needed: every key is in the group default' : `groups of ${models.length} models`)
  }
}

const namesIn = (value: unknown): string[] =>
  text(value)
    .split(',')
    .map(name => name.trim())
    .filter(name => name !== '')

const isSaid = (value: unknown): boolean => value !== null && value !== undefined && value !== '' && value !== '{}'

function tellOther(path: string, name: string, plan: Plan): void {
  const at = `${path}.${name}`
  if (name === 'auto_ban') plan.tell(at, 'approximate', 'a failed target is ejected for a while, and returns by itself')
  else if (name === 'openai_organization') plan.tell(at, 'by hand', 'the header openai-organization of the upstream')
  else if (name === 'status_code_mapping') plan.tell(at, 'unsupported', 'a status follows its dialect')
  else plan.tell(at, 'unsupported', 'there is no equivalent')
}

function objectIn(value: unknown): Record<string, unknown> {
  try {
    return Object(typeof value === 'string' && value !== '' ? JSON.parse(value) : {}) as Record<string, unknown>
  } catch {
    return {}
  }
}
