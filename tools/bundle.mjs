// Writes the control process and the libraries that it needs as a few files: to find and read a thousand small ones takes
// longer than the rest of its start. LICENSES has the licences of the libraries that are in them.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const FOLDER = 'dist/bundled/control'
/** Has a binary, which it finds by its own place. */
const APART = [/^@photostructure\/sqlite/]
/** Optional, and not among the dependencies. */
const MISSING = [/^pg-native$/]

rmSync(FOLDER, { recursive: true, force: true })
const bundle = await rolldown({ input: 'dist/control/main.js', platform: 'node', external: [...APART, ...MISSING] })
const { output } = await bundle.write({ dir: FOLDER, format: 'esm', chunkFileNames: '[name].js' })
await bundle.close()
const files = output.flatMap(({ moduleIds = [] }) => moduleIds)
writeFileSync(join(FOLDER, 'LICENSES'), librariesOf(files).map(licenceOf).join('\n\n'))

/** The folders of the packages that have one of these files. */
function librariesOf(files) {
  const folders = files.map(file => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0])
  return [...new Set(folders.filter(Boolean))].sort()
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find(name => /^licen[cs]e/i.test(name))
  return `${name} ${version}: ${license}\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}`
}
