/**
 * The contenders. `start` returns a base URL, the processes whose CPU counts, and how to stop; `headers` are required in
 * each request. `translates`: accepts the client's dialect if the upstream speaks another. The others get the upstream's
 * own dialect, and show the same work without the translation.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { FLAGS } from '../dist/cli/flags.js'
import { freePort } from '../dist/cli/ports.js'
import { MAIN, programIn } from '../tools/gateway.mjs'
import { tree } from '../tools/proc.mjs'
import { config, KEY } from './gateway-config.mjs'
import { searchPath } from './install.mjs'
import { litellm } from './litellm.mjs'
import { accepts, cores, listeningUrl, start } from './processes.mjs'

const file = name => fileURLToPath(new URL(name, import.meta.url))
const bearer = { authorization: `Bearer ${KEY}` }

/** A running contender. @typedef {{ url: string, pids: () => number[], ms: number, stop: () => Promise<void> }} Running */

/** One of our own servers: `node FILE …`, which reports when it is ready. */
async function node(args, options) {
  const child = start([process.execPath, ...args], options)
  const { found, ms } = await child.until(listeningUrl)
  return { url: found, pids: () => tree(child.pid), ms, stop: child.stop, child }
}

export const upstream = () => node([file('upstream.mjs')], { on: cores?.load })

const direct = {
  title: 'direct',
  missing: () => undefined,
  headers: () => bearer,
  start: async ({ upstream }) => ({ url: upstream, pids: () => [], ms: 0, stop: async () => {} }),
}

const floor = {
  title: 'floor',
  missing: () => undefined,
  headers: () => bearer,
  start: ({ upstream, flags = [] }) => node([...flags, file('floor.mjs'), upstream], { on: cores?.measured }),
}

const nginx = {
  title: 'nginx',
  missing: ({ absent }) => absent.nginx,
  headers: () => bearer,
  async start({ upstream, folder }) {
    const port = await freePort()
    const home = join(folder, `nginx-${port}`)
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'nginx.conf'), nginxConfig(port, new URL(upstream).host, home))
    const child = start(['nginx', '-e', 'stderr', '-p', home, '-c', join(home, 'nginx.conf')], { on: cores?.measured, env: searchPath() })
    const ms = await accepts(port, child)
    return { url: `http://127.0.0.1:${port}`, pids: () => tree(child.pid), ms, stop: child.stop }
  },
}

/** One worker, connections kept on both sides, bodies in memory; a stream's `x-accel-buffering: no` turns buffering off for it. */
const nginxConfig = (port, host, home) => `
daemon off;
pid ${home}/pid;
error_log stderr error;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
worker_rlimit_nofile 20000;
events { worker_connections 16000; }
http {
  access_log off;
  default_type application/json;
  keepalive_requests 1000000000;
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  map $http_upgrade $connection_header { default upgrade; '' ''; }
  upstream model { server ${host}; keepalive 1024; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=8192;
    location / {
      proxy_pass http://model;
      proxy_http_version 1.1;
      proxy_set_header Connection $connection_header;
      proxy_set_header Upgrade $http_upgrade;
    }
  }
}
`

const PORTKEY = 'node_modules/@portkey-ai/gateway/build/start-server.js'

const portkey = {
  title: 'Portkey',
  missing: ({ absent }) => absent.portkey,
  translates: true,
  headers: ({ upstreamDialect }, { upstream }) => ({
    ...bearer,
    'x-portkey-provider': { chat: 'openai', embeddings: 'openai', messages: 'anthropic', generate: 'google' }[upstreamDialect],
    'x-portkey-custom-host': `${upstream}${upstreamDialect === 'generate' ? '' : '/v1'}`,
  }),
  async start({ upstream }) {
    const port = await freePort()
    const child = start(
      [process.execPath, '--import', new URL('loopback.mjs', import.meta.url).href, file(PORTKEY), '--headless', `--port=${port}`],
      { on: cores?.measured, env: { NODE_ENV: 'production' } },
    )
    const ms = await accepts(port, child)
    return { url: `http://127.0.0.1:${port}`, pids: () => tree(child.pid), ms, stop: child.stop, upstream }
  },
}

/** The gateway itself, started as by an operator. `program` may be another checkout's. */
function gateway(title, more, on, isLimited = false, program = MAIN) {
  return {
    title,
    missing: () => (existsSync(program) ? undefined : `the gateway is not built (${program}): run \`npm run build\``),
    translates: true,
    headers: () => bearer,
    async start({ upstream, folder, workloads, flags = [] }) {
      const port = await freePort()
      const path = join(folder, `gateway-${port}.yaml`)
      writeFileSync(path, config(port, upstream, workloads, isLimited))
      return node([...FLAGS, ...flags, program, 'start', '--config', path, ...more], {
        on,
        env: { BENCH_KEY: KEY },
      })
    },
  }
}

/** The gateway of an earlier, built checkout. */
export const before = folder => gateway('Sluice, before', [], cores?.measured, false, programIn(resolve(folder)))

/** With each module as a file of its own, so that a profile names the files. */
export const unbundled = gateway('Sluice', [], cores?.measured, false, file('../dist/cli/main.js'))

export const contenders = {
  direct,
  floor,
  nginx,
  portkey,
  litellm,
  sluice: gateway('Sluice', [], cores?.measured),
  'sluice-limits': gateway('Sluice, limits on', [], cores?.measured, true),
  'sluice-2': gateway('Sluice, 2 workers', ['--workers', '2'], cores?.all),
}
