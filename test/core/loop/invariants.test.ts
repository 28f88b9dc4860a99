import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ContentItem, isToolCall } from '../../../src/core/domain/content.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { ModelCallOutcome, ToolOutcome } from '../../../src/core/kernel/ports.ts';
import { call, message, responded, returned, runFake, tokens, type FakeRun, type FakeTool } from './fakes/fake-ports.ts';
import { testSnapshot, testTool } from './fakes/snapshot.ts';
import { propertyRuns } from '../../property-runs.ts';

/** One model call of a generated run: text, calls (to known and unknown tools), and failures. */
interface Turn {
  type: 'response' | 'failed' | 'cancelled';
  text: string | null;
  calls: { name: string; behavior: 'now' | 'later' | 'error' | 'cancelled'; problem: boolean }[];
  usage: [number, number] | null;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  type: fc.constantFrom('response', 'response', 'response', 'response', 'response', 'failed', 'cancelled'),
  text: fc.option(fc.string(), { nil: null }),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('known', 'lonely', 'nope', '__proto__', 'final_answer'),
      behavior: fc.constantFrom('now', 'later', 'error', 'now', 'later', 'error', 'cancelled'),
      problem: fc.boolean(),
    }),
    { maxLength: 5 },
  ),
  usage: fc.option(fc.tuple(fc.nat(1_000), fc.nat(1_000)), { nil: null }),
});

