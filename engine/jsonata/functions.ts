// All deterministic built-ins of JSONata, except those with format pictures (codegen/jsonata/number-and-date-formats.ts).
// They take arguments that have passed the built-in's signature (signature.ts) and return raw results: a sequence is not
// yet collapsed to its single member.

export * from './arrays.js'
export * from './higher-order.js'
export * from './numbers.js'
export * from './objects.js'
export * from './regex.js'
export * from './strings.js'
export * from './values.js'
