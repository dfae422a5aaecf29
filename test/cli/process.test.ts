// `sluice` as a process of its own: what it prints, how it ends, and what happens to exchanges meanwhile.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { below } from '../../tools/proc.mjs'
import { FLAGS, MAIN, sluice } from '../command.js'
import { KEY, startSimulator } from '../harness.js'

const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
const children: ChildProcess[] = []
let simulator: Awaited<ReturnType<typeof startSimulator>>

beforeAll(async () => {
  simulator = await startSimulator({ record: true })
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(async () => {
  await simulator?.close()
  // A control process may still write as it ends.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

let count = 0
function file(more: string, models = 'sim'): string {
  const path = join(folder, `${count++}.yaml`)
  const list = models.split(',').map(name => `  ${name}: { targets: [{ upstream: up }] }`)
  writeFileSync(
    path,
    `keys: [{ name: test, value: ${KEY} }]\nupstreams: { up: { provider: openai, base: '${simulator.url}', secret: none } }\nmodels:\n${list.join('\n')}\n${more}\n`,
  )
  return path
}

function run(...args: string[]): ReturnType<typeof runWith> {
  return runWith({}, ...args)
}

function runWith(env: Record<string, string>, ...args: string[]): ReturnType<typeof runOn> {
  return runOn(process.execPath, env, ...args)
}

/** `node` is the file of Node. */
function runOn(
  node: string,
  env: Record<string, string>,
  ...args: string[]
): {
  child: ChildProcess
  /** The folder that it runs in. */
  cwd: string
  lines: string[]
  errors: () => string
  url: Promise<string>
  code: Promise<number | null>
} {
  const cwd = mkdtempSync(join(folder, 'cwd-'))
  const child = spawn(node, [...FLAGS, MAIN, ...args], { cwd, env: { ...process.env, NOT_THERE: '', ...env } })
  children.push(child)
  const lines: string[] = []
  let errors = ''
  const code = new Promise<number | null>(resolve => child.on('exit', resolve))
  const url = new Promise<string>((resolve, reject) => {
    let text = ''
    void code.then(ended => reject(new Error(`it ended with ${ended} before it listened: ${errors}`)))
    child.stdout?.on('data', part => {
      text += String(part)
      const all = text.split('\n')
      text = all.pop() ?? ''
      for (const line of all) {
        lines.push(line)
        if (line.startsWith('{') && JSON.parse(line).msg === 'listening') resolve(JSON.parse(line).url)
      }
    })
  })
  child.stderr?.on('data', part => {
    errors += String(part)
  })
  // Who waits for its end only does not ask for it.
  url.catch(() => undefined)
  return { child, cwd, lines, errors: () => errors, url, code }
}

function ask(url: string, model: string, stream = false, key = KEY): Promise<Response> {
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'x' }] })
  return fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { authorization: `Bearer ${key}` }, body })
}

