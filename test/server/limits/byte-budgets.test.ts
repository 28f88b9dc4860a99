import type { Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BYTE_BUDGETS, jsonBytes, MAX_PAYLOAD_BYTES } from '../../../src/core/domain/byte-budgets.ts';
import { defineAgent, defineTool, type RunResult } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together, type ScriptEntry } from '../../../src/testing/index.ts';
import type { HistoryEvent } from '../../../src/history/history-events.ts';
import type { ContextPage } from '../../../src/core/protocol.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

/** The expectations one byte below a limit, at it, and one byte above it. */
function around<Fits, Over>(fits: Fits, over: Over): [more: number, expected: Fits | Over][] {
  return [
    [-1, fits],
    [0, fits],
    [1, over],
  ];
}

/**
 * If Temporal refuses a payload, the task or the attempt that sent it fails and is retried: more often than the test
 * expects.
 */
function assertNothingRepeated(history: HistoryEvent[], tries = 1): void {
  const attempts = history.flatMap(({ activityTaskStartedEventAttributes: started }) => (started ? [started.attempt] : []));
  expect(attempts).toEqual(attempts.map(() => tries));
  expect(history.filter((event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes)).toEqual([]);
}

/** A text that takes this many bytes as JSON. */
const text = (bytes: number): string => 'x'.repeat(bytes - '""'.length);

const store = defineTool({
  name: 'store',
  description: 'Takes anything',
  parameters: z.object({ body: z.string() }),
  execute: ({ body }) => `${body.length} characters`,
});

const fetchPage = defineTool({
  name: 'fetch_page',
  description: 'Gives a text of that many characters',
  parameters: z.object({ characters: z.int(), fail: z.boolean().optional() }),
  maxResultBytes: BYTE_BUDGETS.maxToolResult,
  retryOn: 'none',
  execute: ({ characters, fail }) => {
    if (fail) throw new Error('y'.repeat(characters));
    return 'x'.repeat(characters);
  },
});

const remember = defineTool({
  name: 'remember',
  description: 'Keeps a note of that many characters',
  parameters: z.object({ characters: z.int() }),
  execute: ({ characters }, { setState }) => {
    setState('note', 'x'.repeat(characters));
    return 'kept';
  },
});

const beat = defineTool({
  name: 'beat',
  description: 'Reports progress of that many bytes',
  parameters: z.object({ bytes: z.int() }),
  execute: ({ bytes }, { heartbeat }) => {
    heartbeat(text(bytes));
    return 'done';
  },
});

const agent = defineAgent({
  name: 'sizes',
  model: 'scripted/model-1',
  instructions: ({ long }) => ['Answer.', 'x'.repeat(Number(long ?? 0))],
  tools: [store, fetchPage, remember, beat],
});

interface Outcome {
  result: RunResult;
  history: HistoryEvent[];
}

/** Runs the agent against the script, and checks that no task and no activity was retried. */
async function run(script: ScriptEntry[], options: { input?: string; deps?: Record<string, unknown> } = {}): Promise<Outcome> {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(script);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const result = await testbed.client.run('sizes', {
    input: options.input ?? 'Q',
    ...(options.deps === undefined ? {} : { deps: options.deps }),
    taskQueue: testbed.taskQueue,
    steps: true,
  });
  const history = await historyOf(testbed, result.runId);
  assertNothingRepeated(history);
  scripted.assertUsedUp();
  return { result, history };
}

function decoded(payloads: Payload[] | null | undefined): unknown {
  return JSON.parse(Buffer.from(payloads?.[0]?.data ?? []).toString());
}

/** The results of the activities, in the order of completion. */
function activityResults(history: HistoryEvent[]): unknown[] {
  return history.flatMap(({ activityTaskCompletedEventAttributes: done }) => (done ? [decoded(done.result?.payloads)] : []));
}

/** The first response of the model, as the history holds it. */
async function recordedResponse(script: ScriptEntry[]): Promise<unknown> {
  const [, called] = activityResults((await run(script)).history) as { response?: unknown }[];
  return called?.response;
}

/** The first tool call in the steps of a run. */
function firstCall({ result }: Outcome): { result: string; isError: boolean } | undefined {
  return result.steps?.flatMap((step) => step.toolCalls)[0];
}

describe('around each limit no activity and no task is retried', () => {
  test('a tool result above its budget is cut, and the run completes', async () => {
    const cut = /^x+\n\[Cut: \d+ of 399997 bytes of this result are missing\. Ask for less, or for a part\.\]$/;
    for (const [more, expected] of around(/^x+$/, cut)) {
      const characters = BYTE_BUDGETS.maxToolResult - '[""]'.length + more;
      const outcome = await run([callTool('fetch_page', { characters }), say('done')]);
      expect(outcome.result).toMatchObject({ status: 'completed', output: 'done' });
      const call = firstCall(outcome);
      expect(call).toMatchObject({ isError: false, result: expect.stringMatching(expected) });
      expect(jsonBytes([call?.result])).toBeLessThanOrEqual(BYTE_BUDGETS.maxToolResult);
    }
  }, 60_000);

  test('the message of a failing tool above the budget of its results is cut, and the run completes', async () => {
    for (const [more, expected] of around(/^y+$/, /^y+\n\[Cut: /)) {
      const characters = BYTE_BUDGETS.maxToolResult - '[""]'.length + more;
      const outcome = await run([callTool('fetch_page', { characters, fail: true }), say('done')]);
      expect(outcome.result.status).toBe('completed');
      expect(firstCall(outcome)).toMatchObject({ isError: true, result: expect.stringMatching(expected) });
    }
  }, 60_000);

  test('a tool call with arguments above their budget gets an error result, and the run completes', async () => {
    const answers = { isError: false, result: expect.stringMatching(/^\d+ characters$/) };
    const refused = {
      isError: true,
      arguments: {},
      result: expect.stringContaining("The arguments of 'store' are too large: 400001 bytes of JSON"),
    };
    for (const [more, expected] of around(answers, refused)) {
      const args = { body: text(BYTE_BUDGETS.toolArguments - '{"body":}'.length + more) };
      const outcome = await run([callTool('store', args), say('done')]);
      expect(outcome.result).toMatchObject({ status: 'completed', output: 'done' });
      expect(firstCall(outcome)).toMatchObject(expected);
    }
  }, 60_000);

  test('if all arguments of a response are above its budget, the last calls get an error result', async () => {
    const script = (last: number): ScriptEntry[] => [
      together(
        callTool('store', { body: text(390_000) }),
        callTool('store', { body: text(390_000) }),
        callTool('store', { body: text(390_000) }),
        callTool('store', { body: text(last) }),
      ),
      say('A summary, because the calls are more than the window of the agent takes.'),
      say('done'),
    ];
    const rest = BYTE_BUDGETS.modelResponse - jsonBytes(await recordedResponse(script(10))) + 10;
    for (const [more, expected] of around([false, false, false, false], [false, false, false, true])) {
      const { result } = await run(script(rest + more));
      expect(result.status).toBe('completed');
      expect(result.steps?.[0]?.toolCalls.map((call) => call.isError)).toEqual(expected);
    }
  }, 60_000);

  test('model output above its budget ends the run with an error that names the model', async () => {
    const room = BYTE_BUDGETS.modelText - jsonBytes(await recordedResponse([say('x')])) + 1;
    const whole = { status: 'completed', output: expect.stringMatching(/^x+$/) };
    const ended = {
      status: 'error',
      errorCode: 'payload_too_large',
      error: expect.stringContaining('The answer of model "scripted/model-1" is 400001'),
    };
    for (const [more, expected] of around(whole, ended)) {
      expect((await run([say('x'.repeat(room + more))])).result).toMatchObject(expected);
    }
  }, 60_000);

  test('an agent above its budget ends the run with an error that names the large part', async () => {
    const { history } = await run([say('done')]);
    const room = BYTE_BUDGETS.snapshot - jsonBytes(activityResults(history)[0]);
    const runs = { script: [say('done')], status: 'completed', error: null };
    const ended = { script: [], status: 'error', error: expect.stringContaining('most of it is its instructions') };
    for (const [more, { script, ...expected }] of around(runs, ended)) {
      expect((await run(script, { deps: { long: room + more } })).result).toMatchObject(expected);
    }
  }, 60_000);

  test('a call that sets state above its budget gets an error result, and sets nothing', async () => {
    const room = BYTE_BUDGETS.state - '{"note":""}'.length;
    const kept = { isError: false, result: 'kept' };
    const refused = {
      isError: true,
      result: expect.stringContaining('Tool \'remember\' keeps too much. The field "state" would be 150001 bytes of JSON'),
    };
    for (const [more, { set, ...expected }] of around({ ...kept, set: true }, { ...refused, set: false })) {
      const outcome = await run([callTool('remember', { characters: room + more }), say('done')]);
      expect(outcome.result.status).toBe('completed');
      expect(firstCall(outcome)).toMatchObject(expected);
      const [, , output] = activityResults(outcome.history) as { state?: unknown }[];
      expect(output?.state !== undefined).toBe(set);
    }
  }, 60_000);

  test('the details of a heartbeat above their budget are left out, and the call continues', async () => {
    for (const more of [-1, 0, 1, 3_000_000]) {
      const outcome = await run([callTool('beat', { bytes: BYTE_BUDGETS.heartbeat + more }), say('done')]);
      expect(outcome.result.status).toBe('completed');
      expect(firstCall(outcome)).toMatchObject({ isError: false, result: 'done' });
    }
  }, 60_000);
});

describe('the input of a start', () => {
  const start = (field: string, more: number): { input: string; deps?: Record<string, unknown> } =>
    field === 'input'
      ? { input: text(BYTE_BUDGETS.startInput + more) }
      : { input: 'Q', deps: { note: 'x'.repeat(BYTE_BUDGETS.deps - '{"note":""}'.length + more) } };

  describe.each(['input', 'deps'])('%s', (field) => {
    test('up to its budget, the run begins', async () => {
      for (const more of [-1, 0]) {
        const { result } = await run([say('done')], start(field, more));
        expect(result).toMatchObject({ status: 'completed', output: 'done' });
      }
    });

    test('above its budget, the client refuses it before it sends anything', async () => {
      await using testbed = await Testbed.open();
      const runId = `refused-${field}-${testbed.taskQueue}`;
      await expect(testbed.client.start('sizes', { ...start(field, 1), runId, taskQueue: testbed.taskQueue })).rejects.toMatchObject({
        code: 'payload_too_large',
        message: expect.stringContaining(`The run cannot start: ${field}: `),
      });
      await expect(testbed.client.handle(runId).status()).rejects.toMatchObject({ code: 'run_not_found' });
    });

    test('without the check of the client, a start above its budget ends the run, and a start below it does not', async () => {
      await using testbed = await Testbed.open();
      await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('done')], { repeatLast: true }) } });
      const ended = { status: 'error', errorCode: 'payload_too_large', error: expect.stringContaining(`${field}: `) };
      for (const [more, expected] of around({ status: 'completed' }, ended)) {
        const { workflowId: runId } = await testbed.client.temporal.workflow.start('agentRun', {
          workflowId: `from-temporal${more}-${testbed.taskQueue}`,
          taskQueue: testbed.taskQueue,
          args: [{ agent: 'sizes', ...start(field, more) }],
        });
        expect(await testbed.client.handle(runId).result()).toMatchObject(expected);
        assertNothingRepeated(await historyOf(testbed, runId));
      }
    });
  });
});

