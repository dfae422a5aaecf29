// The relays of a folder's gateway.yaml, for commands that list routes without reading secrets.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '../../codegen/read/yaml.js'
import { routeNameOf } from '../config/relays.js'

export interface ShownRelay {
  /** The name of its route. */
  name: string
  /** The prefix of its paths. */
  path: string
  upstream: string
}

/** The valid relays; `sluice check` reports the others. */
export function relaysIn(folder: string): ShownRelay[] {
  let text: string
  try {
    text = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  } catch {
    return []
  }
  const { relay } = Object(parseYaml('gateway.yaml', text, [])[0]?.value) as { relay?: unknown }
  return Object.entries(Object(relay) as Record<string, unknown>).flatMap(([name, value]) => {
    const { path, upstream } = Object(value) as { path?: unknown; upstream?: unknown }
    if (typeof path !== 'string' || !path.endsWith('/*') || typeof upstream !== 'string') return []
    return [{ name: routeNameOf(name), path: path.slice(0, -'/*'.length), upstream }]
  })
}
