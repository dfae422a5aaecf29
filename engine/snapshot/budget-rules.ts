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

/** The budgets that belong to no key, model or upstream. */
export function budgetRules(gateway: GatewayConfig, budgets: Budgets): BudgetRules | undefined {
  const { budgets: rules, currency, upstreams } = gateway
  const hasUpstreams = Object.values(upstreams).some(one => one.budgets !== undefined)
  if (rules === undefined) return hasUpstreams ? budgetRules({ ...gateway, budgets: NO_RULES }, budgets) : undefined
  const { step, whole, bytesPerToken, partial, tags, endUser, endUsers } = rules
  const own = (table: BudgetsConfig['tags'], name: string): readonly BudgetConfig[] | undefined =>
    Object.hasOwn(table, name) ? table[name] : undefined
  return {
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

const NO_RULES: BudgetsConfig = { teams: {}, tags: {}, endUsers: {}, step: 256, whole: 4096, bytesPerToken: 3, partial: 'seen' }
