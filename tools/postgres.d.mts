export interface Postgres {
  /** The address of a new, empty database. */
  database(): Promise<string>
  /** Ends the server as a machine that fails does; `start` brings it back with what it had. */
  stop(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** Whether there is one to be run here. */
export const hasPostgres: boolean
/** Starts a server that listens on a socket in a folder of its own. */
export function startPostgres(): Promise<Postgres>
