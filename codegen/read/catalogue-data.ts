// The types of the data in models/.

import type { CatalogueRelease } from '../../engine/plan.js'
import type { ModelsData as CatalogueData, ModelsModel as ModelData, ModelsPrices as PricesData } from '../../schemas/config/types.js'
import type { Finding } from './findings.js'
import type { Schema } from './schemas.js'

/** Keys among prices that are not prices. */
export const NO_PRICES = new Set(['from', 'when', 'regions', 'times'])

/** The data of a file, of an entry, and of an entry's prices, as schemas/config/models.yaml describes them. */
export type { CatalogueData, ModelData, PricesData }

/** A file and an entry as they are written, without their defaults. */
export type WrittenModel = Partial<ModelData>
export type WrittenCatalogue = Omit<CatalogueData, 'currency' | 'models'> & { models: Record<string, WrittenModel> }

export interface Reading {
  configSchemas: ReadonlyMap<string, Schema>
  findings: Finding[]
  providers: { has(name: string): boolean }
  dialects: { has(name: string): boolean }
  /** The releases of the roots that were read before, and of this one when it was read. */
  releases: CatalogueRelease[]
}
