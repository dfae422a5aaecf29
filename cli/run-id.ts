// The id of this run of the gateway, which its workers and its control process share: a worker that finds the control process
// of another instance in its folder must not use it.

import { randomUUID } from 'node:crypto'

/** The variable by which the supervisor tells it to its workers. */
export const RUN_VARIABLE = 'SLUICE_RUN'

export const RUN = process.env[RUN_VARIABLE] || randomUUID()
