import { z } from 'zod';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { ANTHROPIC, type Said } from './families.ts';
import { type FakeServer, PrefixCache } from './fake-server.ts';
import { PACKAGES } from './packages.ts';

/** A run whose requests a provider caches. */
export interface CachingRun {
  steps: number;
  /** Calls of each step. */
  calls: number;
  cache: 'auto' | 'off';
  /** The steps after which the window is full again. Absent: it never is. */
  compactEvery?: number;
}

/** Its measurements. */
export interface MeasuredCache {
  hit: number;
  inputPriceRatio: number;
  /** The most marks of a request. */
  marks: number;
  /** Compactions of the window. */
  compactions: number;
  /** Bytes of JSON of events and steps. */
  bytes: number;
  /** The notices of the run. */
  notices: string[];
}

const INSTRUCTIONS = `You are a clerk. ${'Be as exact as the books are. '.repeat(500)}`;
const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks something up in the books of the company.',
  parameters: z.object({ q: z.string() }),
  execute: ({ q }) => `The entry about ${q}: ${'it is written in the books. '.repeat(15)}`,
});

/** Bytes that a call and its result take in the window, approximately. */
const BYTES_PER_CALL = 620;

/** Measures a run of an agent against the rules of Anthropic's cache. */
export async function runWithCache(
  server: FakeServer,
  url: string,
  { steps, calls, cache, compactEvery }: CachingRun,
): Promise<MeasuredCache> {
  const anthropic = PACKAGES.find(({ name, spec }) => name === 'anthropic' && spec === 'v4');
  if (anthropic === undefined) throw new Error('The package of Anthropic is missing');
  // Half of what the window holds is left after it was full.
  const window = compactEvery === undefined ? {} : { window: { maxBytes: 2 * compactEvery * calls * BYTES_PER_CALL } };
  const agent = defineAgent({
    name: 'clerk',
    model: 'p/claude-sonnet-4-5',
    tools: [lookUp],
    instructions: INSTRUCTIONS,
    limits: { steps: steps + 20, toolCalls: steps * calls + 10 },
    ...window,
  });
  const answers = Array.from({ length: steps }, (_, step): { parts: Said[] } => ({
    parts: Array.from({ length: calls }, (__, call) => ({
      call: 'look_up',
      id: ANTHROPIC.id(100 * step + call),
      input: JSON.stringify({ q: `number ${step} ${call}` }),
    })),
  }));
  const measured = new PrefixCache();
  server.cache = measured;
  server.script(...answers, { parts: [{ text: 'Done.' }] });
  const model = aiSdk((id) => anthropic.model(url, id), { cache });
  const { result, events, steps: recorded } = await testAgent(agent, { input: 'Look.', model });
  delete server.cache;
  if (result.status !== 'completed') throw new Error(`The run has ended as ${result.status}: ${result.error}`);
  return {
    hit: measured.hit,
    inputPriceRatio: measured.price,
    marks: measured.marks,
    compactions: events.filter(({ compaction }) => compaction !== undefined).length,
    bytes: jsonBytes(events) + jsonBytes(recorded),
    notices: events.flatMap(({ notices = [] }) => notices.map(({ code }) => code)),
  };
}
