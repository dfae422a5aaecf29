// Names of generated code for names in the data.

/** A part of a JavaScript name; distinct inputs give distinct names. */
export function identifier(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, character => `$${character.charCodeAt(0).toString(16)}`)
}
