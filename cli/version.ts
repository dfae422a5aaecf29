// The version of the package.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HOME } from '../codegen/home.js'

export function version(): string {
  return (JSON.parse(readFileSync(join(HOME, 'package.json'), 'utf8')) as { version: string }).version
}
