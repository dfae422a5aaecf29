// The operations on keys. An actor that is bound to teams or keys sees and changes only its own.

import { isAddressRange } from '../../../engine/snapshot/key.js'
import type { Actor } from '../../audit.js'
import { checkBudgets } from '../../budgets/written.js'
import {
  createKey,
  type ImportedKey,
  importKeys,
  type KeyFields,
  type KeyPatch,
  type KeyView,
  listKeys,
  revokeKey,
  rotateKey,
  setKey,
  showKey,
  USUAL_GROUPS,
} from '../../keys/keys.js'
import { checkLimits } from '../../limits.js'
import { Problem } from '../../problem.js'
import { bodyOf, type Call, type Handlers, nameOf, type PageQuery, type Publish, queryOf, versionOf } from './handler.js'

export const keyHandlers = (published: Publish): Handlers => ({
  'keys.list': call => {
    const { after, limit } = queryOf<PageQuery>(call)
    return listKeys(call.store, { after, limit, of: call.actor.of })
  },
  'keys.create': async call => {
    const { store, actor, reply } = call
    const given = bodyOf<Partial<KeyFields> & { name: string }>(call)
    checkFields(given)
    const fields = { ...given, ...ownTeam(actor, given.team), ...ownGroups(actor, given.groups) }
    reply.code(201)
    return published(createKey(store, actor, fields))
  },
  'keys.import': async call => {
    const { store, actor, reply } = call
    const { keys } = bodyOf<{ keys: ImportedKey[] }>(call)
    for (const key of keys) checkFields(key)
    reply.code(201)
    return { imported: await published(importKeys(store, actor, keys)) }
  },
  'keys.show': ownKey,
  'keys.set': async call => {
    const { store, actor } = call
    const { version, groups } = await ownKey(call)
    const patch = bodyOf<KeyPatch>(call)
    checkFields(patch)
    if (patch.team !== undefined) ownTeam(actor, patch.team)
    checkGroups(actor, patch.groups, groups)
    // A key that meanwhile belongs to another team is not changed.
    const expected = versionOf(call) ?? (actor.of && version)
    return published(setKey(store, actor, nameOf(call), patch, expected))
  },
  'keys.rotate': async call => {
    await ownKey(call)
    const { grace_ms: grace } = bodyOf<{ grace_ms: number }>(call)
    return published(rotateKey(call.store, call.actor, nameOf(call), grace))
  },
  'keys.revoke': async call => {
    await ownKey(call)
    const { now } = bodyOf<{ now: boolean }>(call)
    return published(revokeKey(call.store, call.actor, nameOf(call), now))
  },
})

/** Throws if an address range, a limit or a budget is invalid. */
function checkFields({ ips, limits, budgets }: Partial<Pick<KeyFields, 'ips' | 'limits' | 'budgets'>>): void {
  for (const range of ips ?? [])
    if (!isAddressRange(range)) throw new Problem(422, 'ips', `${range} is neither an IP address nor a range of addresses.`, 'ips')
  checkLimits(limits)
  checkBudgets(budgets)
}

/** The key that an operation names; a key outside of the actor's bounds counts as unknown. */
async function ownKey(call: Call): Promise<KeyView> {
  const { of } = call.actor
  const key = await showKey(call.store, nameOf(call))
  const isOwn = of === undefined || ('teams' in of ? key.team !== null && of.teams.includes(key.team) : of.keys.includes(key.name))
  if (!isOwn) throw new Problem(404, 'key_unknown', `There is no key named ${nameOf(call)}.`)
  return key
}

/** The team of a key that an actor creates or moves; an actor bound to a single team may omit it. */
function ownTeam({ of, role }: Actor, team: string | null | undefined): { team?: string } {
  if (of === undefined || !('teams' in of)) return {}
  const own = team ?? (team === undefined && of.teams.length === 1 ? (of.teams[0] as string) : null)
  if (own === null || !of.teams.includes(own))
    throw new Problem(
      403,
      'team',
      `With this token, the role ${role} may create and change only keys of the teams ${of.teams.join(', ')}.`,
      'team',
    )
  return { team: own }
}

/** The groups of a key that an actor creates; an actor that may put keys into a single group, or into `default`, may omit them. */
function ownGroups(actor: Actor, groups: string[] | undefined): { groups?: string[] } {
  const may = groupsOf(actor)
  if (may === undefined) return {}
  const own = groups ?? [...(may.length === 1 ? may : USUAL_GROUPS)]
  checkGroups(actor, own, [])
  return { groups: own }
}

/** The groups into which an actor may put keys; undefined for any. */
function groupsOf({ of }: Actor): readonly string[] | undefined {
  return of && 'teams' in of ? (of.groups ?? USUAL_GROUPS) : undefined
}

/** Throws if an actor may not put a key into a group. A key keeps those that it has. */
function checkGroups(actor: Actor, groups: readonly string[] | undefined, had: readonly string[]): void {
  const may = groupsOf(actor)
  if (may === undefined) return
  const other = groups?.find(group => !may.includes(group) && !had.includes(group))
  if (other !== undefined)
    throw new Problem(
      403,
      'group',
      `With this token, the role ${actor.role} may put keys only into the groups ${may.join(', ')}, not into ${other}.`,
      'groups',
    )
}
