/**
 * The workloads and their targets. A workload: the dialects of clients and of the upstream, the kind of answer (a reserved
 * model name), the size of the prompt, the concurrency, and the contenders.
 *
 * @typedef {{ name: string, title: string, run: Function, client: string, upstream: string, answer: string, bytes: number, concurrency: number, who: string[] }} Workload
 * @typedef {{ title: string, workload: string, metric: string, who: string, to?: string, alone?: string, most?: number, least?: number, unit: string }} Target
 */

import { frames } from './frames.mjs'
import { latency } from './latency.mjs'
import { coldStart, memory } from './lifecycle.mjs'
import { paced } from './paced.mjs'
import { throughput } from './throughput.mjs'

const KB = 1000
const same = { client: 'chat', upstream: 'chat' }
const everyone = ['sluice', 'floor', 'nginx', 'portkey']
const translators = ['sluice', 'sluice same', 'floor']

const load = { run: throughput, answer: 'json', bytes: KB, concurrency: 64, who: everyone, ...same }

const pairs = [
  ['messages', 'chat', translators],
  ['chat', 'messages', [...translators, 'portkey']],
  ['generate', 'chat', translators],
  ['chat', 'generate', [...translators, 'portkey']],
  ['responses', 'chat', translators],
]

/** @type {Workload[]} */
export const workloads = [
  { ...load, name: 'json-1k', title: 'JSON, chat, 1 KB prompt', who: ['direct', ...everyone] },
  { ...load, name: 'json-10k', title: 'JSON, chat, 10 KB prompt', bytes: 10 * KB },
  { ...load, name: 'json-300k', title: 'JSON, chat, 300 KB prompt', bytes: 300 * KB, who: ['direct', ...everyone] },
  { ...load, name: 'stream', title: 'stream of 64 chunks, chat', answer: 'stream', who: ['direct', ...everyone] },
  {
    ...load,
    name: 'stream-messages',
    title: 'stream of 64 chunks, messages',
    answer: 'stream',
    client: 'messages',
    upstream: 'messages',
    who: ['sluice', 'floor', 'nginx'],
  },
  ...pairs.map(([client, upstream, who]) => ({
    ...load,
    name: `json-${client}-to-${upstream}`,
    title: `JSON, ${client} → ${upstream}, 10 KB prompt`,
    client,
    upstream,
    who,
    bytes: 10 * KB,
  })),
  ...pairs.map(([client, upstream, who]) => ({
    ...load,
    name: `stream-${client}-to-${upstream}`,
    title: `stream of 64 chunks, ${client} → ${upstream}`,
    client,
    upstream,
    who,
    answer: 'stream',
  })),
  { ...load, name: 'embeddings', title: 'embeddings of 1,536 floats', client: 'embeddings', upstream: 'embeddings' },
  { ...load, name: 'limits', title: 'JSON, chat, 1 KB prompt, twelve limits', who: ['sluice', 'sluice-limits'] },
  { ...load, name: 'limits-stream', title: 'stream of 64 chunks, chat, twelve limits', answer: 'stream', who: ['sluice', 'sluice-limits'] },
  { ...load, name: 'workers', title: 'JSON, chat, 1 KB prompt, two workers', who: ['sluice', 'sluice-2'] },

  { ...load, name: 'latency-json', title: 'one at a time: JSON, chat, 1 KB', run: latency, concurrency: 1, who: ['direct', ...everyone] },
  {
    ...load,
    name: 'latency-stream',
    title: 'one at a time: stream, chat',
    run: latency,
    answer: 'stream',
    concurrency: 1,
    who: ['direct', ...everyone],
  },
  {
    ...load,
    name: 'latency-translated',
    title: 'one at a time: stream, messages → chat',
    run: latency,
    answer: 'stream',
    concurrency: 1,
    client: 'messages',
    who: ['direct', 'sluice', 'floor'],
  },

  {
    ...load,
    name: 'paced-512',
    title: '512 streams, an event every 20 ms',
    run: paced,
    answer: 'paced',
    concurrency: 512,
    who: ['direct', ...everyone],
  },
  {
    ...load,
    name: 'paced-5000',
    title: '5,000 streams, an event every 20 ms',
    run: paced,
    answer: 'paced',
    concurrency: 5000,
    who: ['direct', 'sluice', 'floor', 'nginx'],
  },
  {
    ...load,
    name: 'slow-5000',
    title: '5,000 streams, an event every 100 ms',
    run: paced,
    answer: 'slow',
    concurrency: 5000,
    who: ['direct', 'sluice', 'floor', 'nginx'],
  },
  {
    ...load,
    name: 'paced-translated',
    title: '512 translated streams, messages → chat',
    run: paced,
    answer: 'paced',
    concurrency: 512,
    client: 'messages',
    who: ['direct', 'sluice'],
  },

  {
    ...load,
    name: 'websocket',
    title: 'WebSocket, 64 connections, 700-byte frames',
    run: frames,
    answer: 'frames',
    client: 'realtime',
    upstream: 'realtime',
    who: ['direct', 'sluice', 'nginx'],
  },
  { ...load, name: 'cold-start', title: 'from start to listening', run: coldStart, who: everyone },
  { ...load, name: 'memory', title: 'resident memory', run: memory, who: everyone },
]

