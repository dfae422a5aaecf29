// Checks our own YAML against its closed grammar in schemas/config.

import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import type { Finding } from './findings.js'
import type { Schema } from './schemas.js'
import { useOneOf } from './suggest.js'
import { type Pointer, valueAt, type YamlDocument } from './yaml.js'

export interface Grammars {
  configSchemas: ReadonlyMap<string, Schema>
  findings: Finding[]
}

const instances = new WeakMap<ReadonlyMap<string, Schema>, Ajv2020>()
/** The last compiled grammars: consecutive projects usually have the same ones. */
let last: { text: string; ajv: Ajv2020 } | undefined

/** Checks a document against a grammar; adds a finding for each error. */
export function checkGrammar(project: Grammars, name: string, document: YamlDocument): boolean {
  if (!project.configSchemas.has(name)) return true
  let ajv = instances.get(project.configSchemas)
  if (ajv === undefined) {
    ajv = grammarsOf(project.configSchemas)
    instances.set(project.configSchemas, ajv)
  }
  const validate = ajv.getSchema(name)
  if (validate === undefined || validate(document.value)) return true
  const errors = mostTelling(validate.errors ?? [])
  for (const error of errors) project.findings.push(findingOf(error, document))
  return false
}

/** Where a value does not satisfy a grammar, or has members that the grammar does not have. */
export function wrongPlaces(project: Grammars, name: string, document: YamlDocument): Pointer[] {
  const own = { configSchemas: project.configSchemas, findings: [] }
  if (checkGrammar(own, name, document)) return []
  const errors = instances.get(project.configSchemas)?.getSchema(name)?.errors ?? []
  return errors.map(error => {
    const pointer = pointerOf(error.instancePath, document.value)
    const unknown = (error.params as { additionalProperty?: string }).additionalProperty
    return unknown === undefined ? pointer : [...pointer, unknown]
  })
}

function grammarsOf(schemas: ReadonlyMap<string, Schema>): Ajv2020 {
  const text = JSON.stringify([...schemas])
  if (last?.text === text) return last.ajv
  // A test checks that the grammars are JSON Schemas: to check it each time would take as long as to compile them.
  const ajv = new Ajv2020({ allErrors: true, strict: false, verbose: true, meta: false, validateSchema: false, code: { optimize: false } })
  for (const [key, schema] of schemas) ajv.addSchema(schema as object, key)
  last = { text, ajv }
  return ajv
}

/** Inside a branch an error is more specific than the one about the choice of the branch. */
function mostTelling(errors: ErrorObject[]): ErrorObject[] {
  const isNoise = (error: ErrorObject): boolean =>
    error.keyword === 'if' || error.keyword === 'anyOf' || error.keyword === 'oneOf' || error.keyword === 'propertyNames'
  const rest = errors.filter(error => !isNoise(error))
  const seen = new Set<string>()
  return (rest.length > 0 ? rest : errors).filter(error => {
    const key = `${error.instancePath} ${error.keyword} ${JSON.stringify(error.params)} ${nameIn(error)}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** The name that is wrong, of a member whose name the error is about. */
const nameIn = (error: ErrorObject): string | undefined => (error as { propertyName?: string }).propertyName

function pointerOf(path: string, value: unknown): Pointer {
  const pointer: (string | number)[] = []
  let current = value
  for (const part of path.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    pointer.push(Array.isArray(current) ? Number(name) : name)
    current = (current as Record<string, unknown> | undefined)?.[name]
  }
  return pointer
}

function titleOf(error: ErrorObject): string | undefined {
  const schema = error.parentSchema as { title?: string; description?: string } | undefined
  return schema?.title ?? schema?.description
}

/** The key by which other YAML merges a mapping into another one. */
const MERGE = '<<'
const NO_MERGE = 'mappings are not merged: write the keys here; an alias (`key: *name`) stands for a whole value'

/** Turns an ajv error about our own YAML into a finding. */
function findingOf(error: ErrorObject, document: YamlDocument): Finding {
  const pointer = pointerOf(error.instancePath, document.value)
  const path = pointer.join('.') || 'the document'
  // An invalid member name is reported at the name.
  const name = nameIn(error)
  if (name !== undefined)
    return {
      ...document.key([...pointer, name]),
      rule: 'grammar/name',
      detail: `${path}: "${name}" is not a valid name here`,
      remedy: name === MERGE ? NO_MERGE : (titleOf(error) ?? 'choose another name'),
    }
  const title = titleOf(error)
  // A secret value is not quoted, nor a name inside it.
  const isHidden = (error.parentSchema as { secret?: boolean } | undefined)?.secret === true
  const quoted = (): string => (isHidden ? 'the value' : JSON.stringify(valueAt(document.value, pointer)))
  switch (error.keyword) {
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const name = String(error.params.additionalProperty ?? error.params.unevaluatedProperty)
      const known = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {})
      return {
        ...document.key([...pointer, name]),
        rule: 'grammar/unknown-key',
        detail: `${path === 'the document' ? '' : `${path}: `}${isHidden ? 'the name' : `"${name}"`} is not a key here`,
        remedy: name === MERGE ? NO_MERGE : known.length > 0 ? useOneOf(known, name) : 'take it out',
      }
    }
    case 'required':
      return {
        ...document.at(pointer),
        rule: 'grammar/missing-key',
        detail: `${path}: "${String(error.params.missingProperty)}" is missing`,
        // In a branch the schema describes only this case; its title says which.
        remedy:
          (error.parentSchema as { properties?: Record<string, unknown> } | undefined)?.properties?.[
            String(error.params.missingProperty)
          ] === undefined && title !== undefined
            ? title
            : `add ${String(error.params.missingProperty)}:`,
      }
    case 'enum':
      return {
        ...document.at(pointer),
        rule: 'grammar/value',
        detail: `${path}: ${quoted()} is not known here`,
        remedy: useOneOf((error.params.allowedValues as unknown[]).map(String), isHidden ? '' : String(valueAt(document.value, pointer))),
      }
    case 'pattern':
      return {
        ...document.at(pointer),
        rule: 'grammar/value',
        detail: `${path}: ${quoted()} is not valid here`,
        remedy: title ?? `it must match ${String(error.params.pattern)}`,
      }
    case 'not':
      return {
        ...document.at(pointer),
        rule: 'grammar/not',
        detail: `${path}: this combination is not allowed`,
        remedy: title ?? 'see schemas/config',
      }
    default:
      return {
        ...document.at(pointer),
        rule: `grammar/${error.keyword}`,
        detail: `${path}: ${error.message ?? 'does not fit'}`,
        remedy: title ?? 'see schemas/config',
      }
  }
}
