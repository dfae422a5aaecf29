// JSONata's built-ins over numbers. `undefined` in gives `undefined` out.

import { ExpressionError } from './sequence.js'

type Numbers = readonly number[] | undefined

export function sum(numbers: Numbers): number | undefined {
  if (numbers === undefined) return undefined
  let total = 0
  for (const number of numbers) total += number
  return total
}

export function average(numbers: Numbers): number | undefined {
  if (numbers === undefined || numbers.length === 0) return undefined
  return (sum(numbers) as number) / numbers.length
}

// A loop, since spreading a long array into Math.max overflows the stack.
export function max(numbers: Numbers): number | undefined {
  if (numbers === undefined || numbers.length === 0) return undefined
  let result = -Infinity
  for (const number of numbers) result = Math.max(result, number)
  return result
}

export function min(numbers: Numbers): number | undefined {
  if (numbers === undefined || numbers.length === 0) return undefined
  let result = Infinity
  for (const number of numbers) result = Math.min(result, number)
  return result
}

export function abs(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.abs(value)
}

export function floor(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.floor(value)
}

export function ceil(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.ceil(value)
}

/** Rounds half to even, at a number of decimal places. */
export function round(value: number | undefined, places?: number): number | undefined {
  if (value === undefined) return undefined
  const shifted = places ? shift(value, places) : value
  let result = Math.round(shifted)
  if (Math.abs(result - shifted) === 0.5 && result % 2 !== 0) result -= 1
  if (places) result = shift(result, -places)
  return result === 0 ? 0 : result // JSON has no -0
}

/** Moves the decimal point in the digits, because multiplying would add binary noise. */
function shift(value: number, places: number): number {
  const [digits, exponent = '0'] = String(value).split('e')
  return Number(`${digits}e${Number(exponent) + places}`)
}

export function sqrt(value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  if (value < 0) throw new ExpressionError('D3060', { index: 1, value })
  return Math.sqrt(value)
}

export function power(base: number | undefined, exponent: number | undefined): number | undefined {
  if (base === undefined) return undefined
  const result = base ** (exponent as number)
  if (!Number.isFinite(result)) throw new ExpressionError('D3061', { index: 1, value: base, exp: exponent })
  return result
}

export function formatBase(value: number | undefined, radix?: number): string | undefined {
  if (value === undefined) return undefined
  const base = round(radix) ?? 10
  if (base < 2 || base > 36) throw new ExpressionError('D3100', { value: base })
  return (round(value) as number).toString(base)
}

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?([Ee][-+]?[0-9]+)?$/
// The reference's pattern anchors its first and last alternative only, so that "0x1z" is NaN and no error.
const RADIX = /^(0[xX][0-9A-Fa-f]+)|(0[oO][0-7]+)|(0[bB][0-1]+)$/

/** Casts a number, a numeric string or a boolean to a number. */
export function number(value: unknown): number | undefined {
  switch (typeof value) {
    case 'undefined':
    case 'number':
      return value
    case 'boolean':
      return value ? 1 : 0
    case 'string': {
      const result = Number(value)
      if (DECIMAL.test(value) && Number.isFinite(result)) return result
      if (RADIX.test(value)) return result
    }
  }
  throw new ExpressionError('D3030', { index: 1, value })
}
