// Compiles engine/outline.wat. `node tools/wat.mjs` writes engine/outline-code.ts; a test sees to it that it is fresh.

import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import loadWabt from 'wabt'

const at = path => new URL(`../engine/${path}`, import.meta.url)

/** The text of the module. @returns {Promise<string>} */
export async function printCode() {
  const wabt = await loadWabt()
  const module = wabt.parseWat('outline.wat', readFileSync(at('outline.wat'), 'utf8'), { simd: true })
  const text = Buffer.from(module.toBinary({}).buffer).toString('base64')
  module.destroy()
  const lines = text.match(/.{1,120}/g).map(line => `  '${line}'`)
  return `// Made from outline.wat by \`npm run wat\`; do not edit.\n\nexport const CODE =\n${lines.join(' +\n')}\n`
}

if (argv[1] === fileURLToPath(import.meta.url)) writeFileSync(at('outline-code.ts'), await printCode())
