import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { agentTool, defineAgent } from '../../../../src/index.ts';
import type { HistoryEvent } from '../../../../src/history/history-events.ts';
import { RunChain } from '../../../../src/client/executions.ts';
import { runHistory } from '../../../../src/history/history-events.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { callTool, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { ACTIVITIES } from '../../../../src/core/protocol.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { executionStatus, Testbed } from '../../testbed/testbed.ts';

const CHILDREN = 20;
/** The time after which the first agent ends, the time between two ends, and the time between two messages to the parent. */
interface Pace {
  firstMs: number;
  endsMs: number;
  messagesMs: number;
}

/** Returns a model that answers with its request after a time that depends on it, so that the agents end in sequence. */
function slow({ firstMs, endsMs }: Pace): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async (request, context) => {
      const [item] = request.conversation.at(-1)?.content ?? [];
      const n = item?.type === 'message' ? Number(item.content) : 0;
      await sleep(firstMs + n * endsMs, undefined, { signal: context.signal });
      return scriptedModel([say(`answer ${n}`)]).call(request, context);
    },
  };
}

test.each<Pace>([
  { firstMs: 100, endsMs: 5, messagesMs: 20 },
  { firstMs: 300, endsMs: 10, messagesMs: 10 },
  { firstMs: 500, endsMs: 120, messagesMs: 60 },
])(
  'agents that end while their parent switches its execution repeatedly have one result each (%o)',
  async (pace) => {
    await using testbed = await Testbed.open();
    const quick = defineAgent({ name: 'quick', model: 'below/m' });
    const boss = defineAgent({ name: 'boss', model: 'above/m', tools: [agentTool(quick)], limits: { steps: 10_000 } }); // each message may begin a step
    const calls = Array.from({ length: CHILDREN }, (_, n) => callTool('quick', { request: String(n) }));
    const above = scriptedModel([together(say(''), ...calls), say('All.')], { repeatLast: true });
    await testbed.work({ agents: [boss], providers: { above, below: slow(pace) }, continueAsNew: { updates: 2 } });
    const run = await testbed.client.start(boss, { input: 'Go', taskQueue: testbed.taskQueue });
    const over = new AbortController();
    const talking = (async () => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        await run.send(`message ${n}`).catch(() => undefined);
        await sleep(pace.messagesMs);
      }
    })();
    const result = await run.result({ steps: true });
    over.abort();
    await talking;
    expect(result).toMatchObject({ status: 'completed', descendants: { runs: CHILDREN, usage: { llmCalls: CHILDREN } } });
    const taken = result.steps?.[0]?.toolCalls ?? [];
    expect(taken.map(({ result: text }) => text)).toEqual(calls.map((_, n) => `answer ${n}`));
    for (const { childRunId = '' } of taken) expect(await executionStatus(testbed, childRunId)).toBe('COMPLETED');
    const events: HistoryEvent[] = [];
    for (const { executionId } of await new RunChain(testbed.client.temporal, run.runId).executions())
      for await (const event of runHistory(testbed.client.temporal, run.runId, executionId)) events.push(event);
    const ended = events.filter(({ childWorkflowExecutionCompletedEventAttributes: closed }) => closed).length;
    const reads = events.filter(
      ({ activityTaskScheduledEventAttributes: task }) => task?.activityType?.name === ACTIVITIES.readResult,
    ).length;
    // Each end came by its closing event or was read once; a closing event may also have come after the child was told.
    expect(ended + reads).toBeGreaterThanOrEqual(CHILDREN);
    expect(reads).toBeLessThanOrEqual(CHILDREN);
    await expectSameFromHistory(testbed, run);
  },
  120_000,
);
