/** Statistics: percentiles, medians, ratios. */

/** @param {number[]} values @param {number} q between 0 and 1 */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (sorted.length - 1) * q
  const below = Math.floor(at)
  return sorted[below] + (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]) * (at - below)
}

export const median = values => quantile(values, 0.5)

/** @returns {{ median: number, min: number, max: number }} */
export const spread = values => ({ median: median(values), min: Math.min(...values), max: Math.max(...values) })

/** Both were measured in the same rounds: the ratio of each round, then its spread. */
export const ratios = (values, others) => spread(values.map((value, i) => value / others[i]))
