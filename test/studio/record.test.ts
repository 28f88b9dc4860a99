import { expect, test } from 'vitest';
import type { Decision, Event, StreamItem } from '../../studio/api-types.ts';
import { type CallRow, mediaOf, messageText, ranWith, type Row, RunRecord, rowText } from '../../studio/record.ts';

const event = (offset: number, parts: Partial<Event>): StreamItem => ({
  type: 'event',
  offset,
  event: { id: `e${offset}`, executionId: 'x', timestamp: '2026-11-01T00:00:00Z', author: 'clerk', content: [], ...parts },
});
const usage = { promptTokens: 5, completionTokens: 5, totalTokens: 10 };
const call = { type: 'tool_call' as const, toolCallId: 'c1', name: 'refund', arguments: { amount: 5 } };
const result = { type: 'tool_result' as const, toolCallId: 'c1', name: 'refund', status: 'success' as const, content: ['Paid'] };
const record = { toolName: 'refund', callId: 'c1', arguments: {}, result: 'Paid', isError: false, durationMs: 7, timestamp: '' };
const step: Extract<StreamItem, { type: 'step' }> = {
  type: 'step',
  step: { step: 1, thought: null, toolCalls: [record], usage, finishReason: 'tool_calls' },
};
const delta = (eventId: string, text: string): StreamItem => ({
  type: 'delta',
  step: 1,
  attempt: 1,
  eventId,
  delta: { type: 'text', text },
});

const decided = (parts: Partial<Decision>): Decision => ({
  id: 'd',
  type: 'approve',
  callId: 'c1',
  toolName: 'refund',
  digest: '',
  by: 'kim',
  source: 'update',
  at: '',
  ...parts,
});

test('an answer has its calls, each with what was decided about it and its result', () => {
  const run = new RunRecord();
  const decision = decided({});
  run.take([
    event(0, { author: 'user', content: [{ type: 'message', role: 'user', content: 'Refund me' }] }),
    event(1, { content: [call], usage }),
    event(2, { author: 'kim', decision }),
    event(3, { content: [result] }),
    step,
    event(4, { content: [{ type: 'message', role: 'assistant', content: 'Done' }], usage }),
  ]);
  expect(run.rows.map(({ kind, key }) => `${kind} ${key}`)).toEqual(['message 0', 'answer 1', 'answer 4']);
  expect(run.rows[1]).toMatchObject({ number: 1, calls: [{ call, result, decisions: [decision], record: { durationMs: 7 } }] });
  expect(run.rows[2]).toMatchObject({ number: 2, text: 'Done' });
  expect(rowText(run.rows[1] as Row)).toContain('kim approved refund');
});

test('a decision about no call of the record is an entry', () => {
  const run = new RunRecord();
  const raise = decided({ callId: 'limit.1', toolName: 'raise_limits', arguments: { steps: 4 } });
  run.take([event(0, { content: [call], usage }), event(1, { author: 'kim', decision: raise })]);
  expect(run.rows[1]).toMatchObject({ kind: 'note', texts: [{ text: 'kim approved more for the run: 4 steps', tone: 'good' }] });
});

test('a call that an approver has edited has the arguments that it ran with, at once and not only with its step', () => {
  const run = new RunRecord();
  const edited = { amount: 2 };
  const calls = (): CallRow[] => run.rows.flatMap((row) => (row.kind === 'answer' ? row.calls : []));
  run.take([event(0, { content: [call], usage })]);
  expect(calls().map(ranWith)).toEqual([undefined]);
  run.take([event(1, { decision: decided({ arguments: edited }) })]);
  expect(calls().map(ranWith)).toEqual([edited]);
  const ran = { ...record, arguments: edited };
  run.take([event(2, { content: [result] }), { ...step, step: { ...step.step, toolCalls: [ran] } }]);
  expect(calls().map(ranWith)).toEqual([edited]);
});

test('a call that ran as it was proposed, or did not run, has no other arguments', () => {
  const own = { call, decisions: [decided({})] };
  expect(ranWith(own)).toBeUndefined();
  expect(ranWith({ ...own, record: { ...record, arguments: call.arguments } })).toBeUndefined();
  expect(ranWith({ ...own, record: { ...record, notRun: 'refused' } })).toBeUndefined();
});

