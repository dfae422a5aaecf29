// Checks the paths in routes and providers: members that a route looks for in requests and answers, and what is put into the
// path of a provider.

import type { Finding } from '../read/findings.js'
import { namesIn } from '../read/named.js'
import { type Entry, type Project, type ProviderData, type RouteData, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { useOneOf } from '../read/suggest.js'
import type { Pointer } from '../read/yaml.js'
import { Members } from './members.js'

/** Adds a finding for each path of new routes and providers that leads nowhere. `isSound`: the schemas can be followed. */
export function checkEndpoints(project: Project, isSound: boolean): void {
  const { routes, providers, settled } = project
  for (const route of routes) {
    if (settled.has(route.document)) continue
    checkFollowed(route, project.findings)
    if (isSound) checkMembers(route, project)
  }
  for (const provider of providers.values()) if (!settled.has(provider.document)) checkTasks(provider, project)
}

/** The placeholder that `follow` names must be in each path of the route. */
function checkFollowed({ data, document }: Entry<RouteData>, findings: Finding[]): void {
  const [from, name] = data.follow?.split('.') ?? []
  if (from !== 'path') return
  const without = [data.path].flat().find(path => !path.includes(`{${name}}`) && !path.includes(`{+${name}}`))
  if (without === undefined) return
  const known = [...without.matchAll(/\{\+?([^}]+)\}/g)].map(([, one]) => one as string)
  findings.push({
    ...document.at(['follow']),
    rule: 'route/member',
    detail: `the path ${without} has no {${name}}, but \`follow\` refers to it`,
    remedy: known.length > 0 ? useOneOf(known, name as string) : `add {${name}} to the path`,
  })
}

/** The members of requests, answers and events that a route names must be in the schemas of its dialect. */
function checkMembers({ data, document }: Entry<RouteData>, { schemas, findings }: Project): void {
  const members = new Members()
  const check = (part: string, pointer: Pointer, path: string, names: readonly string[]): void => {
    const id = schemaId(data.dialect, part)
    const position = document.at(pointer)
    // A route that is like another one may have a dialect with fewer members.
    if (position.file !== document.file) return
    const missing = schemas.has(id) ? members.missing(namesIn(schemas, id), names) : undefined
    if (missing === undefined) return
    findings.push({
      ...position,
      rule: 'route/member',
      detail: `no ${part} of ${data.dialect} has a member ${path}`,
      remedy: `${useOneOf(missing.known, names[missing.at] as string)}, or add it to the schema`,
    })
  }
  const request = (pointer: Pointer, path: string | undefined): void => {
    const [from, ...names] = path?.split('.') ?? []
    if (path !== undefined && (from === 'body' || from === 'form')) check('request', pointer, names.join('.'), names)
  }
  request(['follow'], data.follow)
  request(['caps', 'max_output'], data.caps?.max_output)
  data.asks?.output?.forEach((path, index) => void request(['asks', 'output', index], path))
  request(['asks', 'answers'], data.asks?.answers)
  for (const [key, part] of [
    ['members', 'response'],
    ['events', 'event'],
  ] as const)
    data.sealed_ids?.[key]?.forEach((path, index) => {
      check(part, ['sealed_ids', key, index], path, path.replaceAll('[]', '').split('.'))
    })
}

/** The id of a task is known where a route follows one: in a path of another dialect it would be sent as it is written. */
function checkTasks({ data, document }: Entry<ProviderData>, { routes, mappings, dialects, findings }: Project): void {
  for (const [dialect, { path, stream }] of Object.entries(data.speaks)) {
    if (!dialects.has(dialect)) continue
    const clients = new Set([dialect, ...[...mappings.keys()].map(sidesOf).flatMap(({ from, to }) => (to === dialect ? [from] : []))])
    const reaching = routes.filter(({ data: route }) => clients.has(route.dialect))
    if (reaching.length === 0 || reaching.some(({ data: route }) => route.follow !== undefined)) continue
    for (const [pointer, text] of [
      [['path'], path],
      [['stream', 'path'], stream?.path],
    ] as const)
      if (text !== undefined && /\{\+?task\}/.test(text))
        findings.push({
          ...document.at(['speaks', dialect, ...pointer]),
          rule: 'provider/task',
          detail: `no route of ${dialect} follows a task, so ${text} has no id to take its place`,
          remedy: 'remove {task}, or add `follow` to a route',
        })
  }
}
