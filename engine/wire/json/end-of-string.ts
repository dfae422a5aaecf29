/** The offset behind a string of JSON that begins at a quote; negative if it does not end. */
export function endOfString(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote >= 0; quote = json.indexOf('"', quote + 1)) {
    let before = quote
    while (json[before - 1] === '\\') before--
    if ((quote - before) % 2 === 0) return quote + 1
  }
  return -1
}
