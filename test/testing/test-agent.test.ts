import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type ModelClient, resource } from '../../src/index.ts';
import {
  approve,
  callTool,
  cancelRun,
  disconnect,
  dropCompletion,
  effectsLedger,
  failWith,
  hang,
  isUndecidedRun,
  killWorker,
  type Occurrence,
  raiseLimits,
  rateLimit,
  say,
  scriptedModel,
  sendMessage,
  setPermissions,
  testAgent,
  together,
} from '../../src/testing/index.ts';
import { memoryStreams } from '../../src/streams/memory-streams.ts';
import { sinkContext } from '../streams/sink-context.ts';
import { act, agentWith, toolThat } from './scenarios/scenario.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Pays back',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: ({ amount }) => `refunded ${amount}`,
});
const quick = toolThat('quick', () => 'quick', { tier: 'local' });
const look = toolThat('look', (_, context) => (act(context, 'look') ? 'seen' : 'seen again'));
const agent = agentWith([refund, quick, look]);

describe('a test of an agent fails', () => {
  test('if the script runs out, with the reason', async () => {
    const testing = testAgent(agent, { input: 'Go', model: scriptedModel([callTool('look')]) });
    await expect(testing).rejects.toThrow(
      /called 2 times, but its script has 1 entry\. The run ended with status "error": .*Add an entry/s,
    );
  });

  test('if the script is not used up', async () => {
    const testing = testAgent(agent, { input: 'Go', model: scriptedModel([say('Hello.'), say('More.')]) });
    await expect(testing).rejects.toThrow('called once, but its script has 2 entries. The run ended with status "completed"');
  });

  test('if a planned event does not happen', async () => {
    const model = scriptedModel([say('Hello.')]);
    const testing = testAgent(agent, {
      input: 'Go',
      model,
      meanwhile: [sendMessage('More', { step: 3 })],
      faults: [killWorker({ afterStep: 7 }), dropCompletion('look', { step: 2 }), rateLimit(1, { step: 2 })],
    });
    await expect(testing).rejects.toThrow(
      'The run ended before these planned faults and messages happened: killWorker({afterStep: 7}), dropCompletion("look", {step: 2}), rateLimit(1, {step: 2}), sendMessage("More", {step: 3}).',
    );
  });

  test('if the run waits and the test gives no decision', async () => {
    const testing = testAgent(agent, { input: 'Go', model: scriptedModel([callTool('refund', { amount: 1 }, 'c1'), say('Done.')]) });
    await expect(testing).rejects.toThrow(
      'The run waits for a decision on "refund" (call "c1"), the test does not decide it, and there is no deadline',
    );
  });

  test('if a decision is refused repeatedly', async () => {
    const model = scriptedModel([callTool('refund', { amount: 1 }), say('Done.')]);
    const testing = testAgent(agent, { input: 'Go', model, decide: () => approve({ arguments: { amount: 'much' } }) });
    await expect(testing).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test('if a decision has a misspelt argument, with the nearest one', async () => {
    const model = scriptedModel([callTool('refund', { amount: 1 }, 'c1'), say('Done.')]);
    const testing = testAgent(agent, { input: 'Go', model, decide: () => approve({ arguments: { amount: 1, ammount: 2 } }) });
    await expect(testing).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: '"arguments" for call "c1" does not fit tool "refund": unknown field "ammount". Did you mean "amount"?',
    });
  });

  test('if a planned request is refused', async () => {
    const model = scriptedModel([say('Hello.')]);
    const testing = testAgent(agent, { input: 'Go', model, meanwhile: [raiseLimits({ totalTokens: 5 }, { step: 1 })] });
    await expect(testing).rejects.toThrow('the run has no limit "totalTokens" to raise');
  });

  test.each<[string, Occurrence, string]>([
    ['message', sendMessage('', { step: 1 }), 'The message to run "r" was not sent: content: expected a text or media, got an empty text'],
    ['raise', raiseLimits({}, { step: 1 }), 'The limits of run "r" were not raised: limits: '],
    ['change of permissions', setPermissions({ nope: 1 } as never, { step: 1 }), 'The permissions were not set: run "r": permissions.nope'],
  ])('if a client would not send a planned %s, with its error', async (_, planned, message) => {
    const model = scriptedModel([say('Hello.')]);
    const testing = testAgent(agent, { runId: 'r', input: 'Go', model, meanwhile: [planned] });
    await expect(testing).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining(message) as string });
  });

  test('if the function that decides throws', async () => {
    const model = scriptedModel([callTool('refund', { amount: 1 }), say('Done.')]);
    const decide = (): never => {
      throw new Error('this test is broken');
    };
    await expect(testAgent(agent, { input: 'Go', model, decide })).rejects.toThrow('this test is broken');
  });

  test('if the run takes too long in real time', async () => {
    const testing = testAgent(agent, { input: 'Go', model: scriptedModel([hang()]), timeout: 50 });
    await expect(testing).rejects.toThrow('The run has not ended within 0.05 s');
  });

  test('if its plan is impossible, before anything runs', async () => {
    const model = scriptedModel([]);
    const planned = (options: object): Promise<unknown> => testAgent(agent, { input: 'Go', model, ...options });
    await expect(planned({ faults: [disconnect({ afterStep: 1, for: '1s' })] })).rejects.toThrow('use durableTest');
    await expect(planned({ faults: [dropCompletion('quick')] })).rejects.toThrow('"quick" is a local tool');
    await expect(planned({ faults: [dropCompletion('gone')] })).rejects.toThrow(
      'agent "agent" has no tool "gone" (it has: "refund", "quick", "look")',
    );
    await expect(planned({ meanwhile: [cancelRun('x', { step: 1, tool: 'quick' })] })).rejects.toThrow('"quick" is a local tool');
    await expect(planned({ model: undefined })).rejects.toThrow('the test of agent "agent" has no "model"');
    await expect(planned({ deps: { pool: () => 1 } })).rejects.toMatchObject({ code: 'invalid_input' });
    expect(model.requests).toEqual([]);
  });
});

