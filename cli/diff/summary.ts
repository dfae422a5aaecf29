// Describes a configuration in texts that can be compared: routes, accounts, models, permissions, prices, fields.

import { readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { priceAt } from '../../engine/snapshot/catalogue.js'
import { mayUse } from '../../engine/stages/choose.js'
import { alone, fileOf } from '../check.js'
import { rootsOf } from '../overlay.js'
import { prepare } from '../prepare.js'
import { fillSecrets } from '../secrets.js'
import { showFields } from '../show/fields.js'

/** By section and name. */
export type ConfigSummary = Record<(typeof SECTIONS)[number], Record<string, string>>

export const SECTIONS = ['routes', 'upstreams', 'models', 'rights', 'prices', 'limits', 'fields'] as const

const inWords = (value: unknown): string => JSON.stringify(value).replaceAll(/["{}]/g, '').replaceAll(',', ', ').replaceAll(':', ' ')

/** Throws a DataError if the file is invalid. Secrets need not be set. */
export async function summaryOf(path: string): Promise<ConfigSummary> {
  const config = fileOf(path)
  fillSecrets(config)
  const { snapshot, gateway } = await prepare(config, alone)
  const meaning: ConfigSummary = { routes: {}, upstreams: {}, models: {}, rights: {}, prices: {}, limits: {}, fields: {} }
  try {
    for (const route of snapshot.plan.routes)
      for (const one of route.paths)
        meaning.routes[`${route.methods.join(',') || 'any'} ${one} (${route.name})`] =
          `${route.dialect}, ${route.fail ?? (route.answer ? 'answered here' : (route.document ?? 'asks a model'))}, key in ${route.auth.join(' or ') || 'none'}`
    for (const [name, upstream] of Object.entries(gateway.upstreams)) {
      const { provider, base, limits, rateLimits } = upstream
      const doors = Object.keys(snapshot.plan.providers[provider]?.speaks ?? {})
      meaning.upstreams[name] = `${provider}${base === undefined ? '' : ` at ${base}`}, speaks ${doors.join(', ')}`
      if (limits ?? rateLimits) meaning.limits[`upstream ${name}`] = inWords({ ...limits, ...rateLimits })
    }
    const today = new Date().toISOString()
    for (const model of snapshot.models.values()) {
      meaning.models[model.name] = model.targets
        .map(target => `${target.upstream}/${target.model} (priority ${target.priority}, weight ${target.weight})`)
        .join('; ')
      const price = model.config.price ?? priceAt(model.facts.prices, today)
      if (price !== undefined) meaning.prices[model.name] = inWords(price)
      const { context, maxOutput } = model.facts
      const { rateLimits } = model.config
      if (context ?? maxOutput ?? rateLimits)
        meaning.limits[`model ${model.name}`] = inWords({ context, max_output: maxOutput, ...rateLimits })
    }
    for (const key of snapshot.keys.values()) {
      const usable = [...snapshot.models.values()].filter(model => mayUse(key, model)).map(({ name }) => name)
      const ends = key.expires === undefined ? '' : `, until ${new Date(key.expires).toISOString()}`
      const from = `${key.routes ? `, routes ${key.routes.join(', ')}` : ''}${key.ips ? `, from ${key.ips.join(', ')}` : ''}`
      meaning.rights[key.name] = key.enabled ? `models ${usable.join(', ') || 'none'}${from}${ends}` : 'disabled'
      if (key.rateLimits) meaning.limits[`key ${key.name}`] = inWords(key.rateLimits)
    }
  } finally {
    await snapshot.close()
  }
  return meaning
}

/** The pairs that a folder has mappings for. */
export function ownPairs(path: string): string[] {
  const { own } = rootsOf(dirname(fileOf(path)) || '.')
  const folder = own === undefined ? undefined : join(own, 'mappings')
  if (folder === undefined || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return []
  return readdirSync(folder).filter(name => name.includes('-to-'))
}

/** The fate of each field of a pair, by `pair: field`; empty if there is no such pair. */
export async function fieldsOf(path: string, pair: string): Promise<Record<string, string>> {
  const [client, upstream] = pair.split('-to-') as [string, string]
  try {
    const { json } = await showFields(dirname(fileOf(path)) || '.', client, upstream)
    const fields = json.fields as { path: string; verdict: string; why?: string }[]
    return Object.fromEntries(fields.map(one => [`${pair}: ${one.path}`, `${one.verdict}${one.why === undefined ? '' : ` (${one.why})`}`]))
  } catch {
    return {}
  }
}
