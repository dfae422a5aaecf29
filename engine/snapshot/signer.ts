// Signs each request by the scheme that began as AWS Signature Version 4: hashes the request, and signs the hash with a key
// derived from the secret, a day, a region and a service. Each service has its own names in it.

import { createHash, createHmac } from 'node:crypto'
import type { Credential } from '../plan.js'

/** The signed parts of a request. */
export interface Signed {
  method: string
  /** With its query. */
  path: string
  /** Names in lower case and values, alternating. */
  headers: readonly string[]
  body?: Buffer | string
}

/** Returns the headers that prove a request, alternating names and values; `time` in milliseconds. */
export type Signer = (request: Signed, host: string, time: number) => string[]

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()
const digestOf = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')

/** Undefined if requests are not signed, or if the secret is not `id:key`: then it is a key that is sent as it is. */
export function signerOf({ header, sign }: Credential, secret: string): Signer | undefined {
  const at = secret.indexOf(':')
  if (sign === undefined || header === undefined || at < 0) return undefined
  const { algorithm, key_prefix: prefix = '', ending, region, service, date: dateName, digest: digestName } = sign
  const id = secret.slice(0, at)
  let day = ''
  let key: Buffer = Buffer.alloc(0)
  return (request, host, time) => {
    const moment = `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
    if (moment.slice(0, 8) !== day) {
      day = moment.slice(0, 8)
      key = [region, service, ending].reduce(hmac, hmac(prefix + secret.slice(at + 1), day))
    }
    const digest = digestOf(request.body ?? '')
    const own = [dateName, moment, ...(digestName === undefined ? [] : [digestName, digest])]
    const signed = new Map([['host', host]])
    for (const [name, value] of pairs(own)) signed.set(name, value)
    for (const [name, value] of pairs(request.headers)) if (name === 'content-type') signed.set(name, value.trim())
    const names = [...signed.keys()].sort()
    const [path = '/', query = ''] = request.path.split(/\?(.*)/s)
    const whole = [
      request.method,
      path,
      sorted(query),
      ...names.map(name => `${name}:${signed.get(name)}`),
      '',
      names.join(';'),
      digest,
    ].join('\n')
    const scope = `${day}/${region}/${service}/${ending}`
    const signature = hmac(key, [algorithm, moment, scope, digestOf(whole)].join('\n')).toString('hex')
    return [...own, header, `${algorithm} Credential=${id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`]
  }
}

function* pairs(list: readonly string[]): Iterable<[string, string]> {
  for (let index = 0; index < list.length; index += 2) yield [list[index] as string, list[index + 1] as string]
}

/** The query parameters, sorted by their bytes as written. */
function sorted(query: string): string {
  return query
    .split('&')
    .filter(member => member !== '')
    .map(member => (member.includes('=') ? member : `${member}=`))
    .sort()
    .join('&')
}
