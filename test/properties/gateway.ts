// A gateway on a real port, with a plan of the test's own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { dump } from 'js-yaml'
import pino from 'pino'
import type * as ConfigModule from '../../cli/config/config.js'
import type * as GatewayModule from '../../cli/gateway.js'
import type { Plan } from '../../engine/plan.js'
import type * as SnapshotModule from '../../engine/snapshot/snapshot.js'
import { KEY } from '../harness.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '../../dist', path)).href
const { run } = (await import(built('cli/gateway.js'))) as typeof GatewayModule
const { loadConfig } = (await import(built('cli/config/config.js'))) as typeof ConfigModule
const { createSnapshot } = (await import(built('engine/snapshot/snapshot.js'))) as typeof SnapshotModule

/** `file` is what gateway.yaml holds besides `listen` and a key. */
export async function startGateway(file: Record<string, unknown>, plan: Plan): Promise<{ url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, dump({ listen: '127.0.0.1:0', keys: [{ name: 'test', value: KEY }], grace: '1s', ...file }))
  const { settings, gateway: config } = await loadConfig(path, plan, path)
  const gateway = await run({
    settings,
    snapshot: createSnapshot(plan, config),
    log: pino({ level: 'silent' }),
    isShared: false,
  })
  return {
    url: gateway.url,
    async close() {
      await gateway.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