test('every query of a run at its limits is answered in pages that fit into a payload', async () => {
  await using testbed = await Testbed.open();
  const calls = [1, 2, 3].map(() => callTool('store', { body: text(390_000) }));
  const scripted = scriptedModel([
    callTool('remember', { characters: BYTE_BUDGETS.state - 100 }),
    together(say(''), ...calls),
    say('They were stored.'),
    say('x'.repeat(BYTE_BUDGETS.modelText - 1_000)),
  ]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const deps = { note: 'x'.repeat(BYTE_BUDGETS.deps - 100) };
  const { runId, status, error } = await testbed.client.run('sizes', { input: 'Q', deps, taskQueue: testbed.taskQueue });
  expect({ status, error }).toEqual({ status: 'completed', error: null });
  assertNothingRepeated(await historyOf(testbed, runId));

  const handle = testbed.client.temporal.workflow.getHandle(runId);
  const sizes: number[] = [];
  for (let from = 0, total = 1; from < total;) {
    const page = await handle.query<ContextPage, [{ from: number }]>('context', { from });
    expect(page.events).not.toEqual([]);
    sizes.push(jsonBytes(page));
    from = page.from + page.events.length;
    total = page.total;
  }
  // The page with the three calls also holds the state and the final result.
  expect(Math.max(...sizes)).toBeGreaterThan(1_700_000);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_PAYLOAD_BYTES);
});

