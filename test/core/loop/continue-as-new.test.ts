import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isToolCall, outputText } from '../../../src/core/domain/content.ts';
import { type ChainedRun, chainedRun, type ContinueDue } from './generated-runs/chained-run.ts';
import { plannedRun } from './generated-runs/planned-run.ts';
import { propertyRuns } from '../../property-runs.ts';

const NEVER: ContinueDue = () => false;

/** Continues as new at random points, over and over. */
const somewhere = fc.array(fc.boolean(), { minLength: 1, maxLength: 40 });

function dueAt(points: boolean[]): ContinueDue {
  let index = 0;
  return () => points[index++ % points.length] ?? false;
}

/** Many runs of many steps, on a machine that may be busy. */
const MANY_RUNS_MS = 120_000;

/** A run that waits forever, or runs that take too long together, are reported with the run instead of as a test that does not end. */
const BOUNDED: fc.Parameters<unknown> = { timeout: 15_000, interruptAfterTimeLimit: 90_000, markInterruptAsFailure: true };

/** Does each of many generated runs twice: in one execution, and continued as new. */
async function holds(property: (split: ChainedRun, whole: ChainedRun) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(plannedRun, somewhere, async (plan, points) =>
      property(await chainedRun(plan, dueAt(points)), await chainedRun(plan, NEVER)),
    ),
    { ...BOUNDED, numRuns: propertyRuns(100) },
  );
}

describe('a run that continues as new at any point', { timeout: MANY_RUNS_MS }, () => {
  it('records the same events, and has the same steps and the same result', () =>
    holds((split, whole) => {
      expect(split.events).toEqual(whole.events);
      expect(split.steps).toEqual(whole.steps);
      const { steps: _, ...result } = split.result;
      const { steps: __, ...expected } = whole.result;
      expect(result).toEqual(expected);
    }));

  it('sends the same requests to the model, and gives every tool the same state', () =>
    holds((split, whole) => {
      expect(split.actors.requests).toEqual(whole.actors.requests);
      expect(split.actors.summaries).toEqual(whole.actors.summaries);
      expect(split.actors.invocations).toEqual(whole.actors.invocations);
    }));

  it('numbers its events without a gap', () =>
    holds(({ states }) => {
      let through = 0;
      for (const { firstOffset, context, window, carriedEventId } of states) {
        expect(firstOffset).toBe(through);
        expect(carriedEventId === undefined).toBe(through === 0);
        through += context.events.length;
        expect(window.through).toBe(through);
      }
    }));

  it('gives every call one result, starts no tool twice, and records every message once', () =>
    holds(({ events, actors }) => {
      const items = events.flatMap(({ content }) => content);
      const asked = items.filter(isToolCall).map(({ toolCallId }) => toolCallId);
      const answered = events.map(({ content }) => content.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : [])));
      expect(answered.flat().toSorted()).toEqual(asked.toSorted());
      // The results of one event are in the order of the model, whichever was decided first.
      for (const ids of answered) expect(ids).toEqual(asked.filter((id) => ids.includes(id)));
      const started = actors.invocations.map(({ callId }) => callId);
      expect(new Set(started).size).toBe(started.length);
      const said = items.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
      expect(said.filter((text) => actors.accepted.includes(text))).toEqual(actors.accepted);
    }));

  it('has the sum over its events as its usage, summaries included, and one step for each answer', () =>
    holds(({ events, result, steps }) => {
      const usages = events.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
      expect(result.usage.llmCalls).toBe(usages.length);
      const reported = events.flatMap(({ usage, failedAttempts }) => [usage, failedAttempts?.reported]);
      expect(result.usage.totalTokens).toBe(reported.reduce((sum, usage) => sum + (usage?.totalTokens ?? 0), 0));
      const answers = events.filter(({ usage, compaction, interrupted }) => usage !== undefined && !compaction && !interrupted);
      expect(steps.map(({ step }) => step)).toEqual(answers.map((_, index) => index + 1));
    }));
});

it(
  'the generated runs continue as new at every kind of point, are compacted in every way, and get every kind of decision',
  { timeout: MANY_RUNS_MS },
  async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(plannedRun, somewhere, async (plan, points) => {
        const { positions, states, events, actors, result } = await chainedRun(plan, dueAt(points));
        for (const [index, position] of positions.entries()) {
          const waiting = states[index]?.approvals.pending[0];
          if (waiting !== undefined) seen.add(`continued while a ${waiting.kind} waits`);
          else if (position.type === 'call_model') seen.add(position.shortened ? 'continued after shortening' : 'continued before a step');
          else if (position.type === 'run_tools')
            seen.add(position.outcomes.some((outcome) => outcome !== null) ? 'continued among calls' : 'continued before calls');
        }
        for (const { compaction, decision, raised, interrupted } of events) {
          if (compaction?.evicted) seen.add('evicted');
          if (compaction?.summarized) seen.add(compaction.summarized.tail === null ? 'summarized all' : 'summarized');
          if (decision) seen.add(`${decision.type} by ${decision.source}`);
          if (raised) seen.add('raised');
          if (interrupted) seen.add('interrupted');
        }
        if (actors.pauses > 0) seen.add('paused');
        seen.add(result.stopReason === 'deadline' || result.stopReason === 'cost_budget' ? 'token_budget' : result.stopReason);
      }),
      { ...BOUNDED, numRuns: 300, seed: 1 },
    );
    expect([...seen].toSorted()).toEqual([
      'approve by deadline',
      'approve by remembered',
      'approve by update',
      'cancelled',
      'continued after shortening',
      'continued among calls',
      'continued before a step',
      'continued before calls',
      'continued while a limit waits',
      'continued while a tool waits',
      'error',
      'evicted',
      'final_answer',
      'interrupted',
      'paused',
      'raised',
      'reject by deadline',
      'reject by remembered',
      'reject by update',
      'respond by update',
      'step_limit',
      'summarized',
      'summarized all',
      'token_budget',
      'tool_call_limit',
    ]);
  },
);
