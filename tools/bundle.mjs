// Writes each program, with the libraries that it needs, as a few files: to find and read a thousand small ones takes longer than
// the rest of its start. LICENSES has the licences of the libraries that are in them.

import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const FOLDER = 'dist/bundled'
const PROGRAMS = {
  cli: { main: 'dist/cli/main.js', compile: 'dist/cli/overlay/compile.js' },
  control: { main: 'dist/control/main.js' },
}
/** Two have a binary, which they find by their own place; the compiler has to meet the same functions of ajv in all its modules. */
const APART = [/^@photostructure\/sqlite/, /^uWebSockets\.js/, /^ajv(?:\/|$)/]
/** Optional, and not among the dependencies. */
const MISSING = [/^pg-native$/]

const shared = importedByGenerated()
const isExternal = id => [...APART, ...MISSING].some(one => one.test(id)) || shared.has(id)

rmSync(FOLDER, { recursive: true, force: true })
for (const [name, input] of Object.entries(PROGRAMS)) await write(join(FOLDER, name), input)

async function write(folder, input) {
  // All files of a bundle are in one folder, so that a path from one is that from each.
  const paths = id => (shared.has(id) ? relative(folder, id) : id)
  const bundle = await rolldown({ input, platform: 'node', external: isExternal })
  const { output } = await bundle.write({ dir: folder, format: 'esm', chunkFileNames: '[name].js', paths })
  await bundle.close()
  const files = output.flatMap(({ moduleIds = [] }) => moduleIds)
  writeFileSync(join(folder, 'LICENSES'), librariesOf(files).map(licenceOf).join('\n\n'))
  chmodSync(join(folder, 'main.js'), 0o755)
}

/**
 * The modules that the generated ones import, and what those import: they stay files of their own, so that a bundle and the
 * generated modules that it loads have the same ones.
 */
function importedByGenerated() {
  const found = new Set()
  const visit = file => {
    if (found.has(file)) return
    found.add(file)
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)'/g)) visit(resolve(dirname(file), path))
  }
  for (const name of readdirSync('dist/engine/jsonata')) if (name.endsWith('.js')) visit(resolve('dist/engine/jsonata', name))
  visit(resolve('dist/engine/core/text.js'))
  return found
}

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
