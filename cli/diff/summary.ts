// What a configuration means, in words that two of them can be compared by: what is served, by whom, for whom, and for how much.

import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Project } from '../../codegen/read/project.js'
import type { Schema } from '../../codegen/read/schemas.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import { priceAt } from '../../engine/snapshot/catalogue.js'
import { mayUse } from '../../engine/stages/choose.js'
import type { GatewayData, GatewayTarget } from '../../schemas/config/types.js'
import { deadlinesText, ratesText } from '../amounts.js'
import { alone, fileOf } from '../check.js'
import { type Prepared, prepare } from '../prepare.js'
import { projectOf } from '../project.js'
import { fillSecrets } from '../secrets.js'
import type { Grammar } from './written.js'

/** One thing of a configuration. */
export interface Thing {
  /** What it is, in a line. */
  text: string
  /** What the line leaves out; where `isAll`, also what the line says. */
  written?: unknown
  isAll?: boolean
  /** The part of the grammar of gateway.yaml that it was written by. */
  grammar?: Grammar
}

export const SECTIONS = [
  'routes',
  'relays',
  'dialects',
  'mappings',
  'providers',
  'upstreams',
  'models',
  'rights',
  'prices',
  'limits',
  'calls',
  'patterns',
  'settings',
  'fields',
] as const

/** By section and name. */
type Meaning = Record<(typeof SECTIONS)[number], Record<string, Thing>>

/** A configuration and what it means; `project` is its overlay over the built-in data. */
export interface Meant {
  meaning: Meaning
  project: Project
}

const inWords = (value: unknown): string => JSON.stringify(value).replaceAll(/["{}]/g, '').replaceAll(',', ', ').replaceAll(':', ' ')

/** Throws a DataError where the file cannot be served. Secrets need not be set. */
export async function meaningOf(path: string): Promise<Meant> {
  const config = fileOf(path)
  fillSecrets(config)
  const prepared = await prepare(config, alone)
  const { snapshot } = prepared
  try {
    const project = projectOf(dirname(config) || '.')
    const file = (parseYaml(config, readFileSync(config, 'utf8'), [])[0]?.value ?? {}) as GatewayData
    // Fills in what is usual.
    snapshot.plan.validateGateway(file)
    const meaning = Object.fromEntries(SECTIONS.map(section => [section, Object.create(null)])) as Meaning
    addData(meaning, project)
    addServed(meaning, prepared, project)
    addWritten(meaning, file, project.configSchemas.get('gateway'))
    return { meaning, project }
  } finally {
    await snapshot.close()
  }
}

/** What the folders say, each file with all that it has from what it is like. */
function addData({ dialects, mappings, providers }: Meaning, project: Project): void {
  const schemas: Record<string, Record<string, Schema>> = Object.create(null)
  for (const [id, schema] of project.schemas) {
    const [dialect, part] = id.split('/').slice(-2) as [string, string]
    schemas[dialect] ??= {}
    schemas[dialect][part] = schema
  }
  for (const { name, data } of project.formats.values()) {
    dialects[name] = { text: data.title, written: withoutWords({ ...data, ...schemas[name] }), isAll: true }
  }
  for (const { name, data } of project.mappings.values()) mappings[name] = { text: 'a mapping of its own', written: data }
  for (const { name, data } of project.providers.values())
    providers[name] = { text: `speaks ${Object.keys(data.speaks).join(', ')}`, written: data, isAll: true }
}

/** A format and its schemas without what is there for readers. */
function withoutWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutWords)
  if (typeof value !== 'object' || value === null) return value
  const isWord = ([name, one]: [string, unknown]): boolean =>
    typeof one === 'string' ? /^(?:title|description|source)$/.test(name) : name === 'examples' && Array.isArray(one)
  return Object.fromEntries(Object.entries(value).flatMap(one => (isWord(one) ? [] : [[one[0], withoutWords(one[1])]])))
}

