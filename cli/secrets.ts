// Allows checks of a configuration without its secrets: in CI, or for people who may not have them.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'

/**
 * Sets each missing variable that a configuration names as a secret to a random value for the rest of this process, which
 * sends nothing.
 */
export function fillSecrets(config: string): void {
  try {
    fillSecretsOf(readFileSync(config, 'utf8'))
  } catch {
    // The next reader reports the error.
  }
}

/** The same for the YAML of a configuration. */
export function fillSecretsOf(text: string): void {
  // An address needs a valid form.
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
