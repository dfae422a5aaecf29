// `sluice models version`: the releases that the catalogue is made of.

import { compareVersions } from '../../codegen/version.js'
import type { CatalogueRelease, Plan } from '../../engine/plan.js'
import { loadFacts } from '../plan.js'
import { configOrUsual } from '../usual-config.js'
import { daysSince, OLD } from './days.js'

export interface VersionOptions {
  config?: string
  json?: boolean
}

/** Prints each release, the one that goes before the others last, and what is to be known of it. */
export async function showVersion({ config, json }: VersionOptions): Promise<void> {
  const plan = await loadFacts(configOrUsual(config))
  if (json) console.log(JSON.stringify({ ok: true, findings: [], releases: plan.releases ?? [] }, null, 2))
  else {
    for (const line of releaseLines(plan)) console.log(line)
    for (const release of plan.releases ?? []) for (const path of release.leftOut ?? []) console.log(`  left out: ${path}`)
  }
}

/** A line for each release, and one for each thing that is to be known of them. `today` is in milliseconds since 1970. */
export function releaseLines({ releases = [] }: Pick<Plan, 'releases'>, today = Date.now()): string[] {
  return [...releases.map(lineOf), ...releaseWarnings({ releases }, today)]
}

function lineOf({ version, released, at, leftOut = [] }: CatalogueRelease): string {
  const rest = leftOut.length === 0 ? '' : `, ${leftOut.length} facts of it are for a newer gateway and were left out`
  return `catalogue ${version} of ${released} (${at})${rest}`
}

/** Warnings about the release in force: it is old, or older than the built-in one. */
export function releaseWarnings({ releases = [] }: Pick<Plan, 'releases'>, today = Date.now()): string[] {
  const [first] = releases
  const last = releases.at(-1)
  if (first === undefined || last === undefined) return []
  const warnings: string[] = []
  if (compareVersions(last.version, first.version) < 0)
    warnings.push(`the catalogue ${last.version} goes before ${first.version} and is older than the one that came with this gateway`)
  const age = daysSince(last.released, today)
  if (age > OLD) warnings.push(`the catalogue was released ${age} days ago`)
  return warnings
}
