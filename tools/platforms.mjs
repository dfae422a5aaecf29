// `npm run platforms [-- --quick] [-- --roots <folder>] [-- <suite> <major>]`: the tests on other systems and other
// Nodes. `here` is this system with each Node from its package in the registry, in a copy of the checkout; every other
// suite is a root of its own under a folder for temporary files, which needs root, `debootstrap` and `unshare`. What cannot be
// made here is reported as not run, with the reason, and does not pass. If a Node starts but the binary of the server's library
// does not load, the tests that need no server are run, and the report says so.

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { argv, env, exit, getuid, platform } from 'node:process'
import { fileURLToPath } from 'node:url'

const checkout = join(dirname(fileURLToPath(import.meta.url)), '..')

const DEBIAN = { keyring: '/usr/share/keyrings/debian-archive-keyring.gpg' }
const UBUNTU = { keyring: '/usr/share/keyrings/ubuntu-archive-keyring.gpg' }
const SYSTEMS = [
  { name: 'Debian 12', suite: 'bookworm', ...DEBIAN },
  { name: 'Debian 13', suite: 'trixie', ...DEBIAN },
  { name: 'Ubuntu 24.04', suite: 'noble', ...UBUNTU },
]
const HERE = 'here'
const NODES = ['20.20.2', '22.23.3', '24.21.0']
/** One that runs on all of them. */
const NPM = '10.9.9'
/** Tests that check a platform in a few minutes: small parts, encodings, sockets, and real clients. */
const QUICK = ['small', 'encoding', 'sockets'].map(name => `test/engine/${name}.test.ts`).concat('test/clients/kits.test.ts')

/** Tests that need no server: the compiler, its output, and all cases of the mappings. */
const SERVERLESS = ['expressions', 'normalise', 'reducer', 'yaml']
  .map(name => `test/codegen/${name}.test.ts`)
  .concat('test/data/cases.test.ts', 'test/engine/hours.test.ts')

const words = argv.slice(2)
const isQuick = words.includes('--quick')
const given = words.indexOf('--roots')
const kept = given < 0 ? undefined : words[given + 1]
const only = words.filter((word, index) => !word.startsWith('--') && (given < 0 || index !== given + 1))

/** @returns {string | undefined} why a command failed: its last line */
function run(command, args, options = {}) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options })
  if (status === 0) return undefined
  return (
    error?.message ??
    [stderr, stdout]
      .map(text => text?.trim())
      .find(Boolean)
      ?.split('\n')
      .at(-1) ??
    `it ended with ${status}`
  )
}

function whyNotHere() {
  if (platform !== 'linux') return 'roots are made on Linux only'
  if (getuid() !== 0) return 'a root is made by root only'
  for (const command of ['debootstrap', 'unshare', 'tar']) {
    if (run('sh', ['-c', `command -v ${command}`])) return `there is no ${command} here`
  }
  return run('unshare', ['--mount', '--pid', '--fork', 'true']) && 'processes cannot have their own mounts here'
}

/** A package of the registry, unpacked; otherwise the reason. */
function fetchPackage(name, version, into) {
  if (existsSync(join(into, 'package.json'))) return undefined
  mkdirSync(into, { recursive: true })
  const failure = run('npm', ['pack', `${name}@${version}`, '--silent', '--pack-destination', into], { cwd: into })
  const archive = readdirSync(into).find(file => file.endsWith('.tgz'))
  if (failure !== undefined || archive === undefined) return failure ?? 'it is not there'
  return run('tar', ['xzf', archive, '--strip-components=1'], { cwd: into })
}

/** Copies this checkout with the times of its files: packages that seem older than their list would be installed anew. */
function copyInto(folder) {
  const filter = path => path !== join(checkout, '.git')
  cpSync(checkout, folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true, filter })
}

/** A root with a system, and this checkout in it; otherwise the reason. */
function makeRoot({ suite, keyring }, root) {
  if (!existsSync(join(root, 'etc', 'os-release'))) {
    if (!existsSync(keyring)) return `the keys of its archive are not here (${keyring})`
    const args = ['--variant=minbase', '--include=ca-certificates,procps', `--keyring=${keyring}`, suite, root]
    const failure = run('debootstrap', args)
    if (failure !== undefined) return `debootstrap: ${failure}`
  }
  const home = join(root, 'sluice')
  rmSync(home, { recursive: true, force: true })
  copyInto(home)
  return undefined
}

/** The name of this system. */
function nameOfHere() {
  try {
    return `Here: ${/^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? platform}`
  } catch {
    return `Here: ${platform}`
  }
}

/** A copy of this checkout on this system; otherwise the reason. */
function makeCopy(root) {
  if (platform !== 'linux') return 'the packages of Node are those for Linux'
  copyInto(join(root, 'sluice'))
  return undefined
}

/** Runs a command in the copy, with another Node before all others. */
function beside(root, node, command, options) {
  const PATH = `${join(root, 'opt', `node-${node}`, 'bin')}:${env.PATH}`
  return run('sh', ['-c', `cd ${JSON.stringify(join(root, 'sluice'))} && ${command}`], {
    ...options,
    env: { ...env, PATH, SLUICE_NO_INSTALL: '1' },
  })
}