/** What is served, after everything was put together. */
function addServed(meaning: Meaning, { snapshot, gateway }: Prepared, project: Project): void {
  const { routes, upstreams, models, rights, prices, limits } = meaning
  const written = new Map(
    project.routes.map(({ name, data: { method, path, auth, dialect, fail, ...rest } }) => [name, rest as Record<string, unknown>]),
  )
  for (const route of snapshot.plan.routes)
    for (const one of route.paths) {
      const does = route.fail ?? (route.answer ? 'answered here' : (route.document ?? 'asks a model'))
      const text = `${route.dialect}, ${does}, key in ${route.auth.join(' or ') || 'none'}`
      const isFirst = one === route.paths[0]
      routes[`${route.methods.join(',') || 'any'} ${one} (${route.name})`] = { text, ...(isFirst && { written: written.get(route.name) }) }
    }
  for (const [name, { provider, base, limits: deadlines, rateLimits }] of Object.entries(gateway.upstreams)) {
    const endpoints = Object.keys(snapshot.plan.providers[provider]?.speaks ?? {})
    upstreams[name] = { text: `${provider}${base === undefined ? '' : ` at ${base}`}, speaks ${endpoints.join(', ')}` }
    if (deadlines ?? rateLimits)
      limits[`upstream ${name}`] = {
        text: [deadlines && deadlinesText(deadlines), rateLimits && ratesText(rateLimits)].filter(Boolean).join(', '),
      }
  }
  const today = new Date().toISOString()
  for (const model of snapshot.models.values()) {
    const targets = model.targets.map(target => `${target.upstream}/${target.model} (priority ${target.priority}, weight ${target.weight})`)
    models[model.name] = { text: targets.join('; ') }
    const price = model.config.price ?? priceAt(model.facts.prices, today)
    if (price !== undefined) prices[model.name] = { text: inWords(price) }
    const { context, maxOutput } = model.facts
    const { rateLimits } = model.config
    if (context ?? maxOutput ?? rateLimits) {
      const sizes = inWords({ context, max_output: maxOutput })
      limits[`model ${model.name}`] = { text: [sizes, rateLimits && ratesText(rateLimits)].filter(Boolean).join(', ') }
    }
  }
  for (const key of snapshot.keys.values()) {
    const usable = [...snapshot.models.values()].filter(model => mayUse(key, model)).map(({ name }) => name)
    const ends = key.expires === undefined ? '' : `, until ${new Date(key.expires).toISOString()}`
    const from = `${key.routes ? `, routes ${key.routes.join(', ')}` : ''}${key.ips ? `, from ${key.ips.join(', ')}` : ''}`
    rights[key.name] = { text: key.enabled ? `models ${usable.join(', ') || 'none'}${from}${ends}` : 'disabled' }
    if (key.rateLimits) limits[`key ${key.name}`] = { text: ratesText(key.rateLimits) }
  }
}

/** What the operator's file says of each, beside what was text of it; and what it says of the process. */
function addWritten(meaning: Meaning, file: GatewayData, root: Schema | undefined): void {
  const of = (name: string): Grammar => ({ rules: { $ref: `#/$defs/${name}` }, root })
  const { $defs } = (root ?? {}) as { $defs?: Record<string, object> }
  const ofModel: Grammar = { rules: { ...$defs?.model, additionalProperties: { $ref: '#/$defs/target' } }, root }
  const { keys, upstreams, models, relay, call, patterns, ...settings } = file
  for (const { name, models: _, routes, ips, expires, enabled, limits, ...rest } of keys)
    Object.assign(meaning.rights[name] ?? {}, { written: rest, grammar: of('key') })
  for (const [name, { provider, base, limits, ...rest }] of Object.entries(upstreams))
    Object.assign(meaning.upstreams[name] ?? {}, { written: rest, grammar: of('upstream') })
  for (const [name, { targets, price, limits, ...rest }] of Object.entries(models)) {
    // Targets are text by their names, since their order in the list says nothing.
    const text = { ...rest, ...Object.fromEntries(targets.map(target => [nameOf(target, name), parametersOf(target)])) }
    Object.assign(meaning.models[name] ?? {}, { written: text, grammar: ofModel })
  }
  for (const [name, one] of Object.entries(relay)) {
    const price = one.price === undefined ? 'no price' : `price ${one.price}`
    const text = `${one.path} to ${one.upstream}${one.to}, groups ${one.groups.join(', ')}, ${price}`
    meaning.relays[name] = { text, written: one, isAll: true, grammar: of('relay') }
  }
  for (const [name, one] of Object.entries(call)) {
    const text = `asked at ${one.at}, may ${one.may.join(', ')}, else ${one.on_fail}${scopeOf(one)}`
    meaning.calls[name] = { text, written: one, isAll: true, grammar: of('call') }
  }
  for (const [name, one] of Object.entries(patterns)) {
    const sought = one.words ? `words ${one.words.join(', ')}` : [one.match].flat().join(' or ')
    const text = `${one.do} ${sought} in ${one.in.join(' and ')}${scopeOf(one)}`
    meaning.patterns[name] = { text, written: one, isAll: true, grammar: of('pattern') }
  }
  meaning.settings[''] = { text: '', written: settings, isAll: true, grammar: { rules: root, root } }
}

function nameOf({ upstream, model }: GatewayTarget, own: string): string {
  return `${upstream}/${model ?? own}`
}

function parametersOf({ upstream, model, priority, weight, ...rest }: GatewayTarget): object {
  return rest
}

function scopeOf(one: { keys?: readonly string[]; models?: readonly string[]; routes?: readonly string[] }): string {
  const said = (['keys', 'models', 'routes'] as const).flatMap(name => (one[name] ? `${name} ${one[name].join(', ')}` : []))
  return said.length === 0 ? '' : `, for ${said.join(', ')}`
}
