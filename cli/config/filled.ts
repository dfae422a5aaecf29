// gateway.yaml with the defaults of its spec, for commands that need a part of it and no plan.

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { GatewayData } from '../../schemas/config/types.js'
import { GENERATED } from '../overlay/inputs.js'

/** A configuration with its defaults, which are filled into what is given; undefined if it breaks its spec. */
export async function filled(content: object): Promise<GatewayData | undefined> {
  const { gateway } = (await import(pathToFileURL(join(GENERATED, 'gateway.js')).href)) as { gateway(value: unknown): boolean }
  return gateway(content) ? (content as GatewayData) : undefined
}