describe('if the test gives no decision on a pending call, the error', () => {
  test('contains the record of the run and the pending call', async () => {
    const model = scriptedModel([together(callTool('refund', { amount: 1 }, 'c1'), callTool('look', {}, 'c2')), say('Never.')]);
    const error = await testAgent(agent, { input: 'Go', model }).catch((thrown: unknown) => thrown);
    if (!isUndecidedRun(error)) throw error;
    expect(error.waiting).toMatchObject([{ toolName: 'refund', callId: 'c1', arguments: { amount: 1 } }]);
    const { events, steps, requests, deps, state } = error.record;
    expect(events.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['message'],
      ['tool_call', 'tool_call'],
      ['tool_result'],
    ]);
    expect(steps).toEqual([]);
    expect(requests).toHaveLength(1);
    expect({ deps, state }).toEqual({ deps: {}, state: {} });
  });

  test('is distinguished from every other error', async () => {
    const error = await testAgent(agent, { input: 'Go', model: scriptedModel([]) }).catch((thrown: unknown) => thrown);
    expect(isUndecidedRun(error)).toBe(false);
    expect(isUndecidedRun(undefined)).toBe(false);
  });
});

describe('a run in memory', () => {
  test('has the state that tools have set, and the id that the test chooses', async () => {
    const count = toolThat('count', (_, context) => {
      context.setState('calls', Number(context.state['calls'] ?? 0) + 1);
      return context.runId;
    });
    const model = scriptedModel([callTool('count'), callTool('count'), say('Done.')]);
    const { result, state, steps } = await testAgent(agentWith([count]), { input: 'Go', model, runId: 'run-7' });
    expect(state).toEqual({ calls: 2 });
    expect([result.runId, steps[0]?.toolCalls[0]?.result]).toEqual(['run-7', 'run-7']);
    await expect(testAgent(agentWith([count]), { input: 'Go', model, runId: '' })).rejects.toThrow('run id');
  });

  test('has the versions of its tools in the records of their calls', async () => {
    const tools = [defineTool({ ...toolOptions('newer'), version: '2.1' }), defineTool(toolOptions('plain'))];
    const model = scriptedModel([together(callTool('newer'), callTool('plain'), callTool('nope')), say('Done.')]);
    const { steps } = await testAgent(agentWith(tools), { input: 'Go', model });
    expect(steps[0]?.toolCalls.map(({ toolName, toolVersion }) => [toolName, toolVersion])).toEqual([
      ['newer', '2.1'],
      ['plain', undefined],
      ['nope', undefined],
    ]);
    expect(steps[0]?.toolCalls[1]).not.toHaveProperty('toolVersion');
  });

  test('waits for days in no time', async () => {
    const patient = defineTool({ ...toolOptions('patient'), approval: { deadline: '3d' } });
    const model = scriptedModel([failWith('model_rate_limited', 'later', { retryAfter: 3_600_000 }), callTool('patient'), say('Done.')]);
    const { result, steps } = await testAgent(agentWith([patient], { modelPatience: '2h' }), { input: 'Go', model });
    expect(result.success).toBe(true);
    expect(result.durationSeconds).toBeGreaterThan(3 * 24 * 3_600 + 3_600);
    expect(steps[0]?.toolCalls[0]?.isError).toBe(true);
  });

  test('opens and closes resources, also of a worker that dies', async () => {
    const seen: string[] = [];
    const pool = resource({
      open: () => {
        seen.push('open');
        return { find: () => 'found' };
      },
      close: () => {
        seen.push('close');
      },
    });
    const search = toolThat('search', (_, { resources }) => (resources['pool'] as { find(): string }).find());
    const { steps } = await testAgent(agentWith([search]), {
      input: 'Go',
      resources: { pool },
      model: scriptedModel([callTool('search'), say('Done.')]),
      faults: [killWorker({ afterStep: 1 })],
    });
    expect(steps[0]?.toolCalls[0]?.result).toBe('found');
    expect(seen).toEqual(['open', 'open', 'close', 'close']);
  });

  test('sends each model request to the client of the test, and keeps the requests', async () => {
    const model = scriptedModel([callTool('look'), say('Done.')]);
    const { requests, ledger } = await testAgent(agent, { input: 'Go', model, ledger: effectsLedger() });
    expect(requests).toEqual(model.requests);
    expect(requests[1]?.conversation.map(({ author }) => author)).toEqual(['user', 'agent', 'agent']);
    ledger.assertEffects(['look']);
  });

  test('has output and deps of the types that the agent declares', async () => {
    const typed = defineAgent({
      name: 'typed',
      model: 'scripted/m',
      deps: z.object({ language: z.string() }),
      instructions: ({ language }) => `Answer in ${language}.`,
      output: z.object({ answer: z.number() }),
    });
    const { result, requests, deps } = await testAgent(typed, {
      input: 'Go',
      deps: { language: 'Latin' },
      model: scriptedModel([say('{"answer": 4}')]),
    });
    expect(result.success && result.output.answer).toBe(4);
    expect(requests[0]?.instructions).toEqual(['Answer in Latin.']);
    expect(deps).toEqual({ language: 'Latin' });
  });

  test('settings and tags of the start reach the model', async () => {
    const warm = defineAgent({ name: 'warm', model: 'scripted/m', settings: { temperature: 1, maxOutputTokens: 50 } });
    const tags: unknown[] = [];
    const scripted = scriptedModel([say('hi')]);
    const model: ModelClient = {
      capabilities: scripted.capabilities,
      call: (request, context) => {
        tags.push(context.tags);
        return scripted.call(request, context);
      },
    };
    const { requests } = await testAgent(warm, { input: 'Q', model, settings: { temperature: 0 }, tags: ['acme'], deadline: '1h' });
    expect(requests[0]?.settings).toMatchObject({ temperature: 0, maxOutputTokens: 50 });
    expect(tags).toEqual([['acme']]);
  });

  test('a sink carries the pieces of answers, as on a worker', async () => {
    const streams = memoryStreams();
    const channel = streams.open(sinkContext('client'));
    await testAgent(agent, { runId: 'streamed', input: 'Q', model: scriptedModel([say('hi', { chunks: 1 })]), streams });
    const seen: unknown[] = [];
    const enough = new AbortController();
    for await (const read of channel.read('streamed', { signal: enough.signal })) {
      if (read.type === 'entry') seen.push(read.entry);
      if (seen.length === 2) enough.abort();
    }
    expect(seen).toMatchObject([{ type: 'attempt' }, { type: 'delta', index: 0, delta: { type: 'text', text: 'hi' } }]);
    await channel.close();
  });

  test('runs at the same time as others', async () => {
    const runs = Array.from({ length: 20 }, (_, index) =>
      testAgent(agent, { input: `${index}`, model: scriptedModel([callTool('look'), say(`${index}`)]) }),
    );
    expect((await Promise.all(runs)).map(({ result }) => result.outputText)).toEqual(runs.map((_, place) => `${place}`));
  });
});

function toolOptions(name: string): { name: string; description: string; parameters: z.ZodObject; execute: () => string } {
  return { name, description: 'd', parameters: z.object({}), execute: () => 'done' };
}

test('a tool may emit data for readers, which a test does not have', async () => {
  const emitting = defineTool({
    name: 'emitting',
    description: 'Emits',
    parameters: z.object({ rows: z.number() }),
    execute: ({ rows }, { emit }) => {
      emit('rows', 'x'.repeat(rows));
      return 'emitted';
    },
  });
  const model = scriptedModel([together(callTool('emitting', { rows: 1 }), callTool('emitting', { rows: 40_000 })), say('done')]);
  const { steps } = await testAgent(agentWith([emitting]), { input: 'Go', model });
  expect(steps[0]?.toolCalls.map(({ isError, result }) => [isError, result])).toEqual([
    [false, 'emitted'],
    [true, expect.stringContaining('emit: the data "rows" is 40002 bytes of JSON, over 32000: emit a part of it')],
  ]);
});
