// Budgets in gateway.yaml → the engine's form.

import { useOneOf } from '../../codegen/read/suggest.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import { type BudgetConfig, budgetOf, type WrittenBudget, windowOf } from '../../engine/budgets/definition.js'
import { isZone } from '../../engine/budgets/window.js'
import type { BudgetsConfig } from '../../engine/snapshot/config.js'
import type { GatewayData, GatewayKey } from '../../schemas/config/types.js'
import type { Find } from './find.js'

type GatewayBudget = NonNullable<GatewayKey['budget']>

/** Reads the budgets of one file, and checks what the grammar cannot. */
export class BudgetReader {
  /** Where the first budget stands. */
  private first: Pointer | undefined

  constructor(
    private readonly file: GatewayData,
    private readonly find: Find,
  ) {}

  /** One budget, or a list of them; undefined if there is none. */
  read(written: GatewayBudget | undefined, pointer: Pointer): readonly BudgetConfig[] | undefined {
    if (written === undefined) return undefined
    this.first ??= pointer
    const list = [written].flat()
    const isList = Array.isArray(written)
    const seen = new Map<string, string>()
    return list.map((one, index): BudgetConfig => {
      const here: Pointer = isList ? [...pointer, index] : pointer
      const { limit: text, zone: own, when_spent, metrics } = one
      const config = budgetOf({ limit: text, zone: own ?? this.file.budgets.zone, when_spent: when_spent as WrittenBudget['when_spent'] })
      const { whenSpent } = config
      if (own !== undefined) this.checkZone(own, [...here, 'zone'])
      if (typeof whenSpent === 'object' && !this.isModel(whenSpent.use))
        this.find(
          [...here, 'when_spent', 'use'],
          'names/model',
          `there is no model ${whenSpent.use}`,
          useOneOf(Object.keys(this.file.models), whenSpent.use),
        )
      const window = windowOf(config)
      const other = seen.get(window)
      if (other !== undefined) this.find(here, 'budget/window', `${other} and ${text} have the same window`, 'keep one of them')
      seen.set(window, text)
      if (metrics && isOfEverybody(pointer))
        this.find(
          [...here, 'metrics'],
          'budget/metrics',
          'it applies to each key or end user, and each of them would be a series',
          'remove it, or set it at the budgets of named keys or end users',
        )
      return { ...config, ...(metrics && { isMetered: true as const }) }
    })
  }

  /** The value of `budgets`. */
  rules(): BudgetsConfig {
    const { budgets } = this.file
    this.checkZone(budgets.zone, ['budgets', 'zone'])
    const [all, key, endUser] = (['all', 'key', 'end_user'] as const).map(name => this.read(budgets[name], ['budgets', name]))
    const table = (name: 'teams' | 'tags' | 'end_users'): Record<string, readonly BudgetConfig[]> =>
      Object.fromEntries(
        Object.entries(budgets[name]).map(([whose, written]) => [whose, this.read(written, ['budgets', name, whose]) ?? []]),
      )
    return {
      ...(all && { all }),
      ...(key && { key }),
      ...(endUser && { endUser }),
      teams: table('teams'),
      tags: table('tags'),
      endUsers: table('end_users'),
      step: budgets.step,
      whole: budgets.whole,
      bytesPerToken: budgets.bytes_per_token,
      partial: budgets.partial,
    }
  }

  /** Call it after everything was read: budgets need a store. */
  finish(): void {
    if (this.first === undefined || this.file.store !== undefined) return
    this.find(this.first, 'budget/store', 'budgets need a store, but the file has none', 'add store: sqlite, or remove the budgets')
  }

  private isModel(name: string): boolean {
    return Object.hasOwn(this.file.models, name) || Object.values(this.file.upstreams).some(({ models }) => models.includes(name))
  }

  private checkZone(zone: string, pointer: Pointer): void {
    if (!isZone(zone)) this.find(pointer, 'budget/zone', `there is no time zone ${zone}`, 'write one such as Europe/Berlin, or UTC')
  }
}

/** Whether it applies to each key or end user without a budget of its own; their number is unbounded. */
function isOfEverybody([first, name]: Pointer): boolean {
  return first === 'budgets' && (name === 'key' || name === 'end_user')
}
