import { describe, expect, it } from 'vitest';
import { contentBytes, pageText, promptFor, scriptedAnswer, stepsAskedFor } from '../../bench/script/scripted-run.ts';

describe('the script of a run', () => {
  it('asks for one page a step, then answers', () => {
    const answers = [0, 1, 2].map((results) => scriptedAnswer(results, 2));
    expect(answers.map((answer) => answer.tool_calls?.[0].function.arguments ?? answer.content)).toEqual([
      '{"page":1001}',
      '{"page":1002}',
      'Done: 2 pages.',
    ]);
    expect(answers[0]?.tool_calls?.[0].id).not.toBe(answers[1]?.tool_calls?.[0].id);
  });

  it('has as much text in its last step as in its first', () => {
    const [first, last] = [scriptedAnswer(0, 1_000), scriptedAnswer(999, 1_000)].map((answer) => JSON.stringify(answer).length);
    expect(first).toBe(last);
  });

  it('gives its length in its prompt', () => {
    expect(stepsAskedFor(JSON.stringify({ messages: [{ role: 'user', content: promptFor(37) }] }))).toBe(37);
    expect(stepsAskedFor('{"messages":[]}')).toBeUndefined();
  });

  it('counts each response and each result once, as compact JSON', () => {
    const said = [scriptedAnswer(0, 2), pageText(1_001, 50), scriptedAnswer(1, 2), pageText(1_002, 50), scriptedAnswer(2, 2)];
    expect(contentBytes(2, 50)).toBe(said.map((value) => JSON.stringify(value)).join('').length);
  });
});
