import { describe, expect, it } from 'vitest';
import type { OutputSnapshot } from '../../../src/core/domain/agent.ts';
import { call, called, type FakeRun, responded, resultsOf, runFake, said } from './fakes/fake-ports.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';

function agent(mode: OutputSnapshot['mode'], maxRetries: number): ReturnType<typeof testSnapshot> {
  const schema = { type: 'object' };
  const output = { mode, schema, providerSchema: schema, strict: true, maxRetries };
  return testSnapshot({ tools: [testTool('t')], output });
}

const bad = (id: string): ReturnType<typeof responded> =>
  responded([call(id, 'final_answer', {})], { problems: { [id]: 'output is missing' } });

const misfit = { output: { type: 'problem' as const, problem: 'answer: expected a number' } };

function userTexts({ events }: FakeRun): string[] {
  return events.flatMap(({ author, content }) =>
    author === 'user' ? content.flatMap((item) => (item.type === 'message' && typeof item.content === 'string' ? [item.content] : [])) : [],
  );
}

describe('a structured answer that the provider enforces', () => {
  it('is the parsed text', async () => {
    const run = await runFake({ snapshot: agent('schema', 0), model: [said('{"answer":4}', { output: { type: 'fits' } })] });
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 } });
    expect(run.state.context.finalResult).toEqual({ answer: 4 });
  });

  it('is the parsed value if parsing changed it', async () => {
    const output = { type: 'parsed' as const, value: { answer: 4, unit: 'km' } };
    const run = await runFake({ snapshot: agent('schema', 0), model: [said('{"answer":"4"}', { output })] });
    expect(run.result.output).toEqual({ answer: 4, unit: 'km' });
  });

  it('is sent back to the model with the problem if it does not fit', async () => {
    const run = await runFake({
      snapshot: agent('schema', 1),
      model: [said('{"answer":"x"}', misfit), said('{"answer":4}', { output: { type: 'fits' } })],
    });
    const [, , retry] = run.state.context.events;
    expect(retry).toMatchObject({ author: 'user', content: [{ type: 'message', role: 'user' }] });
    expect(JSON.stringify(retry?.content)).toContain('answer: expected a number');
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 }, stepsUsed: 2 });
  });

  it.each([0, 1, 2])('ends the run with an error once %i retries are used up', async (maxRetries) => {
    const model = Array.from({ length: maxRetries + 1 }, () => said('no json', misfit));
    const run = await runFake({ snapshot: agent('schema', maxRetries), model });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'invalid_output', stepsUsed: maxRetries + 1, output: 'no json' });
    expect(run.result.error).toContain('answer: expected a number');
  });

  it('counts retries against the step limit', async () => {
    const snapshot = { ...agent('schema', 9), limits: { steps: 2, finalAttempt: false } };
    const run = await runFake({ snapshot, model: [said('no', misfit), said('no', misfit)] });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', stepsUsed: 2 });
  });

  it('that does not fit in the final attempt leaves the run at its limit', async () => {
    const snapshot = { ...agent('schema', 9), limits: { steps: 1, finalAttempt: true } };
    const run = await runFake({ snapshot, model: [called(call('c1', 't')), said('no', misfit)] });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: 'no', stepsUsed: 2 });
  });
});