describe('sluice start', () => {
  test('logs its address, lets an exchange finish after SIGTERM, and ends with 0', async () => {
    const gateway = run('start', '--config', file('listen: 127.0.0.1:0', 'sim,sim-20-20ms'))
    const url = await gateway.url
    expect((await ask(url, 'sim')).status).toBe(200)
    const stream = await ask(url, 'sim-20-20ms', true)
    gateway.child.kill('SIGTERM')
    expect((await stream.text()).trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(await gateway.code).toBe(0)
    expect(gateway.lines.filter(line => line.includes('"msg":"request"')).length).toBe(2)
  })

  test.skipIf(!existsSync('/usr/bin/script'))('prints a command to try, with colours, on a terminal', async () => {
    const path = file('listen: 127.0.0.1:0', 'sim')
    const wrong = join(folder, 'colours.yaml')
    writeFileSync(wrong, 'modles: {}\n')
    // `exec`: a shell that is left between them (dash) ends with 130 itself when Ctrl-C reaches it.
    const command = `${process.execPath} ${MAIN} check ${wrong}; exec ${process.execPath} ${MAIN} start --config ${path}`
    // A program that gives commands a terminal.
    const terminal = spawn('/usr/bin/script', ['-qefc', command, '/dev/null'], { stdio: 'pipe', env: { ...process.env, NO_COLOR: '' } })
    let out = ''
    children.push(terminal)
    terminal.stdout.on('data', part => {
      out += String(part)
    })
    await expect.poll(() => out).toContain('Try it:')
    await expect.poll(() => out).toContain(`"model":"sim"`)
    expect(out).toContain('\u001b[31mgrammar/unknown-key\u001b[0m')
    const [, line] = /(curl http:\S+\/v1\/chat\/completions .*)/.exec(out) as RegExpExecArray
    expect(out).toMatch(
      /Sluice is serving on http:\/\/127\.0\.0\.1:\d+\s+\d+ routes: \S+\/docs shows them, `sluice routes` lists them\s+1 model, such as sim\s+Keys: \S+/,
    )
    // The simulator is in this process, so nothing may block it.
    const { stdout } = await promisify(execFile)('bash', ['-c', `${line?.trim()} -s`], { env: { ...process.env, KEY } })
    expect(JSON.parse(stdout)).toHaveProperty('choices')
    terminal.stdin.write('\u0003')
    expect(await new Promise(done => terminal.on('close', done))).toBe(0)
    const plain = run('check', wrong)
    expect(await plain.code).toBe(1)
    expect(plain.errors()).toMatch(/^\S+colours\.yaml:1:1 {2}grammar/)
  })

  test('ends streams with an error event after the grace period', async () => {
    const gateway = run('start', '--config', file('listen: 127.0.0.1:0\ngrace: 200ms', 'sim-1000-20ms'))
    const stream = await ask(await gateway.url, 'sim-1000-20ms', true)
    gateway.child.kill('SIGTERM')
    const text = await stream.text()
    expect(text).toContain('shutting down')
    expect(text).not.toContain('[DONE]')
    expect(await gateway.code).toBe(0)
  })

  test('reports an invalid file with positions, and ends with 1', async () => {
    const path = join(folder, 'wrong.yaml')
    writeFileSync(
      path,
      'upstreams:\n  a: { provider: nobody, secret: none }\n  b: { provider: openai, secret: $NOT_THERE }\nmodels:\n  m: { targets: [{ upstream: c }] }\n',
    )
    const gateway = run('start', '--config', path)
    expect(await gateway.code).toBe(1)
    expect(gateway.errors()).toContain(`${path}:2:18  names/provider`)
    expect(gateway.errors()).toContain(`${path}:3:34  secret/environment`)
    expect(gateway.errors()).toContain(`${path}:5:30  names/upstream`)
  })

  test('ends with 2 if the address is taken', async () => {
    const holder = createServer()
    await new Promise<void>(done => holder.listen(0, '127.0.0.1', done))
    const path = file(`listen: 127.0.0.1:${(holder.address() as { port: number }).port}`)
    for (const workers of ['1', '2']) {
      const gateway = run('start', '--config', path, '--workers', workers)
      expect(await gateway.code).toBe(2)
      expect(gateway.errors()).toMatch(/^Cannot listen on \S+: the port is taken, or this machine does not have the address\.\n$/)
    }
    holder.close()
  })

  test('applies a changed file, and ignores an invalid one', async () => {
    const path = file('listen: 127.0.0.1:0')
    const gateway = run('start', '--config', path)
    const url = await gateway.url
    expect((await ask(url, 'sim-8')).status).toBe(404)
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, good.replace('sim:', 'sim-8:'))
    await expect.poll(async () => (await ask(url, 'sim-8')).status).toBe(200)
    writeFileSync(path, 'nonsense: 1\n')
    await expect.poll(() => gateway.lines.some(line => line.includes('grammar/unknown-key'))).toBe(true)
    expect((await ask(url, 'sim-8')).status).toBe(200)
    // A shell empties a file before the program begins that writes it.
    writeFileSync(path, '')
    await expect.poll(() => gateway.lines.filter(line => /yaml\/empty|"reloaded"/.test(line)).length).toBe(2)
    expect((await ask(url, 'sim-8')).status).toBe(200)
  })

  test.each(['1', '2'])('keeps serving if a file that it watches cannot be looked at, with %s workers', async workers => {
    const path = join(mkdtempSync(join(folder, 'watched-')), 'gateway.yaml')
    writeFileSync(path, readFileSync(file('listen: 127.0.0.1:0')))
    const gateway = run('start', '--config', path, '--workers', workers)
    const url = await gateway.url
    const good = readFileSync(path, 'utf8')
    const refused = (): number =>
      gateway.child.exitCode ?? gateway.lines.filter(line => line.includes('the changed configuration is invalid')).length
    symlinkSync('loop', join(dirname(path), 'loop'))
    const unusable = [`pasted${'k'.repeat(300)}`, String.raw`pasted\0b`, 'loop', 'loop/inside']
    for (const [index, name] of unusable.entries()) {
      writeFileSync(path, good.replace('secret: none', `secret: { file: "${name}" }`))
      await expect.poll(refused).toBe(index + 1)
    }
    writeFileSync(path, good.replace('sim:', 'sim-8:'))
    await expect.poll(async () => (await ask(url, 'sim-8')).status).toBe(200)
    // A link in the overlay.
    mkdirSync(join(dirname(path), 'providers'))
    symlinkSync('self.yaml', join(dirname(path), 'providers', 'self.yaml'))
    await expect.poll(refused).toBe(unusable.length + 1)
    expect((await ask(url, 'sim-8')).status).toBe(200)
    expect(gateway.errors()).toBe('')
    expect(gateway.lines.filter(line => line.includes('pasted'))).toEqual([])
  })

  test('serves from one port with --workers 2, and ends with 0', async () => {
    const gateway = run('start', '--config', file('listen: 127.0.0.1:0'), '--workers', '2')
    const url = await gateway.url
    for (const status of await Promise.all(Array.from({ length: 8 }, async () => (await ask(url, 'sim')).status))) expect(status).toBe(200)
    gateway.child.kill('SIGTERM')
    expect(await gateway.code).toBe(0)
  })
})

