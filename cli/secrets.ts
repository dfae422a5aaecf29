// Configurations are looked at where their secrets are not: in CI, or by somebody who may not have them.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Gives each variable that a file names as a secret, and that is not set, a random value for the rest of this process: nothing is
 * sent then.
 */
export function fillSecrets(config: string): void {
  let text: string
  try {
    text = readFileSync(config, 'utf8')
  } catch {
    // Whoever reads it next says so.
    return
  }
  // Addresses have forms of their own.
  const state = /^state:\s*['"]?\$([A-Za-z_]\w*)/m.exec(text)?.[1]
  if (state !== undefined && !process.env[state]) process.env[state] = 'redis://127.0.0.1:6379'
  for (const [, url] of text.matchAll(/\burl:\s*['"]?\$([A-Za-z_]\w*)/g))
    if (url !== undefined && !process.env[url]) process.env[url] = 'http://127.0.0.1:9'
  const store = /^(?:store|\s+at):\s*['"]?\$([A-Za-z_]\w*)/m.exec(text)?.[1]
  if (store !== undefined && !process.env[store]) process.env[store] = 'sqlite'
  for (const [, name] of text.matchAll(/(?:^|[\s:[,{'"])\$([A-Za-z_]\w*)/gm)) {
    if (name !== undefined && !process.env[name]) process.env[name] = randomBytes(24).toString('hex')
  }
}
