/**
 * LiteLLM's proxy, from PyPI at the version that litellm.txt pins, in the settings that its documentation gives for
 * production (https://docs.litellm.ai/docs/proxy/prod): one Uvicorn worker, LITELLM_LOG=ERROR, LITELLM_MODE=PRODUCTION,
 * `set_verbose: false`, `json_logs: true`, `request_timeout: 600`, a master key. Without a database and without Redis,
 * which are optional, and with the table of prices from its package, so that it calls no other server.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../dist/cli/ports.js'
import { tree } from '../tools/proc.mjs'
import { KEY, modelName } from './gateway-config.mjs'
import { accepts, cores, start } from './processes.mjs'

const file = name => fileURLToPath(new URL(name, import.meta.url))
const HOME = file('.litellm')
const COMMAND = join(HOME, 'bin', 'litellm')
const PINS = file('litellm.txt')

/** The time that it may take to load: seconds. */
const PATIENCE = 180

/** Its name for the provider of each dialect, and that provider's base. */
const PROVIDERS = {
  chat: upstream => ['openai', `${upstream}/v1`],
  embeddings: upstream => ['openai', `${upstream}/v1`],
  messages: upstream => ['anthropic', upstream],
}

/** @returns {string | undefined} why it cannot be installed */
export function installLitellm(say) {
  if (existsSync(COMMAND)) return undefined
  say('installing LiteLLM from PyPI (bench/litellm.txt) into bench/.litellm')
  const run = (command, args) => {
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
    return status === 0 ? undefined : `${command} failed: ${error?.message ?? stderr.trim().split('\n').at(-1)}`
  }
  return run('python3', ['-m', 'venv', HOME]) ?? run(join(HOME, 'bin', 'pip'), ['install', '--quiet', '--no-deps', '--requirement', PINS])
}

export function litellmVersion() {
  return /\d+\.\d+\.\d+/.exec(spawnSync(COMMAND, ['--version'], { encoding: 'utf8', env: quiet() }).stdout ?? '')?.[0]
}

const quiet = () => ({ ...process.env, LITELLM_LOG: 'ERROR', LITELLM_MODE: 'PRODUCTION', LITELLM_LOCAL_MODEL_COST_MAP: 'True' })

/** JSON is YAML, too. */
const config = (upstream, workloads) =>
  JSON.stringify({
    model_list: workloads
      .filter(workload => PROVIDERS[workload.upstream])
      .map(workload => {
        const [provider, api_base] = PROVIDERS[workload.upstream](upstream)
        const litellm_params = { model: `${provider}/bench-${workload.answer}`, api_base, api_key: 'none' }
        return { model_name: modelName(workload), litellm_params }
      }),
    litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true },
    general_settings: { master_key: KEY },
  })

export const litellm = {
  title: 'LiteLLM',
  missing: ({ absent }) => absent.litellm,
  translates: true,
  /** Whether it takes part in a workload: if other gateways do, and it can call the provider. */
  takes: ({ who, upstream }) => who.includes('portkey') && PROVIDERS[upstream] !== undefined,
  headers: () => ({ authorization: `Bearer ${KEY}` }),
  async start({ upstream, folder, workloads }) {
    const port = await freePort()
    const path = join(folder, `litellm-${port}.yaml`)
    writeFileSync(path, config(upstream, workloads))
    const child = start([COMMAND, '--host', '127.0.0.1', '--port', String(port), '--config', path], { on: cores?.measured, env: quiet() })
    const ms = await accepts(port, child, PATIENCE)
    return { url: `http://127.0.0.1:${port}`, pids: () => tree(child.pid), ms, stop: child.stop }
  },
}