test('the live text of a model stays until its event arrives, or an attempt starts over', () => {
  const run = new RunRecord();
  run.take([delta('e0', 'He'), delta('e0', 'llo')]);
  expect(run.live?.text).toBe('Hello');
  run.take([{ type: 'reset', step: 1, attempt: 2 }]);
  expect(run.live).toBeUndefined();
  run.take([delta('e0', 'Hi'), event(0, { content: [{ type: 'message', role: 'assistant', content: 'Hi' }], usage })]);
  expect(run.live).toBeUndefined();
  expect(run.rows).toHaveLength(1);
});

test('an event that comes again is one row', () => {
  const run = new RunRecord();
  const hello = event(0, { author: 'user', content: [{ type: 'message', role: 'user', content: 'Hello' }] });
  run.take([hello]);
  run.take([{ type: 'gap' }, hello, event(1, { cleared: true })]);
  expect(run.rows.map(({ kind }) => kind)).toEqual(['message', 'note']);
});

test('an agent that takes over is named with its first answer', () => {
  const run = new RunRecord();
  const said = { type: 'message' as const, role: 'assistant' as const, content: 'x' };
  run.take([event(0, { author: 'triage', content: [said], usage }), event(1, { author: 'desk', content: [said], usage })]);
  expect(run.rows[1]).toMatchObject({ handedFrom: 'triage' });
});

test('live text changes neither the rows nor the other facts', () => {
  const run = new RunRecord();
  run.take([event(0, { content: [call], usage }), event(1, { content: [result] }), step]);
  const before = [run.revision, run.answers];
  expect(run.answers).toBe(1);
  run.take([delta('e2', 'Do'), delta('e2', 'ne'), { type: 'status', status: 'running' }]);
  expect([run.revision, run.answers]).toEqual(before);
  run.take([event(2, { content: [{ type: 'message', role: 'assistant', content: 'Done' }], usage })]);
  expect(run.revision).toBeGreaterThan(before[0] as number);
  expect(run.answers).toBe(2);
});

test('the answers and calls of the steps of a program have addresses in the place of numbers, and hand nothing over', () => {
  const run = new RunRecord();
  const at = (address: string, parts: object): Partial<Event> => ({ author: address, ...({ step: { at: address, ...parts } } as object) });
  run.take([
    event(0, {
      ...at('read.Facts', { kind: 'ask', type: 'attempt', attempt: 1 }),
      content: [{ type: 'message', role: 'assistant', content: 'A' }],
      usage,
    }),
    event(1, { ...at('read.Look', { kind: 'tool', type: 'start', attempt: 1 }), content: [call] }),
    event(2, { ...at('read.Look', { kind: 'tool', type: 'attempt', attempt: 1 }), content: [result] }),
    event(3, {
      ...at('write.Letter', { kind: 'ask', type: 'attempt', attempt: 1 }),
      content: [{ type: 'message', role: 'assistant', content: 'B' }],
      usage,
    }),
  ]);
  const answers = run.rows.flatMap((row) => (row.kind === 'answer' ? [row] : []));
  expect(answers.map(({ at: address, number, text, handedFrom }) => [address, number, text, handedFrom])).toEqual([
    ['read.Facts', 1, 'A', undefined],
    ['read.Look', 2, '', undefined],
    ['write.Letter', 3, 'B', undefined],
  ]);
  expect(answers[1]?.calls).toMatchObject([{ call, result }]);
});

test('media are what they are, in messages and in results, and their bytes are not searched', () => {
  const data = Buffer.from('not a picture').toString('base64');
  const image = { type: 'image' as const, data, mediaType: 'image/png' };
  expect(mediaOf(image)).toBe('[image, image/png, 13 bytes]');
  expect(mediaOf({ type: 'file', name: 'a.pdf', spilled: { bytes: 1, sha256: '' } })).toBe('[file, a.pdf, 1 byte]');
  expect(mediaOf({ type: 'image', url: `data:image/png;base64,${data.repeat(9)}` })).toMatch(/^\[image, data:image\/png;base64,\w{18}…\]$/);
  expect(messageText({ content: [{ type: 'text', text: 'Look' }, image] })).toBe('Look\n[image, image/png, 13 bytes]');
  // What only looks like media is data of a tool.
  for (const other of [
    { type: 'image' },
    { type: 'file', url: 'https://acme.example/a.pdf', owner: 'kim' },
    { type: 'row', data },
    'image',
    null,
    [image],
  ])
    expect(mediaOf(other)).toBeUndefined();
  const run = new RunRecord();
  run.take([event(0, { usage, content: [call] }), event(1, { content: [{ ...result, content: ['Here it is', image] }] })]);
  expect(rowText(run.rows[0] as Row)).toContain('[image, image/png, 13 bytes]');
  expect(rowText(run.rows[0] as Row)).not.toContain(data);
});
