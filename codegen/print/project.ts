// Prints a compiled project: the plan, and the modules that only the plan needs.

import type { CatalogueEntry } from '../../engine/plan.js'
import type { Output } from '../compile/output.js'
import type { Compiled } from '../compile/project.js'
import { printValidators } from '../compile/validators.js'
import type { Project } from '../read/project.js'
import { hashOfAll, type KnownUnits, type UnitKeys } from '../units.js'
import { printCatalogue } from './catalogue.js'
import { printPlan } from './plan.js'

/** A project, compiled and printed. */
export interface Printed extends Pick<Compiled, 'project' | 'ledger'> {
  /** The text of each file, by its path in the output. */
  files: ReadonlyMap<string, string>
  units: KnownUnits
}

export function printProject({ project, output, keys, modules, catalogue, ledger }: Compiled): Printed {
  const { placement } = output
  const plan = printPlan(project, {
    ...modules,
    gateway: placeGateway(project, output, keys),
    catalogue: placeCatalogue(catalogue, output),
    ...(placement.base && { base: { from: output.inBase('plan.js'), entries: placement.base.units.plan } }),
  })
  output.add({ 'plan.js': plan.text })
  output.units.plan = plan.entries
  return { project, files: output.files, ledger, units: output.units }
}

/** The address of the catalogue's module; without a catalogue that of the base. */
function placeCatalogue(catalogue: readonly CatalogueEntry[] | undefined, output: Output): string {
  const known = output.placement.base?.units.catalogue
  const text = catalogue && printCatalogue(catalogue)
  output.units.catalogue = text === undefined ? (known ?? '') : hashOfAll(text)
  if (text === undefined || output.units.catalogue === known) return output.inBase('models.js')
  output.add({ 'models.js': text })
  return './models.js'
}

/** The address of the module that checks gateway.yaml against its spec and fills in defaults. */
function placeGateway(project: Project, output: Output, keys: UnitKeys): string | undefined {
  const schema = project.configSchemas.get('gateway')
  output.units.gateway = keys.gateway()
  if (schema === undefined) return undefined
  if (output.units.gateway === output.placement.base?.units.gateway) return output.inBase('gateway.js')
  const engine = `${output.placement.sluice('gateway.js')}engine`
  output.add({ 'gateway.js': printValidators(new Map([['gateway', schema]]), new Map([['gateway', 'gateway']]), engine, true) })
  return './gateway.js'
}
