// Small facts about text that validators need.

/** How many characters a string has, where one outside the basic plane counts once. */
export function codePointLength(text: string): number {
  const { length } = text
  let count = length
  for (let index = 0; index < length - 1; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0xd800 && code <= 0xdbff) {
      const next = text.charCodeAt(index + 1)
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--
        index++
      }
    }
  }
  return count
}
