// The operations on tokens of the admin API.

import type { Bound } from '../../audit.js'
import { Problem } from '../../problem.js'
import type { ApiDocument } from '../document.js'
import type { FirstToken } from '../first-token.js'
import { createToken, listTokens, revokeToken } from '../tokens.js'
import { bodyOf, type Handlers, nameOf } from './handler.js'

interface NewToken {
  name: string
  role: string
  expires_at?: number | null
  teams?: string[]
  groups?: string[]
  keys?: string[]
}

export const tokenHandlers = (api: ApiDocument, first: FirstToken): Handlers => ({
  'tokens.list': async ({ store }) => ({ tokens: await listTokens(store) }),
  'tokens.create': async call => {
    const token = bodyOf<NewToken>(call)
    const { teams: _teams, groups: _groups, keys: _keys, ...given } = token
    const bound = boundOf(api, token)
    call.reply.code(201)
    return createToken(call.store, call.actor, { ...given, ...(bound && { of: bound }) })
  },
  'tokens.first': async ({ store, request, reply }) => {
    const { code } = request.params as { code: string }
    if (!first.take(code)) throw new Problem(404, 'code', 'This link is invalid, or has expired.')
    reply.code(201)
    return createToken(store, { name: 'first', via: 'link', role: 'owner' }, { name: 'first', role: 'owner' }, true)
  },
  'tokens.revoke': async call => {
    await revokeToken(call.store, call.actor, nameOf(call))
    call.reply.code(204)
    return null
  },
})

/** The teams or keys of a token. Throws if the role is unknown, if it needs others, or if it takes none. */
function boundOf(api: ApiDocument, { role, teams, groups, keys }: NewToken): Bound | undefined {
  if (!api.roles.has(role))
    throw new Problem(422, 'role', `There is no role ${role}: use one of ${[...api.roles.keys()].join(', ')}.`, 'role')
  const of = api.roles.get(role)
  const bound = of === 'teams' ? teams && { teams, ...(groups && { groups }) } : keys && { keys }
  if ((teams !== undefined && of !== 'teams') || (keys !== undefined && of !== 'keys') || (of !== undefined && bound === undefined))
    throw new Problem(422, 'bound', `A token of the role ${role} must name ${of ?? 'neither teams nor keys'}.`, of ?? 'role')
  if (groups !== undefined && of !== 'teams') throw new Problem(422, 'bound', `A token of the role ${role} must name no groups.`, 'groups')
  return bound
}
