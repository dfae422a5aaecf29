// The upstream of the soak test, a separate process: it answers in any dialect with the token of the request, and sometimes
// fails like the scenarios of the fault suite. A token that begins with `calm` gets a normal answer.

import { type Fault, faultFor, readScenarios } from '../../cli/faults/scenarios.js'
import { startFaultyUpstream } from '../../cli/faults/upstream.js'
import { HOME } from '../../codegen/home.js'

const SHARE = Number(process.env.SOAK_FAULTS ?? 0.05)
/** What is waited for to its deadline is rarer than the rest: an exchange that waits is one that does nothing. */
const WAITING = 0.1
const WORDS = 'is what this answer repeats of the request that it belongs to, and it ends here.'

const faults = readScenarios(HOME).flatMap(({ first }) => first.slice(0, 1))

function draw(streams: boolean): Fault {
  const fault = faultFor(faults[Math.floor(Math.random() * faults.length)] ?? {}, streams)
  return (fault.hang !== undefined || fault.stall_after !== undefined) && Math.random() > WAITING ? {} : fault
}

const upstream = await startFaultyUpstream(HOME)
upstream.open(
  'soak',
  (_name, streams, body) => {
    const token = /(?:calm|soak)-[0-9a-f]{16}/.exec(body)?.[0] ?? 'no token'
    const fault = token.startsWith('soak') && Math.random() < SHARE ? draw(streams) : {}
    return { text: `${token} ${WORDS}`, ...(Math.random() < 0.1 && { pace: 0 }), ...fault }
  },
  false,
)
process.send?.({ base: upstream.baseOf('soak', 'any') })
process.on('disconnect', () => process.exit(0))
