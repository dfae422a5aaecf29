// Finds the budgets that an exchange is charged to, as the configuration says.

import type { Budget, Budgets } from '../budgets/budgets.js'
import type { BudgetConfig } from '../budgets/definition.js'
import type { BudgetsConfig, GatewayConfig, GroupConfig, KeyConfig } from './config.js'
import type { BudgetRules } from './model.js'

/** The budgets of a key: its own, those of its groups and of its team. */
export function keyBudgets(
  { name, team, budgets: own, teamBudgets }: KeyConfig,
  groups: readonly { name: string; group: GroupConfig }[],
  { currency, budgets: rules }: GatewayConfig,
  budgets: Budgets,
): Budget[] {
  const ofTeam = team !== undefined && rules && Object.hasOwn(rules.teams, team) ? rules.teams[team] : teamBudgets
  return [
    ...budgets.of({ scope: `key:${name}`, words: 'this API key', isTold: true }, own ?? rules?.key, currency),
    ...groups.flatMap(({ name: group, group: { isHidden, budgets: given } }) =>
      budgets.of(
        { scope: `group:${group}`, words: isHidden ? 'the group of this API key' : `the group '${group}'`, isTold: !isHidden },
        given,
        currency,
      ),
    ),
    ...budgets.of({ scope: `team:${team}`, words: `the team '${team}'`, isTold: true }, ofTeam, currency),
  ]
}

/** For programs that give none; those of gateway.yaml have their defaults from its spec. */
const NO_BUDGETS: BudgetsConfig = { teams: {}, tags: {}, endUsers: {}, step: 256, whole: 4096, bytesPerToken: 3, partial: 'seen' }

/** The budgets that belong to no key, model or upstream. */
export function budgetRules({ budgets: rules = NO_BUDGETS, currency, upstreams }: GatewayConfig, budgets: Budgets): BudgetRules {
  const { step, whole, bytesPerToken, partial, teams, tags, endUser, endUsers } = rules
  const hasUpstreams = Object.values(upstreams).some(one => one.budgets !== undefined)
  const own = (table: BudgetsConfig['tags'], name: string): readonly BudgetConfig[] | undefined =>
    Object.hasOwn(table, name) ? table[name] : undefined
  return {
    hasAny:
      hasUpstreams ||
      [rules.all, rules.key, endUser].some(one => one !== undefined) ||
      [teams, tags, endUsers].some(table => Object.keys(table).length > 0),
    all: budgets.of({ scope: 'all', words: 'this gateway', isTold: false }, rules.all, currency),
    hasTags: Object.keys(tags).length > 0,
    ofTags: names =>
      [...names].flatMap(name => budgets.of({ scope: `tag:${name}`, words: `the tag '${name}'`, isTold: true }, own(tags, name), currency)),
    ofEndUser: name =>
      budgets.of({ scope: `end_user:${name}`, words: 'this end user', isTold: true }, own(endUsers, name) ?? endUser, currency),
    hasUpstreams,
    step,
    whole,
    bytesPerToken,
    partial,
  }
}
