// Reports changes of a configuration's inputs: gateway.yaml, the overlay's folders, the files of secrets. It watches their
// folders, and those that symbolic links lead to, because editors and Kubernetes replace files and links rather than write
// into them. File systems without events are polled.

import { type FSWatcher, readFileSync, realpathSync, watch } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isFolder, statusOf } from '../codegen/read/status.js'
import { parseYaml } from '../codegen/read/yaml.js'
import { FOLDERS, filesOf } from './overlay/inputs.js'

export interface Watch {
  /** Calls `changed` after a change, and once more if something changed while it ran; never twice at once. */
  begin(changed: () => Promise<void>): void
  /**
   * Whether something changed since the watch began, since the present call of `changed`, or since this was last asked. What
   * is there now counts as taken.
   */
  hasChanged(): boolean
  close(): void
}

/** Milliseconds. A change is taken when it has been stable for this long. */
const SETTLED = 100
/** Milliseconds between polls. */
const LOOK = 5_000

/** Watches from now on, so that nothing is missed between the first reading and `begin`. SIGHUP counts as a change. */
export function watchConfig(config: string): Watch {
  let changed: (() => Promise<void>) | undefined
  const watchers = new Map<string, FSWatcher>()
  let secrets: string[] = []
  let taken = ''
  let seen = ''
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  let isForced = false
  let isClosed = false

  const look = (): void => {
    timer = undefined
    if (changed === undefined || isRunning || isClosed) return
    const state = stateOf(pathsOf(config, secrets))
    const isSettled = state === seen
    seen = state
    if (isForced || (isSettled && state !== taken)) void take(changed)
    else if (state !== taken) soon()
  }
  const soon = (): void => {
    if (!isClosed) timer ??= setTimeout(look, SETTLED)
  }
  const take = async (run: () => Promise<void>): Promise<void> => {
    isForced = false
    isRunning = true
    // Before it runs: a later change, also in newly named files, starts the next run.
    follow()
    await run()
    isRunning = false
    if (stateOf(pathsOf(config, secrets)) !== taken || isForced) soon()
  }
  /** Watches the inputs that the configuration names now; their present state counts as taken. */
  const follow = (): void => {
    if (isClosed) return
    secrets = secretsOf(config) ?? secrets
    const paths = pathsOf(config, secrets)
    taken = seen = stateOf(paths)
    // A recreated folder needs a new watch.
    const folders = new Map(
      [...new Set(paths.flatMap(path => foldersOf(path)))].map(folder => {
        const status = statusOf(folder)
        return [`${folder} ${typeof status === 'string' ? status : `${status.dev} ${status.ino}`}`, folder]
      }),
    )
    for (const [key, watcher] of watchers) {
      if (folders.has(key)) continue
      watcher.close()
      watchers.delete(key)
    }
    for (const [key, folder] of folders) {
      if (watchers.has(key)) continue
      try {
        const watcher = watch(folder, soon)
        watcher.on('error', () => {
          watcher.close()
          watchers.delete(key)
        })
        watchers.set(key, watcher)
      } catch {
        // The folder does not exist, or the system has no watches left.
      }
    }
  }

  follow()
  const interval = setInterval(soon, LOOK).unref()
  const hangup = (): void => {
    isForced = true
    soon()
  }
  process.on('SIGHUP', hangup)
  return {
    begin(run) {
      changed = run
      soon()
    },
    hasChanged() {
      if (stateOf(pathsOf(config, secrets)) === taken) return false
      follow()
      return true
    },
    close() {
      isClosed = true
      process.off('SIGHUP', hangup)
      clearInterval(interval)
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}

/** The paths of all inputs, whether or not they exist. */
function pathsOf(config: string, secrets: readonly string[]): string[] {
  const own = dirname(resolve(config))
  return [resolve(config), ...FOLDERS.map(folder => join(own, folder)), ...filesOf(own), ...secrets]
}

/**
 * A text that changes when one of the files does. For a folder only its existence counts, because its files are among the
 * paths.
 */
function stateOf(paths: readonly string[]): string {
  return paths
    .map(path => {
      const status = statusOf(path)
      if (typeof status === 'string') return `${path} ${status}`
      return `${path} ${status.isDirectory() ? 'folder' : `${status.ino} ${status.size} ${status.mtimeNs} ${status.ctimeNs}`}`
    })
    .join('\n')
}

/** The folders whose entries determine what a path leads to. */
function foldersOf(path: string): string[] {
  const found = [dirname(path)]
  try {
    const real = realpathSync(path)
    found.push(isFolder(real) ? real : dirname(real))
    if (isFolder(path)) found.push(path)
  } catch {
    // The file does not exist: its folder reports when it is created.
  }
  return found
}

/** The secret files that gateway.yaml names; undefined if it cannot be read. */
function secretsOf(config: string): string[] | undefined {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { file } = value as { file?: unknown }
    if (typeof file === 'string' && Object.keys(value).length === 1) found.push(resolve(dirname(config), file))
    else for (const inner of Object.values(value)) visit(inner)
  }
  try {
    const documents = parseYaml(config, readFileSync(config, 'utf8'), [])
    if (documents.length === 0) return undefined
    visit(documents[0]?.value)
    return found
  } catch {
    return undefined
  }
}
