import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AnswerFault } from '../../../activities/models/errors/error-body.ts';
import { ChatAnswer } from '../../../activities/models/openai/chat-answer.ts';
import type { RawToolCall } from '../../../src/core/domain/model.ts';

type Fields = Record<string, unknown>;

/** A piece of a call as a chunk lists it. */
const piece = (name: string | undefined, args: unknown, more: Fields = {}): Fields => ({
  ...more,
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
});
const calls = (...list: unknown[]): Fields => ({ delta: { tool_calls: list } });

/** Feeds choices, one list to a chunk, and then the end. */
function answerOf(chunks: Fields[][]): RawToolCall[] {
  const answer = new ChatAnswer();
  for (const choices of chunks) answer.take({ type: 'data', data: { choices } });
  answer.take({ type: 'end' });
  return answer.response().toolCalls;
}

function faultOf(chunks: Fields[][]): unknown {
  try {
    return answerOf(chunks);
  } catch (error) {
    return error instanceof AnswerFault ? error.kind : error;
  }
}

const A = { id: 'a', name: 'pay', arguments: '{"n":1}' };
const B = { id: 'b', name: 'pay', arguments: '{"n":2}' };
const bare = ({ id: _, ...call }: RawToolCall): RawToolCall => ({ ...call, id: undefined });
const one = (...pieces: Fields[]): Fields[][] => pieces.map((given) => [calls(given)]);

