// The modules of the run time (engine/jsonata/), and the names of JSONata's own functions.

import { builtins } from '../../engine/jsonata/signature.js'

export const OPERATORS = 'operators'
export const PATHS = 'paths'
export const CALLS = 'calls'
export const SEQUENCE = 'sequence'
export const FUNCTIONS = 'functions'
export const SIGNATURE = 'signature'
export const GROWTH = 'growth'
export const SEARCH = 'search'

export const BUILTIN_NAMES: ReadonlySet<string> = new Set([...Object.keys(builtins), 'eval'])
