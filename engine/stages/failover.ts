// One target after the other, until one of them answers. Nothing has been sent to the client by then, so a failure may go
// to the next target.

import { now } from '../core/deadlines.js'
import { asGatewayError, GatewayError, unsupportedModel } from '../core/errors.js'
import { describeCause } from '../core/source-map.js'
import type { Binding } from '../snapshot/model.js'
import { eject, isRetryable, recordSuccess } from '../upstream/outlier-ejection.js'
import type { Attempt, ClientRequest } from './attempt.js'

/** The first result that an attempt gives, in the order of the bindings. Throws the last failure where none gives one. */
export async function failover<Result>(
  { route, input, choice, exchange, snapshot }: ClientRequest,
  bindings: readonly Binding[],
  attempt: (attempt: Attempt) => Promise<Result>,
): Promise<Result> {
  let failure: GatewayError | undefined
  for (const binding of bindings) {
    const { target } = binding
    exchange.log.target = target.name
    exchange.log.upstreamDialect = binding.to.name
    exchange.log.attempts++
    const limits = target.limits ? { ...route.limits, ...target.limits } : route.limits
    try {
      const result = await attempt({ route, input, choice, exchange, snapshot, binding, limits })
      recordSuccess(target)
      return result
    } catch (thrown) {
      failure = asGatewayError(thrown instanceof RangeError ? tooDeep(thrown) : thrown)
      if (exchange.isAborted || !isRetryable(failure)) throw failure
      eject(target, failure)
      if (binding !== bindings.at(-1)) {
        exchange.log.failed ??= []
        exchange.log.failed.push({ target: target.name, kind: failure.kind, cause: describeCause(failure.cause ?? failure.message) })
      }
      // What has been sent of a form is gone, and the time that the exchange may take altogether is over.
      if (input.form?.isWhole === false || (limits.total !== null && now() >= exchange.began + limits.total)) throw failure
    }
  }
  throw failure ?? unsupportedModel(input.model)
}

/** Where the stack ends while a request is translated. An upstream's answer is judged before it gets here. */
function tooDeep(cause: RangeError): GatewayError {
  return new GatewayError('invalid_request', 'The request is nested too deeply to be translated.', { cause, code: 'invalid_json' })
}