describe('chunks of calls with one reading are put together', () => {
  test.each<[string, RawToolCall[], Fields[][]]>([
    ['an empty id after the first', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece('', ':1}', { index: 0, id: '' }))],
    ['no id after the first', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece(undefined, ':1}', { index: 0 }))],
    ['an equal id and name in each', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece('pay', ':1}', { index: 0, id: 'a' }))],
    ['a new id in each', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece(undefined, ':1}', { index: 0, id: 'x' }))],
    ['a new id and the name in each', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece('pay', ':1}', { index: 0, id: 'x' }))],
    ['an equal name and no id', [A], one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece('pay', ':1}', { index: 0 }))],
    [
      'one index for two calls with ids',
      [A, B],
      one(piece('pay', A.arguments, { index: 0, id: 'a' }), piece('pay', B.arguments, { index: 0, id: 'b' })),
    ],
    [
      'one index for two calls with ids, and both again',
      [A, B],
      one(...[A, B, A, B].map(({ id, arguments: text }) => piece('pay', text, { index: 0, id }))),
    ],
    [
      'one index for two calls without ids',
      [bare(A), bare(B)],
      one(piece('pay', A.arguments, { index: 0 }), piece('pay', B.arguments, { index: 0 })),
    ],
    ['two calls of one chunk without ids', [bare(A), bare(A)], [[calls(piece('pay', A.arguments), piece('pay', A.arguments))]]],
    [
      'two calls of one chunk with one id',
      [A, { ...B, id: 'a' }],
      [[calls(piece('pay', A.arguments, { id: 'a' }), piece('pay', B.arguments, { id: 'a' }))]],
    ],
    [
      'an index as text',
      [A, B],
      one(
        piece('pay', A.arguments, { index: '0', id: 'a' }),
        piece('pay', '', { index: '1', id: 'b' }),
        piece(undefined, B.arguments, { index: '1' }),
      ),
    ],
    ['an index from the second chunk on', [A], one(piece('pay', '', { id: 'a' }), piece(undefined, A.arguments, { index: 0 }))],
    ['an index in the first chunk alone', [A], one(piece('pay', '', { index: 0, id: 'a' }), piece(undefined, A.arguments))],
    [
      'another index with the id of the call',
      [A],
      one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece(undefined, ':1}', { index: 1, id: 'a' })),
    ],
    ['the name after the id', [A], one({ id: 'a' }, piece('pay', ''), piece(undefined, A.arguments))],
    ['a number as id', [{ ...A, id: '7' }], one(piece('pay', A.arguments, { index: 0, id: 7 }))],
    ['the whole call in each chunk', [A], one(...[1, 2, 3].map(() => piece('pay', A.arguments, { index: 0, id: 'a' })))],
    [
      'all of the arguments so far in each chunk',
      [A],
      one(...['{', '{"n"', '{"n":', '{"n":1', '{"n":1}', '{"n":1}'].map((text) => piece('pay', text, { index: 0, id: 'a' }))),
    ],
    [
      'all so far, without name and id',
      [A],
      one(
        piece('pay', '{"n"', { index: 0, id: 'a' }),
        piece(undefined, '{"n":1', { index: 0 }),
        piece(undefined, A.arguments, { index: 0 }),
      ),
    ],
    [
      'all so far, in another spelling',
      [{ ...A, arguments: "{'n':1}" }],
      one(piece('pay', "{'n", { index: 0, id: 'a' }), piece('pay', "{'n':1}", { index: 0, id: 'a' })),
    ],
    [
      'parts, and then the whole',
      [A],
      one(
        piece('pay', '{"n"', { index: 0, id: 'a' }),
        piece(undefined, ':1}', { index: 0 }),
        piece('pay', A.arguments, { index: 0, id: 'a' }),
      ),
    ],
    ['{} and then the whole', [A], one(piece('pay', '{}', { index: 0, id: 'a' }), piece(undefined, A.arguments, { index: 0 }))],
    [
      '{} and then parts',
      [A],
      one(piece('pay', '{}', { index: 0, id: 'a' }), piece(undefined, '{"n"', { index: 0 }), piece(undefined, ':1}', { index: 0 })),
    ],
    [
      'an empty object and then an object',
      [A],
      one(piece('pay', {}, { index: 0, id: 'a' }), piece('pay', { n: 1 }, { index: 0, id: 'a' })),
    ],
    ['an object in each chunk', [A], one(piece('pay', { n: 1 }, { index: 0, id: 'a' }), piece('pay', { n: 1 }, { index: 0, id: 'a' }))],
    ['a call without a list', [A], [[{ delta: { tool_calls: piece('pay', A.arguments, { id: 'a' }) } }]]],
    ['name and arguments without "function"', [A], [[calls({ index: 0, ...A })]]],
    [
      'a space between brackets',
      [{ ...A, arguments: '{"n":1 }\n' }],
      one(
        piece('pay', '{"n":1', { index: 0, id: 'a' }),
        piece(undefined, ' ', { index: 0 }),
        piece(undefined, '}', { index: 0 }),
        piece(undefined, '\n', { index: 0 }),
      ),
    ],
    [
      'one call per choice',
      [A, B],
      [
        [{ index: 0, ...calls(piece('pay', A.arguments, { index: 0, id: 'a' })) }],
        [{ index: 1, ...calls(piece('pay', B.arguments, { index: 0, id: 'b' })) }],
      ],
    ],
    [
      'text in one choice, a call in the next',
      [A],
      [
        [
          { index: 0, delta: { content: 'I pay.' } },
          { index: 1, ...calls(piece('pay', A.arguments, { index: 0, id: 'a' })) },
        ],
      ],
    ],
    [
      'a legacy function_call in parts',
      [bare(A)],
      [[{ delta: { function_call: { name: 'pay', arguments: '{"n"' } } }], [{ delta: { function_call: { arguments: ':1}' } } }]],
    ],
    ['a whole legacy function_call', [bare(A)], [[{ message: { content: null, function_call: { name: 'pay', arguments: A.arguments } } }]]],
    [
      'both forms of the same call',
      [A],
      [[{ message: { tool_calls: [piece('pay', A.arguments, { id: 'a' })], function_call: { name: 'pay', arguments: '{"n": 1}' } } }]],
    ],
    [
      'calls repeated in a message at the end',
      [A],
      [...one(piece('pay', A.arguments, { index: 0, id: 'a' })), [{ message: { tool_calls: [piece('pay', '{"n": 1}', { id: 'a' })] } }]],
    ],
    [
      'calls in the message at the end alone',
      [A],
      [[{ delta: { role: 'assistant', content: '' } }], [{ delta: {}, message: { tool_calls: [piece('pay', A.arguments, { id: 'a' })] } }]],
    ],
  ])('%s', (_, expected, chunks) => {
    expect(answerOf(chunks)).toEqual(expected);
  });
});

