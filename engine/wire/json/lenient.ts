// What generated code that reads leniently needs: small readings of texts, and how it says that a value is none.

/** The number that a text writes; nothing where it writes none. */
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
  // Where in the generated code that was found says nothing to who reads the log.
  delete error.stack
  throw error
}
