// The settings that the control process receives when it starts.

import type { Beat } from './beats.js'

/** How often a changed configuration was taken, and how often it was refused. */
export interface Reloads {
  taken: number
  refused: number
}

export interface ControlSettings {
  /** `postgres://…`, or the path of an SQLite file. */
  at: string
  /** The folder of its files and sockets. */
  folder: string
  mayMigrate: boolean
  /** The network address of the admin API beside its socket; undefined: none. */
  admin?: { host: string; port: number }
  /** Milliseconds for which rows, and their details, are kept. */
  keep: { rows: number; detail: number }
  /** Milliseconds for which cached keys stay valid while the store is unreachable. */
  stale: number
  currency: string
  /** The metrics that are left out, and labels as `metric.label`. */
  metrics: { without: readonly string[] }
  /** The lifetime of kept answers (milliseconds; 0: none are kept), and their total size (bytes). */
  kept: { for: number; size: number }
  /** The secrets that seal kept answers, newest first. Undefined: a key in the folder does. */
  seal?: readonly string[]
  /** The run of the gateway that this process belongs to. */
  run: string
  /** Whether the start waits for as long as another instance has the folder; else it is refused after 10 seconds. */
  mayWait: boolean
  /** A short hash of the configuration. */
  config: string
  version: string
  /** The folder of Sluice's own data. */
  home: string
  /** The number of restarts. */
  restarts: number
  reloads: Reloads
}

/** Whether the address of a store is Postgres's; else it is the path of an SQLite file. */
export function isPostgres(at: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(at)
}

/** Names of files in the folder. */
export const CONTROL_SOCKET = 'control.sock'
export const ADMIN_SOCKET = 'admin.sock'
export const STORE_FILE = 'sluice.sqlite'
export const SPOOL_FILE = 'spool.sqlite'
export const KEPT_KEY_FILE = 'kept.key'
export const LOCK_FILE = 'lock.sqlite'

/** The messages to it after the settings. */
export interface ToControlProcess {
  reloads: Reloads
}

/** Its messages to the process that started it. */
export type FromControlProcess = { ready: true; admin?: string } | { refused: string } | Beat

/** Exit codes for errors that a restart cannot repair. */
export const EXIT_REFUSED = 4
