// What a worker and its control process tell each other.

import type { MoneyAsked, MoneyGranted } from '../budgets/account.js'
import type { BudgetGauge } from '../budgets/budgets.js'
import type { KeyConfig } from '../snapshot/config.js'
import type { Questions } from '../snapshot/model.js'
import type { Batch } from './records.js'

/** Messages from a worker. */
export type FromWorker =
  | { type: 'hello'; worker: string; pid: number; form: string; seq: number | undefined; run: string; config: string }
  | ({ type: 'batch'; seq: number } & Batch)
  | ({ type: 'open' } & Batch)
  | { type: 'key'; ask: number; sha256: string }
  | Question
  /** `n` grows with every question about an account, so that a late answer to an older question is ignored. */
  | { type: 'money'; ask: number; n: number; money: MoneyAsked }
  | { type: 'gauges'; gauges: Gauges }
  | { type: 'lost'; count: number }

/** Messages from the control process. `seq` is the position in its order of changes. */
export type FromControl =
  | { type: 'ack'; seq: number }
  /** A batch could be kept nowhere: it has to be sent again. */
  | { type: 'refused'; seq: number }
  | { type: 'key'; ask: number; key: KeyConfig | null; seq: number }
  /** `key` is undefined: the store cannot be reached at the moment. */
  | { type: 'key'; ask: number; key: undefined }
  /** `told` is undefined: the store cannot be reached at the moment. */
  | { type: 'told'; ask: number; told?: unknown }
  | { type: 'forget'; seq: number; keys: number[]; secrets: string[]; ended: number[] }
  | { type: 'forget_all'; seq: number }
  | { type: 'money'; ask: number; granted: MoneyGranted | undefined }
  /** Another process wants the free money of an account. */
  | { type: 'recall'; account: string }
  /** Every change up to `seq` has been sent: what the worker knows is valid. */
  | { type: 'certain'; seq: number }

/** A question that a store answers. */
export type Question = {
  [Name in keyof Questions]: { type: 'ask'; ask: number; name: Name; asked: Questions[Name]['asked'] }
}[keyof Questions]

/** What only the program around this connection knows. */
export interface Condition {
  /** Clients' sockets that are open, and the bytes that bodies of requests hold. */
  sockets: number
  bodyBytes: number
  /** The targets that are ejected or on trial. */
  aside: { target: string; isOnTrial: boolean }[]
  /** Whether the process that counts limits for several answers; undefined: this process counts alone. */
  isStateUp: boolean | undefined
}

/** The state of a worker. Bytes, and milliseconds. */
export interface Gauges extends Condition {
  inFlight: number
  streams: number
  records: number
  keys: number
  loopDelay50: number
  loopDelay99: number
  residentBytes: number
  cpuMicroseconds: number
  gcMilliseconds: number
  /** The requests under way of each target that has any. */
  busy: [target: string, inFlight: number][]
  /** The budgets that metrics report. */
  budgets: BudgetGauge[]
}
