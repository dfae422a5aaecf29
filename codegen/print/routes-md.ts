// Prints ROUTES.md: the routes, and how each provider serves them.

import { pairOf } from '../../engine/snapshot/pairs.js'
import { callsUpstream } from '../check/references.js'
import { type Project, type RouteData, sidesOf } from '../read/project.js'

const NOT_AT_ALL = '–'

export function printRoutes(project: Project): string {
  const providers = [...project.providers.keys()].sort()
  const lines = [
    '# Routes',
    '',
    'Made from `routes/`, `providers/` and `mappings/` by `npm run codegen`; `npm test` checks that it is fresh.',
    '',
    'The column "served by" lists providers: after `same`, those that speak the dialect of the route (bytes pass); after the name of another dialect, those whose requests are translated to it. The gateway itself answers `here` (a GET as HEAD, too), and estimates tokens (`estimated`) if no provider counts them.',
    '',
    '| route | method | path | key in | dialect | served by |',
    '|---|---|---|---|---|---|',
  ]
  for (const { name, data } of project.routes) {
    const paths = [data.path]
      .flat()
      .map(path => `\`${path}\``)
      .join('<br>')
    const when = data.when
      ? ` when ${Object.entries(data.when)
          .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', '')}`)
          .join(', ')}`
      : ''
    const served = callsUpstream(data) ? servedBy(project, data, providers) : (data.fail ?? 'here')
    lines.push(
      `| ${name} | ${[data.method].flat().join(', ')} | ${paths}${when} | ${data.auth.join(', ') || 'none'} | ${data.dialect} | ${served} |`,
    )
  }
  const text = translated(project)
  lines.push(
    '',
    '# Every provider, by the dialect of the client',
    '',
    `How clients of each dialect that is translated to several others reach each provider: \`same\`, the dialect that requests are translated to, or \`${NOT_AT_ALL}\` (not at all).`,
    '',
    `| provider | ${text.join(' | ')} |`,
    `|---|${text.map(() => '---').join('|')}|`,
    ...providers.map(provider => `| ${provider} | ${text.map(dialect => way(project, dialect, provider) ?? NOT_AT_ALL).join(' | ')} |`),
  )
  return `${lines.join('\n')}\n`
}

/** The providers of a route, by the way they serve it. */
function servedBy(project: Project, data: RouteData, providers: readonly string[]): string {
  const groups = new Map<string, string[]>()
  for (const provider of providers) {
    const how = way(project, data.dialect, provider)
    if (how !== undefined) groups.set(how, [...(groups.get(how) ?? []), provider])
  }
  const same = groups.get('same')
  groups.delete('same')
  const cells = [...(same ? [`same: ${same.join(', ')}`] : []), ...[...groups].sort().map(([how, names]) => `${how}: ${names.join(', ')}`)]
  if (data.estimate) cells.push('estimated: all others')
  return cells.length > 0 ? cells.join('<br>') : NOT_AT_ALL
}

/** Client dialects that are translated to at least three others. */
function translated(project: Project): string[] {
  const counts = new Map<string, number>()
  for (const name of project.mappings.keys()) {
    const { from } = sidesOf(name)
    counts.set(from, (counts.get(from) ?? 0) + 1)
  }
  return [...project.formats.keys()].filter(dialect => (counts.get(dialect) ?? 0) >= 3 && project.formats.get(dialect)?.data.stream).sort()
}

/** How a provider serves a dialect: in the same dialect, or in the first of its dialects that has a mapping. */
export function way(project: Project, dialect: string, provider: string): string | undefined {
  const speaks = Object.entries(project.providers.get(provider)?.data.speaks ?? {})
  if (speaks.some(([spoken, endpoint]) => spoken === dialect && endpoint.path)) return 'same'
  return speaks.find(([spoken]) => project.mappings.has(pairOf(dialect, spoken)))?.[0]
}
