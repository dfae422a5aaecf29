// The configuration that a command takes if it is given none.

import { existsSync } from 'node:fs'

export const USUAL_CONFIG = 'gateway.yaml'

/** The file that is named, else the usual one if it exists; undefined stands for the built-in defaults. */
export function configOrUsual(config?: string): string | undefined {
  return config ?? (existsSync(USUAL_CONFIG) ? USUAL_CONFIG : undefined)
}
