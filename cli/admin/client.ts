// The commands' client of the admin API: over the socket of the local gateway, or over the network with a token.

import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { basename, dirname, join, resolve } from 'node:path'
import { load } from 'js-yaml'
import { ADMIN_SOCKET } from '../../control/settings.js'
import { isObject } from '../../engine/core/members.js'
import { jsonOr } from '../../engine/wire/json/parse.js'
import { filled } from '../config/filled.js'
import { CommandError, UsageError } from '../output.js'
import { configOrUsual } from '../usual-config.js'

export interface Where {
  /** The configuration, whose store has the socket. */
  config?: string
  /** The URL of a remote admin API; its token is in the environment. */
  url?: string
}

const TOKEN = 'SLUICE_ADMIN_TOKEN'

/** The folder of a configuration's store, or the default one if there is no configuration. */
async function folderOf(config: string | undefined): Promise<string> {
  const path = configOrUsual(config)
  if (path === undefined) return resolve(await storeFolder({}))
  const file = written(path)
  if (file.store === undefined) throw new CommandError(`${path} has no store: keys and usage need one. Add \`store: sqlite\`.`)
  return resolve(dirname(path), await storeFolder(file.store))
}

function written(path: string): { store?: unknown; keys?: unknown } {
  try {
    return Object(load(readFileSync(path, 'utf8')))
  } catch {
    throw new UsageError(`${path} cannot be read: name the gateway's configuration with --config.`)
  }
}

/** Throws a CommandError if a key of the configuration has a name: one of the store with it would be refused. */
export function refuseTaken(config: string | undefined, name: string): void {
  const path = configOrUsual(config)
  const keys = path === undefined ? undefined : written(path).keys
  if (Array.isArray(keys) && keys.some(key => Object(key).name === name))
    throw new CommandError(
      `${basename(path as string)} has a key named ${name}, so that one of the store would be refused: choose another name.`,
    )
}

/** The folder of a store. Nothing else of the configuration needs to be right. */
async function storeFolder(store: unknown): Promise<string> {
  const { store: whole } = (await filled({ store })) ?? {}
  if (whole === undefined) throw new CommandError('`store` of the configuration is wrong: `sluice check` says how.')
  return whole.folder
}

async function optionsOf(where: Where, method: string, path: string): Promise<RequestOptions & { isSecure: boolean }> {
  const whole = `/admin/v1${path}`
  if (where.url === undefined) return { socketPath: join(await folderOf(where.config), ADMIN_SOCKET), method, path: whole, isSecure: false }
  const token = process.env[TOKEN]?.trim()
  if (!token) throw new CommandError(`Put the token for ${where.url} into the variable ${TOKEN}.`)
  if (!/^[!-~]+$/.test(token))
    throw new CommandError(`The variable ${TOKEN} is no token: it holds blanks, line breaks or other characters.`)
  const url = URL.canParse(where.url) ? new URL(whole, where.url) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new UsageError(`${where.url} is no URL: write one such as https://gateway.example.com.`)
  return {
    // A URL has an IPv6 address in brackets, a host has not.
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    method,
    path: url.pathname + url.search,
    headers: { authorization: `Bearer ${token}` },
    isSecure: url.protocol === 'https:',
  }
}

/** Sends a request and returns the response as a stream. Throws a `CommandError` if there is none, or if it is an error. */
export async function open(where: Where, method: string, path: string, body?: unknown): Promise<IncomingMessage> {
  const { isSecure, ...options } = await optionsOf(where, method, path)
  const text = body === undefined ? undefined : JSON.stringify(body)
  if (text !== undefined)
    options.headers = { ...options.headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  return new Promise((done, fail) => {
    const request = (isSecure ? httpsRequest : httpRequest)(options, response => {
      if ((response.statusCode ?? 500) < 400) done(response)
      else
        void textOf(response).then(
          said => {
            const problem = jsonOr(said, undefined)
            const title = isObject(problem) ? problem.title : undefined
            fail(new CommandError(typeof title === 'string' ? title : `The admin API answered with status ${response.statusCode}.`))
          },
          error => fail(cutOff(error as Error)),
        )
    })
    request.on('error', error => fail(new CommandError(notThere(error, options.socketPath ?? undefined, where.url))))
    request.end(text)
  })
}

/** The same, with the response parsed as JSON. */
export async function ask<Answer>(where: Where, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await open(where, method, path, body)
  const text = await textOf(response).catch(error => Promise.reject(cutOff(error as Error)))
  const answer = response.statusCode === NO_CONTENT ? {} : jsonOr(text, undefined)
  if (!isObject(answer)) throw new CommandError(`${where.url ?? 'The gateway'} answered, but not as an admin API: check the address.`)
  return answer as Answer
}

const NO_CONTENT = 204

/** An error while an answer is read: as a sentence if the connection ended. */
export const cutOff = (error: NodeJS.ErrnoException): Error =>
  error.code === 'ECONNRESET' ? new CommandError('The connection ended before the whole answer was there: run the command again.') : error

/** The values of a query that are given. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>

export function query(values: Query): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()}`
}

/** All pages of a list: the first one, and the items of all. */
export async function askAll<Page extends { next: string | null }, Item>(
  where: Where,
  path: string,
  values: Query,
  itemsOf: (page: Page) => Item[],
): Promise<{ first: Page; items: Item[] }> {
  const first = await ask<Page>(where, 'GET', `${path}${query(values)}`)
  const items = itemsOf(first)
  for (let { next } = first; next; ) {
    const page = await ask<Page>(where, 'GET', `${path}${query({ ...values, after: next })}`)
    items.push(...itemsOf(page))
    next = page.next
  }
  return { first, items }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function notThere(error: Error & { code?: string }, socket: string | undefined, url: string | undefined): string {
  if (error.code === 'EACCES') return `${socket} belongs to another user: run this as the user that runs the gateway.`
  if (socket !== undefined) return `No gateway listens on ${socket}: start it first, or give --config or --url.`
  return `${url} cannot be reached: ${error.message}`
}
