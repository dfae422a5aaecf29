// Records of exchanges in the workers' form, for measurements: 2,000 keys of 50 teams with 24 lists of
// tags, 40 models on 6 upstreams, a hundredth of them failed.

import { randomBytes } from 'node:crypto'

/** The exchange with a number, at a time in milliseconds since 1970. */
export function record(index, at) {
  const isFailed = index % 100 === 0
  // A few keys make most requests, each of them to three models.
  const key = Math.floor(2000 * ((index * 0.618033988749895) % 1) ** 3)
  const model = (key * 7 + (index % 3)) % 40
  return {
    id: at.toString(16).padStart(12, '0') + randomBytes(10).toString('hex'),
    at,
    key: `key-${key}`,
    team: `team-${key % 50}`,
    tags: JSON.stringify([`app-${key % 8}`, ['development', 'production', 'staging'][key % 3]]),
    group: key % 10 === 0 ? 'staff' : 'default',
    model: `model-${model}`,
    target: `up-${model % 6}/model-${model}`,
    route: index % 3 === 0 ? 'messages' : 'chat',
    dialect: index % 3 === 0 ? 'messages' : 'chat',
    upstreamDialect: 'messages',
    status: isFailed ? 503 : 200,
    ended: isFailed ? 2 : 0,
    ...(isFailed && { error: 'overloaded' }),
    isStream: index % 2 === 0,
    input: 100 + (index % 1000),
    output: 50 + (index % 300),
    cached: index % 4 === 0 ? 64 : 0,
    attempts: 1,
    firstByte: 210.5,
    firstToken: 220.25,
    total: 900.75,
    bytesIn: 1200,
    bytesOut: 5300,
    cost: 1_000_000 + (index % 1000) * 1000,
    charge: 1_200_000 + (index % 1000) * 1200,
    ...(index % 5 === 0 && { endUser: `user-${index % 5000}`, session: `session-${Math.floor(index / 20)}` }),
    ...(isFailed && { words: { message: 'The provider has too much to do.' } }),
  }
}
