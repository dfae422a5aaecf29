// Checks what the grammar of one file cannot: references to other files, and routes that conflict.

import { invalidKeywords, newAjv } from '../read/ajv.js'
import { DataError, type Finding } from '../read/findings.js'
import { functionsSeen } from '../read/functions.js'
import { KINDS } from '../read/kinds.js'
import {
  type Entry,
  type FormatData,
  isInside,
  type MappingData,
  type Project,
  type ProviderData,
  type RouteData,
} from '../read/project.js'
import { circularReferences, closureOf, danglingReferences, schemaId, wrongKeywords } from '../read/schemas.js'
import { useOneOf } from '../read/suggest.js'
import type { Pointer, YamlDocument } from '../read/yaml.js'
import { checkEndpoints } from './endpoints.js'
import { checkSteps } from './steps.js'
import { checkTexts, endsOf } from './texts.js'

/** Adds a finding for each error. Throws a DataError with all of them if the schemas are not sound, as `checkSchemas` found. */
export function checkProject(project: Project, isSound: boolean): void {
  const { findings, formats, dialects } = project
  const unknown = (document: YamlDocument, pointer: Pointer, what: string, name: string, known: Iterable<string>): void => {
    findings.push({
      ...document.at(pointer),
      rule: `names/${what}`,
      detail: `there is no ${what} ${name}`,
      remedy: useOneOf(known, name),
    })
  }
  for (const { data, document } of project.routes) {
    if (!dialects.has(data.dialect)) unknown(document, ['dialect'], 'dialect', data.dialect, formats.keys())
    const [words, at] = typeof data.error === 'object' ? [data.error.like, ['error', 'like']] : [data.error, ['error']]
    if (words !== undefined && !dialects.has(words)) unknown(document, at, 'dialect', words, formats.keys())
    data.auth.forEach((location, index) => {
      if (!project.keyLocations.has(location)) unknown(document, ['auth', index], 'credential', location, project.keyLocations.keys())
    })
    data.when?.auth?.forEach((location, index) => {
      if (!project.keyLocations.has(location))
        unknown(document, ['when', 'auth', index], 'credential', location, project.keyLocations.keys())
    })
    if (data.fail !== undefined && !Object.hasOwn(KINDS, data.fail)) unknown(document, ['fail'], 'kind', data.fail, Object.keys(KINDS))
    if (
      callsUpstream(data) &&
      bodiesOf(data).includes('json') &&
      formats.has(data.dialect) &&
      !project.schemas.has(schemaId(data.dialect, 'request'))
    ) {
      findings.push({
        ...document.at(['dialect']),
        rule: 'schema/missing',
        detail: `schemas/${data.dialect}/request.yaml is missing, and this route reads such requests`,
        remedy: 'write the schema of its requests',
      })
    }
  }
  for (const { data, document } of project.routes) {
    checkModel(data, document, project)
    checkConversation(data, document, project)
  }
  if (isSound) for (const format of formats.values()) checkTexts(format, project.schemas, findings)
  checkPaths(project, findings)
  checkEndpoints(project, isSound)
  for (const { data, document } of project.providers.values()) {
    for (const dialect of Object.keys(data.speaks))
      if (!dialects.has(dialect)) unknown(document, ['speaks', dialect], 'dialect', dialect, formats.keys())
    for (const [dialect, endpoint] of Object.entries(data.speaks)) {
      const { fallback } = endpoint
      const isLeftOut = document.without?.some(([key, name]) => key === 'speaks' && name === fallback) === true
      if (fallback !== undefined && !isLeftOut && (fallback === dialect || !Object.hasOwn(data.speaks, fallback)))
        unknown(document, ['speaks', dialect, 'fallback'], 'dialect', fallback, Object.keys(data.speaks))
      if (endpoint.subprotocol !== undefined && !project.routes.some(route => route.data.dialect === dialect && route.data.upgrade))
        findings.push({
          ...document.at(['speaks', dialect, 'subprotocol']),
          rule: 'provider/subprotocol',
          detail: `no route of ${dialect} opens a socket`,
          remedy: 'remove it, or add `upgrade: websocket` to the route',
        })
      if (endpoint.event !== undefined && formats.has(dialect) && formats.get(dialect)?.data.stream === undefined)
        findings.push({
          ...document.at(['speaks', dialect, 'event']),
          rule: 'provider/event',
          detail: `${dialect} has no stream`,
          remedy: 'remove it, or use `response`',
        })
    }
  }
  if (isSound) for (const provider of project.providers.values()) checkDrops(provider, project)
  const checkUses = (document: YamlDocument): void => {
    // An overlay takes no part away.
    if (project.settled.has(document)) return
    for (const [index, part] of ((document.value as { uses?: string[] }).uses ?? []).entries())
      if (!project.parts.has(part)) unknown(document, ['uses', index], 'part', part, project.parts.keys())
  }
  for (const { document } of project.parts.values()) checkUses(document)
  for (const mapping of project.mappings.values()) {
    const { name, document } = mapping
    checkUses(document)
    checkFunctions(mapping, project)
    if (isSound && !project.settled.has(document)) checkSteps(mapping, project)
    const [from, to] = name.split('-to-')
    for (const dialect of [from, to]) {
      if (dialect === undefined || !dialects.has(dialect)) unknown(document, [], 'dialect', dialect ?? name, formats.keys())
    }
  }
  for (const { name, data, document } of formats.values()) {
    const like = typeof data.error === 'string' ? data.error : data.error.like
    if (like !== undefined && !dialects.has(like)) unknown(document, ['error'], 'dialect', like, formats.keys())
    if (like !== undefined && leadsBack(name, project))
      findings.push({
        ...document.at(['error']),
        rule: 'format/error',
        detail: `the errors of ${like} refer back to ${name}`,
        remedy: 'name a dialect that defines its errors itself',
      })
    for (const [member, rule, words] of [
      ['rate_limits', 'format/rate_limits', 'its rate-limit headers'],
      ['keep', 'format/keep', 'how its answers are kept'],
      ['clean', 'format/clean', 'what it removes'],
    ] as const) {
      const like = data[member]
      if (typeof like !== 'string') continue
      if (!dialects.has(like)) unknown(document, [member], 'dialect', like, formats.keys())
      else if (formats.has(like) && typeof formats.get(like)?.data[member] !== 'object')
        findings.push({
          ...document.at([member]),
          rule,
          detail: `${like} does not itself define ${words}`,
          remedy: 'name a dialect that does',
        })
    }
  }
  if (!isSound) throw new DataError(findings)
}

