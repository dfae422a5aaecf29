// A key's permissions, compiled: patterns of models and routes, and addresses.

import { BlockList, isIPv6 } from 'node:net'
import { matcher } from '../core/text.js'
import type { KeyConfig } from './config.js'
import type { Key } from './model.js'

/** A key with its permissions compiled. It is immutable: a change makes a new object. */
export function linkKey(config: KeyConfig): Key {
  const { routes, ips, tags } = config
  return {
    ...config,
    matches: matcher(config.models),
    ...(routes && { mayAsk: matcher(routes) }),
    ...(ips && { mayComeFrom: addressTest(ips) }),
    ...(tags && tags.length > 0 && { tagList: JSON.stringify([...new Set(tags)].sort()) }),
  }
}

function addressTest(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address, bits] = range.split('/') as [string, string | undefined]
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return address => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Whether a text is an address, or a range with a prefix length. */
export function isAddressRange(text: string): boolean {
  try {
    addressTest([text])
    return true
  } catch {
    return false
  }
}