describe('a structured answer through final_answer', () => {
  it('ends the run with the argument of the call', async () => {
    const run = await runFake({
      snapshot: agent('final_answer', 0),
      model: [called(call('c1', 'final_answer', { output: { answer: 4 } }))],
    });
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 }, stepsUsed: 1, toolCallsByName: { final_answer: 1 } });
    expect(run.modelCalls).toHaveLength(1);
    expect(run.invocations).toEqual([]);
  });

  it('runs the other calls of the response and still ends the run', async () => {
    const run = await runFake({
      snapshot: agent('final_answer', 0),
      model: [called(call('c1', 'final_answer', { output: { answer: 4 } }), call('c2', 't'))],
    });
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 }, toolCallsTotal: 2 });
    expect(run.invocations.map((invocation) => invocation.call.toolCallId)).toEqual(['c2']);
    expect(resultsOf(run, 1)).toEqual(['{"answer":4}', 't ran']);
  });

  it('is sent back to the model as the result of the call if it does not fit', async () => {
    const misfitting = responded([call('c1', 'final_answer', { output: { answer: 'x' } })], {
      problems: { c1: 'answer: expected a number' },
    });
    const run = await runFake({
      snapshot: agent('final_answer', 1),
      model: [misfitting, called(call('c2', 'final_answer', { output: { answer: 4 } }))],
    });
    expect(run.state.steps[0]?.toolCalls).toMatchObject([{ isError: true, result: 'answer: expected a number' }]);
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 }, stepsUsed: 2 });
  });

  it('ends the run with an error once the retries are used up', async () => {
    const run = await runFake({ snapshot: agent('final_answer', 1), model: [bad('c1'), bad('c2')] });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'invalid_output', stepsUsed: 2 });
  });

  it('is not given by plain text: the model is asked once to call the tool, whatever the agent allows', async () => {
    const run = await runFake({
      snapshot: agent('final_answer', 0),
      model: [said('plain', misfit), called(call('c1', 'final_answer', { output: { answer: 4 } }))],
    });
    expect(run.result).toMatchObject({ output: { answer: 4 }, stepsUsed: 2 });
    expect(userTexts(run)).toEqual(['Q', expect.stringContaining('has to come as a call of the tool "final_answer"')]);
  });

  it.each<[retries: number, texts: number]>([
    [0, 2],
    [1, 2],
    [2, 3],
    [4, 5],
  ])('is given up after %i retries and %i texts that do not fit', async (maxRetries, texts) => {
    const model = Array.from({ length: texts }, () => said('plain', misfit));
    const run = await runFake({ snapshot: agent('final_answer', maxRetries), model });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'invalid_output', stepsUsed: texts });
    expect(run.result.error).toContain('answer: expected a number');
    const told = userTexts(run).filter((text) => text.includes('has to come as a call'));
    expect(told).toHaveLength(1);
    const again = userTexts(run).filter((text) => text.includes('did not fit'));
    expect(again).toHaveLength(texts - 2);
    for (const text of again) expect(text).toContain('Answer by a call of the tool "final_answer"');
  });

  it('is taken from a text that fits', async () => {
    const parsed = { output: { type: 'parsed' as const, value: { answer: 4 } } };
    const run = await runFake({ snapshot: agent('final_answer', 0), model: [said('It is {"answer":4}.', parsed)] });
    expect(run.result).toMatchObject({ status: 'completed', output: { answer: 4 }, stepsUsed: 1 });
    const whole = await runFake({ snapshot: agent('final_answer', 0), model: [said('{"answer":4}', { output: { type: 'fits' } })] });
    expect(whole.result).toMatchObject({ status: 'completed', output: { answer: 4 }, stepsUsed: 1 });
  });

  it('is taken from a text that fits in the final attempt, which offers no tools', async () => {
    const snapshot = { ...agent('final_answer', 0), limits: { steps: 1, finalAttempt: true } };
    const run = await runFake({ snapshot, model: [called(call('c1', 't')), said('{"answer":4}', { output: { type: 'fits' } })] });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: { answer: 4 }, stepsUsed: 2 });
    const other = await runFake({ snapshot, model: [called(call('c1', 't')), said('four', misfit)] });
    expect(other.result).toMatchObject({ status: 'max_iterations_reached', output: 'four', stepsUsed: 2 });
  });

  it('is an unknown tool for an agent without an output schema', async () => {
    const run = await runFake({ snapshot: testSnapshot(), model: [called(call('c1', 'final_answer', { output: 1 })), said('ok')] });
    expect(run.result).toMatchObject({ output: 'ok', stepsUsed: 2 });
    expect(run.state.steps[0]?.toolCalls[0]?.isError).toBe(true);
  });
});
