// The sizes of a model that an agent's settings may hold, so that it shortens a conversation before it is too long.

import { DataError } from '../../codegen/read/findings.js'
import { alone } from '../check.js'
import { prepare } from '../prepare.js'
import { fillSecrets } from '../secrets.js'

export interface Limits {
  context: number
  output: number
}

/** Undefined if one of them is unknown, or the file cannot be served: the settings are useful before it can be. */
export async function limitsOf(model: string, config: string): Promise<Limits | undefined> {
  fillSecrets(config)
  const prepared = await prepare(config, alone).catch((error: unknown) => {
    if (error instanceof DataError) return undefined
    throw error
  })
  if (prepared === undefined) return undefined
  const { snapshot } = prepared
  try {
    const { context, maxOutput } = (snapshot.models.get(model) ?? snapshot.find(model))?.facts ?? {}
    return context === undefined || maxOutput === undefined ? undefined : { context, output: maxOutput }
  } finally {
    await snapshot.close()
  }
}
