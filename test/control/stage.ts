// A gateway as users run it, with its workers and its control process, in front of a simulator.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from '@photostructure/sqlite'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { dump, load } from 'js-yaml'
import { below } from '../../tools/proc.mjs'
import { type CommandHost, createCommandHost, type Ended, FLAGS, MAIN } from '../command.js'
import { startSimulator } from '../harness.js'
import { PATIENCE, sleep } from '../polling.js'

export interface Answer<Body = Record<string, never>> {
  status: number
  body: Body
}

export interface Instance {
  url: string
  folder: string
  process: ChildProcess
  log: string[]
  /** The admin API, over its socket. */
  admin<Body>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>>
  /** `sluice` with these words, in the folder of the instance. */
  command(...words: string[]): Promise<Ended>
  /** The processes of this instance whose command holds a text. */
  pids(text: string): number[]
  stop(): Promise<number | null>
}

export interface Stage {
  simulator: Awaited<ReturnType<typeof startSimulator>>
  /** Starts one; `file` is laid over what gateway.yaml holds, `store: null` leaves the store out. */
  start(file?: Record<string, unknown>, folder?: string): Promise<Instance>
  /** Starts one without waiting for it, and without stopping it in the end. */
  spawn(folder?: string, file?: Record<string, unknown>): { child: ChildProcess; folder: string }
  close(): Promise<void>
}

export const FILE_KEY = 'key-of-the-file'

