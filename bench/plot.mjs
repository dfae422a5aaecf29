/** The picture: CPU per request as a multiple of the floor's, on a logarithmic axis. */
import { ratios, spread } from './stats.mjs'

const COLOURS = { sluice: '#0b6e99', 'sluice same': '#7db8d0', floor: '#9a9a9a', nginx: '#2f8f4e', portkey: '#c8553d', litellm: '#a06cc0' }
const [LEFT, RIGHT, BAR, GAP, TOP] = [250, 130, 15, 14, 64]
const WIDTH = 900
const TICKS = [0.5, 1, 2, 5, 10, 20, 50, 100]

const escape = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)

/** @returns {{ title: string, bars: { who: string, label: string, ratio: number, cpu: number }[] }[]} */
function groups(workloads) {
  return workloads.flatMap(({ title, rows }) => {
    const floor = rows.find(({ who, skipped }) => who === 'floor' && !skipped)?.samples.cpu
    if (!floor?.every(Number.isFinite) || floor.length === 0) return []
    const bars = rows
      .filter(({ who, skipped, samples }) => !skipped && COLOURS[who] && samples.cpu?.every(Number.isFinite))
      .map(({ who, label, samples }) => ({ who, label, ratio: ratios(samples.cpu, floor).median, cpu: spread(samples.cpu).median }))
    return [{ title, bars }]
  })
}

export function plot({ workloads }) {
  const shown = groups(workloads)
  const most = Math.max(2, ...shown.flatMap(({ bars }) => bars.map(({ ratio }) => ratio))) * 1.1
  const least = 0.4
  const x = ratio => LEFT + ((Math.log(ratio) - Math.log(least)) / (Math.log(most) - Math.log(least))) * (WIDTH - LEFT - RIGHT)
  const parts = []
  let y = TOP
  for (const { title, bars } of shown) {
    parts.push(`<text x="12" y="${y + 11}" font-weight="600">${escape(title)}</text>`)
    y += BAR + 3
    for (const { who, label, ratio, cpu } of bars) {
      const width = Math.max(1, x(Math.max(ratio, least)) - LEFT)
      parts.push(`<text x="${LEFT - 8}" y="${y + 11}" text-anchor="end">${escape(label)}</text>`)
      parts.push(`<rect x="${LEFT}" y="${y + 1}" width="${width.toFixed(1)}" height="${BAR - 3}" fill="${COLOURS[who]}"/>`)
      parts.push(
        `<text x="${(LEFT + width + 6).toFixed(1)}" y="${y + 11}" paint-order="stroke" stroke="#fff" stroke-width="3">${ratio.toFixed(ratio < 10 ? 2 : 1)} × · ${cpu < 10 ? cpu.toFixed(1) : Math.round(cpu)} µs</text>`,
      )
      y += BAR
    }
    y += GAP
  }
  const ticks = TICKS.filter(tick => tick < most).map(
    tick =>
      `<line x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="${TOP - 8}" y2="${y - GAP + 4}" stroke="${tick === 1 ? '#777' : '#ddd'}"/>` +
      `<text x="${x(tick).toFixed(1)}" y="${TOP - 14}" text-anchor="middle" fill="#555">${tick} ×</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" font-family="system-ui, sans-serif" font-size="12" fill="#222">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-size="15" font-weight="600">CPU per request, as a multiple of the floor (a bare relay); shorter is better</text>
${[...ticks, ...parts].join('\n')}
</svg>
`
}
