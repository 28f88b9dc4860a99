import { describe, expect, it } from 'vitest';
import { emptyWindow, extendWindow, type Window } from '../../../../src/core/domain/window.ts';
import type { ModelCallOutcome } from '../../../../src/core/kernel/ports.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { call, called, message, responded, returned, said, tokens } from '../fakes/fake-ports.ts';
import { resumes } from '../fakes/callers.ts';
import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import { agent, giving, letters, read, watched } from '../fakes/watched-run.ts';

const TOO_LONG: ModelCallOutcome = { type: 'failed', code: 'context_length_exceeded', message: 'the model takes less' };

/** The window that a reader of the record folds. */
function replayed({ context }: RunState): Window {
  return context.events.reduce(extendWindow, emptyWindow());
}

const MARKER = '[removed to save space: the result of "t", 3004 bytes]';

describe('a full window', () => {
  it('loses old results first, the oldest before the others, and the record keeps them', async () => {
    const run = await watched({
      snapshot: agent({ keepResults: 2 }),
      model: [...Array.from({ length: 4 }, (_, index) => called(call(`c${index + 1}`, 't'))), said('done')],
      tools: giving(3_000, 3_000, 3_000, 3_000),
    });
    expect(read(run.windows[4])).toEqual([
      'Q',
      'call c1',
      `c1: ${MARKER}`,
      'call c2',
      `c2: ${MARKER}`,
      'call c3',
      'c3: 3000',
      'call c4',
      'c4: 3000',
    ]);
    expect(run.summaries).toEqual([]);
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 5, usage: { llmCalls: 5 } });
    expect(run.state.steps[0]?.toolCalls[0]?.result).toBe(letters(3_000));
    expect(JSON.stringify(run.state.context.events)).toContain(letters(3_000));
  });

  it('has its older part summarized if that is not enough; the first message and the newest results stay', async () => {
    const run = await watched({
      snapshot: agent(),
      model: [...[1, 2, 3].map((n) => responded([message(letters(3_000)), call(`c${n}`, 't')])), said('done')],
      tools: giving(100, 100, 2_000),
    });
    expect(read(run.windows[3])).toEqual(['Q', 'Summary of the conversation so far:', letters(40), 'call c3', 'c3: 2000']);
    expect(run.summaries).toMatchObject([{ through: 7, head: 0, tail: 5, events: 4, maxBytes: 1_250 }]);
    expect(run.summaries[0]?.lastEventId).toBe(run.state.context.events[6]?.id);
    // Events that are summarized are not evicted first.
    expect(run.state.context.events.filter(({ compaction }) => compaction?.evicted)).toEqual([]);
  });

  it('counts the summary as a model call, but not as a step', async () => {
    const run = await watched({
      snapshot: agent(),
      model: [responded([message(letters(9_000)), call('c1', 't')], { usage: tokens(10, 1) }), said('done', { usage: tokens(20, 2) })],
      tools: giving(2_000),
    });
    expect(run.summaries).toHaveLength(1);
    expect(run.result).toMatchObject({
      status: 'completed',
      stepsUsed: 2,
      usage: { llmCalls: 3, promptTokens: 130, completionTokens: 13 },
    });
    expect(run.state.context.events.find(({ compaction }) => compaction?.summarized)).toMatchObject({
      id: 'summary-1',
      usage: tokens(100, 10),
    });
  });

  it('is the same for every reader that folds the record', async () => {
    const run = await watched({
      snapshot: agent(),
      model: [1, 2, 3, 4, 5, 6].map((n) => responded([message(letters(1_500)), call(`c${n}`, 't')])).concat([said('done')]),
      tools: giving(500, 3_000, 2_000, 500, 3_000, 100),
    });
    expect(run.summaries.length).toBeGreaterThan(0);
    expect(run.state.context.events.some(({ compaction }) => compaction?.evicted)).toBe(true);
    expect(replayed(run.state)).toEqual(run.state.window);
  });

  it('is not compacted again at every step', async () => {
    const steps = 200;
    const run = await watched({
      snapshot: agent({ maxBytes: 30_000, keepResults: 4 }),
      model: [...Array.from({ length: steps }, (_, index) => responded([message(letters(100)), call(`c${index + 1}`, 't')])), said('done')],
      tools: { t: () => returned(letters(1_000)) },
    });
    const compactions = run.state.context.events.filter(({ compaction }) => compaction !== undefined).length;
    expect(run.result.stepsUsed).toBe(steps + 1);
    expect(run.windows.every(({ bytes }) => bytes <= 30_000)).toBe(true);
    expect(compactions).toBeLessThan(steps / 5);
    expect(run.summaries.length).toBeLessThan(steps / 20);
  });
});

