// A client that rests in the middle of its answer, for longer than an idle connection is kept, gets the rest when it reads on.

import { describe, expect, test } from 'vitest'
import type { TestGateway } from '../harness.js'
import { until } from '../polling.js'
import { dialects, lastEvent } from './dialects.js'
import { ask, dial, requestLines, setUp } from './fake-upstreams.js'
import { chunk, endless, json, streamHead, trickle } from './upstream.js'

const { chat } = dialects
/** More than sockets hold between a gateway and a client that reads nothing: characters. */
const MUCH = 30_000_000

/** The text of an answer whose client reads nothing until a connection was closed that opened after the answer had ended. */
async function textAfterRest(gateway: TestGateway, stream: boolean): Promise<string> {
  const response = await ask(gateway, { stream })
  await requestLines(gateway)
  const idle = await dial(gateway)
  await until(() => idle.isClosed())
  return response.text()
}

describe.concurrent('a client that rests gets', () => {
  test('a whole answer', async () => {
    const said = { ...chat.answer, system_fingerprint: 'x'.repeat(MUCH) }
    const { gateway } = await setUp([socket => json(socket, 200, said)])
    expect((await textAfterRest(gateway, false)).length).toBe(JSON.stringify(said).length)
  })

  test('the error that ended its stream meanwhile', async () => {
    const piece = chunk(chat.text('x'.repeat(100_000)))
    const { gateway } = await setUp(
      [
        socket => {
          socket.write(streamHead)
          void trickle(socket, endless(piece), 1)
        },
      ],
      // Long enough for a busy machine to begin the stream.
      { limits: { total: '8s' } },
    )
    const text = await textAfterRest(gateway, true)
    expect(lastEvent(text)).toMatchObject({ error: { type: 'timeout_error' } })
  })
})
