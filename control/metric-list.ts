// The closed list of metrics: names, descriptions and labels. All labels have names of the configuration.

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const OWN_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10]
const TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.2, 0.5, 1]

export interface Definition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

export const COUNTERS = {
  requests: {
    name: 'sluice_requests_total',
    help: 'Ended exchanges.',
    labels: ['route', 'dialect', 'upstream_dialect', 'model', 'target', 'status', 'ended'],
  },
  tokens: {
    name: 'sluice_tokens_total',
    help: 'Tokens that providers reported; input includes cached, cache_write, audio_input and image_input, output includes reasoning, audio_output and image_output.',
    labels: ['kind', 'model', 'target'],
  },
  cost: { name: 'sluice_cost_total', help: 'Cost of providers, in the currency.', labels: ['model', 'target', 'group', 'currency'] },
  charge: { name: 'sluice_charge_total', help: 'Charges of callers, in the currency.', labels: ['model', 'target', 'group', 'currency'] },
  unpriced: { name: 'sluice_unpriced_total', help: 'Exchanges with usage but without a price.', labels: ['model', 'target', 'group'] },
  attempts: { name: 'sluice_attempts_total', help: 'Attempts at targets, by outcome.', labels: ['target', 'outcome'] },
  refused: { name: 'sluice_refused_total', help: 'Exchanges that were refused before the first attempt.', labels: ['reason', 'group'] },
  dropped: {
    name: 'sluice_dropped_fields_total',
    help: 'Fields that were dropped or changed for a provider.',
    labels: ['dialect', 'upstream_dialect', 'field'],
  },
  lost: {
    name: 'sluice_ledger_lost_total',
    help: 'Exchanges without a row, because their records could not be delivered in time.',
    labels: [],
  },
  gc: { name: 'sluice_gc_seconds_total', help: 'Time of garbage collections of a worker.', labels: ['worker'] },
  reloads: { name: 'sluice_config_reloads_total', help: 'Changes of the configuration, by outcome.', labels: ['outcome'] },
  cpu: { name: 'process_cpu_seconds_total', help: 'Processor time of a worker.', labels: ['worker'] },
  restarts: { name: 'sluice_control_restarts_total', help: 'Restarts of the control process.', labels: [] },
} as const satisfies Record<string, Definition>

export const HISTOGRAMS = {
  seconds: {
    name: 'sluice_request_seconds',
    help: 'Duration of an exchange.',
    labels: ['route', 'model', 'target', 'ended'],
    buckets: SECONDS,
  },
  firstToken: {
    name: 'sluice_first_token_seconds',
    help: 'Time from the beginning of an exchange to the first part of its answer.',
    labels: ['model', 'target'],
    buckets: SECONDS,
  },
  perToken: {
    name: 'sluice_token_seconds',
    help: 'Time for each output token of a stream.',
    labels: ['model', 'target'],
    buckets: TOKEN_SECONDS,
  },
  overhead: {
    name: 'sluice_overhead_seconds',
    help: 'Time to the first byte of an answer, without the time that the upstream took to its own, for exchanges with one attempt.',
    labels: ['route', 'dialect', 'upstream_dialect'],
    buckets: OWN_SECONDS,
  },
  gap: {
    name: 'sluice_stream_gap_seconds',
    help: 'Longest silence of the upstream in a stream.',
    labels: ['model', 'target'],
    buckets: SECONDS,
  },
  queue: {
    name: 'sluice_queue_seconds',
    help: 'Time that an exchange waited for slots of its targets.',
    labels: ['target', 'outcome'],
    buckets: SECONDS,
  },
} as const satisfies Record<string, Definition & { readonly buckets: readonly number[] }>

export const GAUGES = {
  inFlight: { name: 'sluice_in_flight', help: 'Exchanges under way.', labels: ['worker'] },
  streams: { name: 'sluice_streams_open', help: 'Streams under way.', labels: ['worker'] },
  sockets: { name: 'sluice_sockets_open', help: "Clients' sockets that are open.", labels: ['worker'] },
  bodies: { name: 'sluice_body_bytes_held', help: 'Memory of the bodies of requests under way.', labels: ['worker'] },
  targetUp: {
    name: 'sluice_target_up',
    help: '1: in use, 0.5: on trial, 0: ejected; the lowest value of all workers.',
    labels: ['target'],
  },
  targetInFlight: { name: 'sluice_target_in_flight', help: 'Exchanges under way of a target.', labels: ['target'] },
  stateUp: {
    name: 'sluice_state_up',
    help: 'Whether the process, or the Redis, that counts shared limits answers all workers.',
    labels: [],
  },
  ring: { name: 'sluice_ledger_ring', help: 'Records that wait in a worker.', labels: ['worker'] },
  keys: { name: 'sluice_keys_cached', help: 'Keys of the store in the cache of a worker.', labels: ['worker'] },
  delay: {
    name: 'sluice_loop_delay_seconds',
    help: 'Delay of the event loop of a worker in the last second.',
    labels: ['worker', 'quantile'],
  },
  resident: { name: 'process_resident_memory_bytes', help: 'Memory of a worker.', labels: ['worker'] },
  remaining: {
    name: 'sluice_budget_remaining',
    help: 'Remainder of a budget with metrics, in its current window.',
    labels: ['budget', 'currency'],
  },
  reserved: {
    name: 'sluice_budget_reserved',
    help: 'Reservations of exchanges under way of this instance.',
    labels: ['budget', 'currency'],
  },
  lag: { name: 'sluice_ledger_lag_seconds', help: 'Waiting time of the oldest record for the store.', labels: [] },
  spool: { name: 'sluice_ledger_spool_bytes', help: 'Size of the records on disk that wait for the store.', labels: [] },
  storeUp: { name: 'sluice_store_up', help: 'Whether the store answers.', labels: [] },
  config: { name: 'sluice_config_info', help: 'The running configuration and version.', labels: ['hash', 'version'] },
} as const satisfies Record<string, Definition>

/**
 * What may be left out of the page, as `metrics.without` of gateway.yaml names it: each metric, with those of its labels that
 * may be left out alone. Series that differ in such a label only are added up, so a gauge has none.
 */
export const OPTIONAL: ReadonlyMap<string, readonly string[]> = new Map([
  ...[...Object.values(COUNTERS), ...Object.values(HISTOGRAMS)].map((one: Definition) => [one.name, one.labels] as const),
  ...Object.values(GAUGES).map((one: Definition) => [one.name, []] as const),
])
