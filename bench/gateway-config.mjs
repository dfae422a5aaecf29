/** The `gateway.yaml` of the benchmark: an upstream for each dialect, all at the benchmark's own, and a model for each kind of answer. */
import { existsSync } from 'node:fs'

export const KEY = 'sk-bench-0123456789abcdef0123456789abcdef'

/** The provider that stands for a dialect that upstreams speak. */
const PROVIDERS = { chat: 'openai', messages: 'anthropic', generate: 'google', embeddings: 'openai', realtime: 'openai' }
const KINDS = ['json', 'stream', 'paced', 'slow', 'frames']

/** The client's name for a model. The upstream finds its own name inside of it, so that whoever passes the body on unread is answered, too. */
export const modelName = (upstreamDialect, kind) => `${upstreamDialect}-bench-${kind}`

export function config(port, upstream) {
  const spoken = Object.entries(PROVIDERS).filter(([, provider]) => existsSync(new URL(`../providers/${provider}.yaml`, import.meta.url)))
  return [
    `listen: 127.0.0.1:${port}`,
    'keys:',
    '  - { name: bench, value: $BENCH_KEY, groups: [default] }',
    'upstreams:',
    ...spoken.map(([dialect, provider]) => `  up-${dialect}: { provider: ${provider}, base: '${upstream}', secret: none }`),
    'models:',
    ...spoken.flatMap(([dialect]) => KINDS.map((kind) => `  ${modelName(dialect, kind)}: { targets: [ { upstream: up-${dialect}, model: bench-${kind} } ] }`)),
    '',
  ].join('\n')
}