/** A path that a provider drops leads to a member of the dialect's requests. A single name may be one that no schema names. */
function checkDrops({ data, document }: Entry<ProviderData>, { schemas, findings }: Project): void {
  for (const [dialect, { drop }] of Object.entries(data.speaks)) {
    const id = schemaId(dialect, 'request')
    if (!schemas.has(id)) continue
    drop?.forEach((path, index) => {
      if (!isInside(path) || endsOf(path, id, schemas).length > 0) return
      findings.push({
        ...document.at(['speaks', dialect, 'drop', index]),
        rule: 'provider/drop',
        detail: `no request of ${dialect} has a member at ${path}`,
        remedy: 'name the path of a member, or remove it',
      })
    })
  }
}

/** A name stands for one function: a library function that calls it must not get another. */
function checkFunctions(mapping: Entry<MappingData>, project: Project): void {
  const seen = new Map<string, string>()
  for (const [name, source, from] of functionsSeen(mapping, project)) {
    const known = seen.get(name)
    if (known === undefined) seen.set(name, source.document.file)
    else
      project.findings.push({
        ...mapping.document.at(from),
        rule: 'names/function',
        detail: `${name} is a function of ${known}, too`,
        remedy: 'choose another name, or use the existing function',
      })
  }
}

/** Whether a chain of dialects that reuse each other's errors leads back to the first. */
function leadsBack(name: string, project: Project): boolean {
  const seen = new Set<string>()
  for (let next: string | undefined = name; next !== undefined; ) {
    if (seen.has(next)) return next === name
    seen.add(next)
    const said: string | { like?: string } | undefined = project.formats.get(next)?.data.error
    next = typeof said === 'string' ? said : said?.like
  }
  return false
}

/** Adds a finding for each error of a schema. Whether others may rely on the schemas: what leads nowhere does not mislead them. */
export function checkSchemas(project: Project): boolean {
  const { findings } = project
  const changed = changedSchemas(project)
  const dangling = [...changed].flatMap(([id, document]) =>
    danglingReferences(project.schemas, id).map(({ pointer, reference }) => ({
      ...document.at(pointer),
      rule: 'schema/reference',
      detail: `${reference} leads nowhere`,
      remedy: 'name a file of schemas/ and a path in it',
    })),
  )
  findings.push(...dangling)
  const known = findings.length
  for (const [id, document] of changed) {
    for (const { pointer, reference } of circularReferences(project.schemas, id)) {
      findings.push({
        ...document.at(pointer),
        rule: 'schema/reference',
        detail: `${reference} leads back here`,
        remedy: 'refer to it from a member, or from the items of a list',
      })
    }
    for (const { pointer, detail } of wrongKeywords(document.value))
      findings.push({ ...document.at(pointer), rule: 'schema/keyword', detail, remedy: 'write it as JSON Schema 2020-12' })
  }
  if (findings.length > known) return false
  if (dangling.length > 0) return true
  // The validator finds the rest, but cannot say where.
  const needed = new Set([...changed.keys()].flatMap(id => [...closureOf(project.schemas, id)]))
  const ajv = newAjv(new Map([...project.schemas].filter(([id]) => needed.has(id))))
  for (const [id, document] of changed) {
    try {
      ajv.getSchema(id)
    } catch (error) {
      const invalid = invalidKeywords(ajv, document.value)
      const unknown = { pointer: [], detail: (error as Error).message.replaceAll(/\s+/g, ' ') }
      for (const { pointer, detail } of invalid.length > 0 ? invalid : [unknown])
        findings.push({ ...document.at(pointer), rule: 'schema/keyword', detail, remedy: 'write it as JSON Schema 2020-12' })
    }
  }
  return findings.length === known
}

