// Helpers of generated code that reads leniently: they convert texts, and report a value that cannot be read.

/** The number in a text; undefined if the text is not a number. */
export function numberIn(text: string): number | undefined {
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : undefined
}

/** Base64 in the standard alphabet, padded. */
export function standardBase64(text: string): string {
  const standard = text.includes('-') || text.includes('_') ? text.replaceAll('-', '+').replaceAll('_', '/') : text
  const over = standard.length % 4
  return over < 2 ? standard : standard + '='.repeat(4 - over)
}

export function wrongType(member: string | undefined, types: string): never {
  const error = new TypeError(`${member === undefined ? 'the whole' : `'${member}'`} should be ${types}`)
  // A stack inside of generated code means nothing to the log's reader.
  delete error.stack
  throw error
}
