// All built-ins of JSONata whose answer is decided by their arguments, but for the ones with pictures
// (codegen/jsonata/number-and-date-formats.ts). They take arguments that have passed the built-in's signature (signature.ts) and give
// raw results: a sequence is not yet collapsed to its lone member.

export * from './arrays.js'
export * from './higher-order.js'
export * from './numbers.js'
export * from './objects.js'
export * from './regex.js'
export * from './strings.js'
export * from './values.js'
