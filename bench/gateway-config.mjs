/** The `gateway.yaml` of the benchmark: for each workload a model, at an upstream with the workload's dialect. */
import { readdirSync, readFileSync } from 'node:fs'
import { load } from 'js-yaml'

export const KEY = 'sk-bench-0123456789abcdef0123456789abcdef'

const FOLDER = new URL('../providers/', import.meta.url)
const FIRST = ['openai', 'anthropic', 'gemini']

/** The client's name for a model. It contains the upstream's name, so that the upstream also answers contenders that pass the body on unread. */
export const modelName = ({ client, upstream, answer }) => `${client}-${upstream}-bench-${answer}`

/** @returns {{ name: string, speaks: string[] }[]} */
function providers() {
  const names = readdirSync(FOLDER)
    .filter(name => name.endsWith('.yaml'))
    .map(name => name.slice(0, -'.yaml'.length))
  const rank = name => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  return names
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map(name => ({ name, speaks: Object.keys(load(readFileSync(new URL(`${name}.yaml`, FOLDER), 'utf8'))?.speaks ?? {}) }))
}

/** Limits of each kind, of key, group, model and upstream, which no load reaches. */
const LIMITS = 'limits: { requests: 1000000000/1m, tokens: 900000000000/1h, in_flight: 100000 }'

/** For a translation, the upstream must not speak the request's dialect. A workload without a provider has no model. */
export function config(port, base, workloads, isLimited = false) {
  const limits = isLimited ? `, ${LIMITS}` : ''
  const known = providers()
  const upstreams = new Map()
  const models = new Map()
  for (const workload of workloads) {
    const { client, upstream, answer } = workload
    const provider = known.find(({ speaks }) => speaks.includes(upstream) && (client === upstream || !speaks.includes(client)))
    if (!provider) continue
    upstreams.set(provider.name, `  up-${provider.name}: { provider: ${provider.name}, base: '${base}', secret: none${limits} }`)
    models.set(
      modelName(workload),
      `  ${modelName(workload)}: { targets: [ { upstream: up-${provider.name}, model: bench-${answer} } ]${limits} }`,
    )
  }
  return [
    `listen: 127.0.0.1:${port}`,
    // Like nginx here: no line for each request.
    'log: { access: false }',
    'grace: 5s',
    'keys:',
    `  - { name: bench, value: $BENCH_KEY, groups: [default]${limits} }`,
    ...(isLimited ? ['groups:', `  default: { ${LIMITS} }`] : []),
    'upstreams:',
    ...upstreams.values(),
    'models:',
    ...models.values(),
    '',
  ].join('\n')
}
