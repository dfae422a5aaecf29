// The errors of a validator, as messages that name the field.

import type { SchemaError, Validate } from '../plan.js'
import { GatewayError } from './errors.js'

/** Throws `invalid_request` with the first field that does not satisfy the schema. */
export function checkShape(validate: Validate, value: unknown): void {
  if (validate(value)) return
  const error = mostTelling(validate.errors ?? [])
  if (error === undefined) throw new GatewayError('invalid_request', 'The request body is not valid.')
  const { path, message, code } = describe(error)
  throw new GatewayError('invalid_request', message, { param: path, code })
}

function mostTelling(errors: readonly SchemaError[]): SchemaError | undefined {
  const inside = errors.filter(error => !['if', 'anyOf', 'oneOf', 'allOf'].includes(error.keyword))
  // Of several branches, report the one whose type matches the value, not those of another type.
  const isKind = (error: SchemaError): boolean => ['type', 'enum', 'const'].includes(error.keyword)
  const isOther = (error: SchemaError): boolean =>
    isKind(error) &&
    inside.some(other => other.instancePath.startsWith(error.instancePath) && (!isKind(other) || other.instancePath !== error.instancePath))
  return inside.find(error => !isOther(error)) ?? inside[0] ?? errors[0]
}

const LONGEST_PATH = 500

/** `/messages/0/role` as `messages[0].role`. */
export function fieldPath(pointer: string): string {
  let path = ''
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(name)) path += `[${name}]`
    else path += path === '' ? name : `.${name}`
  }
  // The client chooses the names, so a path may have any length.
  return path.length > LONGEST_PATH ? `${path.slice(0, LONGEST_PATH)}…` : path
}

function describe(error: SchemaError): { path: string; message: string; code: string | undefined } {
  const at = fieldPath(error.instancePath)
  const { params } = error
  switch (error.keyword) {
    case 'required': {
      const path = at === '' ? String(params.missingProperty) : `${at}.${String(params.missingProperty)}`
      return { path, message: `Missing required parameter: '${path}'.`, code: 'missing_required_parameter' }
    }
    case 'additionalProperties': {
      const path = at === '' ? String(params.additionalProperty) : `${at}.${String(params.additionalProperty)}`
      return { path, message: `Unknown parameter: '${path}'.`, code: 'unknown_parameter' }
    }
    case 'type':
      return { path: at, message: `Invalid type for '${at}': expected ${listed([params.type].flat(), 'or')}.`, code: 'invalid_type' }
    case 'enum':
      return {
        path: at,
        message: `Invalid value for '${at}': expected one of ${listed(params.allowedValues as unknown[], 'or', true)}.`,
        code: 'invalid_value',
      }
    case 'const':
      return { path: at, message: `Invalid value for '${at}': expected ${JSON.stringify(params.allowedValue)}.`, code: 'invalid_value' }
    case 'minItems':
      return {
        path: at,
        message: `Invalid '${at}': expected at least ${String(params.limit)} ${params.limit === 1 ? 'item' : 'items'}.`,
        code: params.limit === 1 ? 'empty_array' : 'array_below_min_length',
      }
    case 'maxItems':
      return { path: at, message: `Invalid '${at}': expected at most ${String(params.limit)} items.`, code: 'array_above_max_length' }
    case 'minLength':
      return {
        path: at,
        message: `Invalid '${at}': expected at least ${String(params.limit)} characters.`,
        code: 'string_below_min_length',
      }
    case 'maxLength':
      return { path: at, message: `Invalid '${at}': expected at most ${String(params.limit)} characters.`, code: 'string_above_max_length' }
    case 'max_base64_bytes':
      return {
        path: at,
        message: `Invalid '${at}': the data is larger than ${String(params.limit)} bytes when decoded.`,
        code: 'invalid_value',
      }
    case 'minimum':
    case 'exclusiveMinimum':
    case 'maximum':
    case 'exclusiveMaximum':
      return {
        path: at,
        message: `Invalid value for '${at}': it must be ${String(params.comparison)} ${String(params.limit)}.`,
        code: 'invalid_value',
      }
    case 'pattern':
      return {
        path: at,
        message: `Invalid value for '${at}': ${String(params.description ?? `it must match ${String(params.pattern)}`)}.`,
        code: 'invalid_value',
      }
    default:
      return {
        path: at,
        message:
          at === ''
            ? `The request body ${error.message ?? 'is not valid'}.`
            : `Invalid value for '${at}': it ${error.message ?? 'is not valid'}.`,
        code: 'invalid_value',
      }
  }
}

function listed(items: readonly unknown[], word: string, isQuoted = false): string {
  const texts = items.map(item => (isQuoted && typeof item === 'string' ? `'${item}'` : String(item)))
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} ${word} ${texts.at(-1)}`
}