describe('the part that the model has not seen yet', () => {
  it('stays although it takes more than a quarter of the window, if a summary of the rest is enough', async () => {
    const run = await watched({
      snapshot: agent(),
      model: [responded([message(letters(6_000)), call('c1', 't')]), responded([call('c2', 't')]), said('done')],
      tools: giving(100, 5_000),
    });
    expect(read(run.windows[2])).toEqual(['Q', 'Summary of the conversation so far:', 'call c2', 'c2: 5000']);
  });

  it('is not evicted if a summary of the rest is enough, although it has more results than are kept', async () => {
    const run = await watched({
      snapshot: agent(),
      model: [
        said(''),
        responded([message(letters(6_000)), call('c1', 't')]),
        called(...[2, 3, 4].map((n) => call(`c${n}`, 't'))),
        said('done'),
      ].slice(1),
      tools: giving(100, 2_000, 2_000, 2_000),
    });
    expect(read(run.windows[2]).slice(-3)).toEqual(['c2: 2000', 'c3: 2000', 'c4: 2000']);
  });

  it('is cut, its newest results last, if it is larger than the window by itself', async () => {
    const run = await watched({
      snapshot: agent({ maxBytes: 1_000_000, keepResults: 4 }),
      model: [called(...Array.from({ length: 200 }, (_, index) => call(`c${index + 1}`, 't'))), said('done')],
      tools: { t: () => returned(letters(50_000)) },
    });
    const results = read(run.windows[1]).filter((text) => text.includes(': '));
    const whole = results.map((text) => text.endsWith(': 50000'));
    expect(whole.lastIndexOf(false)).toBe(whole.indexOf(true) - 1);
    expect(whole.filter(Boolean).length).toBeGreaterThanOrEqual(8);
    expect(run.windows[1]?.bytes).toBeLessThanOrEqual(1_000_000);
    expect(run.summaries).toEqual([]);
    expect(run.result.status).toBe('completed');
  });

  it('is summarized with the calls if their arguments alone are larger than the window', async () => {
    const run = await watched({
      snapshot: agent({ maxBytes: 600_000 }),
      model: [called(call('c1', 't', { text: letters(1_000_000) })), said('done')],
      tools: giving(5_000),
    });
    expect(read(run.windows[1])).toEqual(['Q', 'Summary of the conversation so far:']);
    expect(run.summaries).toMatchObject([{ tail: null, events: 2 }]);
    // The summary contains the result, and not a marker for it.
    expect(run.state.context.events.filter(({ compaction }) => compaction?.evicted)).toEqual([]);
    expect(run.result.status).toBe('completed');
  });
});

describe('a run whose window cannot be kept within its bounds', () => {
  it('ends with an error that says so if summaries are off', async () => {
    const run = await watched({
      snapshot: agent({ summarize: false }),
      model: [responded([message(letters(11_000)), call('c1', 't')])],
      tools: giving(5_000),
    });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'context_length_exceeded', stepsUsed: 1, output: letters(11_000) });
    expect(run.result.error).toMatch(/window of agent "a": \d+ bytes, over 10000/);
    expect(run.summaries).toEqual([]);
  });

  it('continues without a summary as long as results can be evicted', async () => {
    const run = await watched({
      snapshot: agent({ summarize: false, keepResults: 4 }),
      model: [...[1, 2, 3].map((n) => responded([message(letters(2_400)), call(`c${n}`, 't')])), said('done')],
      tools: giving(1_000, 1_000, 1_000),
    });
    expect(run.result.status).toBe('completed');
    expect(read(run.windows[3]).filter((text) => text.startsWith('c'))).toEqual([
      'call c1',
      'c1: [removed to save space: the result of "t", 1004 bytes]',
      'call c2',
      expect.stringContaining('removed'),
      'call c3',
      'c3: 1000',
    ]);
  });

  it('ends with an error if instructions and tools leave no room', async () => {
    const run = await watched({ snapshot: agent({ maxTokens: 1_000 }, { instructions: [letters(5_000)] }), model: [] });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'context_length_exceeded', stepsUsed: 0 });
    expect(run.result.error).toContain('The instructions and tools of agent "a" leave no room');
  });

  it('keeps its ending if only the attempt after the step limit does not fit', async () => {
    const run = await watched({
      snapshot: agent({ summarize: false }, { limits: { steps: 1, finalAttempt: true } }),
      model: [responded([message(letters(11_000)), call('c1', 't')])],
      tools: giving(5_000),
    });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: letters(11_000), error: null });
  });
});

describe('a failing summary', () => {
  const script = { snapshot: agent(), model: [responded([message(letters(9_000)), call('c1', 't')])], tools: giving(2_000) };

  it('ends the run with its error and the steps so far', async () => {
    const run = await watched(script, { type: 'failed', code: 'model_server_error', message: 'down' });
    expect(run.result).toMatchObject({ status: 'error', errorCode: 'model_server_error', stepsUsed: 1 });
    expect(run.result.error).toBe('The conversation could not be summarized: down');
    expect(run.state.steps).toHaveLength(1);
  });

  it('ends the run as cancelled if the run was cancelled', async () => {
    const run = await watched(script, { type: 'cancelled' });
    expect(run.result).toMatchObject({ status: 'cancelled', stepsUsed: 1, error: null });
  });
});

