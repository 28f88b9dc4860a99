import { describe, expect, test } from 'vitest';
import { givenMessages } from '../../../src/client/saved-context.ts';
import { conversationState, savedContextOf } from '../../../src/client/recorded-views.ts';
import { MEMORY_AUTHOR } from '../../../src/core/domain/memory.ts';
import { readSavedContext } from '../../../src/core/saved/read-saved-context.ts';
import { conversationProblems } from '../../../src/core/wire-schemas/run-input-schema.ts';
import { readBack, type ReadBackRun } from '../../../src/history/read-run.ts';
import { recordedChains } from '../../history/recorded-histories.ts';

const chains = [...(await recordedChains())];

/** Every execution of the recorded runs of agents that has resolved its agent, as a reader has it without a worker. */
async function executions(): Promise<{ runId: string; run: ReadBackRun }[]> {
  const read = chains.flatMap(([runId, links]) =>
    links.map(async ({ recorded }, index) => ({ runId, run: await readBack(runId, recorded, links[index + 1]?.recorded.carry) })),
  );
  return (await Promise.all(read)).filter(({ run }) => run.state !== undefined && run.state.program === undefined);
}

describe('the recorded runs', () => {
  test('are saved as documents that can be read, with the window of the run, without what was recalled, as their conversation', async () => {
    const runs = await executions();
    expect(runs.length).toBeGreaterThan(50);
    for (const { runId, run } of runs) {
      const saved = savedContextOf(runId, run);
      expect(readSavedContext(JSON.parse(JSON.stringify(saved)))).toEqual({ ok: true, context: saved, warnings: [] });
      const { window, snapshot, context, usage } = conversationState(runId, run);
      // Results that stand apart from their calls are put after them: the items are compared without their order.
      const items = window.events.filter(({ author }) => author !== MEMORY_AUTHOR).flatMap(({ content }) => content);
      const { messages, notices } = givenMessages(saved);
      expect(notices).toEqual([]);
      expect(conversationProblems(messages, 'messages')).toEqual([]);
      expect(messages.map((item) => JSON.stringify(item)).toSorted()).toEqual(
        items
          .filter((item) => item.type !== 'message' || item.role !== 'assistant' || item.content.length > 0)
          .map((item) => JSON.stringify(item))
          .toSorted(),
      );
      expect(saved).toMatchObject({
        agent_name: snapshot.name,
        iteration: context.currentStep,
        usage: { total_tokens: usage.totalTokens },
      });
    }
  });

  test('have a conversation if they are runs of agents that a worker has resolved', () => {
    const known = { agentName: 'clerk', startedAt: 0, executions: 1, queued: 0, waited: new Set<string>() };
    expect(() => savedContextOf('r', known)).toThrow('Run "r" has no conversation: no worker has resolved its agent so far');
  });

  test('have none if they are runs of programs', async () => {
    const programs = chains.filter(([, [link]]) => link?.recorded.program !== undefined);
    const [[runId, [link]] = ['', []]] = programs;
    if (link === undefined) throw new Error('No program is recorded');
    const run = await readBack(runId, link.recorded);
    expect(() => savedContextOf(runId, run)).toThrow(`Run "${runId}" is the run of a program, which has no conversation`);
  });
});
