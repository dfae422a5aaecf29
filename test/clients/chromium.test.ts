// Nothing is installed into the system without an announcement, and nothing at all if that is refused.

import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { findChromium } from '../chromium.js'

// A system without a browser, whose installer writes down that it was called.
const folder = mkdtempSync(join(tmpdir(), 'sluice-'))
const called = join(folder, 'called')
for (const name of ['apt-get', 'sudo']) {
  writeFileSync(join(folder, name), `#!/bin/sh\n: > ${called}\n`)
  chmodSync(join(folder, name), 0o755)
}
symlinkSync('/usr/bin/env', join(folder, 'env'))
afterEach(() => vi.unstubAllEnvs())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a refused installation installs nothing', async () => {
  vi.stubEnv('PATH', folder)
  vi.stubEnv('SLUICE_NO_INSTALL', '1')
  const said: string[] = []
  expect(await findChromium(text => said.push(text))).toEqual({ reason: 'There is no Chromium, and SLUICE_NO_INSTALL is set.' })
  expect([said, existsSync(called)]).toEqual([[], false])
})

test('an installation is announced in one line, which says how to refuse it', async () => {
  vi.stubEnv('PATH', folder)
  vi.stubEnv('SLUICE_NO_INSTALL', '')
  const said: [string, boolean][] = []
  expect(await findChromium(text => said.push([text, existsSync(called)]))).toEqual({ reason: 'Chromium was installed and cannot be run.' })
  expect(said).toEqual([[expect.stringMatching(/^.*apt-get.*SLUICE_NO_INSTALL=1.*$/), false]])
  expect(existsSync(called)).toBe(true)
})
