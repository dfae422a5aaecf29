// Reads the store settings of gateway.yaml.

import { join, resolve } from 'node:path'
import { size } from '../../codegen/read/units.js'
import type { Pointer } from '../../codegen/read/yaml.js'
import { ADMIN_SOCKET, type ControlSettings, STORE_FILE } from '../../control/settings.js'
import type { KeyCacheOptions } from '../../engine/control/keys.js'
import { duration } from '../../engine/core/durations.js'
import type { GatewayData } from '../../schemas/config/types.js'
import { address } from '../address.js'
import type { Find } from './find.js'
import type { ReadSecret } from './secret.js'

/** The settings of the store, of the control process that owns it, and of the workers' key cache. */
export interface StoreSettings extends Pick<ControlSettings, 'at' | 'folder' | 'mayMigrate' | 'admin' | 'keep' | 'currency' | 'kept'> {
  keyCache: KeyCacheOptions
}

type File = Pick<GatewayData, 'store' | 'admin' | 'key_cache' | 'ledger' | 'currency' | 'kept'>

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
  if (store === undefined) {
    if (file.admin !== undefined) find(['admin'], 'admin/store', 'admin needs a store', 'add store: sqlite, or remove admin')
    return undefined
  }
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
    kept: { for: timeOf(file.kept.for), size: size(file.kept.size) as number, ...(seal && { seal }) },
    keyCache: {
      size: file.key_cache.size,
      unknown: duration(file.key_cache.unknown) as number,
      stale: duration(file.key_cache.stale) as number,
    },
  }
}

/** Milliseconds; 0 for none. */
function timeOf(text: string): number {
  return text === 'none' ? 0 : (duration(text) as number)
}
