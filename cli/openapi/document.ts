// The OpenAPI 3.1 document of all routes, made from the same routes and schemas as the plan.

import { bodiesOf, callsUpstream, forwardedQuery } from '../../codegen/check/references.js'
import type { Entry, Project, RouteData } from '../../codegen/read/project.js'
import { resolveReference, type Schema, schemaId } from '../../codegen/read/schemas.js'
import { JSON_TYPE, mediaTypeOf } from '../../engine/core/media-type.js'
import { framings } from '../../engine/wire/framing.js'
import type { CredentialsLocation } from '../../schemas/config/types.js'
import { exampleFinder } from '../new/examples.js'
import { componentsOf, isFile, referenceTo } from './schemas.js'

type Json = Record<string, unknown>
type Route = Entry<RouteData>

export interface Basics {
  version: string
  license: string
  /** Folders with cases for examples. */
  roots: readonly string[]
}

/** `{+x}` may contain slashes, which OpenAPI cannot express; a path with `*` has no single address. */
const plainPath = (path: string): string => path.replaceAll('{+', '{')

/** The paths of a route without wildcards, each once: a trailing slash is another spelling of the same path. */
function addressesOf({ data }: Route): string[] {
  const paths = [data.path].flat()
  return paths.filter(path => !path.includes('*') && !(path.endsWith('/') && paths.includes(path.slice(0, -1))))
}

const ANY = ['get', 'post', 'put', 'patch', 'delete']

/** The document, as JSON. Routes that are not implemented, and catch-all routes, are left out. */
export function openapiOf(project: Project, { version, license, roots }: Basics): Json {
  const served = project.routes.filter(({ data }) => data.fail === undefined)
  const paths: Record<string, Record<string, Route[]>> = {}
  for (const route of served)
    for (const path of addressesOf(route))
      for (const method of [route.data.method].flat().flatMap(one => (one === 'any' ? ANY : [one.toLowerCase()])))
        ((paths[plainPath(path)] ??= {})[method] ??= []).push(route)
  const taken = new Set<string>()
  const print = operationPrinter(project, exampleOf(project, roots))
  const dialects = [...new Set(served.map(({ data }) => data.dialect))]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version,
      summary: 'The API of a model gateway.',
      description:
        'GET /v1/models lists the models that a key may use. A provider of the same dialect gets requests unchanged, so members that no schema names pass, too.',
      license: { name: license, identifier: license },
    },
    servers: [{ url: '/', description: 'The gateway that serves this document.' }],
    tags: dialects.map(name => ({ name, description: project.formats.get(name)?.data.title ?? name })),
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [
        path,
        Object.fromEntries(Object.entries(methods).map(([method, routes]) => [method, print(path, method, routes, taken)])),
      ]),
    ),
    components: {
      securitySchemes: Object.fromEntries([...project.keyLocations].map(([name, location]) => [name, schemeOf(location)])),
      schemas: { ...componentsOf(project.schemas), error: { title: 'An error in the form of the dialect', type: 'object' } },
    },
  }
}

function schemeOf({ header, prefix, query, protocol_prefix: protocol }: CredentialsLocation): Json {
  if (header === 'authorization') return { type: 'http', scheme: (prefix ?? 'bearer').trim().toLowerCase() }
  if (query !== undefined) return { type: 'apiKey', in: 'query', name: query }
  if (header !== undefined) return { type: 'apiKey', in: 'header', name: header }
  return { type: 'apiKey', in: 'header', name: 'sec-websocket-protocol', description: `A subprotocol: ${protocol ?? ''}<key>.` }
}

/** Whether the bodies of a route are those of its dialect. */
const speaks = (route: RouteData): boolean => callsUpstream(route) || route.conversation !== undefined

type Find = (dialect: string) => unknown

/** An example of a dialect's requests: the one in their schema, or the smallest known. */
function exampleOf(project: Project, roots: readonly string[]): Find {
  const find = exampleFinder(project, roots)
  return dialect => {
    const { examples } = Object(project.schemas.get(schemaId(dialect, 'request'))) as { examples?: unknown[] }
    return examples?.[0] ?? find(dialect, 'request')
  }
}

