import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameLines, readFrame } from '../../../../activities/executors/process/process-executor.ts';

const DONE = { token: 't', type: 'done', durationMs: 0, memoryUsedBytes: 1, answer: '[1]', namespace: { n: { type: 'int', json: '1' } } };

test('a frame with the token of the run is read', () => {
  expect(readFrame(JSON.stringify(DONE), 't')).toMatchObject({ type: 'done', answer: '[1]', memoryUsedBytes: 1 });
  expect(readFrame(JSON.stringify({ ...DONE, memoryUsedBytes: -1 }), 't')).toMatchObject({ memoryUsedBytes: 0 });
});

test.each([
  ['another token', { ...DONE, token: 'u' }],
  ['no token', { ...DONE, token: undefined }],
  ['an answer that is not JSON', { ...DONE, answer: '}' }],
  ['an answer that is nested too deeply', { ...DONE, answer: '['.repeat(70) + ']'.repeat(70) }],
  ['an answer that is too long', { ...DONE, answer: `"${'x'.repeat(1_000_001)}"` }],
  ['an answer that is longer than the process was allowed', { ...DONE, answer: `"${'x'.repeat(400_001)}"` }],
  ['an empty value of a name', { ...DONE, namespace: { n: { type: 'int', json: '' } } }],
  ['names that are longer than the process was allowed', { ...DONE, namespace: { ['n'.repeat(130_000)]: { type: 'int' } } }],
  ['the claim that it was killed', { token: 't', type: 'failed', kind: 'killed', message: '', durationMs: 0, memoryUsedBytes: 0 }],
  ['the claim that its executor failed', { token: 't', type: 'failed', kind: 'protocol', message: '', durationMs: 0, memoryUsedBytes: 0 }],
  [
    'arguments that are longer than the process was allowed',
    { token: 't', type: 'calls', calls: [{ tool: 'a', arguments: { a: 'x'.repeat(400_001) } }], durationMs: 0 },
  ],
  ['a value of a name that is not JSON', { ...DONE, namespace: { n: { type: 'int', json: 'NaN' } } }],
  ['a scratchpad of another form', { ...DONE, scratchpad: '{"values":[]}' }],
  ['the frame of a thread', { token: 't', type: 'restored' }],
])('%s is refused', (_, frame) => {
  expect(readFrame(JSON.stringify(frame), 't')).toBeUndefined();
});

test('nothing that a program writes makes the reader throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc
          .record({
            token: fc.constant('t'),
            type: fc.constantFrom('done', 'failed', 'calls', 'output'),
            answer: fc.anything(),
            calls: fc.anything(),
          })
          .map((one) => {
            try {
              return JSON.stringify(one);
            } catch {
              return '';
            }
          }),
      ),
      (line) => {
        expect(() => readFrame(line, 't')).not.toThrow();
      },
    ),
  );
});

test('lines are the same, however they are split on arrival', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' '))),
      fc.integer({ min: 1, max: 7 }),
      (texts, size) => {
        const bytes = Buffer.from(texts.map((line) => `${line}\n`).join(''));
        const lines = new FrameLines(1_000_000);
        const read: string[] = [];
        for (let at = 0; at < bytes.length; at += size) read.push(...(lines.add(bytes.subarray(at, at + size)) ?? []));
        expect(read).toEqual(texts.map((line) => line.toWellFormed()));
      },
    ),
  );
});

test('a line that is too long is refused, before its end arrives', () => {
  const lines = new FrameLines(5);
  expect(lines.add(Buffer.from('12345\n123'))).toEqual(['12345']);
  expect(lines.add(Buffer.from('456'))).toBeUndefined();
});
