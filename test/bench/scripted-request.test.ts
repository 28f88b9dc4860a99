import { describe, expect, it } from 'vitest';
import { answerTo } from '../../bench/script/scripted-request.ts';
import { promptFor, scriptedAnswer } from '../../bench/script/scripted-run.ts';

const prompt = { role: 'user', content: promptFor(3) };
const page = (results: number): object[] => {
  const call = scriptedAnswer(results, 3);
  return [call, { role: 'tool', tool_call_id: call.tool_calls?.[0].id, content: '{"id":"call_000000000000000000000009"}' }];
};
const answer = (...messages: object[]): ReturnType<typeof answerTo> =>
  answerTo(Buffer.from(JSON.stringify({ model: 'pages', messages, tools: [{ type: 'function' }] })));

describe('the answer of the fake provider', () => {
  it('is the next call, then the end', () => {
    expect(answer(prompt)).toEqual(scriptedAnswer(0, 3));
    expect(answer(prompt, ...page(0), ...page(1))).toEqual(scriptedAnswer(2, 3));
    expect(answer(prompt, ...page(0), ...page(1), ...page(2))).toEqual({ role: 'assistant', content: 'Done: 3 pages.' });
  });

  it('does not depend on messages that were left out of the request', () => {
    expect(answer(prompt, { role: 'user', content: 'Summary of the conversation so far' }, ...page(1))).toEqual(scriptedAnswer(2, 3));
  });

  it('is a text if the request has no tools', () => {
    expect(answerTo(Buffer.from(JSON.stringify({ messages: [prompt, ...page(0)] })))).toEqual({
      role: 'assistant',
      content: 'Pages were read.',
    });
  });

  it('is missing if the request does not give the length of the run', () => {
    expect(answer({ role: 'user', content: 'Hello' })).toBeUndefined();
  });
});