describe('sluice start without a file', () => {
  /** The key that the start prints. */
  async function demoKey({ lines, url }: ReturnType<typeof runWith>): Promise<string> {
    await url
    const line = (): string | undefined => lines.find(text => text.startsWith('Demo key: '))
    await expect.poll(line).toBeDefined()
    return (line() as string).slice('Demo key: '.length)
  }
  // Whatever is in the environment of who tests.
  const none = Object.fromEntries(
    Object.keys(process.env)
      .filter(name => /_(API_KEY|TOKEN|KEY)$/.test(name))
      .map(name => [name, '']),
  )
  const askWith = (url: string, key: string): Promise<Response> =>
    fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })

  test('says that PORT is none', async () => {
    const gateway = runWith({ PORT: 'abc' }, 'start')
    expect(await gateway.code).toBe(1)
    expect(gateway.errors()).toMatch(/^The environment variable PORT is not a port: [^\n]*\n$/)
  })

  test('accepts the demo key while it serves only the simulator', async () => {
    const gateway = runWith({ ...none, PORT: '0' }, 'start')
    expect(await demoKey(gateway)).toBe('sluice-demo')
    expect((await askWith(await gateway.url, 'sluice-demo')).status).toBe(200)
  })

  test('has a store, in which a key of any usual name can be made and used', async () => {
    const gateway = runWith({ ...none, PORT: '0' }, 'start')
    await demoKey(gateway)
    await expect.poll(() => gateway.lines.some(line => line.includes('control process is ready'))).toBe(true)
    const { out } = await sluice(['keys', 'create', 'demo', '--budget', '1/day'], gateway.cwd)
    const key = /sk-slc_\w+/.exec(out)?.[0] as string
    expect((await ask(await gateway.url, 'sim', false, key)).status).toBe(200)
    const rows = async (): Promise<string> => (await sluice(['usage', '--by', 'key'], gateway.cwd)).out
    await expect.poll(rows).toMatch(/^demo +1 +0 .* 0\.0000\d+ USD/m)
  })

  test('makes a random key if there is a key of a provider, and refuses the demo key', async () => {
    const gateways = [1, 2].map(() => runWith({ ...none, OPENAI_API_KEY: 'sk-real', PORT: '0' }, 'start'))
    const keys = await Promise.all(gateways.map(demoKey))
    expect(new Set(keys).size).toBe(2)
    for (const [index, key] of keys.entries()) {
      const url = await (gateways[index] as (typeof gateways)[0]).url
      expect(key).toMatch(/^sluice-demo-[\w-]{24}$/)
      expect((await askWith(url, key)).status).toBe(200)
      // The key is not refused as unknown before both stores are known not to have it.
      await expect.poll(async () => (await askWith(url, 'sluice-demo')).status).toBe(401)
    }
  })
})

