import assert from 'node:assert/strict';
import type { JsonValue } from '../../core/domain/json/json.ts';
import type { Delta } from '../../core/domain/stream/delta.ts';
import type { StreamEntry } from '../../core/domain/stream/stream-entry.ts';
import type { StreamSinkCase } from './sink-case.ts';
import { ATTEMPT, deltaEntry, staged, textEntries, textEntry } from './stage.ts';

const HOSTILE_TEXTS = [
  '',
  '\u0000 and \u001F',
  '\uD83D',
  'before \uDE00 after',
  '😀 ü \u2028 \u2029 \uFEFF',
  '\r\n"\\\'`${}<!--',
  'data: {}\n\n',
  'é'.repeat(500_000),
];

/** Cases of what a sink carries, and of its use by workers. */
export const CARRYING_CASES: readonly StreamSinkCase[] = [
  staged('carries the output of models and tools unchanged', async (stage) => {
    const data = { nested: [1, -2.5, null, true, { a: '\uD83D' }], ['__proto__']: { polluted: true }, '': [] };
    const deltas: Delta[] = [
      { type: 'text', text: 'text' },
      { type: 'text', text: 'more' },
      { type: 'reasoning', text: 'reasoning' },
      { type: 'tool_input', callId: 'c1', toolName: 'search', text: '{"q":' },
      { type: 'tool_input', callId: 'c2', toolName: 'search', text: '1}' },
      { type: 'data', callId: 'c1', name: 'progress', data: data as JsonValue },
      { type: 'data', callId: 'c1', name: '', data: null },
    ];
    const published: StreamEntry[] = [{ type: 'attempt', of: ATTEMPT }, ...deltas.map((delta, index) => deltaEntry(index, delta))];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('carries attempts of several calls and tools', async (stage) => {
    const tool = { ...ATTEMPT, callId: 'call', through: 3 };
    const second = { ...ATTEMPT, attempt: 2 };
    const published: StreamEntry[] = [ATTEMPT, tool, second].flatMap((of): StreamEntry[] => [
      { type: 'attempt', of },
      { type: 'delta', of, index: 0, delta: { type: 'text', text: 'a' } },
    ]);
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('carries what a run has recorded', async (stage) => {
    const published: StreamEntry[] = [
      { type: 'recorded', executionId: 'execution', events: 1, steps: 0, status: 'running' },
      { type: 'recorded', executionId: 'execution', events: 4, steps: 1, status: 'completed' },
    ];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('carries texts of any characters, and of 1 MB', async (stage) => {
    const published = [...textEntries(0), ...HOSTILE_TEXTS.map((text, index) => textEntry(index, text))];
    stage.publish(published);
    assert.deepEqual(await stage.read().entries(published.length), published);
  }),
  staged('throws nothing for an entry that it cannot carry, and carries the next', async (stage) => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    for (const data of [1n, () => 1, Symbol('s'), circular, throwing()]) {
      stage.publish([deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data: data as JsonValue })]);
    }
    stage.publish(textEntries(1));
    const reading = stage.read();
    for (;;) {
      const read = await reading.next();
      if (read.type === 'entry' && read.entry.type === 'delta' && read.entry.delta.type === 'text') break;
    }
  }),
  staged('keeps an entry as it was when it was published', async (stage) => {
    const data: { value: number } = { value: 1 };
    stage.publish([...textEntries(0), deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data })]);
    data.value = 2;
    const [, entry] = await stage.read().entries(2);
    assert.deepEqual(entry, deltaEntry(0, { type: 'data', callId: 'c', name: 'n', data: { value: 1 } }));
  }),
];

function throwing(): object {
  return {
    get value(): never {
      throw new Error('This value cannot be read');
    },
  };
}
