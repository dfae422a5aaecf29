// The operations on teams.

import type { Actor } from '../../audit.js'
import { checkBudgets } from '../../budgets/written.js'
import { checkLimits } from '../../limits.js'
import { Problem } from '../../problem.js'
import { createTeam, listTeams, setTeam, showTeam, type TeamFields, type TeamPatch } from '../../teams/teams.js'
import { bodyOf, type Handlers, nameOf, type PageQuery, type Publish, queryOf, versionOf } from './handler.js'

export const teamHandlers = (published: Publish): Handlers => ({
  'teams.list': call => {
    const { after, limit } = queryOf<PageQuery>(call)
    return listTeams(call.store, { after, limit, only: ownTeams(call.actor) })
  },
  'teams.create': async call => {
    const { store, actor, reply } = call
    const given = bodyOf<Partial<TeamFields> & { name: string }>(call)
    checkFields(given)
    reply.code(201)
    return published(createTeam(store, actor, given))
  },
  'teams.show': async call => {
    const name = nameOf(call)
    const team = await showTeam(call.store, name)
    if (ownTeams(call.actor)?.includes(team.name) === false) throw new Problem(404, 'team_unknown', `There is no team named ${name}.`)
    return team
  },
  'teams.set': async call => {
    const patch = bodyOf<TeamPatch>(call)
    checkFields(patch)
    return published(setTeam(call.store, call.actor, nameOf(call), patch, versionOf(call)))
  },
})

/** Throws if a limit or a budget is invalid. */
function checkFields({ limits, budgets }: Partial<Pick<TeamFields, 'limits' | 'budgets'>>): void {
  checkLimits(limits)
  checkBudgets(budgets)
}

/** The teams that an actor is bound to; undefined if it may see all of them. */
function ownTeams({ of }: Actor): readonly string[] | undefined {
  return of && ('teams' in of ? of.teams : [])
}
