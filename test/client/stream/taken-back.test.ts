import { describe, expect, it } from 'vitest';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type Readers, type StreamItem } from './read-stream.ts';

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

const OF: StreamedAttempt = { executionId: 'execution-1', eventId: 'first', through: 1, activity: 1, attempt: 1 };

function shows(run: FakeRun, of: StreamedAttempt, text: string): void {
  run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text } });
}

/** The ways the output of a first attempt is discarded. */
const RETRIES: [string, StreamedAttempt, (run: FakeRun) => void][] = [
  ['another attempt of a model call', OF, (run) => run.publish({ type: 'attempt', of: { ...OF, eventId: 'second', attempt: 2 } })],
  [
    'the output of another attempt of a tool',
    { ...OF, callId: 'look-1' },
    (run) => shows(run, { ...OF, callId: 'look-1', attempt: 2 }, 'Hello'),
  ],
  [
    'the answer of an attempt whose output was not carried',
    OF,
    (run) => {
      run.record('second', [{ type: 'message', role: 'assistant', content: 'Hello' }], { usage: null });
      run.announce();
    },
  ],
];

/** Reads to a reset, with the cursor that it has. */
async function untilReset(readers: Readers): Promise<string> {
  for await (const item of readers.stream()) if (item.type === 'reset') return item.cursor;
  throw new Error('The stream has no reset');
}

/** Reads to the end, from a cursor on. */
async function rest(readers: Readers, cursor: string): Promise<StreamItem[]> {
  return Array.fromAsync(readers.stream(cursor));
}

describe.each(RETRIES)('the cursor of a reset by %s', (_, first, retry) => {
  it.each(['the same process', 'another process'])('continues after it in %s: discarded output is not shown again', async (process) => {
    const run = new FakeRun();
    run.record('question', [{ type: 'message', role: 'user', content: 'Hi' }], { author: 'user' });
    const readers = feedsOf(run);
    const reset = untilReset(readers);
    await settled();
    // An attempt of a tool is not announced: it begins with its first output.
    if (first.callId === undefined) run.publish({ type: 'attempt', of: first });
    shows(run, first, 'half an ans');
    await settled();
    retry(run);
    const cursor = await reset;
    const reading = rest(process === 'the same process' ? readers : feedsOf(run), cursor);
    await settled();
    run.end();
    run.announce();
    const items = await reading;
    expect(items.filter((item) => item.type === 'reset' || (item.type === 'delta' && item.attempt === 1))).toEqual([]);
    expect(items.at(-1)?.type).toBe('end');
  });
});
