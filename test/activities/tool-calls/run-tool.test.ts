import { expect, test } from 'vitest';
import { z } from 'zod';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { Folded } from '../../../src/core/domain/window.ts';
import { QUERIES, type RunToolInput } from '../../../src/core/protocol.ts';
import { activityEnvironment } from '../activity-environment.ts';

const agent = defineAgent({
  name: 'clerk',
  model: 'scripted/m',
  tools: [
    // The name of the activity in these tests.
    defineTool({ name: 'unknown', description: 'Says', parameters: z.object({ text: z.string() }), execute: ({ text }) => `said ${text}` }),
  ],
});

/** A call, and the decision on it. */
const events: Folded[] = [
  { id: 'e0', author: 'clerk', content: [{ type: 'tool_call', toolCallId: 'c1', name: 'unknown', arguments: { text: 'as asked' } }] },
  { id: 'e1', author: 'ann', content: [] },
];

const input: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [0, 0], eventId: 'e0', timeoutMs: 60_000 };

test('arguments that are not in the input are read from the conversation, even if more events were recorded later', async () => {
  const environment = activityEnvironment({ agents: [agent], events });
  expect(await environment.run(runToolActivity(environment.runtime), input)).toMatchObject({ content: ['said as asked'] });
  // The first read is enough: the process keeps the conversation.
  expect(await environment.run(runToolActivity(environment.runtime), input)).toMatchObject({ content: ['said as asked'] });
  expect(environment.asked.map(([query]) => query)).toEqual([QUERIES.transcript]);
});

test('arguments of a decision that are not in the input are requested from the run', async () => {
  const environment = activityEnvironment({ agents: [agent], events, answers: { [QUERIES.callArguments]: { text: 'as decided' } } });
  const output = await environment.run(runToolActivity(environment.runtime), { ...input, argumentsByReference: true });
  expect(output).toMatchObject({ content: ['said as decided'] });
  expect(environment.asked).toEqual([[QUERIES.callArguments, { callId: 'c1' }]]);
});

test('a call that is not in the conversation is a defect, and is not retried', async () => {
  const environment = activityEnvironment({ agents: [agent], events });
  const failing = environment.run(runToolActivity(environment.runtime), { ...input, eventId: 'another' });
  await expect(failing).rejects.toMatchObject({ type: 'internal', nonRetryable: true });
});
