// Compiles the .wat files of engine/wire/json/. `node tools/wat.mjs` writes a -code.ts beside each; a test checks that they are fresh.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import loadWabt from 'wabt'

const at = path => new URL(`../engine/wire/json/${path}`, import.meta.url)

/** The names of the modules. @returns {string[]} */
export function names() {
  return readdirSync(at('')).flatMap(file => (file.endsWith('.wat') ? [file.slice(0, -'.wat'.length)] : []))
}

/** The text of a module's -code.ts. @param {string} name @returns {Promise<string>} */
export async function printCode(name) {
  const wabt = await loadWabt()
  const module = wabt.parseWat(`${name}.wat`, readFileSync(at(`${name}.wat`), 'utf8'), { simd: true })
  const text = Buffer.from(module.toBinary({}).buffer).toString('base64')
  module.destroy()
  const lines = text.match(/.{1,120}/g).map(line => `  '${line}'`)
  return `// Made from ${name}.wat by \`npm run wat\`; do not edit.\n\nexport const CODE =\n${lines.join(' +\n')}\n`
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const name of names()) writeFileSync(at(`${name}-code.ts`), await printCode(name))
}
