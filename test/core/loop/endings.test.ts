import { describe, expect, it } from 'vitest';
import type { RecordedResponse } from '../../../src/core/domain/model.ts';
import { RunResult } from '../../../src/core/domain/result.ts';
import { INTERRUPTED_CALL } from '../../../src/core/domain/tool-calls.ts';
import { call, called, type FakeScript, message, responded, resultsOf, runFake, said, tokens } from './fakes/fake-ports.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';

const tools = [testTool('t')];

function limited(steps: number, finalAttempt = false): ReturnType<typeof testSnapshot> {
  return testSnapshot({ tools, limits: { steps, finalAttempt } });
}

describe('a run that completes', () => {
  it('has the last text as output, one step for each model call, and one event for each response', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [responded([message('thinking'), call('c1', 't')], { usage: tokens(10, 5) }), said('the answer', { usage: tokens(20, 6) })],
    });
    expect(run.result).toMatchObject({
      version: 1,
      runId: 'run-1',
      agentName: 'a',
      status: 'completed',
      stopReason: 'final_answer',
      output: 'the answer',
      stepsUsed: 2,
      usage: { promptTokens: 30, completionTokens: 11, totalTokens: 41, llmCalls: 2 },
      startTime: '2023-11-14T22:13:18.500Z',
      durationSeconds: 1.5,
      error: null,
      limits: { steps: 10 },
    });
    expect(run.result.steps).toMatchObject([
      { step: 1, thought: 'thinking', finishReason: 'tool_calls' },
      { step: 2, thought: 'the answer', toolCalls: [], finishReason: 'stop' },
    ]);
    expect(run.state.context).toMatchObject({ currentStep: 2, finalResult: 'the answer' });
    expect(run.state.context.events).toHaveLength(4);
  });

  it('names the events of each model call by their number and the last id', async () => {
    const run = await runFake({ snapshot: testSnapshot({ tools }), model: [called(call('c1', 't')), said('ok')] });
    const { events } = run.state.context;
    expect(run.modelCalls).toEqual([
      { step: 1, through: 1, lastEventId: events[0]?.id, newEvents: 1, final: false },
      { step: 2, through: 3, lastEventId: events[2]?.id, newEvents: 1, final: false },
    ]);
  });

  it('marks a step with calls as finished by tool_calls, for any finish reason of the provider', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [responded([call('c1', 't')], { finishReason: 'stop' }), said('cut', { finishReason: 'length' })],
    });
    expect(run.result.steps?.map(({ finishReason }) => finishReason)).toEqual(['tool_calls', 'length']);
    expect(run.result).toMatchObject({ status: 'completed', output: 'cut' });
  });

  it('keeps media in the output', async () => {
    const parts = [
      { type: 'text' as const, text: 'here' },
      { type: 'image' as const, url: 'https://example.com/a.png', width: 2, height: 1 },
    ];
    const run = await runFake({ snapshot: testSnapshot(), model: [responded([{ type: 'message', role: 'assistant', content: parts }])] });
    expect(run.result.output).toEqual(parts);
    expect(run.state.steps[0]?.thought).toBe('here [Image: 2x1]');
  });
});

describe('a run that reaches its step limit', () => {
  it('is not a success, keeps every step, and answers with the last thought', async () => {
    const run = await runFake({
      snapshot: limited(2),
      model: [called(call('c1', 't')), responded([message('still working'), call('c2', 't')])],
    });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', stopReason: 'step_limit', output: 'still working', stepsUsed: 2 });
    expect(run.modelCalls).toHaveLength(2);
    expect(run.state.context.finalResult).toBeNull();
  });

  it('has an empty output if the last step had no thought', async () => {
    const run = await runFake({
      snapshot: limited(2),
      model: [responded([message('earlier'), call('c1', 't')]), called(call('c2', 't'))],
    });
    expect(run.result.output).toBe('');
  });

  it('makes a final attempt, which is step max + 1 and does not change the status', async () => {
    const run = await runFake({ snapshot: limited(1, true), model: [called(call('c1', 't')), said('best guess')] });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: 'best guess', stepsUsed: 2, limits: { steps: 1 } });
    expect(run.modelCalls.map(({ step, final }) => ({ step, final }))).toEqual([
      { step: 1, final: false },
      { step: 2, final: true },
    ]);
    expect(run.result.steps?.map((step) => step.final)).toEqual([undefined, true]);
    expect(run.state.context.finalResult).toBeNull();
  });

  it('keeps its ending at the limit if the final attempt fails', async () => {
    const run = await runFake({
      snapshot: limited(1, true),
      model: [responded([message('partial'), call('c1', 't')]), { type: 'failed', code: 'model_server_error', message: 'down' }],
    });
    expect(run.result).toMatchObject({
      status: 'max_iterations_reached',
      stopReason: 'step_limit',
      output: 'partial',
      error: null,
      stepsUsed: 1,
    });
  });

  it('runs no tool that the final attempt calls, answers the call, and ends with the best partial answer', async () => {
    const run = await runFake({
      snapshot: limited(1, true),
      model: [responded([message('partial'), call('c1', 't')]), called(call('c2', 't'))],
    });
    expect(run.invocations).toHaveLength(1);
    expect(resultsOf(run, 2)).toEqual([INTERRUPTED_CALL]);
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: 'partial', stepsUsed: 2 });
  });
});