// Reading the library for tokens takes a while, in which requests come.
test('a change that adds tokens, changes them and removes them fails no request', async () => {
  const path = file('listen: 127.0.0.1:0')
  const { lines, url: listening } = run('start', '--config', path)
  const url = await listening
  const plain = readFileSync(path, 'utf8')
  const tokens = (issuer: string): string => `${plain}jwt: { issuer: '${issuer}', audience: a, jwks: 'http://127.0.0.1:9/' }\n`
  const answers: number[] = []
  const reloads = (): number => lines.filter(line => line.includes('"msg":"reloaded"')).length
  for (const [index, text] of [tokens('one'), tokens('two'), plain].entries()) {
    writeFileSync(path, text)
    while (reloads() === index) answers.push((await ask(url, 'sim')).status)
    answers.push((await ask(url, 'sim')).status)
  }
  expect(answers.filter(status => status !== 200)).toEqual([])
  expect(answers.length).toBeGreaterThan(3)
})

test('the first request that is answered may have a token', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const published = createHttpServer(async (_request, response) => {
    response.end(JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] }))
  })
  const holder = createServer()
  const portOf = async (server: Server): Promise<number> => {
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    return (server.address() as AddressInfo).port
  }
  const [jwks, port] = [await portOf(published), await portOf(holder)]
  await new Promise(done => holder.close(done))
  const jwt = `jwt: { issuer: i, audience: a, jwks: 'http://127.0.0.1:${jwks}/', groups_from: groups }`
  const token = await new SignJWT({ sub: 'ada', iss: 'i', aud: 'a', groups: ['default'] })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setExpirationTime('5m')
    .sign(privateKey)
  const gateway = run('start', '--config', file(`listen: 127.0.0.1:${port}\n${jwt}`))
  const status = async (): Promise<number | undefined> =>
    (await ask(`http://127.0.0.1:${port}`, 'sim', false, token).catch(() => undefined))?.status
  let first = await status()
  while (first === undefined && gateway.child.exitCode === null) first = await status()
  expect(first).toBe(200)
  published.close()
})

