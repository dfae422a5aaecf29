// An operator's overlay beside gateway.yaml: changes take effect, processes that compile it at the same time do not collide,
// and it works if nothing can be written.

import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import type * as StoreModule from '../../cli/overlay/store.js'
import { FLAGS, MAIN } from '../command.js'
import { sleep } from '../polling.js'

const root = join(import.meta.dirname, '..', '..')
const { prune } = (await import(pathToFileURL(join(root, 'dist/cli/overlay/store.js')).href)) as typeof StoreModule
const outer = mkdtempSync(join(tmpdir(), 'sluice-overlay-'))
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(outer, { recursive: true, force: true }))

let count = 0
/** A folder with a configuration; the folder for compiled overlays does not exist yet. */
function folderWith(config = 'listen: 127.0.0.1:0'): {
  folder: string
  config: string
  home: string
  write(path: string, text: string): void
} {
  const folder = join(outer, String(count++))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('gateway.yaml', `${config}\n`)
  return { folder, config: join(folder, 'gateway.yaml'), home: join(folder, 'home'), write }
}

const route = (version: number): string => `name: v\nmethod: GET\npath: /v\ndialect: chat\nauth: []\nanswer: '{"v": ${version}}'\n`

interface Running {
  child: ChildProcess
  lines: string[]
  errors(): string
  url: Promise<string>
  code: Promise<number | null>
}

function run(home: string, args: readonly string[], how: { limit?: number; env?: Record<string, string> } = {}): Running {
  const env = { ...process.env, XDG_CACHE_HOME: '', HOME: home, TMPDIR: home, ...how.env }
  const all = [process.execPath, ...FLAGS, MAIN, ...args]
  // What a shell limits, a disk could.
  const child =
    how.limit === undefined
      ? spawn(all[0] as string, all.slice(1), { env })
      : spawn('bash', ['-c', `ulimit -f ${how.limit}; exec "$@"`, 'bash', ...all], { env })
  children.push(child)
  const lines: string[] = []
  let errors = ''
  child.stderr?.on('data', part => {
    errors += String(part)
  })
  const code = new Promise<number | null>(done => child.on('close', done))
  const url = new Promise<string>((done, fail) => {
    void code.then(ended => fail(new Error(`it ended with ${ended} before it listened: ${errors}`)))
    let rest = ''
    child.stdout?.on('data', part => {
      const whole = (rest + String(part)).split('\n')
      rest = whole.pop() ?? ''
      for (const line of whole) {
        lines.push(line)
        if (line.includes('"msg":"listening"')) done(JSON.parse(line).url)
      }
    })
  })
  url.catch(() => undefined)
  return { child, lines, errors: () => errors, url, code }
}

/** The process that serves: the last one of those that each begin another. */
function servingOf(pid: number): number {
  const [next] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
  return next ? servingOf(Number(next)) : pid
}

const versionAt = async (url: string): Promise<unknown> => ((await (await fetch(`${url}/v`)).json()) as { v?: unknown }).v
const told = (lines: readonly string[], message: string): string[] => lines.filter(line => line.includes(message))
const plansIn = (home: string): string[] => readdirSync(join(home, '.cache/sluice/overlays/plans'))

test('the examples of docs/overlay.md work', async () => {
  const page = readFileSync(join(root, 'docs/overlay.md'), 'utf8')
  const [provider, version] = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(found => found[1] as string)
  const { write, config, home } = folderWith('listen: 127.0.0.1:0\nupstreams: { u: { provider: mine, secret: s, models: [m] } }')
  write('providers/mine.yaml', provider as string)
  write('routes/version.yaml', version as string)
  const { url } = run(home, ['start', '--config', config])
  expect(await (await fetch(`${await url}/version`)).json()).toEqual({ v: 1 })
})