const JSON_PAIRS = workloads.filter(({ name, title }) => name.includes('-to-') && title.startsWith('JSON')).map(({ name }) => name)
const STREAM_PAIRS = workloads.filter(({ name, title }) => name.includes('-to-') && title.startsWith('stream')).map(({ name }) => name)

/**
 * A target: `metric` of `who` in a workload, absolute or as a ratio `to` another, at `most` or at `least` a value.
 * `alone`: the contender that shows the load by itself; if that already misses the target, the target is not judged.
 * @type {Target[]}
 */
export const targets = [
  {
    title: 'JSON, same dialect, 1 KB: CPU, to the floor',
    workload: 'json-1k',
    metric: 'cpu',
    who: 'sluice',
    to: 'floor',
    most: 1.6,
    unit: '×',
  },
  {
    title: 'JSON, same dialect, 1 KB: CPU, to nginx',
    workload: 'json-1k',
    metric: 'cpu',
    who: 'sluice',
    to: 'nginx',
    most: 2.7,
    unit: '×',
  },
  {
    title: "JSON, same dialect, 1 KB: Portkey's CPU, to Sluice's",
    workload: 'json-1k',
    metric: 'cpu',
    who: 'portkey',
    to: 'sluice',
    least: 20,
    unit: '×',
  },
  { title: 'stream, same dialect: CPU, to the floor', workload: 'stream', metric: 'cpu', who: 'sluice', to: 'floor', most: 1.4, unit: '×' },
  ...['limits', 'limits-stream'].map(workload => ({
    title: `${workload}: CPU with limits on, to that without`,
    workload,
    metric: 'cpu',
    who: 'sluice-limits',
    to: 'sluice',
    most: 1.05,
    unit: '×',
  })),
  ...STREAM_PAIRS.flatMap(workload => [
    { title: `${workload}: CPU, to the floor`, workload, metric: 'cpu', who: 'sluice', to: 'floor', most: 2.5, unit: '×' },
    { title: `${workload}: events a second a core`, workload, metric: 'eventsPerCore', who: 'sluice', least: 200_000, unit: '' },
  ]),
  ...JSON_PAIRS.map(workload => ({
    title: `${workload}: CPU, to the same dialect`,
    workload,
    metric: 'cpu',
    who: 'sluice',
    to: 'sluice same',
    most: 2,
    unit: '×',
  })),
  {
    title: '300 KB prompt, same dialect: CPU, to the floor',
    workload: 'json-300k',
    metric: 'cpu',
    who: 'sluice',
    to: 'floor',
    most: 3,
    unit: '×',
  },
  {
    title: 'one at a time, JSON: added time to first byte, p99',
    workload: 'latency-json',
    metric: 'addedFirst99',
    who: 'sluice',
    most: 1,
    unit: 'ms',
  },
  {
    title: 'one at a time, stream: added time to first byte, p99',
    workload: 'latency-stream',
    metric: 'addedFirst99',
    who: 'sluice',
    most: 1,
    unit: 'ms',
  },
  ...[
    ['paced-5000', 20],
    ['slow-5000', 100],
  ].flatMap(([workload, pace]) => [
    { title: `5,000 streams at ${pace} ms: lost events`, workload, metric: 'lost', who: 'sluice', most: 0, unit: '' },
    {
      title: `5,000 streams at ${pace} ms: largest gap`,
      workload,
      metric: 'gapMax',
      who: 'sluice',
      most: 10 * pace,
      alone: 'direct',
      unit: 'ms',
    },
    { title: `5,000 streams at ${pace} ms: memory a stream`, workload, metric: 'memory', who: 'sluice', most: 64, unit: 'KB' },
  ]),
  { title: 'from start to listening', workload: 'cold-start', metric: 'start', who: 'sluice', most: 1000, unit: 'ms' },
]
