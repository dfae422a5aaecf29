// A registry of packages on a local port, with the packages in the lock file, made from node_modules: so `npm install` runs as
// usual, without a network. It has no development dependencies.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

interface Locked {
  name?: string
  version: string
  dev?: boolean
  devOptional?: boolean
}

export interface Registry {
  url: string
  close(): void
}

/** One binary of another system represents all of them: the removal can be shown without 257 MB. */
const isLeftOut = (file: string): boolean => {
  const [, system, machine] = /^uws_([a-z0-9]+)_([a-z0-9]+)_\d+\.node$/.exec(file) ?? []
  if (system === undefined || (system === process.platform && machine === process.arch)) return false
  return file !== 'uws_win32_x64_83.node' && file !== 'uws_darwin_arm64_83.node'
}

export async function startRegistry(): Promise<Registry> {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  /** Folders by name and version. */
  const packages = new Map<string, Map<string, string>>()
  for (const [path, locked] of Object.entries(lock.packages)) {
    if (path === '' || locked.dev || locked.devOptional || !existsSync(join(root, path))) continue
    const name = locked.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const versions = packages.get(name) ?? new Map<string, string>()
    packages.set(name, versions.set(locked.version, join(root, path)))
  }
  const server: Server = createServer((request, response) => {
    const [name = '', version] = decodeURIComponent((request.url ?? '').slice(1)).split('/-/')
    const versions = packages.get(name)
    const folder = version === undefined ? undefined : versions?.get(version)
    if (folder !== undefined) {
      // Not those of nested packages, which are asked for by themselves.
      const files = readdirSync(folder).filter(file => file !== 'node_modules' && !isLeftOut(file))
      const tar = spawn('tar', ['-c', '-C', folder, '--transform', 's,^,package/,', ...files], { stdio: ['ignore', 'pipe', 'inherit'] })
      tar.stdout.pipe(response)
    } else if (versions !== undefined && version === undefined) {
      const { port } = server.address() as AddressInfo
      const manifests = [...versions].map(([number, at]) => {
        const manifest = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as Record<string, unknown>
        return [number, { ...manifest, name, dist: { tarball: `http://127.0.0.1:${port}/${name}/-/${number}` } }]
      })
      const latest = [...versions.keys()].at(-1)
      response.end(JSON.stringify({ name, 'dist-tags': { latest }, versions: Object.fromEntries(manifests) }))
    } else {
      response.writeHead(404).end('{}')
    }
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Runs npm beside the server that it asks; throws with what it said where it fails. */
export function npm(args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // The user's own npm settings may name another registry.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)))
    const child = spawn('npm', [...args, '--userconfig=/dev/null', '--no-audit', '--no-fund', '--no-update-notifier'], { cwd, env })
    let out = ''
    let err = ''
    child.stdout.on('data', part => {
      out += String(part)
    })
    child.stderr.on('data', part => {
      err += String(part)
    })
    child.on('error', reject)
    child.on('close', code => (code === 0 ? resolve(out) : reject(new Error(`npm ${args.join(' ')} ended with ${code}: ${err}`))))
  })
}