/** The tests with one Node of this system. */
function tryHere(root, node) {
  const arch = { x64: 'x64', arm64: 'arm64' }[process.arch]
  const failure = fetchPackage(`node-linux-${arch}`, node, join(root, 'opt', `node-${node}`))
  if (failure !== undefined) return { state: 'not run', why: `its package: ${failure}` }
  const begins = beside(root, node, 'node --version')
  if (begins !== undefined) return { state: 'not run', why: `Node does not begin: ${begins}` }
  const loads = beside(root, node, `node -e "require('uWebSockets.js')"`) === undefined
  const files = loads ? (isQuick ? QUICK : []) : SERVERLESS
  const command = loads && !isQuick ? 'npm test' : `node tools/setup.mjs && node node_modules/vitest/vitest.mjs run ${files.join(' ')}`
  const ended = beside(root, node, command, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (ended !== undefined) return { state: 'FAILED', why: ended }
  if (loads) return { state: 'passed' }
  return { state: 'not run', why: "the binary of the server's library needs another libc; the tests that need no server passed" }
}

/** Runs a command inside, with processes and mounts that end with it. */
function inside(root, node, command, options) {
  const args = ['--mount', '--pid', '--fork', '--kill-child', `--mount-proc=${join(root, 'proc')}`, 'chroot', root]
  const PATH = `/opt/node-${node}/bin:/opt/npm/bin:/usr/bin:/bin:/usr/sbin:/sbin`
  const variables = { PATH, HOME: '/root', LANG: 'C.UTF-8', SLUICE_NO_INSTALL: '1', ...(env.NO_COLOR && { NO_COLOR: '1' }) }
  const all = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  return run('unshare', [...args, 'env', '-i', ...all, 'sh', '-c', `cd /sluice && ${command}`], options)
}

function tryNode(root, node) {
  const arch = { x64: 'x64', arm64: 'arm64' }[process.arch]
  const failure =
    fetchPackage(`node-linux-${arch}`, node, join(root, 'opt', `node-${node}`)) ?? fetchPackage('npm', NPM, join(root, 'opt', 'npm'))
  if (failure !== undefined) return { state: 'not run', why: `its packages: ${failure}` }
  const begins = inside(
    root,
    node,
    `ln -sf npm-cli.js /opt/npm/bin/npm && ln -sf npx-cli.js /opt/npm/bin/npx && chmod +x /opt/npm/bin/* && node --version`,
  )
  if (begins !== undefined) return { state: 'not run', why: `Node does not begin: ${begins}` }
  const loads = inside(
    root,
    node,
    `node -e "require('uWebSockets.js')" 2>&1 | grep -o "version .GLIBC.* not found" | head -1 > /tmp/why; test ! -s /tmp/why`,
  )
  if (loads !== undefined)
    return {
      state: 'not run',
      why: `the binary of the server's library needs another libc: ${readFileSync(join(root, 'tmp', 'why'), 'utf8').trim()}`,
    }
  const command = isQuick ? `node tools/setup.mjs && npx vitest run ${QUICK.join(' ')}` : 'npm test'
  const ended = inside(root, node, command, { stdio: ['ignore', 'inherit', 'inherit'] })
  return ended === undefined ? { state: 'passed' } : { state: 'FAILED', why: ended }
}

const reason = whyNotHere()
const folder = kept ?? mkdtempSync(join(tmpdir(), 'sluice-roots-'))
const results = []
const mayRun = (suite, node) => only.length === 0 || only.every(word => suite === word || node.split('.')[0] === word)
const nodesHere = NODES.filter(node => mayRun(HERE, node))
if (nodesHere.length > 0) {
  const root = join(folder, HERE)
  const failure = makeCopy(root)
  for (const node of nodesHere) {
    if (failure === undefined) process.stderr.write(`${nameOfHere()}, Node ${node}…\n`)
    results.push({ system: nameOfHere(), node, ...(failure === undefined ? tryHere(root, node) : { state: 'not run', why: failure }) })
  }
}
for (const system of SYSTEMS) {
  const nodes = NODES.filter(node => mayRun(system.suite, node))
  if (nodes.length === 0) continue
  const root = join(folder, system.suite)
  process.stderr.write(`${system.name}…\n`)
  const failure = reason ?? makeRoot(system, root)
  for (const node of nodes) {
    if (failure === undefined) process.stderr.write(`${system.name}, Node ${node}…\n`)
    results.push({ system: system.name, node, ...(failure === undefined ? tryNode(root, node) : { state: 'not run', why: failure }) })
  }
}
// Nothing of this machine is still mounted inside: the mounts ended with the process.
if (kept === undefined) rmSync(folder, { recursive: true, force: true })

console.log(`\n${isQuick ? 'Some tests' : 'npm test'}:`)
for (const { system, node, state, why } of results)
  console.log(`  ${system.padEnd(13)} Node ${node.padEnd(8)}  ${state}${why === undefined ? '' : `: ${why}`}`)
exit(results.some(({ state }) => state === 'FAILED') ? 1 : 0)
