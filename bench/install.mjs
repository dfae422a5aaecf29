/** Installs the contenders: a package of the npm registry beside this file, nginx and wrk from Debian. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installLitellm, litellmVersion } from './litellm.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

const run = (command, args, options) => spawnSync(command, args, { encoding: 'utf8', ...options })
const has = program => run('sh', ['-c', `command -v ${program}`], { env: searchPath() }).status === 0

/** Debian installs nginx in a folder that only the administrator's PATH has. */
export function searchPath() {
  return { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
}

/** The reason why a contender that `--with` does not name takes no part. */
export const NOT_ASKED = 'only with --with'

/** @param {(line: string) => void} say @param {string[]} more the names in `--with` @returns {Record<string, string | undefined>} why a program is missing; undefined: it is installed */
export function install(say, more = []) {
  return {
    portkey: portkey(say),
    nginx: debian('nginx', 'nginx-light', say),
    wrk: debian('wrk', 'wrk', say),
    litellm: more.includes('litellm') ? installLitellm(say) : NOT_ASKED,
  }
}

function portkey(say) {
  if (existsSync(new URL('node_modules/@portkey-ai/gateway/build/start-server.js', import.meta.url))) return undefined
  say('installing what the gateway is compared with (bench/package.json)')
  const { status, stderr } = run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here })
  return status === 0 ? undefined : `npm ci in bench/ failed: ${lastLine(stderr)}`
}

function debian(program, name, say) {
  if (has(program)) return undefined
  if (!has('apt-get')) return `${program} is not installed, and there is no apt-get to install ${name} with`
  if (process.getuid?.() !== 0) return `${program} is not installed: run \`sudo apt-get install ${name}\``
  say(`installing ${name}`)
  const apt = (...args) => run('apt-get', args, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } })
  let result = apt('install', '-y', '--no-install-recommends', name)
  if (result.status !== 0) {
    apt('update')
    result = apt('install', '-y', '--no-install-recommends', name)
  }
  return has(program) ? undefined : `apt-get install ${name} failed: ${lastLine(result.stderr)}`
}

const lastLine = text => (text ?? '').trim().split('\n').at(-1)

/** @returns {Record<string, string>} the versions of the programs that took part */
export function versions(more = []) {
  const of = (command, args, pattern) => {
    const { stdout, stderr } = run(command, args, { env: searchPath() })
    return pattern.exec(`${stdout}${stderr}`)?.[1]
  }
  const found = {
    node: process.version,
    uv: process.versions.uv,
    v8: process.versions.v8,
    nginx: of('nginx', ['-v'], /nginx\/([\d.]+)/),
    wrk: of('wrk', ['-v'], /wrk \S*?(\d[\d.]+)/),
    undici: dependency('../node_modules/undici'),
    'uWebSockets.js': dependency('../node_modules/uWebSockets.js'),
    portkey: dependency('node_modules/@portkey-ai/gateway'),
    ...(more.includes('litellm') && { litellm: litellmVersion() }),
  }
  return Object.fromEntries(Object.entries(found).filter(([, version]) => version))
}

function dependency(folder) {
  const { stdout } = run(process.execPath, ['-p', `require('./${folder}/package.json').version`], { cwd: here })
  return stdout.trim() || undefined
}
