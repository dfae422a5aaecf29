// `sluice simulate`: runs the simulator in its own process.

import { startSimulator } from './simulator/server.js'

export async function simulate(options: { listen: string; scenarios?: string }): Promise<void> {
  const simulator = await startSimulator(options).catch(error => {
    console.error(`Cannot simulate on ${options.listen}: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(2)
  })
  console.log(JSON.stringify({ msg: 'listening', url: simulator.url }))
  const stop = (): void => void simulator.close().then(() => process.exit(0))
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
