// The OpenAPI document, which defines the admin API, and the roles beside it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { matcher } from '../../engine/core/text.js'

type Json = Record<string, unknown>

interface Parameter {
  name: string
  in: 'query' | 'path' | 'header'
  required?: boolean
  schema: Json
}

interface OperationData {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Json } } }
}

interface Operation {
  id: string
  method: string
  /** In Fastify's notation. */
  url: string
  /** The JSON Schema of each part of the request. */
  schema: { params?: Json; querystring?: Json; headers?: Json; body?: Json }
}

export interface ApiDocument {
  document: Json
  operations: Operation[]
  /** Whether a role may call an operation. */
  may(role: string, operation: string): boolean
  /** The members of an operation's answers that a role does not see. */
  hidden(role: string, operation: string): readonly string[]
  /** The roles, and what each is bound to. */
  roles: ReadonlyMap<string, 'teams' | 'keys' | undefined>
}

const PREFIX = '/admin/v1'

/** Reads both from Sluice's data folder. */
export function readDocument(home: string): ApiDocument {
  const read = (name: string): Json => load(readFileSync(join(home, 'control', 'admin', name), 'utf8')) as Json
  const document = read('api.yaml')
  const roles = read('roles.yaml') as Record<string, { of?: 'teams' | 'keys'; hides?: Record<string, string[]>; may: string[] }>
  const operations: Operation[] = []
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, OperationData>>))
    for (const [method, data] of Object.entries(methods)) operations.push(operationOf(path, method, data, document))
  const tests = new Map(Object.entries(roles).map(([role, { may }]) => [role, matcher(may)]))
  return {
    document,
    operations,
    may: (role, operation) => tests.get(role)?.(operation) === true,
    hidden: (role, operation) => roles[role]?.hides?.[operation.split('.')[0] as string] ?? [],
    roles: new Map(Object.entries(roles).map(([role, { of }]) => [role, of])),
  }
}

function operationOf(path: string, method: string, data: OperationData, document: Json): Operation {
  const parameters = (resolved(data.parameters ?? [], document) as Parameter[]) ?? []
  const partOf = (where: Parameter['in']): Json | undefined => {
    const own = parameters.filter(one => one.in === where)
    if (own.length === 0 && where !== 'query') return undefined
    return {
      type: 'object',
      properties: Object.fromEntries(own.map(one => [one.name, one.schema])),
      required: own.filter(one => one.required).map(one => one.name),
      // A misspelt filter must be an error, because without the filter everything would be shown.
      ...(where === 'query' && { additionalProperties: false }),
    }
  }
  const [params, querystring, headers] = [partOf('path'), partOf('query'), partOf('header')]
  const body = data.requestBody && (resolved(data.requestBody.content['application/json'].schema, document) as Json)
  return {
    id: data.operationId,
    method: method.toUpperCase(),
    url: PREFIX + path.replaceAll(/\{(\w+)\}/g, ':$1'),
    schema: { ...(params && { params }), ...(querystring && { querystring }), ...(headers && { headers }), ...(body && { body }) },
  }
}

/** A part of the document with its references resolved; there are no recursive ones. */
function resolved(value: unknown, document: Json): unknown {
  if (Array.isArray(value)) return value.map(one => resolved(one, document))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: string }
  if ($ref !== undefined) {
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as Json)[name], document)
    return resolved(target, document)
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolved(one, document)]))
}
