// Secrets in gateway.yaml: a text, a variable of the environment, or a file.

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Pointer } from '../../codegen/read/yaml.js'
import type { GatewayUpstream } from '../../schemas/config/types.js'
import type { Find } from './find.js'

type Secret = GatewayUpstream['secret']

/** The text of a secret; undefined, and a finding, if it cannot be read. */
export type ReadSecret = (given: Secret, pointer: Pointer) => string | undefined

/** A secret may have been written in place of its path: only a text that looks like a path is quoted. */
const IS_PATH = /^\.{0,2}\/|^[\w-]+(\/[\w-]+)*\.[a-z]{1,5}$/
const IS_VARIABLE = /^\$[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/
/** No header, address or key can have one. */
const CONTROL = /\p{Cc}/u
const INSIDE = 'a line break or another control character inside'

/**
 * Reads the secrets of a configuration. `folder` is where its files are. With `mayLack`, files that cannot be read hold
 * random texts.
 */
export function secretReader(folder: string, mayLack: boolean, find: Find): ReadSecret {
  const ofFile = (path: string, pointer: Pointer): string | undefined => {
    const named = IS_PATH.test(path) ? path : 'the named file'
    try {
      const text = readFileSync(resolve(folder, path), 'utf8').trim()
      if (text === '') find(pointer, 'secret/file', `${named} is empty`, 'write only the secret into it')
      if (CONTROL.test(text)) find(pointer, 'secret/file', `${named} has ${INSIDE}`, 'write only the secret into it, on one line')
      return text
    } catch {
      if (mayLack) return randomBytes(24).toString('hex')
      find(pointer, 'secret/file', `${named} cannot be read`, 'name an existing file')
      return undefined
    }
  }
  const ofVariable = (given: string, pointer: Pointer): string | undefined => {
    const name = given.slice(1)
    // What writes it, such as `echo`, may have added a line break.
    const found = Object.hasOwn(process.env, name) ? process.env[name]?.trim() : undefined
    const isName = IS_VARIABLE.test(given)
    if (found !== undefined && CONTROL.test(found))
      find(
        pointer,
        'secret/environment',
        `${isName ? given : 'the named variable'} has ${INSIDE}`,
        `set ${isName ? name : 'it'} to only the secret, on one line`,
      )
    if (found === undefined || found === '')
      find(
        pointer,
        'secret/environment',
        `${isName ? given : 'the named variable'} is not set in the environment`,
        `set ${isName ? name : 'it'}, or remove the entry`,
      )
    return found
  }
  return (given, pointer) => {
    if (typeof given === 'object') return ofFile(given.file, pointer)
    return given.startsWith('$') ? ofVariable(given, pointer) : given
  }
}
