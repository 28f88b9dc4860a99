import { describe, expect, it } from 'vitest';
import type { ModelCallContext, ModelRequest } from '../../src/core/domain/model.ts';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import { FINAL_ANSWER } from '../../src/core/domain/tool-calls.ts';
import {
  callTool,
  failWith,
  hang,
  malformed,
  say,
  type ScriptEntry,
  scriptedModel,
  structured,
  together,
} from '../../src/testing/index.ts';

const request: ModelRequest = { model: 'm', instructions: [], conversation: [], tools: [], settings: {} };

function listening(): ModelCallContext & { heard: ModelDelta[]; abort: (reason: Error) => void } {
  const controller = new AbortController();
  const heard: ModelDelta[] = [];
  return { signal: controller.signal, onDelta: (delta) => heard.push(delta), heard, abort: (reason) => controller.abort(reason) };
}

describe('a scripted model', () => {
  it('answers from its script in order and keeps the requests', async () => {
    const model = scriptedModel([callTool('search', { query: 'pace' }), say('done')]);
    expect(await model.call(request, listening())).toMatchObject({
      content: '',
      toolCalls: [{ name: 'search', arguments: { query: 'pace' }, id: 'call_1_1' }],
      finishReason: 'tool_calls',
      usage: { promptTokens: 10, completionTokens: 5, totalTokens: 15 },
    });
    expect(await model.call({ ...request, model: 'n' }, listening())).toMatchObject({
      content: 'done',
      toolCalls: [],
      finishReason: 'stop',
    });
    expect(model.requests.map((one) => one.model)).toEqual(['m', 'n']);
  });

  it('keeps requests unchanged, even if the caller changes them later', async () => {
    const model = scriptedModel([say('x')]);
    const mutable = { ...request, instructions: ['first'] };
    await model.call(mutable, listening());
    mutable.instructions.push('later');
    expect(model.requests[0]?.instructions).toEqual(['first']);
  });

  it('fails loudly when its script runs out', async () => {
    const model = scriptedModel([say('x')]);
    await model.call(request, listening());
    await expect(model.call(request, listening())).rejects.toMatchObject({
      code: 'model_error',
      message: expect.stringContaining('call 2'),
    });
  });

  it('repeats its last entry if an option says so', async () => {
    const model = scriptedModel([callTool('t')], { repeatLast: true });
    const [first, second] = [await model.call(request, listening()), await model.call(request, listening())];
    expect([first, second].map(({ toolCalls }) => toolCalls[0]?.id)).toEqual(['call_1_1', 'call_2_1']);
  });

  it('streams each part of its answer in pieces', async () => {
    const heard = async (entry: ScriptEntry): Promise<[string, string][]> => {
      const context = listening();
      await scriptedModel([entry]).call(request, context);
      return context.heard.map(({ type, text }) => [type, text]);
    };
    expect(await heard(say('Good day', { reasoning: 'hm' }))).toEqual([
      ['reasoning', 'h'],
      ['reasoning', 'm'],
      ['text', 'Go'],
      ['text', 'od'],
      ['text', ' d'],
      ['text', 'ay'],
    ]);
    expect(await heard(say('🌕🌖🌗', { chunks: 2, every: 1 }))).toEqual([
      ['text', '🌕🌖'],
      ['text', '🌗'],
    ]);
    expect(await heard(together(say('', { chunks: 1 }), callTool('t', { a: 1 })))).toEqual([['tool_input', '{"a":1}']]);
    expect(() => say('x', { chunks: 0 })).toThrow('"chunks" is 0: write a whole number of at least 1');
  });

  it('stops between two pieces if the call is aborted', async () => {
    const context = listening();
    const reason = new Error('enough');
    const answer = scriptedModel([say('Good day', { every: '1h' })]).call(request, context);
    await expect.poll(() => context.heard.length).toBe(1);
    context.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(context.heard).toHaveLength(1);
  });

  it('reports if its script was used up', async () => {
    const model = scriptedModel([say('x')]);
    expect(() => model.assertUsedUp()).toThrow('called 0 times, but its script has 1');
    await model.call(request, listening());
    expect(() => model.assertUsedUp()).not.toThrow();
    await model.call(request, listening()).catch(() => undefined);
    expect(() => model.assertUsedUp()).toThrow('called 2 times, but its script has 1 entry');
    const repeating = scriptedModel([say('x')], { repeatLast: true });
    await repeating.call(request, listening());
    await repeating.call(request, listening());
    expect(() => repeating.assertUsedUp()).not.toThrow();
  });

  it('calls tools in parallel, with text and with the ids given', async () => {
    const model = scriptedModel([together(say('I look'), callTool('a', '{broken', 'id-a'), callTool('b'))]);
    expect(await model.call(request, listening())).toMatchObject({
      content: 'I look',
      toolCalls: [
        { id: 'id-a', name: 'a', arguments: '{broken' },
        { id: 'call_1_2', name: 'b', arguments: {} },
      ],
    });
  });

  it('gives a structured answer in the form that the request asks for', async () => {
    const model = scriptedModel([structured({ n: 4 }), structured({ n: 4 })]);
    const tool = { name: FINAL_ANSWER, description: '', parameters: {}, strict: true };
    expect(await model.call(request, listening())).toMatchObject({ content: '{"n":4}', toolCalls: [] });
    expect(await model.call({ ...request, tools: [tool] }, listening())).toMatchObject({
      content: '',
      toolCalls: [{ name: FINAL_ANSWER, arguments: { output: { n: 4 } } }],
    });
  });

  it('fails with the code and the retry delay of the script', async () => {
    const model = scriptedModel([failWith('model_rate_limited', 'slow down', { retryAfter: 50 })]);
    await expect(model.call(request, listening())).rejects.toMatchObject({
      code: 'model_rate_limited',
      message: 'slow down',
      retryAfterMs: 50,
    });
  });

  it('hangs until it is aborted, after its text so far', async () => {
    const context = listening();
    const answer = scriptedModel([hang('half an ans')]).call(request, context);
    const reason = new Error('cancelled');
    context.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(context.heard.map(({ text }) => text).join('')).toBe('half an ans');
  });

  it('does not begin a call whose signal is already aborted', async () => {
    const context = listening();
    context.abort(new Error('too late'));
    await expect(scriptedModel([say('x')]).call(request, context)).rejects.toThrow('too late');
  });

  it('passes on a malformed response unchanged', async () => {
    expect(await scriptedModel([malformed(null)]).call(request, listening())).toBeNull();
  });
});
