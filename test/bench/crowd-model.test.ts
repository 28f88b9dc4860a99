import { describe, expect, it } from 'vitest';
import { crowdModel, runsThatDiffer } from '../../bench/script/scripted-models.ts';
import { promptFor } from '../../bench/script/scripted-run.ts';
import type { ModelRequest } from '../../src/core/domain/model.ts';

const signal = new AbortController().signal;

/** The request of a run after this many results. */
function requestOf(run: string, results: number): ModelRequest {
  const answered = Array.from({ length: 2 * results }, () => ({ author: 'reader', content: [] }));
  const first = { author: 'user', content: [{ type: 'message' as const, role: 'user' as const, content: run }] };
  return { model: 'pages', instructions: [], conversation: [first, ...answered], tools: [], settings: {} };
}

describe('the model of many runs', () => {
  it('continues from the conversation, whichever runs call it in between', async () => {
    const model = crowdModel();
    const [one, two] = [`One. ${promptFor(2)}`, `Two. ${promptFor(1)}`];
    expect(await model.call(requestOf(one, 1), { signal })).toMatchObject({ toolCalls: [{ arguments: '{"page":1002}' }] });
    expect(await model.call(requestOf(two, 0), { signal })).toMatchObject({ toolCalls: [{ arguments: '{"page":1001}' }] });
    expect(await model.call(requestOf(two, 1), { signal })).toMatchObject({ content: 'Done: 1 pages.', toolCalls: [] });
    expect([...model.requests].map(([prompt, asked]) => [prompt, asked.length])).toEqual([
      [one, 1],
      [two, 2],
    ]);
  });
});

describe('two runs of the benchmark', () => {
  const before = new Map([
    ['a', ['1', '2']],
    ['b', ['1']],
  ]);

  it('are equal if every run sends the same requests in the same order', () => {
    expect(runsThatDiffer(before, new Map([...before].toReversed()))).toBe(0);
  });

  it.each([
    [
      'a request differs',
      [
        ['a', ['1', '3']],
        ['b', ['1']],
      ],
    ],
    [
      'a request is repeated',
      [
        ['a', ['1', '2', '2']],
        ['b', ['1']],
      ],
    ],
    ['a run is missing', [['a', ['1', '2']]]],
    [
      'a run is new',
      [
        ['a', ['1', '2']],
        ['b', ['1']],
        ['c', []],
      ],
    ],
  ] as [string, [string, string[]][]][])('differ in one run if %s', (_, after) => {
    expect(runsThatDiffer(before, new Map(after))).toBe(1);
  });
});
