// A gateway and a simulator in this process, on real ports, which most tests use.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { dump } from 'js-yaml'
import pino from 'pino'
import type * as GatewayModule from '../cli/gateway.js'
import type * as PrepareModule from '../cli/prepare.js'
import type * as SimulatorModule from '../cli/simulator/server.js'

// The built files are what users run, so they are what is tested.
const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', 'dist', path)).href
const { run } = (await import(built('cli/gateway.js'))) as typeof GatewayModule
const { prepare, read } = (await import(built('cli/prepare.js'))) as typeof PrepareModule
export const { startSimulator } = (await import(built('cli/simulator/server.js'))) as typeof SimulatorModule

export const KEY = 'test-key'

export interface TestGateway {
  url: string
  /** Lines of the access log and others, as they were written. */
  log: Record<string, unknown>[]
  /** Posts JSON with the key named `test`. */
  post(path: string, body: object): Promise<Response>
  /** Writes the file again, and resolves when the gateway has applied it. */
  rewrite(file: Record<string, unknown>): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a gateway on a free port; `file` is what gateway.yaml holds besides `listen` and a key named `test`, `own` are files
 * that lie beside it, by their paths.
 */
export async function startGateway(file: Record<string, unknown>, own: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const path = join(folder, 'gateway.yaml')
  let written = file
  const write = (): void =>
    writeFileSync(path, dump({ listen: '127.0.0.1:0', keys: [{ name: 'test', value: KEY }], grace: '1s', ...written }))
  write()
  for (const [name, text] of Object.entries(own)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const log: Record<string, unknown>[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') log.push(JSON.parse(line))
      done()
    },
  })
  const good = await prepare(path)
  const { settings, snapshot, state } = good
  const gateway = await run({
    settings,
    snapshot,
    state,
    good,
    log: pino({ level: 'info', base: null }, sink),
    isShared: false,
    lateness: 5,
  })
  return {
    url: gateway.url,
    log,
    post: (path, body) =>
      fetch(gateway.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
        body: JSON.stringify(body),
      }),
    async rewrite(more) {
      written = { ...written, ...more }
      write()
      await gateway.take(await read(path))
    },
    async close() {
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Upstreams of the simulator, one for each provider, and a model for each provider and reserved name: `<provider>/<name>`. */
export function simulated(
  url: string,
  names: readonly string[],
  providers: readonly string[] = ['openai', 'anthropic', 'gemini'],
): Record<string, unknown> {
  const upstreams: Record<string, unknown> = {}
  const models: Record<string, unknown> = {}
  for (const provider of providers) {
    upstreams[provider] = { provider, base: url, secret: `secret-of-${provider}` }
    for (const name of names) models[`${provider}/${name}`] = { targets: [{ upstream: provider, model: name }] }
  }
  return { upstreams, models }
}
