// ROUTES.md: what is served, and how each provider serves it.

import { doorOf } from './checks.js'
import type { Project, RouteData } from './project.js'

export function printRoutes(project: Project): string {
  const providers = [...project.providers.keys()].sort()
  const lines = [
    '# Routes',
    '',
    'Made from `routes/`, `providers/` and `mappings/` by `npm run codegen`; `npm test` checks that it is fresh.',
    '',
    'A cell says how a provider serves a route: `same` (its own dialect, bytes through), the dialect that the request is translated to, or `–` (not at all).',
    '',
    `| route | method | path | key in | dialect | ${providers.join(' | ')} |`,
    `|---|---|---|---|---|${providers.map(() => '---').join('|')}|`,
  ]
  for (const { name, data } of project.routes) {
    const cells = providers.map(provider => way(project, data, provider))
    const paths = (Array.isArray(data.path) ? data.path : [data.path]).map(path => `\`${path}\``).join('<br>')
    const when = data.when
      ? ` when ${Object.entries(data.when)
          .map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', '')}`)
          .join(', ')}`
      : ''
    lines.push(
      `| ${name} | ${Array.isArray(data.method) ? data.method.join(', ') : data.method} | ${paths}${when} | ${data.auth.join(', ') || 'none'} | ${data.dialect} | ${cells.join(' | ')} |`,
    )
  }
  return `${lines.join('\n')}\n`
}

/** The way in which a provider serves a route: the first dialect it speaks that is the route's or has a mapping. */
function way(project: Project, data: RouteData, provider: string): string {
  if (data.answer !== undefined) return 'here'
  if (data.fail !== undefined) return data.fail
  const speaks = Object.entries(project.providers.get(provider)?.data.speaks ?? {})
  if (speaks.some(([dialect, door]) => dialect === data.dialect && doorOf(door).path)) return 'same'
  const mapped = speaks.find(([dialect]) => project.mappings.has(`${data.dialect}-to-${dialect}`))
  if (mapped) return mapped[0]
  return data.estimate ? 'estimated' : '–'
}
