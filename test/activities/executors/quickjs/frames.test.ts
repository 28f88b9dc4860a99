import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameText, MAX_FRAME_LENGTH, readThreadFrame } from '../../../../activities/executors/frames.ts';

test.each([
  { type: 'began' as const },
  { type: 'output' as const, text: 'a"b' },
  {
    type: 'done' as const,
    durationMs: 1,
    memoryUsedBytes: 2,
    answer: '[1]',
    namespace: { n: { type: 'number', json: '1' }, f: { type: 'function' } },
  },
  { type: 'calls' as const, calls: [{ tool: 'orders', arguments: { id: [1, { a: null }] } }], durationMs: 3 },
  { type: 'restored' as const, scratchpad: '{}' },
  { type: 'restored' as const, problem: 'it is damaged' },
  { type: 'failed' as const, durationMs: 1, memoryUsedBytes: 2, kind: 'runtime' as const, message: 'no' },
])('the frame $type is read as it was written', (frame) => {
  expect(readThreadFrame(frameText(frame))).toEqual(frame);
});

test.each([
  ['an object', { type: 'began' }],
  ['no JSON', '{"type":'],
  ['another type', '{"type":"exit"}'],
  ['a kind that does not exist', '{"type":"failed","durationMs":1,"memoryUsedBytes":2,"kind":"success","message":""}'],
  ['an answer that is no text', '{"type":"done","durationMs":1,"memoryUsedBytes":2,"answer":{},"namespace":{}}'],
  ['a namespace that is a list', '{"type":"done","durationMs":1,"memoryUsedBytes":2,"namespace":[]}'],
  ['a list of no calls', '{"type":"calls","calls":[],"durationMs":1}'],
  ['a call without arguments', '{"type":"calls","calls":[{"tool":"a"}],"durationMs":1}'],
  ['a call whose arguments are a list', '{"type":"calls","calls":[{"tool":"a","arguments":[]}],"durationMs":1}'],
  [
    'a call whose arguments are too deep',
    `{"type":"calls","calls":[{"tool":"a","arguments":{"a":${'['.repeat(70)}${']'.repeat(70)}}}],"durationMs":1}`,
  ],
  [
    'more calls than a cell may make',
    `{"type":"calls","calls":[${'{"tool":"a","arguments":{}},'.repeat(10_000)}{"tool":"a","arguments":{}}],"durationMs":1}`,
  ],
  ['a scratchpad that is no text', '{"type":"failed","durationMs":1,"memoryUsedBytes":2,"kind":"runtime","message":"","scratchpad":{}}'],
  ['a frame that is too long', `{"type":"output","text":"${'x'.repeat(MAX_FRAME_LENGTH)}"}`],
])('%s is no frame', (_, received) => {
  expect(readThreadFrame(received)).toBeUndefined();
});

test('reading never throws, and changes no prototype', () => {
  fc.assert(fc.property(fc.oneof(fc.anything(), fc.json(), fc.string()), (received) => void readThreadFrame(received)));
  readThreadFrame('{"type":"done","durationMs":1,"memoryUsedBytes":2,"namespace":{"__proto__":{"type":"number","json":"1"}}}');
  expect(({} as { json?: string }).json).toBeUndefined();
});

test('a frame that is too long is not sent', () => {
  expect(() => frameText({ type: 'output', text: 'x'.repeat(MAX_FRAME_LENGTH) })).toThrow(/^a frame has \d+ characters/);
});
