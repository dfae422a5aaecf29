// An upstream that sends exactly the bytes that a test defines, as the providers of scenarios do.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as ClientModule from '../cli/cases/client.js'
import type * as ScriptedModule from '../cli/cases/scripted.js'
import type * as StandInModule from '../cli/cases/stand-in.js'

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '..', 'dist', path)).href
const { bodyOf, give } = (await import(built('cli/cases/stand-in.js'))) as typeof StandInModule
const { scripted } = (await import(built('cli/cases/scripted.js'))) as typeof ScriptedModule
/** Sends a request as it is written, and keeps every byte of the answer. */
export const { ask } = (await import(built('cli/cases/client.js'))) as typeof ClientModule

export type Answer = Partial<ScriptedModule.Script>

export interface RawUpstream {
  url: string
  /** What has been asked since the script was set. */
  calls: { method: string; path: string; headers: Record<string, string>; body: string }[]
  /** The answers to give, in order. */
  script(answers: Answer[]): void
  close(): Promise<void>
}

/** An upstream that sends what a test defines, and nothing else. */
export async function startRawUpstream(): Promise<RawUpstream> {
  let answers: Answer[] = []
  const calls: RawUpstream['calls'] = []
  const server = createServer((request, response) => {
    void bodyOf(request).then(async body => {
      calls.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers as Record<string, string>, body })
      await give(response, scripted(answers[calls.length - 1] ?? { status: 500, body: 'the test does not expect this call' }))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    script(next) {
      answers = next
      calls.length = 0
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise(done => server.close(done))
    },
  }
}
