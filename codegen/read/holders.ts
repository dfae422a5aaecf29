// Which of a mapping's rules for dropped fields say more than others: an object that is reported is reported with its members.

/** The paths of the objects that hold a member. Items of lists do not count: the report may be about another item. */
export function holdersOf(path: string): string[] {
  const [single = ''] = path.split('[]')
  const parts = single.split('.')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'))
}

/** The same rules, each after those of the objects that hold its member. */
export function holdersFirst<Rule>(entries: readonly (readonly [string, Rule])[]): (readonly [string, Rule])[] {
  const rules = new Map(entries)
  const sorted = new Map<string, Rule>()
  for (const [path] of entries) {
    for (const one of [...holdersOf(path), path]) {
      const held = rules.get(one)
      if (held !== undefined) sorted.set(one, held)
    }
  }
  return [...sorted]
}