describe('chunks of calls with two readings make the answer malformed', () => {
  test.each<[string, Fields[][]]>([
    [
      'the same call twice under one index without an id',
      one(piece('pay', A.arguments, { index: 0 }), piece('pay', A.arguments, { index: 0 })),
    ],
    ['the same call twice without index and id', one(piece('pay', A.arguments), piece('pay', A.arguments))],
    [
      'other arguments under the same id',
      one(piece('pay', A.arguments, { index: 0, id: 'a' }), piece('pay', B.arguments, { index: 0, id: 'a' })),
    ],
    [
      'other arguments after complete ones',
      one(piece('pay', A.arguments, { index: 0, id: 'a' }), piece(undefined, B.arguments, { index: 0 })),
    ],
    ['arguments that grow, without an id', one(piece('pay', '{"n":1}', { index: 0 }), piece('pay', '{"n":15}', { index: 0 }))],
    ['objects that grow', one(piece('pay', { n: 1 }, { index: 0, id: 'a' }), piece('pay', { n: 1, to: 'x' }, { index: 0, id: 'a' }))],
    ['{} or a call of its own, without an id', one(piece('pay', '{}', { index: 0 }), piece('pay', A.arguments, { index: 0 }))],
    ['two names of one id', one(piece('pay', '{"n":1', { index: 0, id: 'a' }), piece('refund', '}', { index: 0, id: 'a' }))],
    ['all so far under new ids', one(piece('pay', '{"n"', { index: 0, id: 'a' }), piece('pay', A.arguments, { index: 0, id: 'x' }))],
    ['arguments under a new id', one(piece('pay', '', { index: 0, id: 'a' }), piece('pay', A.arguments, { index: 0, id: 'x' }))],
    ['a second name before any arguments', one(piece('pay', '', { index: 0 }), piece('ment', '{}', { index: 0 }))],
    [
      'all so far, or an object that begins like itself',
      one(piece('pay', '{"n":', { index: 0, id: 'a' }), piece('pay', '{"n":1}', { index: 0, id: 'a' })),
    ],
    [
      'the same whole call twice with one id',
      [[{ message: { tool_calls: [piece('pay', A.arguments, { id: 'a' }), piece('pay', A.arguments, { id: 'a' })] } }]],
    ],
    [
      'the same whole call under two indexes with one id',
      one(piece('pay', A.arguments, { index: 0, id: 'a' }), piece('pay', '{"n": 1}', { index: 1, id: 'a' })),
    ],
    [
      'the same call in parts under two indexes with one id',
      one(
        piece('pay', '', { index: 0, id: 'a' }),
        piece('pay', '', { index: 1, id: 'a' }),
        ...[0, 1].map((index) => piece(undefined, A.arguments, { index })),
      ),
    ],
    [
      'two forms that differ',
      [[{ message: { tool_calls: [piece('pay', A.arguments, { id: 'a' })], function_call: { name: 'pay', arguments: '{"n":9}' } } }]],
    ],
    [
      'a message at the end with other calls',
      [...one(piece('pay', A.arguments, { index: 0, id: 'a' })), [{ message: { tool_calls: [piece('pay', B.arguments, { id: 'a' })] } }]],
    ],
    [
      'two choices with text and calls',
      [0, 1].map((index) => [
        { index, delta: { content: 'I pay.', tool_calls: [piece('pay', A.arguments, { index: 0, id: `c${index}` })] } },
      ]),
    ],
    ['the same call in two choices', [0, 1].map((index) => [{ index, ...calls(piece('pay', A.arguments, { index: 0, id: 'a' })) }])],
    [
      'a legacy call with two names',
      [[{ delta: { function_call: { name: 'pay', arguments: '{' } } }], [{ delta: { function_call: { name: 'refund', arguments: '}' } } }]],
    ],
  ])('%s', (_, chunks) => {
    expect(faultOf(chunks)).toBe('malformed');
  });
});

