// A set of exchanges under way. A plain Set would be enough but for the garbage collector: a Set that is filled and emptied
// all the time reallocates its table, and each old table keeps the next one, with all that was in it, alive for long.

export interface Indexed {
  /** Its index in the set; -1 if it is in none. */
  slot: number
}

export class IndexedSet<Member extends Indexed> {
  private readonly members: Member[] = []

  get size(): number {
    return this.members.length
  }

  add(member: Member): void {
    if (member.slot < 0) member.slot = this.members.push(member) - 1
  }

  remove(member: Member): void {
    const { slot } = member
    if (slot < 0) return
    member.slot = -1
    const last = this.members.pop() as Member
    if (last === member) return
    this.members[slot] = last
    last.slot = slot
  }

  /** A copy of the members, which later changes do not affect. */
  all(): Member[] {
    return this.members.slice()
  }

  /** Calls `each` for every member. A member that leaves or enters meanwhile may be skipped. */
  forEach(each: (member: Member) => void): void {
    for (let index = this.members.length - 1; index >= 0; index--) {
      const member = this.members[index]
      if (member !== undefined) each(member)
    }
  }
}
