// Lists and objects of words as JSON in one column.

/** Characters of a list. In any script it fits into an index of Postgres, which holds 2,704 bytes. */
const LONGEST = 768

/** A list of words in order. Of those that are too long together, the first that fit. */
export function listOf(words: Iterable<string>): string {
  const fitting: string[] = []
  let length = 1
  for (const word of words) {
    const next = length + JSON.stringify(word).length + 1
    if (next > LONGEST) continue
    fitting.push(word)
    length = next
  }
  return JSON.stringify(fitting.sort())
}

export const isTooLong = (list: string): boolean => list.length > LONGEST

const WORD = '"(?:[^"\\\\]|\\\\.)*"'
const WORDS = new RegExp(WORD, 'g')
const PAIRS = new RegExp(`${WORD}:${WORD}`, 'g')

/** Reads a list or an object. An earlier version cut long ones, of which the whole words are read. */
export function readList(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text.startsWith('[') ? JSON.parse(`[${(text.match(WORDS) ?? []).join()}]`) : JSON.parse(`{${(text.match(PAIRS) ?? []).join()}}`)
  }
}
