// Reads the simulator's own YAML, and scripts of programs, by their specs in schemas/config.

import { readFileSync } from 'node:fs'
import { DataError, type Finding } from '../../codegen/read/findings.js'
import { checkGrammar } from '../../codegen/read/grammar.js'
import type { Schema } from '../../codegen/read/schemas.js'
import { type SpecSchema, withDefaults } from '../../codegen/read/spec.js'
import { parseYaml } from '../../codegen/read/yaml.js'
import type { SimulatorData, SimulatorScenarioData } from '../../schemas/config/types.js'
import { specOf, specsOf } from '../specs.js'
import type { FilledScript, Script } from './script.js'

/** A document of a scenario file, as written. */
export type Scene = Omit<SimulatorScenarioData, 'answers'> & { answers: Script | Script[] }

/** A file of `simulator/`, with the defaults of its spec. */
export function dialectFile(path: string): SimulatorData {
  return withDefaults(specOf('simulator'), readYaml(path, 'simulator')[0]) as SimulatorData
}

export function sceneFile(path: string): Scene[] {
  return readYaml(path, 'simulator_scenario') as Scene[]
}

/** The spec of a script alone. */
function scriptSpec(): SpecSchema {
  return (specOf('simulator_scenario') as { $defs: { script: SpecSchema } }).$defs.script
}

/** A script with the defaults of its spec. */
export function filledScript(given: Script): FilledScript {
  return withDefaults(scriptSpec(), given) as FilledScript
}

const NONE: ReadonlyMap<string, Schema> = new Map()
let scripts: ReadonlyMap<string, Schema> | undefined

/** Checks a script from a program by the spec of written ones. */
export function checkScript(given: Script, name: string): void {
  // A program may give bytes.
  const { raw: _, ...rest } = given
  scripts ??= new Map([['script', scriptSpec() as Schema]])
  checked(`scenario ${name}`, JSON.stringify(rest), 'script', scripts)
}

/** The documents of a file, checked by the spec of a kind if one is named; all its errors are thrown as one. */
export function readYaml(path: string, kind?: string): unknown[] {
  return checked(path, readFileSync(path, 'utf8'), kind)
}

function checked(file: string, written: string, kind?: string, configSchemas = kind === undefined ? NONE : specsOf(kind)): unknown[] {
  const findings: Finding[] = []
  const documents = parseYaml(file, written, findings)
  if (kind !== undefined) for (const document of documents) checkGrammar({ configSchemas, findings }, kind, document)
  if (findings.length > 0) throw new DataError(findings)
  return documents.map(({ value }) => value)
}
