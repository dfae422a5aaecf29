// Runs when the package is installed. The server's library ships a binary for each system and version of Node, 257 MB, of which
// one is loaded: those of other systems are deleted. It deletes only files of that library whose names have the
// form of its binaries, does nothing in a checkout, and never fails an install. SLUICE_KEEP_BINARIES=1 keeps them.

import { readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BINARY = /^uws_(?<system>[a-z0-9]+)_(?<machine>[a-z0-9]+)_(?<abi>\d+)\.node$/
/** Node 20, the oldest that Sluice runs on. */
const LEAST_ABI = 115

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
// The install may be for another system: `npm install --os=linux --cpu=arm64`.
const system = process.env.npm_config_os || process.platform
const machine = process.env.npm_config_cpu || process.arch

const isInstalled = basename(dirname(home)) === 'node_modules'
if (isInstalled && !process.env.SLUICE_KEEP_BINARIES) {
  try {
    const library = dirname(createRequire(join(home, 'package.json')).resolve('uWebSockets.js'))
    const binaries = readdirSync(library).flatMap(name => {
      const { groups } = BINARY.exec(name) ?? {}
      return groups === undefined ? [] : [{ name, ...groups }]
    })
    const isOurs = one => one.system === system && one.machine === machine && Number(one.abi) >= LEAST_ABI
    // If there is none for this system, the existing ones explain why it does not run.
    if (binaries.some(isOurs)) for (const one of binaries) if (!isOurs(one)) rmSync(join(library, one.name), { force: true })
  } catch {
    // The folder is read-only, or the package manager keeps packages elsewhere: the install is larger, and works.
  }
}
