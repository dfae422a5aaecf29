/** One gateway in front of one simulator, in this process, on free ports: an upstream for each dialect that providers speak. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import pino from 'pino'
import { DIALECTS, KEY } from './jobs.mjs'

// Users run the built files, so these are tested.
const { loadPlan } = await import('../../dist/cli/plan.js')
const { loadConfig } = await import('../../dist/cli/config/config.js')
const { run } = await import('../../dist/cli/gateway.js')
const { createSnapshot } = await import('../../dist/engine/snapshot/snapshot.js')
const { startSimulator } = await import('../../dist/cli/simulator/server.js')

/** The provider of each dialect, the path that shows it, and the prefix of a model's name if the provider distinguishes models by it. */
const SPEAKERS = {
  chat: { provider: 'openai', path: /\/chat\/completions$/, prefix: '' },
  messages: { provider: 'anthropic', path: /\/messages$/, prefix: '' },
  generate: { provider: 'gemini', path: /:(streamG|g)enerateContent$/, prefix: 'gemini-3.5-flash-' },
  responses: { provider: 'openai', path: /\/responses$/, prefix: '' },
}

/** @param {import('./jobs.mjs').Job[]} jobs */
export async function startStage(jobs) {
  const simulator = await startSimulator({ record: true })
  const models = {}
  for (const { provider, model, scene } of jobs) {
    if (model === undefined) continue
    const { prefix } = SPEAKERS[provider]
    models[`${provider}/${model}`] = { targets: [{ upstream: provider, model: `${prefix}${model}` }] }
    if (scene) simulator.scenario(`${prefix}${scene.name}`, scene.script)
  }
  const upstreams = Object.fromEntries(
    DIALECTS.map(dialect => [dialect, { provider: `only_${dialect}`, base: simulator.url, secret: `secret-of-${dialect}` }]),
  )
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
  const path = join(folder, 'gateway.yaml')
  writeFileSync(path, dump({ listen: '127.0.0.1:0', grace: '1s', keys: [{ name: 'clients', value: KEY }], upstreams, models }))
  const plan = narrowed(await loadPlan(undefined))
  const { settings, gateway } = await loadConfig(path, plan, path)
  const log = pino({ level: 'error', base: null }, pino.destination(2))
  const running = await run({ settings, snapshot: createSnapshot(plan, gateway), log, isShared: false })
  return {
    url: running.url,
    /** The provider's requests of a case, and their faults. @param {import('./jobs.mjs').Job} job */
    heard(job) {
      const asked = simulator.requests.filter(request => request.body.includes(`${job.says.text}`))
      const strange = asked.filter(request => !SPEAKERS[job.provider].path.test(request.path)).map(request => request.path)
      return { text: asked.map(request => request.body).join('\n'), strange }
    },
    async close() {
      await running.close()
      await simulator.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The plan with one provider for each text dialect, which speaks no other: so every client dialect is tested with each of them. */
function narrowed(plan) {
  const providers = { ...plan.providers }
  for (const dialect of DIALECTS) {
    const whole = plan.providers[SPEAKERS[dialect].provider]
    const speaks = Object.fromEntries(Object.entries(whole.speaks).filter(([name]) => name === dialect))
    providers[`only_${dialect}`] = { ...whole, name: `only_${dialect}`, speaks }
  }
  return { ...plan, providers }
}
