// A model `m` whose targets are scripted upstreams, with any settings of gateway.yaml for each of them and for the model.

import { startGateway, type TestGateway } from '../harness.js'
import { closing, SECRET } from './fake-upstreams.js'
import { type Script, startUpstream, type Upstream } from './upstream.js'

export interface Routed {
  gateway: TestGateway
  upstreams: Record<string, Upstream>
  /** How many requests each upstream has seen. */
  counts(): Record<string, number>
}

export interface Spoken {
  script: Script
  provider?: string
  upstream?: object
  target?: object
}

/** @param model settings of `m` in addition to its targets; @param more settings of the file, and models in addition to `m` */
export async function routed(
  spoken: Readonly<Record<string, Spoken>>,
  model: object = {},
  { models, ...more }: { models?: object } & Record<string, unknown> = {},
): Promise<Routed> {
  const upstreams: Record<string, Upstream> = {}
  const written: Record<string, object> = {}
  for (const [name, { script, provider = 'openai', upstream }] of Object.entries(spoken)) {
    const one = closing(await startUpstream(script))
    upstreams[name] = one
    written[name] = { provider, base: one.url, secret: SECRET, ...upstream }
  }
  const targets = Object.entries(spoken)
    .filter(([, { target }]) => target !== NO_TARGET)
    .map(([name, { target }]) => ({ upstream: name, ...target }))
  const gateway = closing(await startGateway({ upstreams: written, models: { m: { targets, ...model }, ...models }, ...more }))
  return {
    gateway,
    upstreams,
    counts: () => Object.fromEntries(Object.entries(upstreams).map(([name, { requests }]) => [name, requests.length])),
  }
}

/** Of an upstream that is no target of the model. */
export const NO_TARGET = Object.freeze({})