/** Prints operations: routes with the same path and method differ by a header, the query or the key location. */
function operationPrinter(project: Project, find: Find): (path: string, method: string, routes: Route[], taken: Set<string>) => Json {
  const hasSchema = (dialect: string, part: string): boolean => project.schemas.has(schemaId(dialect, part))
  const oneOrAny = (schemas: Json[]): Json => {
    const once = [...new Map(schemas.map(schema => [JSON.stringify(schema), schema])).values()]
    return once.length === 1 ? (once[0] as Json) : { anyOf: once }
  }

  const bodyOf = (routes: Route[]): Json | undefined => {
    const content: Json = {}
    const asking = routes.filter(({ data }) => speaks(data) && hasSchema(data.dialect, 'request'))
    const json = asking.filter(({ data }) => bodiesOf(data).includes('json'))
    if (json.length > 0)
      content['application/json'] = {
        schema: oneOrAny(json.map(({ data }) => referenceTo(schemaId(data.dialect, 'request')))),
        examples: Object.fromEntries(json.map(({ name, data }) => [name, { value: find(data.dialect) }])),
      }
    // The body of a route that the gateway answers itself has one documented member: the model's name.
    const answered = routes.filter(({ data }) => data.answer !== undefined && bodiesOf(data).includes('json'))
    if (answered.length > 0)
      content['application/json'] = {
        schema: { type: 'object' },
        examples: Object.fromEntries(answered.map(route => [route.name, { value: modelBody(route, project) }])),
      }
    const form = asking.find(({ data }) => bodiesOf(data).includes('multipart'))
    if (form !== undefined) content['multipart/form-data'] = formOf(project, form, find)
    return Object.keys(content).length === 0 ? undefined : { required: true, content }
  }

  /** The answers of a route by their types, without that of a stream of events. */
  const wholeOf = ({ data }: Route): [type: string, schema: Json][] => {
    if (data.page !== undefined) {
      const type = mediaTypeOf(data.page.type)
      return [[type, { type: type === JSON_TYPE ? 'object' : 'string' }]]
    }
    if (!speaks(data)) return [[JSON_TYPE, { type: 'object' }]]
    const format = project.formats.get(data.dialect)?.data
    const json = hasSchema(data.dialect, 'response') ? referenceTo(schemaId(data.dialect, 'response')) : undefined
    if (format?.response === 'bytes') {
      const bytes = { type: 'string', contentMediaType: 'application/octet-stream' }
      return [...(json === undefined ? [] : [[JSON_TYPE, json] as [string, Json]]), [bytesOf(format.gives), bytes]]
    }
    return data.stream === true ? [] : [[JSON_TYPE, json ?? { type: 'object' }]]
  }

  const streamOf = ({ data }: Route): [type: string, schema: Json][] => {
    const stream = callsUpstream(data) && data.stream !== false ? project.formats.get(data.dialect)?.data.stream : undefined
    if (stream === undefined) return []
    const type = mediaTypeOf(framings[data.framing ?? stream.framing].type)
    const event = schemaId(data.dialect, 'event')
    // A list of events is JSON.
    if (type === JSON_TYPE) return [[type, { type: 'array', items: project.schemas.has(event) ? referenceTo(event) : { type: 'object' } }]]
    return [[type, { type: 'string', description: `A stream of events, each of the schema ${data.dialect}.event.` }]]
  }

  const answersOf = (routes: Route[]): Json => {
    const content = new Map<string, Json[]>()
    for (const route of routes)
      for (const [type, schema] of [...wholeOf(route), ...streamOf(route)]) content.set(type, [...(content.get(type) ?? []), schema])
    const strings = (schemas: Json[]): boolean => schemas.every(({ type }) => type === 'string')
    return Object.fromEntries(
      [...content].map(([type, schemas]) => [type, { schema: strings(schemas) ? (schemas[0] as Json) : oneOrAny(schemas) }]),
    )
  }

  return (path, method, routes, taken) => {
    const [first] = routes as [Route]
    const base = first.name.replaceAll(/[^A-Za-z0-9]+/g, '_')
    let id = base
    for (let number = 2; taken.has(id); number++) id = `${base}_${number}`
    taken.add(id)
    const isSocket = routes.some(({ data }) => data.upgrade !== undefined)
    const documents = routes.filter(({ data }) => data.document !== undefined)
    const body = bodyOf(routes)
    const locations = [...new Set(routes.flatMap(({ data }) => data.auth))]
    const error = {
      description: 'An error in the form of the dialect.',
      content: { 'application/json': { schema: { $ref: '#/components/schemas/error' } } },
    }
    return {
      operationId: id,
      summary: routes.map(({ name }) => name).join(', '),
      tags: [...new Set(routes.map(({ data }) => data.dialect))],
      parameters: parametersOf(path, routes),
      ...(body !== undefined && method !== 'get' && { requestBody: body }),
      security: locations.length === 0 ? [] : locations.map(name => ({ [name]: [] })),
      responses: {
        ...(isSocket
          ? { 101: { description: 'A WebSocket.' } }
          : method === 'head'
            ? { 200: { description: 'The head of the answer.' } }
            : {
                200: {
                  description: 'The answer.',
                  content: documents.length > 0 ? { '*/*': { schema: { type: 'string' } } } : answersOf(routes),
                },
              }),
        '4XX': error,
        '5XX': error,
      },
    }
  }
}

