// schemas/config → schemas/config/types.ts: a TypeScript interface for each kind of YAML file, as it is after its
// defaults were filled in. Runs before the build, since the code is written against these types.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { load } from 'js-yaml'
import { compile } from 'json-schema-to-typescript'

const FOLDER = 'schemas/config'

/** Keywords that restrict values beyond their types, which is the validator's task. */
const BESIDE_TYPES = new Set(
  'title pattern minItems maxItems minLength minProperties uniqueItems allOf if then else not examples default refers secret expression propertyNames $defs minimum maximum shorthand'.split(
    ' ',
  ),
)

/** `upstream` of gateway.yaml becomes GatewayUpstream. */
function typeName(grammar, definition = '') {
  return `${grammar}_${definition}`.replaceAll(/(?:^|_)([a-z]|$)/g, (_, letter) => letter.toUpperCase())
}

const definitions = {}

/**
 * A schema of types alone, with names for the objects that a grammar defines. A key with a default is always present, and a
 * text that is short for an object is that object.
 */
function typed(schema, file) {
  if (Array.isArray(schema)) return schema.map(item => typed(item, file))
  if (typeof schema !== 'object' || schema === null) return schema
  const { $ref, ...own } = schema
  if ($ref !== undefined) {
    const [, other, name] = /^(?:([a-z_]+)\.yaml)?#\/\$defs\/([a-z_]+)$/.exec($ref)
    const home = other === undefined ? file : read(other)
    const definition = home.grammar.$defs[name]
    // A definition that is not an object is inlined.
    if (definition.type !== 'object' || definition.properties === undefined) return typed({ ...definition, ...own }, home)
    return { tsType: define(typeName(home.name, name), definition, home), ...(own.description && { description: own.description }) }
  }
  const result = {}
  for (const [keyword, value] of Object.entries(own)) {
    if (BESIDE_TYPES.has(keyword)) continue
    if (keyword === 'properties') {
      result.properties = Object.fromEntries(Object.entries(value).map(([name, item]) => [name, typed(item, file)]))
      const filled = Object.keys(value).filter(name => 'default' in value[name])
      result.required = [...new Set([...(own.required ?? []), ...filled])]
    } else if (keyword === 'items' || keyword === 'additionalProperties') result[keyword] = typed(value, file)
    else if (keyword === 'type' && own.shorthand !== undefined) {
      const types = value.filter(type => type !== 'string')
      result.type = types.length === 1 ? types[0] : types
    } else result[keyword] = value
  }
  const isAny = ['type', 'enum', 'const'].every(keyword => result[keyword] === undefined)
  return isAny ? { ...result, tsType: 'unknown' } : result
}

function read(name) {
  return { name, grammar: load(readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')) }
}

/** Adds a type once; returns its name. */
function define(name, schema, file) {
  if (definitions[name] === undefined) {
    definitions[name] = {}
    definitions[name] = { ...typed(schema, file), title: name }
  }
  return name
}

for (const path of readdirSync(FOLDER)
  .filter(name => name.endsWith('.yaml'))
  .sort()) {
  const file = read(basename(path, '.yaml'))
  define(`${typeName(file.name)}Data`, file.grammar, file)
}
const root = { type: 'object', additionalProperties: false, properties: {}, $defs: definitions }
for (const name of Object.keys(definitions)) root.properties[name] = { $ref: `#/$defs/${name}` }
const text = await compile(root, 'Files', {
  bannerComment: '// Made from schemas/config/*.yaml by tools/config-types.mjs; do not edit.',
  format: false,
  unknownAny: true,
  unreachableDefinitions: false,
})
// The schema that contains all of them is not a file.
writeFileSync(join(FOLDER, 'types.ts'), text.replace(/^export interface Files \{[\s\S]*?^\}\n/m, ''))
