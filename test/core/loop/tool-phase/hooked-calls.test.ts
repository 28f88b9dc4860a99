import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ReviewedCalls } from '../../../../src/core/domain/activity-messages.ts';
import { rewrittenArguments } from '../../../../src/core/domain/rewrites.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';
import type { ToolResultOutcome } from '../../../../src/core/kernel/ports.ts';
import { approvalViews } from '../../../../src/core/queries/run-views.ts';
import { approves } from '../fakes/callers.ts';
import { call, type FakeRun, type FakeScript, responded, runFake, said } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';
import { withHookAnswers } from '../../../../src/core/capabilities/hooks.ts';

const snapshot = testSnapshot({
  tools: [testTool('pay'), testTool('find')],
  hooks: [
    { name: 'slow', on: 'pre_tool_use', tier: 'remote' },
    { name: 'note', on: 'post_tool_use', tier: 'remote' },
  ],
  hookRecords: [{ hook: 'begin', on: 'session_start', answer: 'inject', text: 'x' }],
});

/** Rejects all calls of `find` in review, lets calls of `pay` wait with other arguments, and records each result. */
function hooked(reviews: string[] = []): Pick<AllPorts, 'reviewCalls' | 'afterCall'> {
  return {
    reviewCalls: ({ id, content }) => {
      reviews.push(id);
      const review: ReviewedCalls = { problems: {}, approvals: {}, rewrites: {}, hooks: [] };
      for (const item of content) {
        if (item.type !== 'tool_call') continue;
        const about = { hook: 'slow', on: 'pre_tool_use' as const, callId: item.toolCallId };
        if (item.name === 'find') {
          Object.assign(review.problems ?? {}, { [item.toolCallId]: 'not now' });
          review.hooks?.push({ ...about, answer: 'deny' });
        } else {
          Object.assign(review.approvals ?? {}, { [item.toolCallId]: { digest: `of ${item.toolCallId}` } });
          Object.assign(review.rewrites ?? {}, { [item.toolCallId]: { amount: 5 } });
          review.hooks?.push({ ...about, answer: 'ask' });
        }
      }
      return Promise.resolve(review);
    },
    afterCall: (_, outcome): Promise<ToolResultOutcome> =>
      Promise.resolve(
        withHookAnswers({ ...outcome, content: ['noted', ...outcome.content] }, [{ hook: 'note', on: 'post_tool_use', answer: 'modify' }]),
      ),
  };
}

const script: FakeScript = {
  snapshot,
  model: [responded([call('c1', 'pay', { amount: 7 }), call('c2', 'find')]), responded([call('c3', 'pay', { amount: 9 })]), said('done')],
  callers: [approves('c1'), approves('c3')],
  ports: hooked(),
};

describe('the calls of a response, with hooks that run in their own activity', () => {
  test('are reviewed once, and run with the rewritten arguments after the decision about those', async () => {
    const reviews: string[] = [];
    const shown: unknown[] = [];
    const run = await runFake({
      ...script,
      ports: hooked(reviews),
      callers: [
        (one) => {
          shown.push(
            approvalViews(one.state).map((view) => view.arguments),
            rewrittenArguments(one.state, 'c1'),
          );
          return approves('c1')(one);
        },
        approves('c3'),
      ],
    });
    expect(reviews).toHaveLength(2);
    expect(shown).toEqual([[{ amount: 5 }], { amount: 5 }]);
    expect(run.invocations.map(({ call: made }) => made.arguments)).toEqual([{ amount: 5 }, { amount: 5 }]);
    expect(run.steps[0]?.toolCalls).toMatchObject([
      { arguments: { amount: 5 }, hooks: [{ answer: 'ask' }, { answer: 'modify' }] },
      { isError: true, result: 'not now', hooks: [{ answer: 'deny' }] },
    ]);
    expect(run.result.hooks).toEqual(snapshot.hookRecords);
  });

  test('record the same at whichever points the run continues as new', async () => {
    const plain = await runFake(script);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 30 }), async (points) => {
        let asked = 0;
        const reviews: string[] = [];
        const continued = await runFake({
          ...script,
          ports: hooked(reviews),
          continueDue: ({ state }) => state.context.events.length > 0 && points[asked++ % points.length] === true,
        });
        expect(reviews).toHaveLength(2);
        expect(bare(continued)).toEqual(bare(plain));
      }),
      { numRuns: 60 },
    );
  });
});

function bare(run: FakeRun & { result: object }): unknown {
  const told = { events: run.events.map(({ id: _, ...event }) => event), steps: run.steps, result: { ...run.result, steps: [] } };
  return JSON.parse(JSON.stringify(told));
}