test('a workflow of the user that starts an agent with too much input gets an error, and its task does not fail forever', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([]) } });
  const workflow = await testbed.client.temporal.workflow.start('report', {
    workflowId: `host-${testbed.taskQueue}`,
    taskQueue: testbed.taskQueue,
    args: ['x'.repeat(1_900_000)],
  });
  await expect(workflow.result()).rejects.toMatchObject({
    cause: { type: 'payload_too_large', message: expect.stringContaining('Agent "researcher" cannot start: input: 1900012 bytes of JSON') },
  });
  const history = await historyOf(testbed, workflow.workflowId);
  assertNothingRepeated(history);
  expect(history.filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes)).toEqual([]);
});

test('failures with huge messages are cut, from a model and from instructions', async () => {
  const huge = 'y'.repeat(3_000_000);
  await using testbed = await Testbed.open();
  const wordy = defineAgent({
    name: 'wordy',
    model: 'scripted/model-1',
    instructions: () => {
      throw new Error(huge);
    },
  });
  const scripted = scriptedModel([{ type: 'failure', code: 'model_bad_request', message: huge, retryAfterMs: undefined }]);
  await testbed.work({ agents: [agent, wordy], providers: { scripted } });
  for (const [name, errorCode, tries] of [
    ['sizes', 'model_bad_request', 1],
    ['wordy', 'instructions_failed', 5],
  ] as const) {
    const result = await testbed.client.run(name, { input: 'Q', taskQueue: testbed.taskQueue });
    expect(result).toMatchObject({ status: 'error', errorCode });
    expect(result.error?.length).toBeLessThanOrEqual(BYTE_BUDGETS.errorMessage);
    assertNothingRepeated(await historyOf(testbed, result.runId), tries);
  }
});
