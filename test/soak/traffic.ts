// The clients of the soak test: requests of every dialect on kept connections, each with a token of its own, some given up half way.

import { randomBytes } from 'node:crypto'
import { Agent, request as send } from 'node:http'
import { type Client, clientsOf, eventsOf, requestOf } from '../../cli/faults/client.js'
import { jsonOrText } from '../../cli/json.js'
import { dialects } from '../../cli/simulator/dialects.js'
import { HOME } from '../../codegen/home.js'
import type { Plan } from '../../engine/plan.js'

/** What became of requests. */
export interface Counts {
  sent: number
  whole: number
  /** Streams that reported a failure. */
  broken: number
  /** By status. */
  refused: Record<string, number>
  aborted: number
  /** What must not be: no answer, another's answer, an answer that is not whole and does not say so. */
  wrong: string[]
}

export interface Traffic {
  counts: Counts
  /** How many requests are under way. */
  open(): number
  /** Sends one request; resolves when its answer is there, judged and counted. */
  one(isCalm: boolean): Promise<void>
  close(): void
}

/** Milliseconds in which every request is over: the deadlines of all targets together, and room for a busy machine. */
const PATIENCE = 180_000
const ABORTED = 0.03
const LARGE = 0.02
const MOST_WRONG = 20

export function traffic(url: string, plan: Plan, models: readonly string[], key: string): Traffic {
  const known = dialects(HOME)
  const clients = clientsOf(plan, known)
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  const counts: Counts = { sent: 0, whole: 0, broken: 0, refused: {}, aborted: 0, wrong: [] }
  let open = 0

  const wrong = (what: string): void => {
    if (counts.wrong.length < MOST_WRONG) counts.wrong.push(what)
  }
  const judge = (client: Client, token: string, status: number, text: string): void => {
    const what = `${client.dialect} ${client.mode} ${token}: `
    const others = [...text.matchAll(/(?:calm|soak)-[0-9a-f]{16}/g)].filter(([found]) => found !== token)
    if (others.length > 0) wrong(`${what}holds ${others[0]?.[0]}`)
    const dialect = plan.dialects[client.dialect]
    if (status !== 200) {
      counts.refused[status] = (counts.refused[status] ?? 0) + 1
      const message = dialect?.error.read(jsonOrText(text), status)?.message
      if (typeof message !== 'string' || message === '') wrong(`${what}status ${status} without words: ${text.slice(0, 200)}`)
      return
    }
    const failure = client.mode === 'json' ? undefined : failureIn(text, client)
    if (failure === 'told') counts.broken++
    else if (failure !== undefined) wrong(`${what}${failure}: ${text.slice(-200)}`)
    else if (!text.includes(token)) wrong(`${what}its token is missing: ${text.slice(0, 200)}`)
    else counts.whole++
  }
  /** Nothing for a complete stream; `told` if it reports a failure; otherwise what is wrong with it. */
  const failureIn = (text: string, client: Client): string | undefined => {
    let events: unknown[]
    try {
      events = eventsOf(text, client.mode)
    } catch {
      return 'the array is not whole'
    }
    const format = plan.dialects[client.dialect]?.stream
    const framing = known.find(({ name }) => name === client.dialect)?.paths.find(path => path.framing)?.framing
    const objects = events.filter((event): event is object => typeof event === 'object' && event !== null)
    if (objects.at(-1) !== undefined && format?.fail?.read(objects.at(-1)) === true) return 'told'
    return objects.some(event => framing?.ends(event)) ? undefined : 'it has no end and does not say so'
  }

  const exchange = (client: Client, token: string, model: string, abortAfter: number | undefined): Promise<void> =>
    new Promise(resolve => {
      const filling = Math.random() < LARGE ? ' word'.repeat(20_000) : ''
      const { method, path, headers, body } = requestOf(client, plan, model, `${token}${filling}`, key)
      const request = send(url + path, { method, agent, headers: { ...headers, 'content-length': Buffer.byteLength(body) } })
      let timer: NodeJS.Timeout | undefined
      let isOver = false
      const over = (count: () => void): void => {
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        count()
        resolve()
      }
      if (abortAfter !== undefined)
        timer = setTimeout(() => {
          over(() => counts.aborted++)
          request.destroy()
        }, abortAfter)
      else
        timer = setTimeout(() => {
          over(() => wrong(`${client.dialect} ${client.mode} ${token}: no answer in ${PATIENCE} ms`))
          request.destroy()
        }, PATIENCE)
      request.on('error', error =>
        over(() => {
          // The server closes a connection that has been idle: nothing of the request was taken, and a client would ask again.
          if (request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET') counts.sent--
          else wrong(`${client.dialect} ${client.mode} ${token}: ${error.message}`)
        }),
      )
      request.on('response', response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('end', () => over(() => judge(client, token, response.statusCode ?? 0, Buffer.concat(chunks).toString('utf8'))))
        response.on('error', error => over(() => wrong(`${client.dialect} ${client.mode} ${token}: broke off (${error.message})`)))
      })
      request.end(body)
    })

  return {
    counts,
    open: () => open,
    async one(isCalm) {
      const client = clients[Math.floor(Math.random() * clients.length)] as Client
      const model = models[Math.floor(Math.random() * models.length)] as string
      const token = `${isCalm ? 'calm' : 'soak'}-${randomBytes(8).toString('hex')}`
      counts.sent++
      open++
      await exchange(client, token, model, !isCalm && Math.random() < ABORTED ? Math.random() * 20 : undefined)
      open--
    },
    close: () => agent.destroy(),
  }
}