describe('a run that fails', () => {
  it('keeps its steps and has the error', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [responded([message('so far'), call('c1', 't')]), { type: 'failed', code: 'model_server_error', message: 'api down' }],
    });
    expect(run.result).toMatchObject({
      status: 'error',
      stopReason: 'error',
      error: 'api down',
      errorCode: 'model_server_error',
      output: 'so far',
      stepsUsed: 1,
      toolCallsTotal: 1,
    });
  });

  it('records a refusal as a step and ends with its text', async () => {
    const run = await runFake({ snapshot: testSnapshot(), model: [responded([], { refusal: 'I will not', finishReason: 'refusal' })] });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'model_refusal', stepsUsed: 1, output: '' });
    expect(run.result.error).toContain('I will not');
  });

  it('reports an answer that the provider withheld', async () => {
    const run = await runFake({ snapshot: testSnapshot(), model: [said('par', { finishReason: 'content_filter' })] });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'content_filter', stepsUsed: 1, output: 'par' });
    expect(run.result.steps?.[0]?.finishReason).toBe('content_filter');
  });
});

describe('a cancelled run', () => {
  it('is cancelled also if the worker of its model call is lost at that moment', async () => {
    const run = await runFake({
      snapshot: testSnapshot(),
      model: [
        ({ cancel }) => {
          cancel();
          return { type: 'failed', code: 'model_timeout', message: 'activity Heartbeat timeout' };
        },
      ],
    });
    expect(run.result).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', error: null });
  });

  it('does not call the model if the request came before the step', async () => {
    const run = await runFake({ snapshot: testSnapshot(), model: [], cancelled: true });
    expect(run.result).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', stepsUsed: 0, output: '', error: null });
    expect(run.modelCalls).toEqual([]);
  });

  it('keeps the output of an aborted answer as an event with usage, not as a step', async () => {
    const partial = { id: 'partial-1', content: [message('half an ans')], finishReason: 'interrupted', usage: tokens(7, 3) };
    const run = await runFake({ snapshot: testSnapshot({ tools }), model: [called(call('c1', 't')), { type: 'cancelled', partial }] });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1, usage: { totalTokens: 10, llmCalls: 2 } });
    expect(run.state.context.events.at(-1)).toMatchObject({
      id: 'partial-1',
      author: 'a',
      interrupted: true,
      content: [message('half an ans')],
    });
  });

  const givenUp = (text: string): RecordedResponse => ({
    id: `partial-${text}`,
    content: text === '' ? [] : [message(text)],
    finishReason: 'interrupted',
    usage: null,
  });

  it('has this partial output as its output, and in its usage the estimate, marked as such', async () => {
    const partial = givenUp('half an ans');
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [responded([message('I look it up'), call('c1', 't')], { usage: tokens(7, 3) }), { type: 'cancelled', partial }],
    });
    const { usage, output } = run.result;
    expect(output).toBe('half an ans');
    expect(usage).toMatchObject({ promptTokens: 7, completionTokens: 3, totalTokens: 10, llmCalls: 2 });
    expect(usage.estimated?.promptTokens).toBeGreaterThan(0);
    expect(usage.estimated?.completionTokens).toBeGreaterThan(0);
    expect(new RunResult(run.result).summary()).toContain(`| 10 tokens + ${usage.estimated?.totalTokens} estimated |`);
    expect(String(new RunResult(run.result))).toContain(
      `Tokens:   10 (prompt=7, completion=3) + ${usage.estimated?.totalTokens} estimated`,
    );
  });

  it.each<[string, FakeScript['model'], string]>([
    ['nothing of the answer had arrived', [{ type: 'cancelled', partial: givenUp('') }], 'I look it up'],
    ['its request was never sent', [{ type: 'cancelled' }], 'I look it up'],
    [
      'an answer was given up for a message, and of the next one nothing had arrived',
      [
        { type: 'interrupted', partial: givenUp('half') },
        { type: 'cancelled', partial: givenUp('') },
      ],
      'half',
    ],
    [
      'an answer was given up for a message, and the step after that was complete',
      [{ type: 'interrupted', partial: givenUp('half') }, responded([message('whole'), call('c2', 't')]), { type: 'cancelled' }],
      'whole',
    ],
  ])('has as its output the last recorded text if %s', async (_, rest, output) => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [responded([message('I look it up'), call('c1', 't')]), ...rest],
    });
    expect(run.result).toMatchObject({ status: 'cancelled', output });
  });

  it('does not call the model again after the step during which the request came', async () => {
    const run = await runFake({
      snapshot: testSnapshot({ tools }),
      model: [
        ({ cancel }) => {
          cancel();
          return called(call('c1', 'nope'));
        },
      ],
    });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
  });
});
