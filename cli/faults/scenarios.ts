// The scenarios of the fault suite: the actions of upstreams, and the expected result. They are data,
// `simulator/faults/*.yaml`.

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { withDefaults } from '../../codegen/read/spec.js'
import type { FaultData, FaultFault } from '../../schemas/config/types.js'
import { readYaml } from '../simulator/grammar.js'
import type { FilledScript, Script } from '../simulator/script.js'
import { specOf } from '../specs.js'

/** An upstream's action for one request, beyond a simulator script, and the expected result. */
export type Fault = Script & Omit<FaultFault, keyof FilledScript | 'json' | 'stream'>

/** The written form: `json` and `stream` are the differences between both modes. */
export type WrittenFault = Fault & { json?: Fault; stream?: Fault }

/** A scenario as it is written: a script has its defaults once its differences are known. */
export type Scenario = Pick<FaultData, 'name' | 'title'> &
  Partial<Pick<FaultData, 'rounds'>> & { first: WrittenFault[]; others?: WrittenFault[] }

/**
 * Reads the scenarios of a folder's `simulator/faults`, in the order of the file.
 *
 * @param home the folder with `simulator/`
 * @throws DataError with every finding if a file is invalid
 */
export function readScenarios(home: string): Scenario[] {
  const folder = join(home, 'simulator', 'faults')
  const files = readdirSync(folder).filter(name => name.endsWith('.yaml'))
  return files.sort().flatMap(name => readYaml(join(folder, name), 'fault') as Scenario[])
}

/** A fault for a whole answer, or for a stream. */
export function faultFor({ json, stream, ...common }: WrittenFault, streams: boolean): Fault {
  return { ...common, ...(streams ? stream : json) }
}

/** The number of requests of the client. */
export function roundsOf(scenario: Scenario): number {
  return (withDefaults(specOf('fault'), scenario) as FaultData).rounds
}
