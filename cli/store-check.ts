// `sluice check --store`: finds contradictions between the store and the configuration.

import type { Finding } from '../codegen/read/findings.js'
import type { Pointer, YamlDocument } from '../codegen/read/yaml.js'
import { writtenBudgets } from '../control/budgets/written.js'
import { listOf } from '../control/keys/lookup.js'
import { currencyOf } from '../control/store/currency.js'
import { openStore, type Store } from '../control/store/store.js'
import { UnfitStore } from '../control/store/unfit.js'
import type { GatewayConfig } from '../engine/snapshot/config.js'
import type { Find } from './config/find.js'
import type { StoreSettings } from './config/store-settings.js'

/** Keys in one page. */
const PAGE = 1_000

export interface StoreChecked {
  findings: Finding[]
  keys: number
  teams: number
}

/** Reads the keys and teams of a store; writes nothing. What cannot be read is a finding. */
export async function checkStore(settings: StoreSettings, gateway: GatewayConfig, document: YamlDocument): Promise<StoreChecked> {
  const findings: Finding[] = []
  const find = (pointer: Pointer, rule: string, detail: string, remedy: string): void => {
    findings.push({ ...document.at(pointer), rule, detail, remedy })
  }
  let store: Store
  try {
    store = await openStore({ at: settings.at, mayMigrate: false })
  } catch (error) {
    if (error instanceof UnfitStore) find(['store'], 'store/schema', sentence(error), 'run `sluice store migrate`, or start the gateway')
    else find(['store'], 'store/away', `the store cannot be opened: ${sentence(error)}`, 'check that it runs, and that `store` is right')
    return { findings, keys: 0, teams: 0 }
  }
  try {
    await checkCurrency(store, gateway, find)
    const teams = await checkTeams(store, gateway, find)
    const keys = await checkKeys(store, gateway, find)
    return { findings, keys, teams }
  } finally {
    await store.close()
  }
}

const sentence = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')

async function checkCurrency(store: Store, { currency }: GatewayConfig, find: Find): Promise<void> {
  const own = await currencyOf(store)
  if (own !== undefined && own !== currency)
    find(
      ['currency'],
      'store/currency',
      `the amounts in the store are in ${own}, and nothing converts them`,
      `write \`currency: ${own}\`, or use another store`,
    )
}

async function checkTeams({ db }: Store, { budgets, models }: GatewayConfig, find: Find): Promise<number> {
  const teams = await db.selectFrom('team').select(['name', 'budgets']).orderBy('name').execute()
  for (const { name, budgets: written } of teams) {
    if (budgets && Object.hasOwn(budgets.teams, name))
      find(
        ['budgets', 'teams', name],
        'store/team',
        `the team ${name} is in the store, too; its budgets there are ignored`,
        'remove it here, or from the store with `sluice teams set --budget none`',
      )
    checkModels(`the team ${name}`, written, models, find)
  }
  return teams.length
}

async function checkKeys({ db }: Store, gateway: GatewayConfig, find: Find): Promise<number> {
  const ofFile = new Map(gateway.keys.map((key, index) => [key.name, index]))
  const groups = new Set(['default', ...Object.keys(gateway.groups ?? {}), ...Object.values(gateway.models).flatMap(model => model.groups)])
  const unknown = new Map<string, { first: string; count: number }>()
  let count = 0
  for (let after = ''; ; ) {
    const page = await db
      .selectFrom('key')
      .select(['name', 'groups', 'budgets'])
      .where('state', '!=', 'revoked')
      .where('name', '>', after)
      .orderBy('name')
      .limit(PAGE)
      .execute()
    count += page.length
    for (const { name, groups: own, budgets } of page) {
      const index = ofFile.get(name)
      if (index !== undefined)
        find(
          ['keys', index, 'name'],
          'store/key',
          `a key of the store is called ${name}, too, and is refused with 403: budgets and kept answers belong to a name`,
          'remove one of them, or give this one another name',
        )
      for (const group of listOf(own) ?? []) {
        const known = unknown.get(group)
        if (known) known.count++
        else if (!groups.has(group)) unknown.set(group, { first: name, count: 1 })
      }
      checkModels(`the key ${name}`, budgets, gateway.models, find)
    }
    if (page.length < PAGE) break
    after = (page.at(-1) as { name: string }).name
  }
  for (const [group, { first, count: many }] of unknown)
    find(
      gateway.groups === undefined ? ['store'] : ['groups'],
      'store/group',
      `${many === 1 ? `the key ${first} of the store is` : `${many} keys of the store, such as ${first}, are`} in the group ${group}, which the file does not define`,
      'add the group, or change them with `sluice keys set --group`',
    )
  return count
}

/** A budget that falls back to an unknown model refuses requests when it is spent. */
function checkModels(whose: string, written: string | null, models: GatewayConfig['models'], find: Find): void {
  for (const { when_spent: whenSpent } of writtenBudgets(written) ?? [])
    if (typeof whenSpent === 'object' && !Object.hasOwn(models, whenSpent.use))
      find(
        ['models'],
        'store/model',
        `a budget of ${whose} falls back to ${whenSpent.use}, which the file does not define`,
        'add the model, or change the budget',
      )
}
