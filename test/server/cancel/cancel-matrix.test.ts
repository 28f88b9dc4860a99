import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent, defineTool, type ToolDefinition } from '../../../src/index.ts';
import { INTERRUPTED_CALL, RUNNING_CALL } from '../../../src/core/domain/tool-calls.ts';
import { SIGNALS } from '../../../src/core/protocol.ts';
import { callTool, hang, say, type ScriptedModel, scriptedModel, together } from '../../../src/testing/index.ts';
import { search } from '../testbed/agents.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';

/** A run that is about to be cancelled, with its environment. */
interface Subject {
  testbed: Testbed;
  run: RunHandle;
  scripted: ScriptedModel;
  /** Reasons that the abort signal gave to the tools. */
  told: string[];
  /** The tool `gate` waits for this promise. */
  gate: PromiseWithResolvers<string>;
}

/** A point where a run is cancelled. */
interface Point {
  script: () => ScriptedModel;
  /** Number of Updates after which the run continues as new. */
  updates?: number;
  /** Brings the run to the point. */
  reach: (subject: Subject) => Promise<unknown>;
  /** Texts of the results in the record, in order. */
  results: string[];
  /** Reasons that the abort signal must have given to tools in flight. */
  told?: string[];
}

const waitForAbort = (told: string[]): ToolDefinition<Record<string, never>, unknown, Promise<void>> =>
  defineTool({
    name: 'wait',
    description: 'Waits until it is told to stop',
    parameters: z.object({}),
    execute: async (_, { signal, callId }) => {
      told.push(`${callId} began`);
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          told.push(`${callId} was told`);
          reject(signal.reason);
        });
      });
    },
  });

const gateTool = (gate: PromiseWithResolvers<string>, told: string[]): ToolDefinition<Record<string, never>, unknown, Promise<string>> =>
  defineTool({
    name: 'gate',
    description: 'Waits until it is opened',
    parameters: z.object({}),
    execute: (_, { callId }) => {
      told.push(`${callId} began`);
      return gate.promise;
    },
  });

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  approval: 'always',
  execute: () => expect.fail('it was not approved'),
});
const later = defineTool({
  name: 'later',
  description: 'Pays, with a deadline for the decision',
  parameters: z.object({}),
  approval: { when: 'always', deadline: '1h' },
  execute: () => expect.fail('it was not approved'),
});

const isPending = ({ run }: Subject): Promise<void> =>
  until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
const lookUp = callTool('search', { query: 'a' }, 'c0');

const POINTS: Record<string, Point> = {
  'while it waits for an approval': {
    script: () => scriptedModel([together(callTool('pay', {}, 'c1'), lookUp)]),
    reach: isPending,
    results: [INTERRUPTED_CALL, 'found: a'],
  },
  'in a timer, the deadline of an approval': {
    script: () => scriptedModel([lookUp, callTool('later', {}, 'c1')]),
    reach: isPending,
    results: ['found: a', INTERRUPTED_CALL],
  },
  'in a model call': {
    script: () => scriptedModel([lookUp, hang('half an ans')]),
    reach: ({ scripted }) => until(() => scripted.requests.length === 2, 'the second model call'),
    results: ['found: a'],
  },
  'in a tool': {
    script: () => scriptedModel([together(callTool('wait', {}, 'c1'), lookUp)]),
    reach: ({ told }) => until(() => told.length === 1, 'the tool'),
    results: [RUNNING_CALL, 'found: a'],
    told: ['c1 began', 'c1 was told'],
  },
  'while it is paused': {
    script: () => scriptedModel([callTool('gate', {}, 'c1'), say('never')]),
    reach: async ({ run, gate, told }) => {
      await until(() => told.length === 1, 'the tool');
      await run.pause();
      gate.resolve('open');
      await until(async () => (await run.status()).status === 'paused', 'the run is paused');
    },
    results: ['open'],
    told: ['c1 began'],
  },
  'between two executions': {
    script: () => scriptedModel([callTool('pay', {}, 'c1')]),
    updates: 2,
    reach: async (subject) => {
      await isPending(subject);
      // The third message makes the run continue as new; the server waits up to a second before the first task of the next
      // execution.
      await Promise.all(['m1', 'm2', 'm3'].map((id) => subject.run.send(id, { id })));
    },
    results: [INTERRUPTED_CALL],
  },
};

/** The ways to cancel a run. */
const WAYS: Record<string, (subject: Subject) => Promise<unknown>> = {
  'by the client': ({ run }) => run.cancel('enough'),
  'by a signal': ({ testbed, run }) =>
    testbed.client.temporal.workflow.getHandle(run.runId).signal(SIGNALS.cancel, { reason: 'enough', by: 'ann' }),
  // The button of the Temporal UI sends neither reason nor identity.
  'from the Temporal UI': ({ testbed, run }) =>
    testbed.client.temporal.workflowService.requestCancelWorkflowExecution({
      namespace: testbed.client.temporal.options.namespace,
      workflowExecution: { workflowId: run.runId },
      identity: '',
      requestId: randomUUID(),
    }),
};
const REASONS: Record<string, string | undefined> = { 'by the client': 'enough', 'by a signal': 'enough (ann)' };

describe.each(Object.entries(POINTS))('a run that is cancelled %s', (_, point) => {
  test.each(Object.entries(WAYS))('%s closes as Canceled, keeps its record and starts nothing more', async (way, cancel) => {
    await using testbed = await Testbed.open();
    const told: string[] = [];
    const gate = Promise.withResolvers<string>();
    const agent = defineAgent({
      name: 'subject',
      model: 'scripted/m',
      tools: [search, pay, later, waitForAbort(told), gateTool(gate, told)],
    });
    const scripted = point.script();
    const continueAsNew = point.updates === undefined ? {} : { continueAsNew: { updates: point.updates } };
    await testbed.work({ agents: [agent], providers: { scripted }, ...continueAsNew });
    const run: RunHandle = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    const subject = { testbed, run, scripted, told, gate };
    await point.reach(subject);
    await cancel(subject);

    const result = await run.result({ steps: true, timeout: 20_000 });
    const asked = scripted.requests.length;
    expect(result).toMatchObject({ status: 'cancelled', stopReason: 'cancelled', success: false });
    expect(result.cancelReason).toBe(REASONS[way]);
    expect(await executionStatus(testbed, run.runId)).toBe('CANCELLED');
    const events = await Array.fromAsync(run.events());
    const texts = result.steps?.flatMap(({ toolCalls }) => toolCalls.map(({ result: text }) => text));
    expect(texts).toEqual(point.results);
    const answered = events.flatMap(({ content }) => content.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : [])));
    const called = events.flatMap(({ content }) => content.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : [])));
    expect(answered.toSorted()).toEqual(called.toSorted());
    if (point.told !== undefined) await until(() => told.length === point.told?.length, 'the signal of the tool is aborted');
    expect(told).toEqual(point.told ?? []);
    // After the server was asked to cancel, no activity was scheduled.
    const history = await historyOf(testbed, run);
    const request = history.findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes);
    const scheduled = history.slice(request).map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name);
    expect(scheduled.filter((name) => name !== undefined)).toEqual([]);
    expect(scripted.requests).toHaveLength(asked);
  });
});