const plan = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 8 }),
  steps: fc.integer({ min: 0, max: 6 }),
  finalAttempt: fc.boolean(),
  parallel: fc.boolean(),
  structured: fc.boolean(),
  cancelAt: fc.option(fc.nat(8), { nil: null }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

async function generatedRun(given: Plan): Promise<{ run: Awaited<ReturnType<typeof runFake>>; histories: Event[][] }> {
  const histories: Event[][] = [];
  const behaviors = new Map<string, Turn['calls'][number]['behavior']>();
  const tool: FakeTool = async ({ call: { toolCallId } }) => {
    const behavior = behaviors.get(toolCallId) ?? 'now';
    if (behavior === 'later') await new Promise((resolve) => setImmediate(resolve));
    if (behavior === 'cancelled') return { type: 'cancelled' };
    const outcome: ToolOutcome = {
      type: 'result',
      status: behavior === 'error' ? 'error' : 'success',
      content: [toolCallId],
      durationMs: 1,
    };
    return behavior === 'error' ? outcome : returned(toolCallId);
  };
  const model = Array.from({ length: 10 }, (_, index) => (fake: FakeRun): ModelCallOutcome => {
    if (given.cancelAt === index) fake.cancel();
    const one = given.turns[index % given.turns.length];
    if (one === undefined || one.type === 'cancelled') return { type: 'cancelled' };
    if (one.type === 'failed') return { type: 'failed', code: 'model_error', message: 'down' };
    const calls = one.calls.map(({ name }, place) => call(`c${index}-${place}`, name, { output: index }));
    one.calls.forEach(({ behavior }, place) => behaviors.set(`c${index}-${place}`, behavior));
    const problems = Object.fromEntries(
      one.calls.flatMap(({ problem }, place) => (problem ? [[`c${index}-${place}`, 'does not fit']] : [])),
    );
    const content: ContentItem[] = [...(one.text === null ? [] : [message(one.text)]), ...calls];
    const usage = one.usage === null ? null : tokens(...one.usage);
    return responded(content, { problems, usage, output: { type: 'parsed', value: index } });
  });
  const schema = { type: 'object' };
  const snapshot = testSnapshot({
    tools: [testTool('known'), testTool('lonely', { parallel: false })],
    parallel: given.parallel,
    limits: { steps: given.steps, finalAttempt: given.finalAttempt },
    ...(given.structured ? { output: { mode: 'final_answer' as const, schema, providerSchema: schema, strict: true, maxRetries: 2 } } : {}),
  });
  const tools = { known: tool, lonely: tool };
  const run = await runFake({ snapshot, model, tools, recorded: ({ context }) => histories.push([...context.events]) });
  return { run, histories };
}

/** Checks the property on many generated runs. */
async function holds(property: (generated: Awaited<ReturnType<typeof generatedRun>>, given: Plan) => void): Promise<void> {
  await fc.assert(
    fc.asyncProperty(plan, async (given) => property(await generatedRun(given), given)),
    { numRuns: propertyRuns(300) },
  );
}

describe('every run, for any model and tools,', () => {
  it('answers every tool call exactly once, in the order of the model, right after it', () =>
    holds(({ run }) => {
      const { events } = run.state.context;
      events.forEach(({ content }, index) => {
        const asked = content.filter(isToolCall).map(({ toolCallId }) => toolCallId);
        if (asked.length === 0) return;
        const answered = events[index + 1]?.content.map((item) => (item.type === 'tool_result' ? item.toolCallId : item.type));
        expect(answered).toEqual(asked);
      });
      const results = events.flatMap(({ content }) => content.filter((item) => item.type === 'tool_result'));
      expect(new Set(results.map(({ toolCallId }) => toolCallId)).size).toBe(results.length);
    }));

  it('has one step for each completed model call, numbered from 1', () =>
    holds(({ run }) => {
      const completed = run.state.context.events.filter((event) => event.usage !== undefined && !event.interrupted);
      expect(run.state.steps.map(({ step }) => step)).toEqual(completed.map((_, index) => index + 1));
      expect(run.state.context.currentStep).toBe(run.state.steps.length);
      expect(run.result.stepsUsed).toBe(run.state.steps.length);
    }));

  it('never exceeds its step limit, except for one final attempt', () =>
    holds(({ run }, { steps, finalAttempt }) => {
      expect(run.modelCalls.length).toBeLessThanOrEqual(steps + (finalAttempt ? 1 : 0));
      const finals = run.state.steps.filter((step) => step.final);
      expect(finals.every((step) => step.step === steps + 1)).toBe(true);
    }));

  it('only ever appends events', () =>
    holds(({ run, histories }) => {
      let before: Event[] = [];
      for (const history of [...histories, run.state.context.events]) {
        expect(history.slice(0, before.length)).toEqual(before);
        before = history;
      }
      expect(new Set(before.map(({ id }) => id)).size).toBe(before.length);
    }));

  it('has a usage that is the sum over its events', () =>
    holds(({ run }) => {
      const usages = run.state.context.events.flatMap(({ usage }) => (usage === undefined ? [] : [usage]));
      expect(run.result.usage.llmCalls).toBe(usages.length);
      expect(run.result.usage.totalTokens).toBe(usages.reduce((sum, usage) => sum + (usage?.totalTokens ?? 0), 0));
    }));

  it('counts every call once: as a call that ran, including failed ones, or as a call that did not', () =>
    holds(({ run }) => {
      const { toolCallsTotal, toolCallsByName, toolCallsNotRun = {} } = run.result;
      const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((total, count) => total + count, 0);
      const records = run.state.steps.flatMap(({ toolCalls }) => toolCalls);
      expect(sum(toolCallsByName)).toBe(toolCallsTotal);
      expect(toolCallsTotal).toBe(records.filter(({ notRun }) => notRun === undefined).length);
      expect(toolCallsTotal + Object.values(toolCallsNotRun).reduce((total, byName) => total + sum(byName), 0)).toBe(records.length);
    }));

  it('ends in a terminal status that distinguishes success from all other endings', () =>
    holds(({ run }) => {
      const stops = {
        completed: 'final_answer',
        max_iterations_reached: 'step_limit',
        limit_reached: 'none of these runs',
        error: 'error',
        cancelled: 'cancelled',
      };
      expect(run.result.stopReason).toBe(stops[run.result.status]);
      expect(run.result.error === null).toBe(run.result.status !== 'error');
      expect(run.state.status).toBe(run.result.status);
    }));
});
