// `sluice models sources`: how much of what is known of models stands on a page of their maker's, and how much in another table alone.

import { dirname } from 'node:path'
import type { CatalogueFile } from '../../codegen/read/catalogue.js'
import type { Project } from '../../codegen/read/project.js'
import type { ModelFacts } from '../../engine/plan.js'
import { loadFacts } from '../plan.js'
import { builtIn, projectOf } from '../project.js'
import { columns } from '../table.js'
import { configOrUsual } from '../usual-config.js'
import { type ModelRow, rowsOf } from './rows.js'
import { checkProvider } from './show.js'

export interface SourcesOptions {
  config?: string
  provider?: string
  json?: boolean
}

/** `page`: a page of the provider's says it. `quoted`: it does, as somebody else tells. `table`: another table alone. `none`: nothing does. */
type Kind = 'page' | 'quoted' | 'table' | 'none'

const KINDS: readonly Kind[] = ['page', 'quoted', 'table', 'none']

/** The facts that are counted, by what they are called here. */
const FACTS = { prices: 'prices', context: 'context' } as const satisfies Record<string, keyof ModelFacts>

type Fact = keyof typeof FACTS

interface SourceOfFact {
  kind: Kind
  /** The page, or the name of the table. */
  source?: string
}

type Row = { model: string; provider: string } & Record<Fact, SourceOfFact>

/** The days of what was looked at first and last. */
interface Days {
  oldest: string
  newest: string
}

/** A line for each provider, or with `provider` one for each of its models. */
export async function showSources(options: SourcesOptions): Promise<void> {
  const config = configOrUsual(options.config)
  const plan = await loadFacts(config)
  checkProvider(plan, options.provider)
  const { catalogue = [] } = plan
  const project = config === undefined ? builtIn() : projectOf(dirname(config))
  const known = rowsOf(catalogue, options.provider)
  const rows = known.map(row => toldOf(row, project))
  const days = known.flatMap(({ found }) => found.flatMap(({ entry }) => entry.facts.read ?? [])).sort()
  const read = { oldest: days[0] ?? '', newest: days.at(-1) ?? '' }
  if (options.provider === undefined) tellProviders(rows, read, options)
  else tellModels(rows, read, options)
}

function tellModels(rows: readonly Row[], read: Days, { json }: SourcesOptions): void {
  if (json) {
    console.log(JSON.stringify({ ok: true, findings: [], models: rows, read }, null, 2))
    return
  }
  console.log(
    columns([
      ['model', 'prices', 'context', 'source of the prices'],
      ...rows.map(({ model, prices, context }) => [model, prices.kind, context.kind, prices.source ?? '-']),
    ]),
  )
  tellDays(read)
}

function tellDays({ oldest, newest }: Days): void {
  console.log(oldest === newest ? `read on ${newest}` : `read from ${oldest} to ${newest}`)
}

function tellProviders(rows: readonly Row[], read: Days, { json }: SourcesOptions): void {
  const names = [...new Set(rows.map(({ provider }) => provider))]
  const counted = names.map(provider => {
    const own = rows.filter(row => row.provider === provider)
    return { provider, models: own.length, prices: countOf(own, 'prices'), context: countOf(own, 'context') }
  })
  if (json) {
    console.log(JSON.stringify({ ok: true, findings: [], providers: counted, read }, null, 2))
    return
  }
  const all = { provider: 'all', models: rows.length, prices: countOf(rows, 'prices'), context: countOf(rows, 'context') }
  console.log(
    columns([
      ['provider', 'models', ...KINDS.map(kind => `prices: ${kind}`), ...KINDS.map(kind => `context: ${kind}`)],
      ...[...counted, all].map(({ provider, models, prices, context }) => [
        provider,
        String(models),
        ...KINDS.map(kind => String(prices[kind])),
        ...KINDS.map(kind => String(context[kind])),
      ]),
    ]),
  )
  tellDays(read)
}

function countOf(rows: readonly Row[], fact: Fact): Record<Kind, number> {
  const counts: Record<Kind, number> = { page: 0, quoted: 0, table: 0, none: 0 }
  for (const row of rows) counts[row[fact].kind]++
  return counts
}

function toldOf({ provider, name, found }: ModelRow, project: Project): Row {
  const domains = domainsOf(provider, project)
  const sourceOf = (fact: Fact): SourceOfFact => {
    const entry = found.findLast(({ entry, isAway }) => entry.facts[FACTS[fact]] !== undefined && !(isAway && fact === 'prices'))?.entry
    if (entry === undefined) return { kind: 'none' }
    const { source } = entry.facts
    if (!isImported(entry.layer)) return { kind: kindOf(source, domains), ...(source !== undefined && { source }) }
    const page = confirmation(project.catalogue, provider, name, fact)?.source
    return page === undefined ? { kind: 'table', ...(source !== undefined && { source }) } : { kind: kindOf(page, domains), source: page }
  }
  return { model: name, provider, prices: sourceOf('prices'), context: sourceOf('context') }
}

/** Whether an entry stands in a folder of models/, where tables of others are: `readCatalogue` gives these the even layers. */
function isImported(layer: number): boolean {
  return layer % 2 === 0
}

/** The page that says a fact of a model as another table has it; of several the one that was looked at last. */
export function confirmation(
  files: readonly CatalogueFile[],
  provider: string,
  name: string,
  fact: string,
): { source: string; read: string } | undefined {
  return files
    .filter(({ data }) => data.providers === undefined || data.providers.includes(provider))
    .flatMap(({ data }) => (data.confirmed ?? []).map(page => ({ read: data.read, ...page })))
    .filter(({ facts, models }) => facts.some(one => one === fact) && models.includes(name))
    .sort((left, right) => (left.read < right.read ? 1 : -1))[0]
}

/** The last two parts of the names of a provider's hosts, as its own file names them: `claude.com`. */
function domainsOf(provider: string, { providers }: Project): Set<string> {
  const { source = '', base = '' } = providers.get(provider)?.data ?? {}
  return new Set(hostsIn(`${source} ${base}`).map(domain))
}

function kindOf(source: string | undefined, domains: ReadonlySet<string>): Kind {
  const hosts = hostsIn(source ?? '')
  const own = hosts.filter(host => domains.has(domain(host)))
  if (own.length === 0) return 'table'
  return own.length === hosts.length ? 'page' : 'quoted'
}

function hostsIn(text: string): string[] {
  return [...text.matchAll(/https?:\/\/([^/\s,;)]+)/g)].map(([, host]) => host as string)
}

function domain(host: string): string {
  return host.split('.').slice(-2).join('.')
}