export async function createStage(): Promise<Stage> {
  const simulator = await startSimulator({})
  const commands = createCommandHost()
  const root = mkdtempSync(join(tmpdir(), 'sluice-c-'))
  const running = new Set<Instance>()
  let count = 0
  return {
    simulator,
    async start(file = {}, folder = join(root, String(count++))) {
      const instance = await startInstance(simulator.url, file, folder, commands)
      running.add(instance)
      return instance
    },
    spawn(folder = join(root, String(count++)), file = {}) {
      return { child: spawnInstance(simulator.url, file, folder), folder }
    },
    async close() {
      for (const instance of running) await instance.stop()
      commands.close()
      await simulator.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

const document = load(readFileSync(join(import.meta.dirname, '../../control/admin/api.yaml'), 'utf8')) as object
const ajv = new Ajv2020({ strict: false }).addSchema(document, 'api')

/** What is wrong with an error of the admin API by its document. */
function wrongProblem(type: string | undefined, text: string): string | undefined {
  if (!type?.startsWith('application/problem+json')) return `it is ${type}`
  const validate = ajv.getSchema('api#/components/schemas/Problem')
  return validate?.(JSON.parse(text)) ? undefined : ajv.errorsText(validate?.errors)
}

/** The error codes of a socket without a listener. */
const NOBODY: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED'])

function spawnInstance(simulator: string, file: Record<string, unknown>, folder: string): ChildProcess {
  mkdirSync(folder, { recursive: true })
  const config = join(folder, 'gateway.yaml')
  const models = ['sim', 'sim-200-20ms', 'sim-5000-20ms', 'sim-20-20ms', 'sim-error-500'].map(name => [
    name,
    { targets: [{ upstream: 'up', model: name }] },
  ])
  writeFileSync(
    config,
    dump({
      listen: '127.0.0.1:0',
      ...(file['store'] !== null && { store: 'sqlite' }),
      keys: [{ name: 'file', value: FILE_KEY }],
      upstreams: { up: { provider: 'openai', base: simulator, secret: 'none' } },
      models: Object.fromEntries(models),
      grace: '1s',
      log: { access: false },
      ...Object.fromEntries(Object.entries(file).filter(([, value]) => value !== null)),
    }),
  )
  return spawn(process.execPath, [...FLAGS, MAIN, 'start', '--config', config], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function startInstance(simulator: string, file: Record<string, unknown>, folder: string, commands: CommandHost): Promise<Instance> {
  const child = spawnInstance(simulator, file, folder)
  const log: string[] = []
  const ended = new Promise<number | null>(done => child.once('exit', done))
  for (const output of [child.stdout, child.stderr]) {
    if (output) createInterface({ input: output }).on('line', line => void (line !== '' && log.push(line)))
  }
  const line = async (text: string): Promise<string> => {
    const until = performance.now() + PATIENCE
    while (performance.now() < until && child.exitCode === null) {
      const found = log.find(one => one.includes(text))
      if (found) return found
      await sleep(10)
    }
    throw new Error(`"${text}" was not said:\n${log.join('\n')}`)
  }
  const { url } = JSON.parse(await line('"msg":"listening"')) as { url: string }
  if (file['store'] !== null) await line('control process is ready')
  const socket = join(folder, 'data', 'admin.sock')
  return {
    url,
    folder,
    process: child,
    log,
    admin: async <Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const answer = (): Promise<Answer<Body>> =>
        new Promise((done, fail) => {
          const text = body === undefined ? undefined : JSON.stringify(body)
          const asked = request(
            {
              socketPath: socket,
              method,
              path: `/admin/v1${path}`,
              headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
            },
            response => {
              let said = ''
              response.setEncoding('utf8')
              response.on('data', part => (said += part))
              response.on('end', () => {
                const wrong = (response.statusCode ?? 0) < 400 ? undefined : wrongProblem(response.headers['content-type'], said)
                if (wrong !== undefined) return fail(new Error(`${method} ${path} answers ${response.statusCode}: ${wrong}`))
                return done({
                  status: response.statusCode ?? 0,
                  body:
                    response.headers['content-type']?.includes('json;') || response.headers['content-type']?.endsWith('+json')
                      ? (JSON.parse(said) as Body)
                      : (said as Body),
                })
              })
            },
          )
          asked.on('error', fail)
          asked.end(text)
        })
      // While one control process replaces another, nothing listens, although the socket may still exist.
      for (const until = performance.now() + PATIENCE; ; await sleep(10)) {
        try {
          return await answer()
        } catch (error) {
          if (!NOBODY.has((error as NodeJS.ErrnoException).code ?? '') || performance.now() > until) throw error
        }
      }
    },
    async command(...words) {
      const { code, out, err } = await commands.sluice(words, folder)
      return { code, out: out.trimEnd(), err: err.trimEnd() }
    },
    pids: text => below(child.pid as number, text),
    async stop() {
      child.kill('SIGTERM')
      const force = setTimeout(() => child.kill('SIGKILL'), 20_000)
      const code = await ended
      clearTimeout(force)
      return code
    },
  }
}

/** Asks for a chat; `key` may be any text. */
export function ask(
  url: string,
  key: string,
  model = 'sim',
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }], ...more }),
    signal,
  })
}

/** Waits until `read` gives what is wanted; gives what it gave last. It is looked at again after so many milliseconds. */
export async function until<Value>(read: () => Promise<Value>, isWanted: (value: Value) => boolean, every = 20): Promise<Value> {
  const limit = performance.now() + PATIENCE
  for (;;) {
    const value = await read()
    if (isWanted(value) || performance.now() > limit) return value
    await sleep(every)
  }
}

/** The rows of the ledger as they are exported. */
export async function exported<Row>(gateway: Instance): Promise<Row[]> {
  const { body } = await gateway.admin<string>('GET', '/ledger/export?format=ndjson')
  return body
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Row)
}

/** The exchanges under way that the store knows of: the texts of their rows. */
export function openRows(gateway: Instance): string[] {
  const store = new DatabaseSync(join(gateway.folder, 'data', 'sluice.sqlite'), { readOnly: true })
  const rows = store.prepare('select row from open').all() as { row: string }[]
  store.close()
  return rows.map(({ row }) => row)
}

/** Waits until a control process answers. */
export async function untilAnswered(gateway: Instance): Promise<void> {
  await until(
    () =>
      gateway
        .admin('GET', '/whoami')
        .then(one => one.status)
        .catch(() => 0),
    status => status === 200,
  )
}