/** The type of files that a dialect's answers are, as far as it is known. */
const bytesOf = (gives: string | undefined): string => (gives === 'audio' || gives === 'video' || gives === 'image' ? `${gives}/*` : '*/*')

/** A body that names a model, if the route or its dialect has a model in the body. */
function modelBody({ data }: Route, project: Project): Json {
  const [from, ...path] = (data.model ?? project.formats.get(data.dialect)?.data.model ?? '').split('.')
  return from === 'body' ? (path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 'gpt-5-mini') as Json) : {}
}

/** A form: its files are bytes. */
function formOf(project: Project, { name, data }: Route, find: Find): Json {
  const id = schemaId(data.dialect, 'request')
  const schema = project.schemas.get(id) as Record<string, unknown>
  const resolved = (item: unknown): unknown => {
    const { $ref: reference } = Object(item) as { $ref?: string }
    return reference === undefined ? item : resolveReference(project.schemas, reference, id)?.schema
  }
  /** A file, a list of files, or a union with one. */
  const holdsFile = (item: unknown): boolean => {
    const own = resolved(item) as { items?: Schema; anyOf?: Schema[]; oneOf?: Schema[] } | undefined
    return (
      isFile(own) ||
      (own !== undefined && [own.items, ...(own.anyOf ?? []), ...(own.oneOf ?? [])].some(one => one !== undefined && holdsFile(one)))
    )
  }
  const properties = Object.entries(Object(schema.properties) as Record<string, unknown>)
  const files = new Set(properties.filter(([, item]) => holdsFile(item)).map(([member]) => member))
  const example = Object(find(data.dialect)) as Json
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(
        properties.map(([member]) => [
          member,
          files.has(member)
            ? { type: 'string', contentMediaType: 'application/octet-stream' }
            : { $ref: `${referenceTo(id).$ref}/properties/${member}` },
        ]),
      ),
      ...(Array.isArray(schema.required) && { required: schema.required }),
    },
    examples: {
      [name]: {
        value: Object.fromEntries(Object.entries(example).map(([member, value]) => [member, files.has(member) ? 'bytes' : value])),
      },
    },
  }
}

function parametersOf(path: string, routes: Route[]): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    description: 'For a model: its name, which may contain slashes. For a task: the id from the gateway.',
    schema: { type: 'string' },
  }))
  const conditions = routes.map(({ name, data }) => ({ name, when: data.when ?? {} }))
  const headers = [...new Set(conditions.flatMap(({ when }) => when.header ?? []))].map(header => ({
    name: header,
    in: 'header',
    required: conditions.every(({ when }) => when.header === header),
    schema: { type: 'string' },
  }))
  const members = [...new Set(conditions.flatMap(({ when }) => Object.keys(when.query ?? {})))].map(member => {
    const wanted = conditions.filter(({ when }) => when.query?.[member] !== undefined)
    return {
      name: member,
      in: 'query',
      required: wanted.length === routes.length,
      schema: { type: 'string', enum: [...new Set(wanted.map(({ when }) => when.query?.[member]))] },
      examples: Object.fromEntries(wanted.map(({ name, when }) => [name, { value: when.query?.[member] }])),
    }
  })
  const forwarded = [...new Set(routes.flatMap(({ data }) => forwardedQuery(data)))]
    .filter(name => !members.some(one => one.name === name))
    .map(name => ({ name, in: 'query', required: false, schema: { type: 'string' } }))
  const models = routes.flatMap(({ data }) => (data.model?.startsWith('query.') ? [data.model.slice('query.'.length)] : []))
  const asked = [...new Set(models)].map(name => ({ name, in: 'query', required: true, schema: { type: 'string' } }))
  return [...inPath, ...headers, ...members, ...asked, ...forwarded]
}
