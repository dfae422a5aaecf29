// The page with models and prices in a real browser, without scripts: in four sizes, dark and light. `npm run
// pricing:pictures` keeps the screenshots.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drivePage, findChromium, INSTALLATION, type Page } from '../chromium.js'
import { startGateway, type TestGateway } from '../harness.js'

const PICTURES = process.env.SLUICE_PICTURES
const SIZES = [
  ['phone', 360, 740],
  ['tablet', 820, 1180],
  ['laptop', 1280, 800],
  ['wide', 1920, 1080],
] as const

const of = (upstream: string, ...names: string[]): Record<string, object> =>
  Object.fromEntries(names.map(name => [name, { targets: [{ upstream }] }]))

let browser: Awaited<ReturnType<typeof findChromium>>
let gateway: TestGateway
let page: Page
beforeAll(async () => {
  browser = await findChromium()
  if ('reason' in browser) return console.warn(`The tests with a browser are skipped. ${browser.reason}`)
  gateway = await startGateway({
    upstreams: {
      openai: { provider: 'openai', secret: 'none' },
      claude: { provider: 'anthropic', secret: 'none' },
      google: { provider: 'gemini', secret: 'none' },
      cohere: { provider: 'cohere', secret: 'none' },
    },
    models: {
      ...of(
        'openai',
        'gpt-5.6-sol',
        'gpt-5-mini',
        'gpt-4o',
        'text-embedding-3-small',
        'whisper-1',
        'tts-1',
        'gpt-image-1',
        'sora-2',
        'gpt-realtime',
      ),
      ...of('claude', 'claude-haiku-4-5', 'claude-opus-4-5', 'claude-3-haiku-20240307'),
      ...of('google', 'gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-embedding-001'),
      ...of('cohere', 'rerank-v3.5', 'command-a-03-2025'),
      'a-name-that-is-as-long-as-nobody-would-write-it-but-that-has-to-fit-all-the-same/with-its-maker-before-it': {
        targets: [{ upstream: 'openai' }],
      },
    },
    pages: { pricing: ['default'] },
  })
  page = await drivePage(browser.command)
  await page.send('Page.enable')
  await page.send('Network.enable')
  await page.send('Emulation.setScriptExecutionDisabled', { value: true })
}, INSTALLATION + 30_000)
afterAll(async () => {
  page?.close()
  await gateway?.close()
})

const SEEN = `(() => {
  const root = document.documentElement
  const all = [...document.querySelectorAll('article')]
  const light = color => color.match(/[\\d.]+/g).slice(0, 3).map(Number).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0)
  const contrast = selector => {
    const element = document.querySelector(selector)
    let behind = element
    while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement
    const [one, other] = [light(getComputedStyle(element).color), light(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a)
    return (one + 0.05) / (other + 0.05)
  }
  const calls = [...document.querySelectorAll('details')]
  calls.forEach(one => { one.open = true })
  const wide = [...document.querySelectorAll('body *')].filter(element => !element.closest('.wide') && element.getBoundingClientRect().right > root.clientWidth + 0.5)
  const found = {
    models: all.length,
    overflow: root.scrollWidth - root.clientWidth,
    wide: wide.map(element => element.tagName + '.' + element.className),
    contrasts: Math.min(...['h1', 'header p', 'a', 'h3', '.name', 'dt', 'thead th', 'td', 'summary', 'pre code', '.mark'].map(contrast)),
    back: light(getComputedStyle(document.body).backgroundColor),
    calls: calls.length,
    scripts: document.scripts.length,
    link: parseFloat(getComputedStyle(document.querySelector('nav a')).height),
  }
  calls.forEach(one => { one.open = false })
  return found
})()`

interface Seen {
  models: number
  overflow: number
  wide: string[]
  contrasts: number
  back: number
  calls: number
  scripts: number
  link: number
}

for (const [name, width, height] of SIZES)
  for (const theme of ['light', 'dark'])
    test(`${name}, ${theme}`, async context => {
      if ('reason' in browser) return context.skip(browser.reason)
      await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: name === 'phone' })
      await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: theme }] })
      const loaded = page.once('Page.loadEventFired')
      await page.send('Page.navigate', { url: `${gateway.url}/pricing` })
      await loaded
      const { result } = await page.send<{ result: { value: Seen } }>('Runtime.evaluate', { expression: SEEN, returnByValue: true })
      const seen = result.value
      expect(seen).toMatchObject({ models: 18, overflow: 0, wide: [], scripts: 0 })
      expect(seen.contrasts).toBeGreaterThanOrEqual(4.5)
      expect(seen.calls).toBeGreaterThan(12)
      expect(seen.link).toBeGreaterThanOrEqual(24)
      expect(theme === 'dark' ? seen.back < 0.1 : seen.back > 0.8).toBe(true)
      if (PICTURES === undefined) return
      mkdirSync(PICTURES, { recursive: true })
      const { data } = await page.send<{ data: string }>('Page.captureScreenshot', { format: 'png' })
      writeFileSync(join(PICTURES, `${name}-${theme}.png`), Buffer.from(data, 'base64'))
    })
