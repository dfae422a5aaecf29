// Reloads the configuration when it has changed, or on SIGHUP. Errors are logged, and the previous configuration stays in
// use.

import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { DataError } from '../codegen/read/findings.js'
import type { Settings } from './config/config.js'
import type { StoreSettings } from './config/store-settings.js'
import { keepPlan } from './plan.js'
import { type Good, readWatched } from './prepare.js'
import type { Watch } from './watch.js'

/** Milliseconds between marks that the plan is in use. */
const KEEP = 900_000

/** What happens to a changed configuration. */
export interface Taking {
  /** Takes a valid one. */
  take(good: Good): Promise<void>
  /** It was taken, or refused. */
  reloaded(isTaken: boolean): void
}

/** Reads the configuration after each change. `first` is the initial one. */
export function reloadOnChange(watch: Watch, config: string, first: Good, log: Logger, { take, reloaded }: Taking): void {
  let { plan } = first
  const reload = async (): Promise<void> => {
    try {
      const good = await readWatched(config, watch, true)
      await take(good)
      plan = good.plan
      reloaded(true)
      log.level = good.settings.logLevel
      const waiting = fixedIn(first.settings, good.settings)
      if (waiting.length > 0) log.warn({ config, settings: waiting }, 'reloaded, but these settings take effect at the next start only')
    } catch (error) {
      reloaded(false)
      if (error instanceof DataError)
        log.error({ config, findings: error.findings }, 'the changed configuration is invalid; the previous one stays in use')
      else log.error(error, 'reload failed; the previous configuration stays in use')
    }
  }
  watch.begin(reload)
  setInterval(() => keepPlan(plan), KEEP).unref()
}

/** The settings that the control process was started with, and what is made of them. */
const STORE: Readonly<Record<string, (keyof StoreSettings)[]>> = {
  store: ['at', 'folder', 'mayMigrate'],
  admin: ['admin'],
  currency: ['currency'],
  ledger: ['keep'],
  kept: ['kept'],
  seal: ['seal'],
  metrics: ['metrics'],
  key_cache: ['keyCache'],
}

/** The changed settings that a running process cannot apply, by their names in gateway.yaml. */
function fixedIn(first: Settings, now: Settings): string[] {
  const found: string[] = []
  if (first.host !== now.host || first.port !== now.port) found.push('listen')
  if (first.workers !== now.workers) found.push('workers')
  if (first.state !== now.state) found.push('state')
  for (const key of ['connections', 'bodies'] as const) if (first.capacity[key] !== now.capacity[key]) found.push(`capacity.${key}`)
  if ((first.store === undefined) !== (now.store === undefined)) found.push('store')
  else if (first.store && now.store)
    for (const [name, members] of Object.entries(STORE)) {
      const [before, after] = [first.store, now.store]
      if (members.some(member => !isDeepStrictEqual(before[member], after[member]))) found.push(name)
    }
  return found
}