/** The schemas that are new or changed, and those that refer to one. */
function changedSchemas({ schemas, schemaFiles, settled }: Project): ReadonlyMap<string, YamlDocument> {
  if (settled.size === 0) return schemaFiles
  const isNew = (id: string): boolean => {
    const document = schemaFiles.get(id)
    return document !== undefined && !settled.has(document)
  }
  return new Map([...schemaFiles].filter(([id]) => [...closureOf(schemas, id)].some(isNew)))
}

/** Where requests of a route name their model; `path` alone is the path's `{model}`. */
export function modelOf(route: RouteData, { formats }: Project): string {
  const said = route.model ?? formats.get(route.dialect)?.data.model ?? 'body.model'
  return said === 'path' ? 'path.model' : said
}

/** The part of the request that names the model must exist in the requests of the route. */
function checkModel(route: RouteData, document: YamlDocument, project: Project): void {
  if (
    !callsUpstream(route) ||
    !project.formats.has(route.dialect) ||
    (route.model === undefined && (route.follow !== undefined || route.shared))
  )
    return
  const [from, name] = modelOf(route, project).split('.') as [string, string]
  const find = (detail: string, remedy: string): void =>
    void project.findings.push({ ...document.at([route.model === undefined ? 'name' : 'model']), rule: 'route/model', detail, remedy })
  const without = [route.path].flat().find(path => !path.includes(`{${name}}`) && !path.includes(`{+${name}}`))
  if (from === 'path' && without !== undefined) find(`the path ${without} has no {${name}}, but \`model\` refers to it`, `add {${name}}`)
  if (route.upgrade !== undefined && (from === 'body' || from === 'form') && route.default_model === undefined)
    find(`a socket has no ${from} to name its model`, 'use `model: path.model` or `model: query.model`, or `default_model`')
}

/** Conversations are kept as their dialect says, itself or by the name of another. */
function checkConversation({ conversation, dialect }: RouteData, document: YamlDocument, project: Project): void {
  if (conversation === undefined || !project.formats.has(dialect)) return
  if (saidOf('keep', dialect, project)?.data.conversation !== undefined) return
  project.findings.push({
    ...document.at(['conversation']),
    rule: 'route/conversation',
    detail: `${dialect} does not say what a conversation is`,
    remedy: 'give it a `keep` with `conversation`, or name another dialect',
  })
}

/** Of two routes with the same path and method one is unreachable, unless conditions separate them. */
function checkPaths(project: Project, findings: Finding[]): void {
  const seen = new Map<string, { name: string; file: string }>()
  for (const { name, data, document } of project.routes) {
    const methods = Array.isArray(data.method) ? data.method : [data.method]
    for (const path of Array.isArray(data.path) ? data.path : [data.path]) {
      for (const method of methods) {
        const key = `${method} ${path.replaceAll(/\{\+?[a-z_]+\}/g, '{}')} ${JSON.stringify(data.when ?? null)}`
        const known = seen.get(key)
        if (known)
          findings.push({
            ...document.at(['path']),
            rule: 'route/path',
            detail: `${method} ${path} is already served by ${known.name} (${known.file})`,
            remedy: 'remove one of them, or distinguish them with when:',
          })
        else seen.set(key, { name, file: document.file })
      }
    }
  }
}

/** The names of the query parameters that a route passes on. */
export function forwardedQuery({ forward_query, sealed_ids }: RouteData): string[] {
  return [...new Set([...forward_query, ...(sealed_ids?.query ?? [])])]
}

/** What a format says about a member, and the dialect that says it: another one if the format names it. */
export function saidOf<Member extends 'keep' | 'clean' | 'rate_limits'>(
  member: Member,
  name: string,
  project: Project,
): { source: string; data: Exclude<FormatData[Member], string | undefined> } | undefined {
  const said = project.formats.get(name)?.data[member]
  const source = typeof said === 'string' ? said : name
  const data = project.formats.get(source)?.data[member]
  return typeof data === 'object' ? { source, data: data as Exclude<FormatData[Member], string | undefined> } : undefined
}

/** Whether an upstream serves a route. */
export function callsUpstream(route: RouteData): boolean {
  return [route.answer, route.fail, route.document, route.conversation].every(one => one === undefined)
}

/** The kinds of body that a route takes. */
export function bodiesOf(route: RouteData): ('json' | 'multipart')[] {
  if (Array.isArray(route.body)) return route.body
  // A request about an id often has no body, and a socket never has one.
  const usual = callsUpstream(route) && route.upgrade === undefined && takesBody(route) ? 'json' : 'none'
  const body = route.body ?? usual
  // The grammar allows no other value.
  return body === 'none' ? [] : [body as 'json' | 'multipart']
}

function takesBody(route: RouteData): boolean {
  return [route.method].flat().some(method => !['GET', 'HEAD', 'DELETE'].includes(method))
}