test('answers of several choices with text alone are not merged', () => {
  expect(
    answerOf([
      [
        { index: 0, delta: { content: 'yes' } },
        { index: 1, delta: { content: 'no' } },
      ],
    ]),
  ).toEqual([]);
});

/** The ways servers send calls: each splits the parts of each call into chunks. */
const DIALECTS: Record<string, (call: RawToolCall, parts: string[], index: number) => Fields[]> = {
  openai: (call, parts, index) =>
    parts.map((text, at) => piece(at === 0 ? String(call.name) : undefined, text, { index, ...(at === 0 ? { id: call.id } : {}) })),
  'one index': (call, parts) =>
    parts.map((text, at) => piece(at === 0 ? String(call.name) : undefined, text, { index: 0, ...(at === 0 ? { id: call.id } : {}) })),
  'empty ids': (call, parts, index) =>
    parts.map((text, at) => piece(at === 0 ? String(call.name) : '', text, { index, id: at === 0 ? call.id : '' })),
  'everything repeated': (call, parts, index) => parts.map((text) => piece(String(call.name), text, { index, id: call.id })),
  'no index': (call, parts) => parts.map((text) => piece(String(call.name), text, { id: call.id })),
  'no index, one id': (call, parts) =>
    parts.map((text, at) => piece(at === 0 ? String(call.name) : undefined, text, at === 0 ? { id: call.id } : {})),
  'another id with each part': (call, parts, index) =>
    parts.map((text, at) => piece(at === 0 ? String(call.name) : undefined, text, { index, id: at === 0 ? call.id : `x${at}` })),
  'braces first': (call, parts, index) =>
    ['{}', ...parts].map((text, at) =>
      piece(at === 0 ? String(call.name) : undefined, text, { index, ...(at === 0 ? { id: call.id } : {}) }),
    ),
  'whole in each chunk': (call, parts, index) => parts.map(() => piece(String(call.name), parts.join(''), { index, id: call.id })),
  'whole at the end': (call, parts, index) =>
    [...parts, parts.join('')].map((text) => piece(String(call.name), text, { index, id: call.id })),
  objects: (call, parts, index) => [piece(String(call.name), JSON.parse(parts.join('')), { index, id: call.id })],
};
const someArguments = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

/** Cuts a text at places between 0 and 1. */
function partsOf(text: string, cuts: number[]): string[] {
  const at = [...new Set(cuts.map((cut) => Math.floor(cut * text.length)))].toSorted((a, b) => a - b);
  return [0, ...at].map((from, index) => text.slice(from, at[index])).filter((part) => part !== '');
}

test.each(Object.keys(DIALECTS))('the calls of a server with %s are those that it meant, however it cuts them', (name) => {
  const dialect = DIALECTS[name];
  const someCalls = fc.array(
    fc.record({
      name: fc.constantFrom('pay', 'find'),
      arguments: someArguments,
      cuts: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 6 }),
    }),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(someCalls, fc.boolean(), (list, together) => {
      const meant = list.map(({ cuts: _, ...call }, index) => ({ ...call, id: `c${index}` }));
      const pieces = list.map(
        ({ cuts }, index) => dialect?.(meant[index] ?? {}, partsOf(meant[index]?.arguments ?? '', cuts), index) ?? [],
      );
      const chunks = together && name === 'openai' ? pieces.map((of) => [calls(...of)]) : pieces.flatMap((of) => one(...of));
      const plain = (given: RawToolCall[]): unknown =>
        given.map((call) => ({ ...call, arguments: JSON.parse(String(call.arguments)) as unknown }));
      expect(plain(answerOf(chunks))).toEqual(plain(meant));
    }),
    { numRuns: 200 },
  );
});

test('the arguments that are streamed are only those that are new', () => {
  const written: string[] = [];
  const answer = new ChatAnswer({ onDelta: ({ type, text }) => type === 'tool_input' && written.push(text) });
  for (const text of ['{"n"', '{"n":1', '{"n":1}', '{"n":1}'])
    answer.take({ type: 'data', data: { choices: [calls(piece('pay', text, { index: 0, id: 'a' }))] } });
  expect(written).toEqual(['{"n"', ':1', '}']);
});
