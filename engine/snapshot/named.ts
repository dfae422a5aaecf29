// The model that a client's name means.

import type { Model, Route, Snapshot } from './model.js'

/** A name with the route's tag counts without it, unless a model or a pattern has it; a model's own name comes before patterns. */
export function modelNamed(name: string, route: Route, snapshot: Snapshot): Model | undefined {
  const { models } = snapshot
  const tag = route.model?.tag
  const bare = tag !== undefined && name.endsWith(tag) ? name.slice(0, -tag.length) : undefined
  if (bare === undefined) return models.get(name) ?? snapshot.find(name)
  return models.get(name) ?? models.get(bare) ?? snapshot.find(name) ?? snapshot.find(bare)
}
