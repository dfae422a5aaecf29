// Prepares a fresh checkout, and does nothing if it is ready: dependencies, the build, the generated modules. Uses
// only Node itself, since nothing else may be installed yet.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)

/** What no step reads: the cases of mappings. */
const isLeftOut = (folder, name) => name === 'node_modules' || (name === 'cases' && folder.startsWith('mappings'))

function hashOf(paths) {
  const hash = createHash('sha256')
  const visit = path => {
    if (!existsSync(path)) return
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) if (!isLeftOut(path, name)) visit(join(path, name))
    } else {
      hash.update(path).update(readFileSync(path))
    }
  }
  for (const path of paths) visit(path)
  return hash.digest('hex')
}

/** Runs a step unless its inputs are unchanged and its output exists. */
function step(name, inputs, output, run) {
  const stamp = join('node_modules', '.cache', 'sluice', name)
  const hash = hashOf(inputs)
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  process.stderr.write(`${name}…\n`)
  // A step that fails may leave some of its output, and its inputs may become again what they were before.
  rmSync(stamp, { force: true })
  run()
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, hash)
}

/** Whether npm has installed the dependencies, with those of the build, since they last changed: it then writes them into this file. */
function isInstalled() {
  const installed = 'node_modules/.package-lock.json'
  if (!existsSync('node_modules/typescript') || !existsSync(installed)) return false
  return ['package.json', 'package-lock.json'].every(path => statSync(path).mtimeMs <= statSync(installed).mtimeMs)
}

// The output of a step must not mix with that of the command itself.
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
const node = (...args) => execFileSync(process.execPath, args, { stdio: ['ignore', 2, 2] })

try {
  if (!isInstalled()) {
    process.stderr.write('install…\n')
    execFileSync(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { stdio: ['ignore', 2, 2] })
  }
  const grammars = readdirSync('schemas/config').filter(name => name.endsWith('.yaml'))
  step('types', ['tools/config-types.mjs', ...grammars.map(name => join('schemas/config', name))], 'schemas/config/types.ts', () =>
    node('tools/config-types.mjs'),
  )
  step(
    'build',
    ['tsconfig.json', 'schemas/config/types.ts', 'engine', 'codegen', 'control', 'cli', 'test/jsonata/suite.ts', 'test/soak', 'test/fuzz'],
    'dist/cli/main.js',
    () => node('node_modules/typescript/bin/tsc', '-p', '.'),
  )
  const code = ['control', 'engine', 'codegen', 'cli'].map(name => join('dist', name))
  step('bundle', ['tools/bundle.mjs', 'package-lock.json', ...code], 'dist/bundled/cli/main.js', () => node('tools/bundle.mjs'))
  step('viewer', ['node_modules/swagger-ui-dist/package.json'], 'dist/viewer/swagger-ui-bundle.js', () => {
    mkdirSync('dist/viewer', { recursive: true })
    for (const name of ['swagger-ui-bundle.js', 'swagger-ui.css', 'LICENSE', 'NOTICE'])
      copyFileSync(join('node_modules/swagger-ui-dist', name), join('dist/viewer', name))
  })
  step('codegen', ['dist/engine', 'dist/codegen', 'routes', 'schemas', 'mappings', 'providers', 'models'], 'generated/plan.js', () =>
    node('--max-semi-space-size=64', 'dist/codegen/main.js'),
  )
} catch (error) {
  process.exit(error.status ?? 1)
}
