// The package, as npm packs and installs it, in an empty folder with nothing of this checkout.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { run } from '../command.js'
import { startSimulator } from '../harness.js'
import { type Installed, installed } from './installed.js'
import { sluiceIn, startSluice } from './user.js'

const root = join(import.meta.dirname, '..', '..')
let user: Installed
let simulator: Awaited<ReturnType<typeof startSimulator>>
const folders: string[] = []

beforeAll(async () => {
  ;[user, simulator] = await Promise.all([installed(), startSimulator({ record: true })])
})
afterAll(async () => {
  await simulator?.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** An empty folder with a gateway before the simulator, and an overlay of one provider and one route. */
function overlay(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-user-'))
  folders.push(folder)
  for (const name of ['providers', 'routes']) mkdirSync(join(folder, name))
  writeFileSync(
    join(folder, 'gateway.yaml'),
    `listen: 127.0.0.1:0
keys: [{ name: me, value: $MY_KEY }]
upstreams: { mine: { provider: mine, base: '${simulator.url}', secret: none } }
models: { sim: { targets: [{ upstream: mine }] } }
`,
  )
  writeFileSync(
    join(folder, 'providers', 'mine.yaml'),
    `title: Mine
source: https://docs.example.com/chat
base: https://api.example.com
credential: { header: authorization, prefix: 'Bearer ' }
speaks: { chat: /v1/chat/completions }
`,
  )
  writeFileSync(
    join(folder, 'routes', 'version.yaml'),
    `name: version\nmethod: GET\npath: /version\ndialect: chat\nauth: []\nanswer: '{ "v": 1 }'\n`,
  )
  return folder
}

describe('the package', () => {
  const paths = (): string[] => user.packed.files.map(({ path }) => path)

  test('contains the program and its documents', () => {
    for (const path of [
      'LICENSE',
      'CHANGELOG.md',
      'SECURITY.md',
      'README.md',
      'dist/bundled/cli/main.js',
      'dist/bundled/cli/LICENSES',
      'dist/bundled/control/LICENSES',
      'generated/plan.js',
      'dist/cli/embed.d.ts',
      // What findings, skeletons and the README refer to.
      'docs/rules/key/expired.md',
      'docs/reference/gateway.md',
      'docs/data-language.md',
      'gateway.example.yaml',
      'examples/fallback/gateway.yaml',
    ])
      expect(paths()).toContain(path)
    const { license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { license: string }
    expect(readFileSync(join(root, 'LICENSE'), 'utf8')).toContain(license.split('-')[0])
  })

  test('contains no tests, no sources, and nothing of the build', () => {
    const wrong = paths().filter(
      path => /\.tsbuildinfo$|\.test\.|^dist\/test\/|^test\/|\.map$/.test(path) || (path.endsWith('.ts') && !path.endsWith('.d.ts')),
    )
    expect(wrong).toEqual([])
  })

  test('has no file that imports a development dependency', () => {
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { devDependencies: Record<string, string> }
    const found: string[] = []
    for (const path of paths().filter(path => path.endsWith('.js'))) {
      const text = readFileSync(join(root, path), 'utf8')
      for (const [, name] of text.matchAll(/(?:from|import\(|require\()\s*['"]([^.'"][^'"]*)['"]/g))
        for (const one of Object.keys(devDependencies)) if (name === one || name?.startsWith(`${one}/`)) found.push(`${path}: ${name}`)
    }
    expect(found).toEqual([])
  })
})

describe('the installed package', () => {
  test('has only the binaries of this platform', () => {
    const binaries = readdirSync(join(user.folder, 'node_modules', 'uWebSockets.js')).filter(name => name.endsWith('.node'))
    expect(binaries.length).toBeGreaterThan(0)
    expect(binaries.filter(name => !name.startsWith(`uws_${process.platform}_${process.arch}_`))).toEqual([])
    expect(binaries).toContain(`uws_${process.platform}_${process.arch}_${process.versions.modules}.node`)
  })

  test('has no package that is for development', () => {
    for (const name of ['typescript', 'vitest', 'openai', '@biomejs'])
      expect(existsSync(join(user.folder, 'node_modules', name))).toBe(false)
  })

  test('prints its version and its help', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    expect(await sluiceIn(user, user.folder, ['--version'])).toMatchObject({ code: 0, out: `${version}\n` })
    expect(await sluiceIn(user, user.folder, ['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('start') })
  })

  test('writes files for which an editor finds the grammar', async () => {
    for (const args of [
      ['init', 'begun'],
      ['new', 'endpoint', 'mine', '--folder', 'begun'],
      ['new', 'provider', 'mine', '--folder', 'begun'],
      ['new', 'mapping', 'mine-to-chat', '--folder', 'begun'],
    ])
      expect(await sluiceIn(user, user.folder, args)).toMatchObject({ code: 0, err: '' })
    const folder = join(user.folder, 'begun')
    folders.push(folder)
    const written = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.yaml'))
    expect(written.length).toBe(9)
    for (const name of written) {
      const schema = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(folder, name), 'utf8'))?.[1]
      expect({ name, isThere: schema !== undefined && existsSync(join(folder, name, '..', schema)) }).toEqual({ name, isThere: true })
    }
    expect(await sluiceIn(user, folder, ['check', '--strict'])).toMatchObject({ code: 0, err: '' })
  })

  test('checks, explains and serves a gateway with an overlay', async () => {
    const folder = overlay()
    const env = { MY_KEY: 'a-key-of-mine' }
    expect(await sluiceIn(user, folder, ['check', '--strict'], env)).toEqual({
      code: 0,
      out: 'gateway.yaml: 1 model, 1 key, no findings\n',
      err: '',
    })
    expect(await sluiceIn(user, folder, ['test'], env)).toMatchObject({ code: 0 })
    // Examples of built-in dialects are found in the cases of mappings, which are data of the commands.
    expect(await sluiceIn(user, folder, ['new', 'mapping', 'jina_rerank-to-cohere_rerank', '--folder', 'other'], env)).toMatchObject({
      code: 0,
    })
    expect(await sluiceIn(user, folder, ['test', '--all', '--mapping', 'rerank-to'], env)).toMatchObject({ code: 0, err: '' })
    const gateway = await startSluice(user, folder, [], env)
    expect(await (await fetch(`${gateway.url}/version`)).json()).toEqual({ v: 1 })
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-key-of-mine', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toHaveProperty('choices')
    expect(await gateway.stop()).toBe(0)
  })

  test('serves inside of another program, which its types describe', async () => {
    const folder = overlay()
    const program = `
import { createSnapshot, DataError, loadPlan, serve } from 'sluice'
const gateway = await serve({ config: 'gateway.yaml' })
await gateway.reload()
const { v } = await (await fetch(gateway.url + '/version')).json()
await gateway.close()
const wrong = await serve({ content: { colour: 'red' } }).catch(error => error)
const addresses = []
for (const listen of ['bad', '127.0.0.1', '127.0.0.1:70000', ''])
  for (const what of [{ content: {} }, { config: 'gateway.yaml' }])
    addresses.push(await serve({ ...what, listen }).then(one => one.close(), error => (error instanceof DataError ? error.message : String(error))))
const snapshot = createSnapshot(await loadPlan(), { keys: [], upstreams: {}, models: {}, maxOutput: 4096, currency: 'USD' })
await snapshot.close()
console.log(JSON.stringify({ v, isDataError: wrong instanceof DataError, findings: wrong.findings.map(({ file, rule }) => file + ' ' + rule), addresses }))
`
    writeFileSync(join(user.folder, 'program.mjs'), program)
    const ended = await run(process.execPath, [join(user.folder, 'program.mjs')], folder, { MY_KEY: 'a-key-of-mine' })
    expect({ code: ended.code, err: ended.err }).toEqual({ code: 0, err: '' })
    // Without a log, the gateway writes nothing, also after it was loaded again.
    expect(JSON.parse(ended.out)).toEqual({
      v: 1,
      isDataError: true,
      findings: ['content grammar/unknown-key'],
      addresses: Array.from({ length: 8 }, () => expect.stringMatching(/^options:1:1 {2}grammar\/value {2}listen: /)),
    })

    const typed = mkdtempSync(join(user.folder, 'typed-'))
    folders.push(typed)
    writeFileSync(
      join(typed, 'program.mts'),
      `import { type DataError, type Gateway, serve } from 'sluice'
const gateway: Gateway = await serve({ config: 'gateway.yaml', listen: '127.0.0.1:0' })
const url: string = gateway.url
// @ts-expect-error no such option
await serve({ colour: 'red' })
export type Findings = DataError['findings'][number]['rule']
export { url }
`,
    )
    writeFileSync(
      join(typed, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          module: 'NodeNext',
          target: 'ES2023',
          strict: true,
          noEmit: true,
          types: ['node'],
          typeRoots: [join(root, 'node_modules', '@types')],
        },
        include: ['*.mts'],
      }),
    )
    const compiled = await run(process.execPath, [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', typed], typed)
    expect(compiled).toMatchObject({ code: 0, out: '' })
  })

  test('`start` in a folder with a gateway.yaml serves that', async () => {
    const folder = overlay()
    const child = spawn(user.bin, ['start'], { cwd: folder, env: { ...process.env, MY_KEY: 'a-key-of-mine' } })
    let out = ''
    child.stdout.on('data', part => {
      out += String(part)
    })
    await expect.poll(() => out).toContain('"msg":"listening"')
    const url = /"url":"([^"]+)"/.exec(out)?.[1]
    expect((await fetch(`${url}/version`)).status).toBe(200)
    const over = once(child, 'exit')
    child.kill('SIGTERM')
    await over
  })
})
