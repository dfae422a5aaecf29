// The metrics with their names, descriptions and labels.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const OWN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10]
const TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.2, 0.5, 1]

export type Instruments = ReturnType<typeof createInstruments>

export function createInstruments(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, labelNames: [...labelNames], registers })
  const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[], buckets: number[]): Histogram<Label> =>
    new Histogram({ name, help, labelNames: [...labelNames], buckets, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> =>
    new Gauge({ name, help, labelNames: [...labelNames], registers })
  return {
    requests: counter('sluice_requests_total', 'Ended exchanges.', [
      'route',
      'dialect',
      'upstream_dialect',
      'model',
      'target',
      'status',
      'ended',
    ]),
    seconds: histogram('sluice_request_seconds', 'Duration of an exchange.', ['route', 'model', 'target', 'ended'], SECONDS),
    firstToken: histogram(
      'sluice_first_token_seconds',
      'Time from the beginning of an exchange to the first part of its answer.',
      ['model', 'target'],
      SECONDS,
    ),
    perToken: histogram('sluice_token_seconds', 'Time for each output token of a stream.', ['model', 'target'], TOKEN_SECONDS),
    overhead: histogram(
      'sluice_overhead_seconds',
      'Time to the first byte of an answer, without the time that the upstream took to its own, for exchanges with one attempt.',
      ['route', 'dialect', 'upstream_dialect'],
      OWN_SECONDS,
    ),
    gap: histogram('sluice_stream_gap_seconds', 'Longest silence of the upstream in a stream.', ['model', 'target'], SECONDS),
    queue: histogram('sluice_queue_seconds', 'Time that an exchange waited for slots of its targets.', ['target', 'outcome'], SECONDS),
    tokens: counter(
      'sluice_tokens_total',
      'Tokens that providers reported; input includes cached, cache_write, audio_input and image_input, output includes reasoning, audio_output and image_output.',
      ['kind', 'model', 'target'],
    ),
    cost: counter('sluice_cost_total', 'Cost of providers, in the currency.', ['model', 'target', 'group', 'currency']),
    charge: counter('sluice_charge_total', 'Charges of callers, in the currency.', ['model', 'target', 'group', 'currency']),
    unpriced: counter('sluice_unpriced_total', 'Exchanges with usage but without a price.', ['model', 'target', 'group']),
    attempts: counter('sluice_attempts_total', 'Attempts at targets, by outcome.', ['target', 'outcome']),
    refused: counter('sluice_refused_total', 'Exchanges that were refused before the first attempt.', ['reason', 'group']),
    dropped: counter('sluice_dropped_fields_total', 'Fields that were dropped or changed for a provider.', [
      'dialect',
      'upstream_dialect',
      'field',
    ]),
    lost: counter('sluice_ledger_lost_total', 'Exchanges without a row, because their records could not be delivered in time.', []),
    inFlight: gauge('sluice_in_flight', 'Exchanges under way.', ['worker']),
    streams: gauge('sluice_streams_open', 'Streams under way.', ['worker']),
    sockets: gauge('sluice_sockets_open', "Clients' sockets that are open.", ['worker']),
    bodies: gauge('sluice_body_bytes_held', 'Memory of the bodies of requests under way.', ['worker']),
    gc: gauge('sluice_gc_seconds_total', 'Time of garbage collections of a worker.', ['worker']),
    targetUp: gauge('sluice_target_up', '1: in use, 0.5: on trial, 0: ejected; the lowest value of all workers.', ['target']),
    targetInFlight: gauge('sluice_target_in_flight', 'Exchanges under way of a target.', ['target']),
    stateUp: gauge('sluice_state_up', 'Whether the process, or the Redis, that counts shared limits answers all workers.', []),
    reloads: gauge('sluice_config_reloads_total', 'Changes of the configuration, by outcome.', ['outcome']),
    ring: gauge('sluice_ledger_ring', 'Records that wait in a worker.', ['worker']),
    keys: gauge('sluice_keys_cached', 'Keys of the store in the cache of a worker.', ['worker']),
    delay: gauge('sluice_loop_delay_seconds', 'Delay of the event loop of a worker in the last second.', ['worker', 'quantile']),
    resident: gauge('process_resident_memory_bytes', 'Memory of a worker.', ['worker']),
    cpu: gauge('process_cpu_seconds_total', 'Processor time of a worker.', ['worker']),
    remaining: gauge('sluice_budget_remaining', 'Remainder of a budget with metrics, in its current window.', ['budget', 'currency']),
    reserved: gauge('sluice_budget_reserved', 'Reservations of exchanges under way of this instance.', ['budget', 'currency']),
    lag: gauge('sluice_ledger_lag_seconds', 'Waiting time of the oldest record for the store.', []),
    spool: gauge('sluice_ledger_spool_bytes', 'Size of the records on disk that wait for the store.', []),
    storeUp: gauge('sluice_store_up', 'Whether the store answers.', []),
    restarts: gauge('sluice_control_restarts_total', 'Restarts of the control process.', []),
    config: gauge('sluice_config_info', 'The running configuration and version.', ['hash', 'version']),
  }
}
