// Reads the store settings of gateway.yaml.

import { join, resolve } from 'node:path'
import { useOneOf } from '../../codegen/read/suggest.js'
import { size } from '../../codegen/read/units.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import { OPTIONAL } from '../../control/metric-list.js'
import { ADMIN_SOCKET, type ControlSettings, STORE_FILE } from '../../control/settings.js'
import type { KeyCacheOptions } from '../../engine/control/keys.js'
import { duration } from '../../engine/core/durations.js'
import type { GatewayData } from '../../schemas/config/types.js'
import { address, collide } from '../address.js'
import type { Find } from './find.js'
import type { ReadSecret } from './secret.js'

/** The settings of the store, of the control process that owns it, and of the workers' key cache. */
export interface StoreSettings
  extends Pick<ControlSettings, 'at' | 'folder' | 'mayMigrate' | 'admin' | 'keep' | 'currency' | 'metrics' | 'kept' | 'seal'> {
  keyCache: KeyCacheOptions
}

type File = Pick<GatewayData, 'listen' | 'store' | 'admin' | 'key_cache' | 'ledger' | 'currency' | 'metrics' | 'kept'>

/** The longest path of a socket that every system accepts: bytes. */
const LONGEST_SOCKET = 100

/** Undefined if the configuration has no store. */
export function storeSettings(
  file: File,
  folder: string,
  secret: ReadSecret,
  find: Find,
  seal?: readonly string[],
): StoreSettings | undefined {
  const { store } = file
  checkMetrics(file, find)
  if (store === undefined) {
    if (file.admin !== undefined) find(['admin'], 'admin/store', 'admin needs a store', 'add store: sqlite, or remove admin')
    return undefined
  }
  if (file.admin !== undefined && collide(address(file.listen), address(file.admin.listen)))
    find(['admin', 'listen'], 'admin/listen', 'callers use the same address (`listen`)', 'give it another port')
  const pointer: Pointer = ['store', 'at']
  const data = resolve(folder, store.folder)
  const at = store.at === 'sqlite' ? join(data, STORE_FILE) : (secret(store.at, pointer) ?? '')
  if (store.at.startsWith('$') && at !== '' && !/^(sqlite$|postgres(ql)?:\/\/)/.test(at))
    find(
      pointer,
      'store/at',
      'the variable does not contain the address of a supported database',
      'write sqlite, or an address with postgres://',
    )
  if (Buffer.byteLength(join(data, ADMIN_SOCKET)) > LONGEST_SOCKET)
    find(
      ['store'],
      'store/folder',
      'the path of the folder is too long for a socket in it',
      'name a folder with a shorter path: store: { folder: … }',
    )
  return {
    at: at === 'sqlite' ? join(data, STORE_FILE) : at,
    folder: data,
    mayMigrate: store.migrate !== 'none',
    ...(file.admin && { admin: address(file.admin.listen) }),
    keep: { rows: timeOf(file.ledger.keep), detail: timeOf(file.ledger.detail) },
    currency: file.currency,
    metrics: file.metrics,
    kept: { for: timeOf(file.kept.for), size: size(file.kept.size) as number },
    ...(seal && { seal }),
    keyCache: {
      size: file.key_cache.size,
      unknown: duration(file.key_cache.unknown) as number,
      stale: duration(file.key_cache.stale) as number,
    },
  }
}

/** The names of metrics and labels that are left out. */
function checkMetrics({ metrics: { without }, admin }: File, find: Find): void {
  if (without.length > 0 && admin === undefined)
    find(['metrics'], 'metrics/admin', 'no page has metrics', 'add admin: { listen: … }, or remove metrics')
  without.forEach((given, index) => {
    const [name, label, ...more] = given.split('.') as [string, ...string[]]
    const labels = OPTIONAL.get(name)
    const pointer: Pointer = ['metrics', 'without', index]
    if (labels === undefined) find(pointer, 'names/metric', `there is no metric ${name}`, useOneOf(OPTIONAL.keys(), name))
    else if (label !== undefined && (!labels.includes(label) || more.length > 0))
      find(
        pointer,
        'names/metric',
        `no label ${[label, ...more].join('.')} of ${name} can be left out`,
        labels.length === 0 ? `leave out ${name}, or nothing of it` : useOneOf(labels, label),
      )
  })
}

/** Milliseconds; 0 for none. */
function timeOf(text: string): number {
  return text === 'none' ? 0 : (duration(text) as number)
}
