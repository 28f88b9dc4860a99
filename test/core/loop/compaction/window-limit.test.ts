import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyWindow, extendWindow, windowText } from '../../../../src/core/domain/window.ts';
import { windowLimit, windowLimits } from '../../../../src/core/kernel/continue-as-new.ts';
import type { ToolOutcome } from '../../../../src/core/kernel/ports.ts';
import { chainedRun } from '../generated-runs/chained-run.ts';
import { call, called, returned, runFake, said, tokens } from '../fakes/fake-ports.ts';
import { plannedRun } from '../generated-runs/planned-run.ts';
import { agent, letters, read, watched } from '../fakes/watched-run.ts';
import { propertyRuns } from '../../../property-runs.ts';

describe('the limit of a window', () => {
  it("is the model's window less the fixed part of every request, with about four bytes to a token", async () => {
    const { state } = await runFake({
      snapshot: agent({ maxTokens: 5_000, maxBytes: 1_000_000 }, { instructions: [letters(6_000)] }),
      model: [said('ok')],
    });
    expect(windowLimit(state)).toBeGreaterThan(13_000);
    expect(windowLimit(state)).toBeLessThan(14_000);
  });

  it('decreases with the tokens that the provider counted', async () => {
    const { state } = await runFake({
      snapshot: agent({ maxTokens: 5_000, maxBytes: 1_000_000 }),
      model: [said(letters(4_000), { usage: tokens(2_000, 2_000) })],
    });
    expect(windowLimit(state)).toBe(state.window.bytes + 1_000 * 4);
    state.measured = { tokens: 10_000, bytes: state.window.bytes };
    expect(windowLimit(state)).toBeLessThan(state.window.bytes / 2 + 100);
    expect(windowLimit(state)).toBeGreaterThan(state.window.bytes / 2 - 100);
  });

  it('decreases to the size that can be carried along with a large agent and a large state', async () => {
    const snapshot = agent({ maxBytes: 1_200_000 }, { instructions: [letters(390_000)] });
    const { state } = await runFake({ snapshot, model: [said('ok')] });
    state.context.state = { kept: letters(149_000) };
    expect(windowLimit(state)).toBeLessThan(750_000);
    expect(windowLimit(state)).toBeGreaterThan(650_000);
  });

  it('is reached even by a window that is many times too large', async () => {
    const run = await watched({
      snapshot: agent({ maxTokens: 10_000, maxBytes: 1_000_000 }, { instructions: [letters(30_000)] }),
      model: [called(...[1, 2, 3, 4, 5, 6, 7, 8].map((n) => call(`c${n}`, 't'))), said('done')],
      tools: { t: () => returned(letters(10_000)) },
    });
    expect(run.result.status).toBe('completed');
    expect(run.windows[1]?.bytes).toBeLessThan(10_000);
  });
});

describe('the limits of a window with media', () => {
  const image = (n: number): ToolOutcome => ({
    type: 'result',
    status: 'success',
    content: ['see', { type: 'image', mediaType: 'image/png', data: letters(n) }],
    durationMs: 1,
  });
  const calls = [1, 2, 3].map((n) => called(call(`c${n}`, 't')));

  it('count an image as the tokens that models count for it, not as its base64', async () => {
    const run = await watched({
      snapshot: agent({ maxTokens: 10_000, maxBytes: 1_000_000 }),
      model: [...calls, said('done')],
      tools: { t: () => image(100_000) },
    });
    expect(run.state.context.events.filter(({ compaction }) => compaction !== undefined)).toEqual([]);
    expect(run.windows[3]?.bytes).toBeGreaterThan(300_000);
  });

  it('count what leaves the window in the same way: texts are removed until it fits', async () => {
    const results = [returned(letters(30_000)), image(100_000), returned(letters(30_000))];
    const run = await watched({
      snapshot: agent({ maxTokens: 10_000, maxBytes: 1_000_000, summarize: false }),
      model: [...calls, said('done')],
      tools: { t: ({ call: { toolCallId } }) => results[Number(toolCallId.slice(1)) - 1] ?? returned('') },
    });
    expect(run.result.status).toBe('completed');
    const [last] = run.windows.slice(-1);
    expect(windowText(last ?? emptyWindow())).toBeLessThan(40_000);
    expect(read(last).at(-1)).toBe('c3: 30000');
    expect(read(last)[2]).toMatch(/^c1: \[removed/);
  });

  it('still have the bytes that a run carries: old images are removed once these are too many', async () => {
    const run = await watched({
      snapshot: agent({ maxBytes: 250_000, summarize: false }),
      model: [...calls, said('done')],
      tools: { t: () => image(100_000) },
    });
    expect(run.result.status).toBe('completed');
    expect(run.windows[3]?.bytes).toBeLessThan(250_000);
    expect(read(run.windows[3])).toContainEqual(expect.stringMatching(/^c1: \[removed/));
    expect(JSON.stringify(run.windows[3])).toContain(letters(100_000));
  });

  it('have the count of the provider as a measure of texts', async () => {
    const { state } = await runFake({
      snapshot: agent({ maxTokens: 5_000, maxBytes: 1_000_000 }),
      model: [called(call('c1', 't')), said('ok', { usage: tokens(2_000, 2_000) })],
      tools: { t: () => image(100_000) },
    });
    expect(windowLimits(state)?.text).toBe(windowText(state.window) + 1_000 * 4);
  });
});

describe('every window that is sent to a model', () => {
  it('is within its bounds, begins with the first message, and has every call with its result', () =>
    fc.assert(
      fc.asyncProperty(plannedRun, async (plan) => {
        const { actors } = await chainedRun(plan, () => false);
        for (const { window } of actors.requests) {
          expect(window.bytes).toBeLessThanOrEqual(Math.min(plan.window.maxBytes, plan.window.maxTokens * 4));
          expect(read(window)[0]).toBe('Q');
          const items = window.events.flatMap(({ content }) => content);
          const asked = items.flatMap((item) => (item.type === 'tool_call' ? [item.toolCallId] : []));
          const answered = items.flatMap((item) => (item.type === 'tool_result' ? [item.toolCallId] : []));
          expect(answered.toSorted()).toEqual(asked.toSorted());
        }
      }),
      { numRuns: propertyRuns(200) },
    ));

  it('equals the limit that a reader folds from the record', () =>
    fc.assert(
      fc.asyncProperty(plannedRun, async (plan) => {
        const { events, states } = await chainedRun(plan, () => false);
        expect(events.reduce(extendWindow, emptyWindow())).toEqual(states.at(-1)?.window);
      }),
      { numRuns: propertyRuns(200) },
    ));
});
