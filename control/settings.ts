// What the control process is told when it begins.

export interface ControlSettings {
  /** `postgres://…`, or the path of a file of SQLite. */
  at: string
  /** Where its files and sockets are. */
  folder: string
  mayMigrate: boolean
  /** Where the admin API listens beside its socket; absent: nowhere. */
  admin?: { host: string; port: number }
  /** Milliseconds for which rows, and what is said about them, are kept. */
  keep: { rows: number; detail: number }
  /** Milliseconds for which keys go on while the store is away. */
  stale: number
  currency: string
  /** How long answers are kept (milliseconds; 0 for not at all), what they may take altogether (bytes), and what seals them, the newest first. */
  kept: { for: number; size: number; seal?: readonly string[] }
  /** What the configuration is, in a few letters. */
  config: string
  version: string
  /** Where the data of Sluice itself lies. */
  home: string
  /** How often it has been begun again. */
  restarts: number
}

/** The names of files in the folder. */
export const CONTROL_SOCKET = 'control.sock'
export const ADMIN_SOCKET = 'admin.sock'
export const STORE_FILE = 'sluice.sqlite'
export const SPOOL_FILE = 'spool.sqlite'
export const KEPT_KEY_FILE = 'kept.key'
export const LOCK_FILE = 'lock.sqlite'

/** What the process that began it is told. */
export type FromControlProcess = { ready: true; admin?: string } | { refused: string }

/** Exit codes: what cannot be mended by beginning again. */
export const EXIT_REFUSED = 4
