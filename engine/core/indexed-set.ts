// Who is under way. A Set would do, were it not for the garbage collector: a Set that is filled and emptied all the time
// makes itself anew, and each of its former selves keeps the next one, with all that was in it, alive for long.

export interface Indexed {
  /** Its place in the set; -1 while it has none. */
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

  /** Those that are in it now, whatever becomes of them meanwhile. */
  all(): Member[] {
    return this.members.slice()
  }

  /** Calls `each` for every member; one that leaves, or comes, meanwhile may be left out this time. */
  forEach(each: (member: Member) => void): void {
    for (let index = this.members.length - 1; index >= 0; index--) {
      const member = this.members[index]
      if (member !== undefined) each(member)
    }
  }
}
