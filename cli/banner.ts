// What a person at a terminal reads when a gateway has begun: where it is, one line to try, and where to look.

import { importFacts } from './plan.js'
import type { Good } from './prepare.js'

/** Models that are named. */
const SHOWN = 3

export interface Banner {
  url: string
  /** Served routes. */
  routes: number
  /** Whether /docs is served. */
  hasReference: boolean
  models: readonly string[]
  /** The line about keys. */
  keys: string
  /** A key as a shell writes it. */
  key: string
}

export function bannerOf({ url, routes, hasReference, models, keys, key }: Banner): string {
  const named = models.filter(name => !name.includes('*'))
  const [model] = named
  const such = named.length === 0 ? '' : `, such as ${named.slice(0, SHOWN).join(', ')}`
  const begin = `curl ${url}/v1/${model === undefined ? 'models' : 'chat/completions'} -H ${key}`
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }).replaceAll("'", "'\\''")
  return `
Sluice is serving on ${url}
${routes} routes: ${hasReference ? `${url}/docs shows them, ` : ''}\`sluice routes\` lists them
${models.length} ${models.length === 1 ? 'model' : 'models'}${such}
${keys}

Try it:
${model === undefined ? begin : `${begin} -H 'Content-Type: application/json' -d '${body}'`}
`
}

/** Prints the banner of a configuration, if a person reads the output. Keys are named: only their hashes may be known. */
export async function showBanner({ plan: address, settings, gateway }: Good, url: string): Promise<void> {
  if (!process.stdout.isTTY) return
  const plan = await importFacts(address)
  const names = gateway.keys.filter(({ enabled }) => enabled).map(({ name }) => name)
  console.log(
    bannerOf({
      url,
      routes: plan.routes.filter(route => route.fail === undefined).length + Object.keys(gateway.proxies ?? {}).length,
      hasReference: settings.hasReference,
      models: Object.keys(gateway.models),
      keys: names.length === 0 ? 'No keys in the file' : `Keys: ${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ', …' : ''}`,
      key: '"Authorization: Bearer $KEY"',
    }),
  )
}
