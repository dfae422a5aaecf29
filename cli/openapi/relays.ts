// Relays in an OpenAPI document: all paths of the upstream below a prefix.

import type { ShownRelay } from '../show/relays.js'

type Json = Record<string, unknown>

const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const TAG = 'relay'

/** Adds the relays of a configuration to a document. */
export function addRelays(document: Json, relays: readonly ShownRelay[]): void {
  if (relays.length === 0) return
  const paths = document.paths as Record<string, Json>
  const { securitySchemes } = document.components as { securitySchemes: Record<string, { type: string; in?: string; name?: string }> }
  const locations = Object.keys(securitySchemes).filter(name => securitySchemes[name]?.in !== 'query')
  const tags = document.tags as Json[]
  tags.push({ name: TAG, description: 'APIs of upstreams that pass through unchanged.' })
  for (const relay of relays)
    paths[`${relay.path}/{rest}`] = Object.fromEntries(METHODS.map(method => [method, operationOf(relay, method, locations)]))
}

function operationOf({ name, upstream }: ShownRelay, method: string, locations: readonly string[]): Json {
  const anything = { content: { '*/*': { schema: { type: 'string', contentMediaType: 'application/octet-stream' } } } }
  const error = {
    description: 'An error, of the upstream or of the gateway.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/error' } } },
  }
  return {
    operationId: `${name.replaceAll(/[^A-Za-z0-9]+/g, '_')}_${method}`,
    summary: name,
    description: `The path below the API of ${upstream}, which may contain slashes.`,
    tags: [TAG],
    parameters: [{ name: 'rest', in: 'path', required: true, description: 'The path at the upstream.', schema: { type: 'string' } }],
    ...(method !== 'get' && method !== 'delete' && { requestBody: anything }),
    security: locations.map(location => ({ [location]: [] })),
    responses: { 200: { description: 'The answer of the upstream.', ...anything }, '4XX': error, '5XX': error },
  }
}
