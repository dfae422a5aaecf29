/** The element of a list at an index; a negative index counts from the end. Throws if there is none. */
export function elementAt<Element>(list: readonly Element[], index: number): Element {
  const element = list.at(index)
  if (element === undefined) throw new RangeError(`a list of ${list.length} has no element ${index}`)
  return element
}