describe('a model that reports that the conversation is too long', () => {
  const beginning = [responded([message(letters(3_000)), call('c1', 't')]), called(call('c2', 't'))];

  it('is called again, with less', async () => {
    const run = await watched({ snapshot: agent(), model: [...beginning, TOO_LONG, said('done')], tools: giving(2_000, 100) });
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 3 });
    expect(run.modelCalls.map(({ step }) => step)).toEqual([1, 2, 3, 3]);
    expect(run.windows[3]?.bytes).toBeLessThan((run.windows[2]?.bytes ?? 0) * 0.75);
    expect(read(run.windows[3]).at(-1)).toBe('c2: 100');
  });

  it('ends the run if it reports that again', async () => {
    const run = await watched({ snapshot: agent(), model: [...beginning, TOO_LONG, TOO_LONG], tools: giving(2_000, 100) });
    expect(run.result).toMatchObject({
      status: 'error',
      errorCode: 'context_length_exceeded',
      error: 'the model takes less',
      stepsUsed: 2,
    });
    expect(run.modelCalls).toHaveLength(4);
  });

  it('ends the run at once if nothing can be evicted', async () => {
    const run = await watched({ snapshot: agent(), model: [TOO_LONG] });
    expect(run.result).toMatchObject({
      status: 'error',
      errorCode: 'context_length_exceeded',
      error: 'the model takes less',
      stepsUsed: 0,
    });
    expect(run.modelCalls).toHaveLength(1);
  });

  it('is called again if nothing can be evicted, but it had answered until its context was full', async () => {
    const full: ModelCallOutcome = { ...TOO_LONG, spent: { reported: tokens(100, 5) } };
    const run = await watched({ snapshot: agent(), model: [full, said('done')] });
    expect(run.result).toMatchObject({ status: 'completed', output: 'done' });
    const always = await watched({ snapshot: agent(), model: [full, full] });
    expect(always.result).toMatchObject({ status: 'error', errorCode: 'context_length_exceeded', error: 'the model takes less' });
    expect(always.modelCalls).toHaveLength(2);
  });

  it('may report it again in a later step', async () => {
    const model = [...beginning, TOO_LONG, responded([message(letters(3_000)), call('c3', 't')]), TOO_LONG, said('done')];
    const run = await watched({ snapshot: agent(), model, tools: giving(2_000, 100, 100) });
    expect(run.result).toMatchObject({ status: 'completed', stepsUsed: 4 });
  });

  it('does not see its newest result if that result is too long', async () => {
    const run = await watched({ snapshot: agent(), model: [called(call('c1', 't')), TOO_LONG, said('done')], tools: giving(9_000) });
    expect(read(run.windows[2])).toEqual(['Q', 'call c1', 'c1: [removed to save space: the result of "t", 9004 bytes]']);
    expect(run.result.status).toBe('completed');
  });

  it('leaves a run at its limit if this was the attempt after the limit', async () => {
    const snapshot = agent({}, { limits: { steps: 1, finalAttempt: true } });
    const run = await watched({
      snapshot,
      model: [responded([message('partial'), call('c1', 't')]), TOO_LONG, TOO_LONG],
      tools: giving(2_000),
    });
    expect(run.result).toMatchObject({ status: 'max_iterations_reached', output: 'partial', error: null });
  });
});

describe('a paused run', () => {
  it('is compacted before it continues as new, so that the results of its last step do not end it', async () => {
    const states: RunState[] = [];
    const hasStep = ({ steps }: RunState): boolean => steps.length === 1;
    const hasResults = (): boolean => states.slice(-1).some(hasStep);
    const run = await watched({
      snapshot: agent({ maxBytes: 1_000_000 }),
      model: [called(...Array.from({ length: 200 }, (_, index) => call(`c${index + 1}`, 't')))],
      tools: {
        t: (_, { inbox }) => {
          inbox.pause(true);
          return returned(letters(50_000));
        },
      },
      continueDue: hasResults,
      callers: [(one) => one.cancel()],
      recorded: (state) => states.push(state),
    });
    expect(run.positions).toEqual([{ type: 'call_model', final: false }]);
    const state = states.findLast(hasStep);
    expect(state).toMatchObject({ status: 'paused', steps: [{ step: 1 }] });
    expect(state?.window.bytes).toBeLessThanOrEqual(1_000_000);
    expect(state?.context.events[2]?.content).toHaveLength(200);
  });
});

it('a paused run checks the messages that no model has read before it is compacted', async () => {
  const order: string[] = [];
  const inbox = new Inbox();
  inbox.pause(true);
  const run = await watched({
    snapshot: agent({}, { hooks: [{ name: 'cards', on: 'input' }] }),
    opening: {
      messages: [
        { type: 'message', role: 'user', content: 'hello' },
        { type: 'message', role: 'assistant', content: letters(3_000) },
      ],
      input: letters(9_000),
    },
    model: [said('done')],
    inbox,
    ports: {
      askAtPoint: ({ from, through }) => {
        order.push(`checks ${from} to ${through}`);
        return Promise.resolve({ type: 'found', found: {} });
      },
    },
    continueDue: ({ state }) => state.status === 'paused' && state.firstOffset === 0,
    callers: [resumes],
  });
  expect(run.summaries).toHaveLength(1);
  expect(order).toEqual(['checks 0 to 3']);
});
