// The folder of Sluice, wherever its code is run from: the build also puts it into bundles.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

function find(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
}

/** Contains the data and the generated modules. */
export const HOME = find()

/** The compiled code, which generated modules import from. */
export const BUILT = join(HOME, 'dist')
