// ajv with our own keywords.

import { _, type Code, type KeywordCxt } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { usePattern } from 'ajv/dist/vocabularies/code.js'
import { base64Bytes } from '../../engine/core/text.js'
import { asTagged, everySchema, expand, type SchemaSet } from './schemas.js'

/** An ajv instance with our own keywords and all schemas of the data. */
export function newAjv(set: SchemaSet, options: { allErrors?: boolean; source?: boolean; useDefaults?: boolean } = {}): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: options.allErrors === true,
    validateSchema: false,
    // A format describes a value; a pattern is checked.
    validateFormats: false,
    useDefaults: options.useDefaults === true,
    // Optimising takes longer than validators that are not printed ever run.
    code: { source: options.source === true, esm: true, lines: true, optimize: options.source === true },
  })
  ajv.addKeyword({
    keyword: 'max_base64_bytes',
    type: 'string',
    schemaType: 'number',
    error: { message: cxt => _`"must be at most " + ${cxt.schema} + " bytes when decoded"`, params: cxt => _`{ limit: ${cxt.schema} }` },
    code(cxt: KeywordCxt) {
      const { data, gen, schema } = cxt
      const bytes = gen.scopeValue('func', { ref: base64Bytes, code: _`base64Bytes` })
      cxt.fail(_`${bytes}(${data}) > ${schema}`)
    },
  })
  // A description says in words what a pattern demands.
  ajv.removeKeyword('pattern')
  ajv.addKeyword({
    keyword: 'pattern',
    type: 'string',
    schemaType: 'string',
    error: {
      message: 'must match a pattern',
      params: ({ schemaCode, parentSchema }) =>
        parentSchema?.description === undefined
          ? _`{ pattern: ${schemaCode} }`
          : _`{ pattern: ${schemaCode}, description: ${String(parentSchema.description)} }`,
    },
    code: cxt => cxt.fail(_`!${usePattern(cxt, cxt.schema)}.test(${cxt.data})`),
  })
  ajv.addKeyword({ keyword: 'tagged', type: 'object', schemaType: 'object', code: checkTagged })
  if (options.useDefaults === true) addShorthand(ajv)
  for (const keyword of ['tag', 'source', 'expression', 'refers', 'union', 'enum_numbers', 'also', 'kind_by_member'])
    ajv.addKeyword({ keyword })
  // No schema has `unevaluatedProperties` or `$dynamicRef`: validators need not note what these would need.
  Object.assign(ajv.opts, { unevaluated: false, dynamicRef: false })
  for (const [id, schema] of set) ajv.addSchema(expand(schema, asTagged) as object, id)
  return ajv
}

/** Keywords with values that JSON Schema does not allow: each with its pointer. */
export function invalidKeywords(ajv: Ajv2020, schema: unknown): { pointer: (string | number)[]; detail: string }[] {
  const found = new Map<string, { pointer: (string | number)[]; detail: string }>()
  // The meta-schema does not know our own keywords, so each schema is checked by itself.
  everySchema(schema, [], (item, pointer) => {
    ajv.validateSchema(item)
    for (const { instancePath, message = '' } of ajv.errors ?? []) {
      const place = [
        ...pointer,
        ...instancePath
          .split('/')
          .slice(1)
          .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~')),
      ]
      found.set(place.join('/'), { pointer: place, detail: `${place.at(-1)} ${message}` })
    }
  })
  return [...found.values()]
}

/** Adds the keyword that replaces a text by the object that it is short for, so that the object's defaults are filled in, too. */
export function addShorthand(ajv: Ajv2020): void {
  ajv.addKeyword({
    keyword: 'shorthand',
    // The keywords of texts come before those of objects.
    type: 'string',
    schemaType: 'string',
    modifying: true,
    code({ data, gen, schema, it }: KeywordCxt) {
      gen.assign(data, _`{ ${schema}: ${data} }`)
      gen.assign(_`${it.parentData}[${it.parentDataProperty}]`, data)
    },
  })
}

/** Checks a union: one comparison of the tag for each branch before the right one. A tag without a branch is not checked here. */
function checkTagged(cxt: KeywordCxt): void {
  const { gen, data, schema, parentSchema } = cxt
  const { by, default: usual } = parentSchema.tag as { by: string; default?: string }
  const tag = gen.const('tag', _`${data}[${by}]`)
  const valid = gen.let('valid', true)
  gen.if(false)
  for (const name of Object.keys(schema)) {
    const is: Code = _`${tag} === ${name}`
    gen.elseIf(name === usual ? _`${tag} === undefined || ${is}` : is)
    const isRight = gen.name('valid')
    cxt.subschema({ keyword: 'tagged', schemaProp: name }, isRight)
    gen.assign(valid, isRight)
  }
  gen.endIf()
  cxt.ok(valid)
}
