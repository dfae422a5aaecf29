// `sluice check`: everything that is wrong with an operator's file and the data beside it, and nothing else.

import { DataError } from '../codegen/read/findings.js'
import { prepare } from './gateway.js'

export async function check(config: string): Promise<void> {
  try {
    const { snapshot } = await prepare(config)
    await snapshot.close()
    console.log(`${config}: ${count(snapshot.models.size, 'model')}, ${count(snapshot.keys.size, 'key')}, no findings`)
  } catch (error) {
    if (!(error instanceof DataError)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
