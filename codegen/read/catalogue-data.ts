// The types of the data in models/.

import type { CatalogueRelease } from '../../engine/plan.js'
import type { Finding } from './findings.js'
import type { Schema } from './schemas.js'

/** Keys among prices that are not prices. */
export const NO_PRICES = new Set(['from', 'when', 'regions', 'times'])

export type PriceData = number | { price: number; per?: 'one' | 'thousand' | 'million' }

export interface PricesData {
  from: string
  when?: Record<string, unknown>[]
  regions?: Record<string, number>
  [meter: string]: unknown
}

export interface ModelData {
  match?: string[]
  like?: string
  replaces?: boolean
  display_name?: string
  owner?: string
  created?: string
  deprecated?: string
  retired?: string
  context?: number
  max_output?: number
  inputs?: string[]
  outputs?: string[]
  prefer?: { when?: string | string[]; speaks: string }[]
  traits?: Record<string, unknown>
  prices?: PricesData[]
  source?: string
  read?: string
}

/** A page that says of some models what a table in a folder says of them. */
export interface ConfirmedData {
  source: string
  read?: string
  facts: string[]
  models: string[]
}

export interface CatalogueData {
  title?: string
  source: string
  read: string
  providers?: string[]
  currency?: string
  confirmed?: ConfirmedData[]
  models: Record<string, ModelData>
}

export interface Reading {
  configSchemas: ReadonlyMap<string, Schema>
  findings: Finding[]
  providers: { has(name: string): boolean }
  dialects: { has(name: string): boolean }
  /** The releases of the roots that were read before, and of this one when it was read. */
  releases: CatalogueRelease[]
}
