// Checks the paths in routes, formats and providers: members that a route or a format looks for in requests and answers, and what is
// put into the path of a provider.

import type { Finding } from '../read/findings.js'
import { namesIn } from '../read/named.js'
import { type Entry, type FormatData, type Project, type ProviderData, type RouteData, sidesOf } from '../read/project.js'
import { schemaId } from '../read/schemas.js'
import { nearest, useOneOf } from '../read/suggest.js'
import { type Pointer, valueAt, type YamlDocument } from '../read/yaml.js'
import { Members } from './members.js'

/** Adds a finding for each path of new routes, formats and providers that leads nowhere. `isSound`: the schemas can be followed. */
export function checkEndpoints(project: Project, isSound: boolean): void {
  const { routes, formats, providers, settled } = project
  for (const route of routes) {
    if (settled.has(route.document)) continue
    checkFollowed(route, project.findings)
    if (isSound) checkMembers(route, project)
  }
  for (const format of formats.values()) if (isSound && !settled.has(format.document)) checkNamed(format, project)
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

/** Adds a finding where a part of a dialect has no member at a path. */
type Check = (part: string, pointer: Pointer, path: string, names: readonly string[]) => void

/** The check of the paths in a file. `rule`: that of its findings. */
function memberCheck(
  dialect: string,
  document: YamlDocument,
  rule: 'route/member' | 'format/member',
  { schemas, findings }: Project,
): Check {
  const members = new Members()
  return (part, pointer, path, names) => {
    const id = schemaId(dialect, part)
    const position = document.at(pointer)
    // What is like another one may have a dialect with fewer members, and so what is not said.
    if (position.file !== document.file || valueAt(document.value, pointer) === undefined) return
    const missing = schemas.has(id) ? members.missing(namesIn(schemas, id), names) : undefined
    if (missing === undefined) return
    // Requests may have members that no schema names, and a format may name one of them.
    if (rule === 'format/member' && nearest(missing.known, names[missing.at] as string) === undefined) return
    findings.push({
      ...position,
      rule,
      detail: `no ${part} of ${dialect} has a member ${path}`,
      remedy: `${useOneOf(missing.known, names[missing.at] as string)}, or add it to the schema`,
    })
  }
}

/** A path of a request: that of a member of a body or a form must lead to one. */
function checkRequest(check: Check, pointer: Pointer, path: string | undefined): void {
  const [from, ...names] = path?.split('.') ?? []
  if (path !== undefined && (from === 'body' || from === 'form')) check('request', pointer, names.join('.'), names)
}

/** The members of requests, answers and events that a route names must be in the schemas of its dialect. */
function checkMembers({ data, document }: Entry<RouteData>, project: Project): void {
  const check = memberCheck(data.dialect, document, 'route/member', project)
  const request = (pointer: Pointer, path: string | undefined): void => checkRequest(check, pointer, path)
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
  if (data.join_lists) checkJoined(data, data.join_lists, document, check, project.findings)
}

/** What a list of several accounts is put together from: members of answers, and a parameter that each account gets. */
function checkJoined(
  data: RouteData,
  lists: NonNullable<RouteData['join_lists']>,
  document: YamlDocument,
  check: Check,
  findings: Finding[],
): void {
  for (const key of ['items', 'first', 'last', 'more'] as const) check('response', ['join_lists', key], lists[key], [lists[key]])
  check('response', ['join_lists', 'id'], `${lists.items}[].${lists.id}`, [lists.items, lists.id])
  const sent = data.forward_query ?? []
  const find = (pointer: Pointer, detail: string, remedy: string): void =>
    void findings.push({ ...document.at(pointer), rule: 'route/member', detail, remedy })
  if (!data.shared) find(['join_lists'], 'the route is about one account', 'say `shared: true`')
  if (!data.sealed_ids?.query?.length)
    find(['join_lists'], 'the place where the list goes on is not sealed with its account', 'name its parameter in `query` of `sealed_ids`')
  if (!sent.includes(lists.limit))
    find(
      ['join_lists', 'limit'],
      `no account gets the parameter ${lists.limit} of the query`,
      `add it to \`forward_query\`, or ${useOneOf(sent, lists.limit)}`,
    )
}

/** The members of requests that a format names must be in its dialect's schema. */
function checkNamed({ name, data, document }: Entry<FormatData>, project: Project): void {
  const check = memberCheck(name, document, 'format/member', project)
  checkRequest(check, ['model'], data.model)
  checkRequest(check, ...flagOf(data.stream?.flag, ['stream', 'flag']))
}

/** The member that asks for a stream, and where it is named. */
function flagOf(flag: unknown, pointer: Pointer): [Pointer, string | undefined] {
  if (typeof flag === 'string') return [pointer, flag]
  return [[...pointer, 'member'], (Object(flag) as { member?: string }).member]
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
