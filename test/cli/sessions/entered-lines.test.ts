import { expect, test } from 'vitest';
import { type EnteredDecision, type EnteredLine, readArguments, readDecision, readLine } from '../../../src/cli/chat/input.ts';
import { pipedLines } from '../../../src/cli/chat/chat.ts';

test.each<[string, EnteredLine]>([
  ['', { type: 'nothing' }],
  ['   ', { type: 'nothing' }],
  [' Where is order 42? ', { type: 'message', text: 'Where is order 42?' }],
  ['/exit', { type: 'exit' }],
  ['/status ', { type: 'status' }],
  ['/help', { type: 'help' }],
  ['/etx', { type: 'unknown', command: '/etx' }],
  [' /exit', { type: 'message', text: '/exit' }],
  ['/exit the building', { type: 'message', text: '/exit the building' }],
])('the line %j', (line, meaning) => {
  expect(readLine(line)).toEqual(meaning);
});

const tool = { kind: 'tool' } as const;

test.each<[string, EnteredDecision]>([
  ['y', { type: 'approve' }],
  [' YES ', { type: 'approve' }],
  ['n', { type: 'reject' }],
  ['no', { type: 'reject' }],
  ['n too late', { type: 'reject', reason: 'too late' }],
  ['No, too late', { type: 'reject', reason: 'too late' }],
  ['n: too late', { type: 'reject', reason: 'too late' }],
  ['e', { type: 'edit' }],
])('the decision %j on a call', (line, decision) => {
  expect(readDecision(line, tool)).toEqual(decision);
});

test.each(['', 'yes please', 'yn', 'now', 'ok', 'edit it', '{"amount": 5}'])('%j decides nothing', (line) => {
  expect(readDecision(line, tool)).toMatchObject({ type: 'unclear' });
});

test('a question is answered by any text, or by JSON if the schema of its answer requires it', () => {
  const question = { kind: 'question' } as const;
  expect(readDecision('n', question)).toEqual({ type: 'respond', content: 'n' });
  expect(readDecision(' ', question)).toMatchObject({ type: 'unclear' });
  const number = { ...question, answer: { type: 'number' } };
  expect(readDecision('5', number)).toEqual({ type: 'respond', content: 5 });
  expect(readDecision('five', number)).toEqual({ type: 'unclear', say: 'Write the answer as JSON of type "number".' });
});

test('the outcome of a lost call is entered as text, and "no" gives the call up', () => {
  const outcome = { kind: 'outcome' } as const;
  expect(readDecision('it was paid', outcome)).toEqual({ type: 'respond', content: 'it was paid' });
  expect(readDecision('n ask the bank', outcome)).toEqual({ type: 'reject', reason: 'ask the bank' });
});

test('edited arguments are a JSON object', () => {
  expect(readArguments('{"amount": 5}')).toEqual({ type: 'approve', arguments: { amount: 5 } });
  for (const line of ['', '5', '[1]', '{"amount"']) expect(readArguments(line)).toMatchObject({ type: 'unclear' });
});

test('lines from a pipe are assembled from pieces, which may split characters', async () => {
  const bytes = Buffer.from('one\r\ntwö\n\nlast');
  const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
  const lines: string[] = [];
  for await (const line of pipedLines(asynchronous(pieces))) lines.push(line);
  expect(lines).toEqual(['one', 'twö', '', 'last']);
});

async function* asynchronous<Value>(values: readonly Value[]): AsyncGenerator<Value> {
  yield* await Promise.resolve(values);
}
