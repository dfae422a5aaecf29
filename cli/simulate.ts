// `sluice simulate`: runs the simulator in its own process.

import { cannotListen } from './address.js'
import { EXIT } from './exit-codes.js'
import { startSimulator } from './simulator/server.js'

export async function simulate(options: { listen: string; scenarios?: string }): Promise<void> {
  const simulator = await startSimulator(options).catch(error => {
    const why = error instanceof Error ? error.message : String(error)
    const isOfAddress = why.startsWith('cannot listen')
    console.error(isOfAddress ? cannotListen(options.listen) : `The scenarios cannot be used: ${why}`)
    process.exit(isOfAddress ? EXIT.listen : EXIT.findings)
  })
  console.log(JSON.stringify({ msg: 'listening', url: simulator.url }))
  const stop = (): void => void simulator.close().then(() => process.exit(0))
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
