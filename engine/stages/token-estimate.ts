// Estimates the tokens of a text. A tokenizer joins the characters of a word pair by pair: a word without an end, such as
// 100,000 times the same letter, would take it minutes, in which the process serves nobody. So it gets short pieces, and of a
// long text only a part.

/** The most characters of a piece. It ends before a space if it has one, so that words stay whole. */
const PIECE = 256
/** The most characters that are counted: of a text of twice this length, every second piece is. */
const MOST = 256 * 1024
/** Pieces between two turns of the event loop. */
const AT_ONCE = 32

export async function tokensIn(text: string): Promise<number> {
  // The tokenizer's tables are large; a gateway that never estimates never loads them.
  const { countTokens } = await import('gpt-tokenizer')
  const every = Math.ceil(text.length / MOST)
  let tokens = 0
  let counted = 0
  let pieces = 0
  for (let from = 0; from < text.length; pieces++) {
    const end = endOfPiece(text, from)
    if (pieces % every === 0) {
      tokens += countTokens(text.slice(from, end), { allowedSpecial: 'all' })
      counted += end - from
    }
    if (pieces % (every * AT_ONCE) === 0) await new Promise(setImmediate)
    from = end
  }
  return counted === 0 ? 0 : Math.round((tokens * text.length) / counted)
}

function endOfPiece(text: string, from: number): number {
  const end = from + PIECE
  if (end >= text.length) return text.length
  const space = text.slice(from, end).lastIndexOf(' ')
  if (space > 0) return from + space
  return isFirstOfPair(text.charCodeAt(end - 1)) ? end - 1 : end
}

/** Whether a code unit is the first of the two of a character. */
const isFirstOfPair = (code: number): boolean => code >= 0xd800 && code < 0xdc00
