// Addresses that a caller may name and the gateway must not call, in every spelling that a URL has for them.

import { isIPv4, isIPv6 } from 'node:net'
import { describe, expect, test } from 'vitest'
import { dispatcherFor, isPublic } from '../../engine/upstream/fetch-media.js'

// The first and the last address of each network; see IANA's registries of special-purpose addresses.
const V4 = {
  'this network': ['0.0.0.0', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'shared by a carrier': ['100.64.0.0', '100.127.255.255'],
  'this machine': ['127.0.0.1', '127.255.255.255'],
  'this link': ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  protocols: ['192.0.0.0', '192.0.0.255'],
  documentation: ['192.0.2.0', '192.0.2.255', '198.51.100.0', '198.51.100.255', '203.0.113.0', '203.0.113.255'],
  'relays of 6to4': ['192.88.99.0', '192.88.99.255'],
  measurements: ['198.18.0.0', '198.19.255.255'],
  groups: ['224.0.0.0', '239.255.255.255'],
  reserved: ['240.0.0.0', '255.255.255.254'],
  everybody: ['255.255.255.255'],
}
const V6 = {
  none: ['::'],
  'this machine': ['::1'],
  'those of version 4': ['::2', '::7f00:1', '::a9fe:a9fe', '::ffff:ffff'],
  translated: [
    '64:ff9b::',
    '64:ff9b::7f00:1',
    '64:ff9b::ffff:ffff',
    '64:ff9b:1::',
    '64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
    '::ffff:0:7f00:1',
  ],
  discarded: ['100::', '100::ffff:ffff:ffff:ffff'],
  Teredo: ['2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  protocols: ['2001:1::1', '2001:2::', '2001:10::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  documentation: ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  '6to4': ['2002::', '2002:7f00:1::', '2002:a9fe:a9fe::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  segments: ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'private networks': ['fc00::', 'fd00::1', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'this link': ['fe80::', 'fe80::1', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'this site': ['fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  groups: ['ff00::', 'ff02::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'not given out': ['200::1', '1fff:ffff::', '4000::', '8000::1', 'a000::', 'e000::1'],
}
const PUBLIC_V4 = ['1.1.1.1', '8.8.8.8', '93.184.216.34', '9.255.255.255', '11.0.0.0', '100.63.255.255', '172.32.0.0', '223.255.255.255']
const PUBLIC_V6 = ['2606:4700::1111', '2a00:1450:4001::1', '2003::1', '2400::1']

/** One address of version 4 as people write it into URLs. */
function spellings(address: string): string[] {
  const bytes = address.split('.').map(Number) as [number, number, number, number]
  const whole = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  const octal = bytes.map(byte => `0${byte.toString(8)}`)
  const hex = bytes.map(byte => `0x${byte.toString(16)}`)
  return [
    address,
    `${address}.`,
    String(whole),
    `0${whole.toString(8)}`,
    `0x${whole.toString(16)}`,
    octal.join('.'),
    hex.join('.'),
    hex.join('.').toUpperCase(),
    `${bytes[0]}.${whole % 2 ** 24}`,
    `${bytes[0]}.${hex[1]}.${whole % 2 ** 16}`,
    address.replaceAll('.', '%2e'),
    address.replaceAll('.', '。'),
    address.replaceAll(/\d/g, digit => String.fromCodePoint(0xff10 + Number(digit))),
    ...mapped(address).map(one => `[${one}]`),
  ]
}

/** One address of version 4 as one of version 6. */
function mapped(address: string): string[] {
  const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
  const two = (high: number, low: number): string => (high * 256 + low).toString(16)
  return [`::ffff:${address}`, `::ffff:${two(a, b)}:${two(c, d)}`, `0:0:0:0:0:FFFF:${two(a, b)}:${two(c, d)}`]
}

/** IPv6 spellings of IPv4 addresses, which lead to them if the network translates. */
function inside(address: string): string[] {
  const hex = (mapped(address)[1] as string).slice('::ffff:'.length)
  return [`::${address}`, `64:ff9b::${address}`, `64:ff9b:1::${address}`, `2002:${hex}::`, `2002:${hex}::1`, `2001:0:1:2:3:4:${hex}`]
}

const mayBeReached = (host: string): boolean => {
  const urls = [`http://${host}/a.png`, `https://${host}:8443/a.png`, `HTTP://user:word@${host}`]
  const found = new Set(urls.map(url => dispatcherFor(new URL(url), false) !== undefined))
  expect(found.size).toBe(1)
  return [...found][0] as boolean
}

describe('addresses of IPv4', () => {
  for (const [name, addresses] of Object.entries(V4)) {
    test(`${name}: not fetched, in any notation`, () => {
      const reached = addresses.flatMap(spellings).filter(mayBeReached)
      const resolved = addresses.flatMap(address => [address, ...mapped(address)]).filter(isPublic)
      expect({ reached, resolved }).toEqual({ reached: [], resolved: [] })
    })
  }

  test('public addresses are fetched, in any notation', () => {
    expect(PUBLIC_V4.flatMap(spellings).filter(host => !mayBeReached(host))).toEqual([])
    expect(PUBLIC_V4.filter(address => !isPublic(address))).toEqual([])
  })

  test('public addresses inside of IPv6 addresses are not fetched, as a translator may send them elsewhere', () => {
    expect(
      [...PUBLIC_V4, '127.0.0.1', '169.254.169.254'].flatMap(inside).filter(address => isPublic(address) || mayBeReached(`[${address}]`)),
    ).toEqual([])
  })
})

describe('addresses of IPv6', () => {
  for (const [name, addresses] of Object.entries(V6)) {
    test(`${name}: not fetched`, () => {
      const reached = addresses.flatMap(address => [address, address.toUpperCase()]).filter(address => mayBeReached(`[${address}]`))
      expect({ reached, resolved: addresses.filter(isPublic) }).toEqual({ reached: [], resolved: [] })
    })
  }

  test('public addresses are fetched', () => {
    expect(PUBLIC_V6.filter(address => !isPublic(address) || !mayBeReached(`[${address}]`))).toEqual([])
  })
})

test('an invalid address is not public', () => {
  for (const text of ['', 'nonsense', '1.2.3', '1.1.1.1/8', '2606:4700::1111%eth0', 'fe80::1%1', '1.1.1.1 ', '2606:4700::1111::1'])
    expect([text, isPublic(text)]).toEqual([text, false])
})

test('the tables hold addresses', () => {
  expect([...Object.values(V4).flat(), ...PUBLIC_V4].filter(address => !isIPv4(address))).toEqual([])
  expect([...Object.values(V6).flat(), ...PUBLIC_V6].filter(address => !isIPv6(address))).toEqual([])
})
