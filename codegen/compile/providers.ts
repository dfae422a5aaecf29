// Compiles the expressions of providers to one module: patches of their requests, answers, events and errors, and where they report
// usage.

import { js } from '../jsonata/js.js'
import type { EndpointData, Project, ProviderData } from '../read/project.js'
import { identifier } from './identifier.js'
import { Module, objectInput } from './module.js'

/** The expressions that an endpoint may have. */
const PARTS = ['usage', 'request', 'response', 'event', 'error'] as const

/** The name of the function for an endpoint's expression. */
export function endpointFunction(provider: string, dialect: string, part: (typeof PARTS)[number]): string {
  return `${identifier(provider)}_${identifier(dialect)}_${part}`
}

/** The names of the functions that a provider has. */
export function providerFunctions(provider: string, { speaks }: ProviderData): string[] {
  return Object.entries(speaks).flatMap(([dialect, endpoint]) => partsOf(endpoint).map(part => endpointFunction(provider, dialect, part)))
}

function partsOf(endpoint: EndpointData): (typeof PARTS)[number][] {
  return PARTS.filter(part => endpoint[part] !== undefined)
}

/** Compiles the expressions of some providers; each sees a request, an answer, an event or an error. */
export function compileProviders(providers: readonly { name: string; data: ProviderData; document: Source }[], project: Project): Module {
  const module = new Module(project.findings, project.library)
  module.unit.name('input')
  for (const { name, data, document } of providers) {
    for (const [dialect, endpoint] of Object.entries(data.speaks)) {
      for (const part of partsOf(endpoint)) {
        const source = { document, pointer: ['speaks', dialect, part], text: endpoint[part] as string }
        module.export(endpointFunction(name, dialect, part), ['input'], body =>
          module.compile(source, objectInput(js`input`), new Map(), body, { isSerialised: part !== 'usage' }),
        )
      }
    }
  }
  return module
}

type Source = Project['routes'][number]['document']
