// The names of what is generated for something in the data.

/** Part of a name in JavaScript; two names never become one. */
export function identifier(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, character => `$${character.charCodeAt(0).toString(16)}`)
}