describe('a changed overlay', () => {
  for (const workers of ['1', '2'])
    test(`is served after the change, with ${workers === '1' ? 'one process' : 'two processes'}`, async () => {
      const { write, config, home } = folderWith()
      write('routes/v.yaml', route(1))
      const { url: listening, lines } = run(home, ['start', '--config', config, '--workers', workers])
      const url = await listening
      expect(await versionAt(url)).toBe(1)
      write('routes/v.yaml', route(2))
      await expect.poll(async () => [await versionAt(url), await versionAt(url), await versionAt(url)]).toEqual([2, 2, 2])
      // The error is logged once, and the previous configuration stays.
      write('routes/v.yaml', route(3).replace('dialect: chat', 'dialect: chatt'))
      await expect.poll(() => told(lines, 'names/dialect').length).toBe(1)
      expect(await versionAt(url)).toBe(2)
      write('routes/v.yaml', route(4))
      await expect.poll(async () => [await versionAt(url), await versionAt(url), await versionAt(url)]).toEqual([4, 4, 4])
      // Each version was compiled once, by one process.
      expect(plansIn(home)).toHaveLength(3)
    })

  for (const workers of ['1', '2'])
    test(`is read again if it changes while it is first read, with ${workers === '1' ? 'one process' : 'two processes'}`, async () => {
      const { write, config, home } = folderWith()
      write('routes/v.yaml', route(1))
      const { url, errors } = run(home, ['start', '--config', config, '--workers', workers])
      // The overlay is compiled, and gateway.yaml is not yet read. A plan that has no such provider, and a file that names it,
      // never were one configuration.
      const plans = join(home, '.cache/sluice/overlays/plans')
      while (!existsSync(plans) || readdirSync(plans).length === 0) await sleep(1)
      write('providers/late.yaml', 'extends: openai\nbase: http://127.0.0.1:1\n')
      write('gateway.yaml', 'listen: 127.0.0.1:0\nupstreams: { u: { provider: late, secret: none, models: [m] } }\n')
      expect(await versionAt(await url)).toBe(1)
      expect(errors()).toBe('')
    })

  test('is served with its secrets if a symbolic link changes, as in a volume of Kubernetes', async () => {
    const { folder, write, config, home } = folderWith()
    const files = (volume: string, version: number): void => {
      write(`${volume}/gateway.yaml`, `listen: 127.0.0.1:0\nkeys: [{ name: a, value: { file: key } }]\n`)
      write(`${volume}/routes/v.yaml`, route(version).replace('auth: []', 'auth: [bearer]'))
      write(`${volume}/key`, `key-${version}\n`)
    }
    files('..one', 1)
    rmSync(config)
    symlinkSync('..one', join(folder, '..data'))
    for (const name of ['gateway.yaml', 'routes', 'key']) symlinkSync(join('..data', name), join(folder, name))
    const { url: listening } = run(home, ['start', '--config', config])
    const url = await listening
    const ask = (version: number): Promise<[number, string]> =>
      fetch(`${url}/v`, { headers: { authorization: `Bearer key-${version}` } }).then(async answer => [answer.status, await answer.text()])
    expect(await ask(1)).toEqual([200, '{"v":1}'])
    files('..two', 2)
    symlinkSync('..two', join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    rmSync(join(folder, '..one'), { recursive: true })
    await expect.poll(() => ask(2)).toEqual([200, '{"v":2}'])
    expect((await ask(1))[0]).toBe(401)
    // And once more: what is watched now is the second one.
    files('..three', 3)
    symlinkSync('..three', join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    await expect.poll(() => ask(3)).toEqual([200, '{"v":3}'])
  })

  test('may gain and lose a folder', async () => {
    const { folder, write, config, home } = folderWith()
    const { url: listening } = run(home, ['start', '--config', config])
    const url = await listening
    expect((await fetch(`${url}/v`)).status).toBe(404)
    write('routes/v.yaml', route(1))
    await expect.poll(async () => (await fetch(`${url}/v`)).status).toBe(200)
    rmSync(join(folder, 'routes'), { recursive: true })
    await expect.poll(async () => (await fetch(`${url}/v`)).status).toBe(404)
  })

  test('is served with the changed file of a secret', async () => {
    const { write, config, home } = folderWith('listen: 127.0.0.1:0\nkeys: [{ name: a, value: { file: secrets/key } }]')
    write('secrets/key', 'old-key')
    const { url: listening } = run(home, ['start', '--config', config])
    const url = await listening
    const status = async (key: string): Promise<number> =>
      (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status
    expect([await status('old-key'), await status('new-key')]).toEqual([200, 401])
    write('secrets/key', 'new-key')
    await expect.poll(async () => [await status('old-key'), await status('new-key')]).toEqual([401, 200])
  })

  test('is read again on SIGHUP, which applies what it can and logs what needs a restart', async () => {
    const { write, config, home } = folderWith()
    for (const workers of ['1', '2']) {
      write('gateway.yaml', 'listen: 127.0.0.1:0\n')
      write('routes/v.yaml', route(1))
      const { child, url: listening, lines } = run(home, ['start', '--config', config, '--workers', workers])
      const url = await listening
      child.kill('SIGHUP')
      await expect.poll(() => told(lines, '"msg":"reloaded"').length).toBe(Number(workers))
      write('gateway.yaml', 'listen: 127.0.0.1:1\nworkers: 3\nkeys: [{ name: a, value: new-key }]\n')
      await expect
        .poll(() => told(lines, 'take effect at the next start').map(line => JSON.parse(line).settings))
        .toEqual([['listen', 'workers']])
      const answer = await fetch(`${url}/v1/models`, { headers: { authorization: 'Bearer new-key' } })
      expect(answer.status).toBe(200)
      child.kill('SIGTERM')
    }
  })

  test('is compiled in another process, while the gateway answers', async () => {
    const { write, config, home } = folderWith()
    const { child, url: listening } = run(home, ['start', '--config', config])
    const url = await listening
    const serving = servingOf(child.pid as number)
    /** Milliseconds for which the thread that serves has run: on a machine that is busy, a time would tell of others, too. */
    const ran = (): number => Number(readFileSync(`/proc/${serving}/task/${serving}/schedstat`, 'utf8').split(' ')[0]) / 1e6
    const busiest = async (until: () => Promise<boolean>): Promise<number> => {
      let most = 0
      for (let isOver = false; !isOver; ) {
        const before = ran()
        await (await fetch(`${url}/health`)).text()
        isOver = await until()
        // Whoever asks without a pause takes the processor from the one that compiles.
        await sleep(5)
        most = Math.max(most, ran() - before)
      }
      return most
    }
    // A provider's whole dialect: compiling it takes two seconds of a processor. Taking what was compiled takes 10 to 20 ms, and 100 where
    // a busy machine keeps this test waiting meanwhile.
    for (const name of readdirSync(join(root, 'schemas/messages')).filter(file => file.endsWith('.yaml')))
      write(`schemas/mine/${name}`, readFileSync(join(root, 'schemas/messages', name), 'utf8').replaceAll('$schema=../../', '$schema='))
    write('routes/v.yaml', route(1))
    expect(await busiest(async () => (await fetch(`${url}/v`)).status === 200)).toBeLessThan(250)
  })
})

describe('a compiled overlay', () => {
  test('is stored once by four processes at the same time', async () => {
    const { write, config, home } = folderWith()
    write('routes/v.yaml', route(1))
    const all = Array.from({ length: 4 }, () => run(home, ['check', '--config', config]))
    expect(await Promise.all(all.map(({ code }) => code))).toEqual(all.map(() => 0))
    expect(all.map(({ errors }) => errors()).join('')).toBe('')
    expect(plansIn(home)).toHaveLength(1)
    expect(existsSync(join(dirname(config), '.sluice'))).toBe(false)
  })

  test('is reused for the same files, from the folder of `cache:`', async () => {
    const { folder, write, config, home } = folderWith('listen: 127.0.0.1:0\ncache: kept')
    write('routes/v.yaml', route(1))
    expect(await run(home, ['check', '--config', config]).code).toBe(0)
    const [plan] = readdirSync(join(folder, 'kept/overlays/plans'))
    // A broken file instead of it shows that it is used.
    const path = join(folder, 'kept/overlays/plans', plan as string, 'plan.js')
    writeFileSync(path, 'throw new Error("what was there was used")')
    const again = run(home, ['check', '--config', config])
    expect(await again.code).not.toBe(0)
    expect(again.errors()).toContain('what was there was used')
    expect(existsSync(home)).toBe(false)
  })

  test('is deleted if it is old', () => {
    const store = join(outer, 'pruned')
    const old = (Date.now() - 7_200_000) / 1000
    for (let index = 0; index < 40; index++) {
      const folder = join(store, 'plans', `p${index}`)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'plan.js'), '')
      utimesSync(folder, old - index, old - index)
    }
    mkdirSync(join(store, 'plans', '.draft'))
    utimesSync(join(store, 'plans', '.draft'), old, old)
    for (let index = 0; index < 150; index++) mkdirSync(join(store, 'plans', `used${index}`))
    mkdirSync(join(store, 'units'))
    prune(store)
    expect(readdirSync(join(store, 'plans')).filter(name => !name.startsWith('used'))).toEqual([])
    expect(readdirSync(join(store, 'plans'))).toHaveLength(128)
    for (const name of readdirSync(join(store, 'plans'))) rmSync(join(store, 'plans', name), { recursive: true })
    for (let index = 0; index < 40; index++) {
      const folder = join(store, 'plans', `p${index}`)
      mkdirSync(folder)
      utimesSync(folder, old - index, old - index)
    }
    prune(store)
    expect(readdirSync(join(store, 'plans')).sort()).toEqual(Array.from({ length: 16 }, (_, index) => `p${index}`).sort())
  })
})

describe('if nothing can be stored', () => {
  /** `ended` of `check`: its code, and what it said. */
  const check = async (home: string, config: string, limit?: number): Promise<[number | null, string]> => {
    const running = run(home, ['check', '--config', config], limit === undefined ? {} : { limit })
    return [await running.code, running.errors()]
  }

  test('a folder of `cache:` that cannot be created is a finding', async () => {
    const { write, config, home } = folderWith('listen: 127.0.0.1:0\ncache: taken')
    write('taken', 'this is a file')
    write('routes/v.yaml', route(1))
    const [code, errors] = await check(home, config)
    expect([code, errors.trimEnd()]).toEqual([
      1,
      `${config}:2:8  cache/folder  compiled overlays cannot be cached there: a part of the path is not a folder  name a folder that the user that runs Sluice owns and can write to, or remove the entry`,
    ])
  })

  test.runIf(process.getuid?.() === 0)('a folder of another owner is a finding', async () => {
    const { folder, write, config, home } = folderWith('listen: 127.0.0.1:0\ncache: theirs')
    write('routes/v.yaml', route(1))
    mkdirSync(join(folder, 'theirs/overlays'), { recursive: true })
    chownSync(join(folder, 'theirs/overlays'), 65534, 65534)
    const [code, errors] = await check(home, config)
    expect([code, errors]).toEqual([1, expect.stringContaining('overlays belongs to another user')])
    expect(errors.trimEnd().split('\n')).toHaveLength(1)
  })

  test('a folder that others can write to is a finding', async () => {
    const { folder, write, config, home } = folderWith('listen: 127.0.0.1:0\ncache: shared')
    write('routes/v.yaml', route(1))
    mkdirSync(join(folder, 'shared/overlays'), { recursive: true })
    chmodSync(join(folder, 'shared/overlays'), 0o777)
    const [code, errors] = await check(home, config)
    expect([code, errors]).toEqual([1, expect.stringContaining('overlays can be written by others')])
  })

  test('a disk that is full is a finding, and nothing half-written stays', async () => {
    const { folder, write, config, home } = folderWith('listen: 127.0.0.1:0\ncache: kept')
    write('routes/v.yaml', route(1))
    const [code, errors] = await check(home, config, 4)
    expect([code, errors]).toEqual([1, expect.stringContaining('cache/folder  compiled overlays cannot be cached there: ')])
    expect(errors.trimEnd().split('\n')).toHaveLength(1)
    expect(readdirSync(join(folder, 'kept/overlays/plans'))).toEqual([])
  })

  test('an overlay is compiled into memory if `cache:` is not set', async () => {
    const { write, config, folder } = folderWith()
    write('routes/v.yaml', route(1))
    // No folder can be made below a file.
    const { url: listening } = run(join(folder, 'gateway.yaml'), ['start', '--config', config])
    const url = await listening
    expect(await versionAt(url)).toBe(1)
    write('routes/v.yaml', route(2))
    await expect.poll(() => versionAt(url)).toBe(2)
  })

  test('a file that cannot be read is a finding', async () => {
    const { folder, write, config, home } = folderWith()
    write('routes/v.yaml', route(1))
    symlinkSync('nowhere.yaml', join(folder, 'routes/lost.yaml'))
    const [code, errors] = await check(home, config)
    expect([code, errors.trimEnd()]).toEqual([
      1,
      `${join(folder, 'routes/lost.yaml')}:1:1  file/unreadable  it cannot be read: there is no such file or folder  let the gateway's user read it, or remove it`,
    ])
  })
})
