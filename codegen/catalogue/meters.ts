// The closed list of meters, as schemas/config/meters.yaml has it.

import type { Schema } from '../read/schemas.js'

export interface Meter {
  unit: string
  /** How many units a price is for where it does not say so itself. */
  per: number
  /** The meter that counts these units, too. */
  parent?: string
}

/** The meters by name, in the order of the file. */
export function metersOf(configSchemas: ReadonlyMap<string, Schema>): ReadonlyMap<string, Meter> {
  const { properties = {} } = (configSchemas.get('meters') ?? {}) as { properties?: Record<string, Meter> }
  return new Map(
    Object.entries(properties).map(([name, { unit, per, parent }]) => [name, { unit, per, ...(parent !== undefined && { parent }) }]),
  )
}
