// What a model takes of pictures, sound, film and files, as far as it is known. Read when a configuration is linked.

import type { Dialect, Json, MediaMember } from '../plan.js'

/** What a model takes in a member of requests. An absent limit is unknown, and nothing is refused for it. */
export interface MediaRule extends MediaMember {
  /** It takes nothing of the sort. */
  isNone: boolean
  /** MIME types. */
  kinds?: readonly string[]
  /** How many a request may hold. */
  most?: number
  /** The most bytes of one of them, decoded. */
  bytes?: number
}

/** What a model with these traits takes in the members of a dialect's requests; nothing for members of which it is not known. */
export function mediaRules({ media = [] }: Dialect, traits: Readonly<Record<string, Json>>): MediaRule[] {
  return media.flatMap(member => {
    const said = traits[member.trait]
    if (said === false) return [{ ...member, isNone: true }]
    if (typeof said !== 'object' || said === null || Array.isArray(said)) return []
    const { kinds, most, bytes } = said as Readonly<Record<string, Json>>
    const rule: MediaRule = {
      ...member,
      isNone: false,
      ...(Array.isArray(kinds) && { kinds: kinds.map(String) }),
      ...(typeof most === 'number' && { most }),
      ...(typeof bytes === 'number' && { bytes }),
    }
    return [rule]
  })
}