describe('workers', () => {
  const servingOf = (child: ChildProcess): number[] => below(child.pid as number, '--worker ')
  const told = (lines: readonly string[], message: string): Record<string, unknown>[] =>
    lines.filter(line => line.includes(message)).map(line => JSON.parse(line) as Record<string, unknown>)
  const answered = async (url: string, model: string): Promise<number | undefined> => (await ask(url, model).catch(() => undefined))?.status

  test('that die while the file is invalid are restarted with the last valid configuration', async () => {
    const path = file('listen: 127.0.0.1:0')
    const { child, lines, url: listening } = run('start', '--config', path, '--workers', '2')
    const url = await listening
    writeFileSync(path, readFileSync(path, 'utf8').replace('sim:', 'sim-8:'))
    await expect.poll(() => told(lines, 'reloaded').length).toBe(2)
    writeFileSync(path, 'nonsense: 1\n')
    await expect.poll(() => told(lines, 'the changed configuration is invalid').length).toBe(1)
    const old = servingOf(child)
    expect(old).toHaveLength(2)
    for (const pid of old) process.kill(pid, 'SIGKILL')
    await expect.poll(() => answered(url, 'sim-8')).toBe(200)
    expect(told(lines, 'a worker ended')).toHaveLength(2)
    // The corrected file takes effect.
    writeFileSync(path, readFileSync(file('listen: 127.0.0.1:0', 'sim-9')))
    await expect.poll(async () => [await answered(url, 'sim-9'), await answered(url, 'sim-9')]).toEqual([200, 200])
    child.kill('SIGTERM')
    expect(await new Promise(done => child.on('exit', done))).toBe(0)
  })

  /** The local ports of clients whose connections a process holds. */
  function clientsOf(pid: number, port: number): number[] {
    const inodes = new Set(
      readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
        try {
          return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
        } catch {
          return []
        }
      }),
    )
    const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').trim().split('\n').slice(1)
    return rows.flatMap(row => {
      const [, local = '', remote = '', , , , , , , inode = ''] = row.trim().split(/\s+/)
      const portOf = (address: string): number => Number.parseInt(address.split(':')[1] as string, 16)
      return inodes.has(inode) && portOf(local) === port ? [portOf(remote)] : []
    })
  }

  test('that are killed are restarted, and the connections of the others continue', async () => {
    const { child, lines, url: listening } = run('start', '--config', file('listen: 127.0.0.1:0', 'sim,sim-150-20ms'), '--workers', '2')
    const url = await listening
    const { port, hostname } = new URL(url)
    const body = JSON.stringify({ model: 'sim-150-20ms', stream: true, messages: [{ role: 'user', content: 'x' }] })
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-length: ${body.length}\r\n\r\n`
    const streams = Array.from({ length: 16 }, () => {
      const socket = connect(Number(port), hostname, () => socket.write(head + body))
      const stream = { socket, text: '', isClosed: false }
      socket.on('error', () => undefined)
      socket.on('close', () => (stream.isClosed = true))
      socket.on('data', part => (stream.text += String(part)))
      return stream
    })
    await expect.poll(() => streams.every(({ text }) => text.includes('data:'))).toBe(true)
    const [victim, other] = servingOf(child) as [number, number]
    const lost = new Set(clientsOf(victim, Number(port)))
    const kept = new Set(clientsOf(other, Number(port)))
    const of = (ports: ReadonlySet<number>): typeof streams => streams.filter(({ socket }) => ports.has(socket.localPort as number))
    expect(of(lost).length + of(kept).length).toBe(16)
    const mine = [of(lost), of(kept)] as const
    process.kill(victim, 'SIGKILL')
    await expect.poll(() => mine[0].every(({ isClosed }) => isClosed)).toBe(true)
    await expect.poll(() => mine[1].every(({ text }) => text.includes('[DONE]'))).toBe(true)
    await expect.poll(() => servingOf(child).length).toBe(2)
    await expect.poll(async () => (await ask(url, 'sim')).status).toBe(200)
    expect(told(lines, 'a worker ended')).toHaveLength(1)
    for (const { socket } of streams) socket.destroy()
    child.kill('SIGTERM')
    expect(await new Promise(done => child.on('exit', done))).toBe(0)
  })

  test('that stop finish their exchanges, although a terminal or a service manager hangs up meanwhile', async () => {
    const { child, url: listening, code } = run('start', '--config', file('listen: 127.0.0.1:0', 'sim-64-20ms'), '--workers', '2')
    const url = await listening
    const stream = (await ask(url, 'sim-64-20ms', true)).text()
    child.kill('SIGTERM')
    await expect.poll(() => answered(url, 'sim-64-20ms')).toBe(undefined)
    child.kill('SIGHUP')
    expect(await stream).toContain('[DONE]')
    expect(await code).toBe(0)
  })

  test('that are killed before they serve end the start, which says so', async () => {
    const { child, code, errors } = run('start', '--config', file('listen: 127.0.0.1:0'), '--workers', '2')
    await expect.poll(() => servingOf(child).length).toBe(2)
    process.kill(servingOf(child)[0] as number, 'SIGKILL')
    expect(await code).toBe(3)
    expect(errors()).toBe('Nothing can be served: SIGKILL ended a worker before it served.\n')
  })

  // As while a package of Node is being replaced, or while there are too many processes.
  test.each(['--worker ', 'control/main.js'])('that cannot be started end nothing, and are started when they can be: %s', async command => {
    const node = join(folder, `node${count}`)
    copyFileSync(process.execPath, node)
    chmodSync(node, 0o755)
    const path = file('listen: 127.0.0.1:0\nstore: sqlite')
    const { child, lines, url: listening, code } = runOn(node, {}, 'start', '--config', path, '--workers', '2')
    const url = await listening
    const pids = (): number[] => below(child.pid as number, command)
    await expect.poll(() => told(lines, 'control process is ready').length).toBe(1)
    const before = pids()
    renameSync(node, `${node}-away`)
    process.kill(before[0] as number, 'SIGKILL')
    await expect.poll(() => child.exitCode !== null || told(lines, 'cannot be started; trying again').length > 1).toBe(true)
    expect(child.exitCode).toBe(null)
    expect((await ask(url, 'sim')).status).toBe(200)
    renameSync(`${node}-away`, node)
    await expect.poll(() => pids().length).toBe(before.length)
    expect(pids()).not.toContain(before[0])
    child.kill('SIGTERM')
    expect(await code).toBe(0)
  })

  test('that cannot serve are restarted after growing delays, and the exit code is 3 if none can', async () => {
    const { child, lines, url: listening, code, errors } = run('start', '--config', file('listen: 127.0.0.1:0'), '--workers', '2')
    const { port, hostname } = new URL(await listening)
    const holder = createServer()
    for (const pid of servingOf(child)) process.kill(pid, 'SIGKILL')
    // Somebody else takes the address.
    await expect
      .poll(
        () =>
          new Promise(done => {
            holder.removeAllListeners().once('error', () => done(false))
            holder.listen(Number(port), hostname, () => done(true))
          }),
        { interval: 5 },
      )
      .toBe(true)
    expect(await code).toBe(3)
    holder.close()
    const waits = told(lines, 'a worker ended').map(({ wait }) => wait as number)
    expect(waits).toEqual(waits.toSorted((one, other) => one - other))
    expect(waits.at(-1)).toBeGreaterThanOrEqual(4 * (waits[0] as number))
    expect(errors()).toContain('Nothing can be served')
  })
})

test('sluice simulate answers as the name of the model says', async () => {
  const upstream = run('simulate', '--listen', '127.0.0.1:0')
  expect((await ask(await upstream.url, 'sim-status-429')).status).toBe(429)
  // Node would open a debugger at it.
  upstream.child.kill('SIGUSR1')
  expect((await ask(await upstream.url, 'sim-status-429')).status).toBe(429)
  expect(upstream.errors()).not.toMatch(/debugger/i)
})

test('a program that embeds the gateway has its standard output to itself: its logger gets what the control process logs', async () => {
  const at = mkdtempSync(join(folder, 'embed-'))
  const urlOf = (path: string): string => JSON.stringify(pathToFileURL(path).href)
  writeFileSync(
    join(at, 'program.mjs'),
    `import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import pino from ${urlOf(createRequire(import.meta.url).resolve('pino'))}
import { serve } from ${urlOf(join(import.meta.dirname, '..', '..', 'dist', 'cli', 'embed.js'))}
const lines = []
const log = pino({ level: 'info', base: null }, { write: line => lines.push(JSON.parse(line)) })
const gateway = await serve({ content: { listen: '127.0.0.1:0', store: 'sqlite' }, ...(process.argv[2] === 'log' && { log }) })
const isReady = () => new Promise(done =>
  request({ socketPath: 'data/admin.sock', path: '/admin/v1/whoami' }, answer => done(answer.resume().statusCode === 200)).on('error', () => done(false)).end())
while (!(await isReady())) await pause(20)
await gateway.close()
process.stderr.write(JSON.stringify(lines))
`,
  )
  const embed = (word: string): Promise<{ stdout: string; stderr: string }> =>
    promisify(execFile)(process.execPath, ['program.mjs', word], { cwd: at, timeout: 60_000 })
  expect(await embed('')).toEqual({ stdout: '', stderr: '[]' })
  const { stdout, stderr } = await embed('log')
  expect(stdout).toBe('')
  const lines = JSON.parse(stderr) as Record<string, unknown>[]
  expect(lines).toContainEqual(expect.objectContaining({ level: 30, msg: 'the control process is ready' }))
})
