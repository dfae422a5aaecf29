// The client's bytes for a provider of the same dialect: with the provider's name of the model, the options that a stream
// needs, and without the members that the provider's endpoint rejects.

import { unknownTask } from '../core/errors.js'
import { memberAt, setMember } from '../core/members.js'
import { holdsString } from '../core/string-search.js'
import { isOmitted } from '../core/text.js'
import type { Body, Context, StreamFormat } from '../plan.js'
import { releaseDigits } from '../wire/json/digits.js'
import { type Edit, editedPieces, editMembers, type MemberSpan, onlyMember, withValue } from '../wire/json/scan.js'
import type { Attempt } from './attempt.js'
import { fitted } from './fit.js'
import { checkLost } from './lost-fields.js'

const NONE: readonly string[] = Object.freeze([])

/**
 * The client's bytes, edited if some of them must change, and the names of members that were changed or dropped. An edited
 * long body is a list of pieces, so that it need not be copied.
 */
export function editedBytes(
  { binding, choice, input, route }: Attempt,
  ctx: Context,
  ask: StreamFormat['ask'],
): { body: Buffer | Buffer[]; isAsked: boolean; told: readonly string[] } {
  const { to, endpoint } = binding
  let { bytes, outline: body, members } = input
  const { clean } = to
  const isMarked = clean !== undefined && bytes.length > 0 && (clean.strings === undefined || holdsString(body, clean.strings))
  // Bytes that are rewritten anyway may take the normalised form, which the expression knows.
  if (isMarked) input.normalise?.()
  const cleaned = isMarked ? clean.request(input.body, ctx) : undefined
  if (cleaned !== undefined) {
    body = cleaned as Body
    bytes = Buffer.from(releaseDigits(JSON.stringify(body)))
    members = undefined
  }
  let edits: Map<string, Edit> | undefined
  const edit = (name: string, change: Edit): void => {
    edits ??= new Map()
    edits.set(name, { ...edits.get(name), ...change })
  }
  const model = to.model.from === 'body' ? (to.model.path[0] as string) : undefined
  if (model !== undefined && route.model !== undefined && (body[model] !== ctx.model || mayRepeat(bytes, model, members)))
    edit(model, { value: JSON.stringify(ctx.model) })
  if (route.follow?.from === 'body') {
    const name = route.follow.path[0] as string
    if (typeof body[name] === 'string' && choice.task) edit(name, { value: JSON.stringify(choice.task.id) })
    else if (body[name] !== undefined && body[name] !== null) throw unknownTask(name)
  }
  let isAsked = false
  if (ask && !endpoint.drop?.includes(ask.path[0] as string)) {
    isAsked = memberAt(body, ask.path) !== ask.value
    if (isAsked) {
      const first = ask.path[0] as string
      const holder = { [first]: isOmitted(body[first]) ? input.body[first] : body[first] } as Body
      setMember(holder, ask.path, ask.value)
      edit(first, { value: JSON.stringify(holder[first]) })
    }
  }
  const fits = binding.fit && fitted(binding.fit, body, () => (cleaned === undefined ? input.body : body), ctx.traits)
  if (fits) {
    checkLost(fits.told, choice, fits.why)
    for (const [name, change] of fits.edits)
      edit(name, change.value === undefined ? change : { ...change, value: releaseDigits(change.value) })
  }
  let told = fits?.told ?? NONE
  for (const name of endpoint.drop ?? []) if (body[name] !== undefined) edit(name, { drop: true })
  for (const name in endpoint.rename) {
    if (body[name] === undefined) continue
    const other = endpoint.rename[name] as string
    edit(name, { rename: other })
    told = [...told, `${name} as ${other}`]
    if (body[other] === undefined || endpoint.rename[other] !== undefined) continue
    // Two members of one name: readers would differ on which one counts.
    checkLost([other], choice, `${name} takes its place`)
    edit(other, { drop: true })
    told = [...told, other]
  }
  if (edits === undefined) return { body: bytes, isAsked, told }
  // A signer needs the whole body.
  if (members !== undefined && !binding.signer) return { body: inFew(editedPieces(bytes, edits, members)), isAsked, told }
  const edited = (members === undefined ? oneValue(bytes, body, edits) : undefined) ?? editMembers(bytes, edits, members)
  // The bytes parsed as an object before; if the scan fails, the fault is the gateway's and not the caller's.
  if (edited === undefined) throw new Error('a parsed body could not be scanned')
  return { body: edited, isAsked, told }
}

/** Bytes; shorter pieces are joined, because each piece costs a write. */
const SHORT = 16 * 1024

function inFew(pieces: readonly Buffer[]): Buffer[] {
  const few: Buffer[] = []
  const short: Buffer[] = []
  for (const piece of pieces) {
    if (piece.length >= SHORT && short.length > 0) few.push(Buffer.concat(short.splice(0)))
    if (piece.length >= SHORT) few.push(piece)
    else short.push(piece)
  }
  if (short.length > 0) few.push(Buffer.concat(short))
  return few
}

/** Whether a key may occur more than once in the bytes: readers would then differ on which one counts. */
function mayRepeat(bytes: Buffer, key: string, members: readonly MemberSpan[] | undefined): boolean {
  return members ? members.filter(member => member.key === key).length > 1 : onlyMember(bytes, key) === undefined
}

/** The bytes with another value for one member, if that is the only edit and the member is found without a scan. */
function oneValue(bytes: Buffer, body: Body, edits: ReadonlyMap<string, Edit>): Buffer | undefined {
  if (edits.size !== 1) return undefined
  const [name, { value, rename, drop }] = edits.entries().next().value as [string, Edit]
  if (value === undefined || rename !== undefined || drop || !Object.hasOwn(body, name)) return undefined
  const member = onlyMember(bytes, name)
  return member && withValue(bytes, member, value)
}
