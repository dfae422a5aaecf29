// Where the build puts the programs (tools/bundle.mjs).

import { join } from 'node:path'
import { BUILT } from '../codegen/home.js'

/** The command. */
export const PROGRAM = join(BUILT, 'bundled', 'cli', 'main.js')
/** The process that compiles an overlay. */
export const COMPILER = join(BUILT, 'bundled', 'cli', 'compile.js')
/** The control process. */
export const CONTROL = join(BUILT, 'bundled', 'control', 'main.js')
