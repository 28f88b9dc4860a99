import * as fc from 'fast-check';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import type { FakeRun } from './fake-run.ts';

/** One thing that happens in a generated run. `lost`: the indexes of deltas that the sink drops. */
export type Act =
  | { type: 'answer'; failedAttempts: number; deltas: number; lost: number[]; isInterrupted: boolean; isSilent: boolean }
  | { type: 'tool'; failedAttempts: number; deltas: number; isSilent: boolean }
  | { type: 'pause' }
  | { type: 'continueAsNew' }
  | { type: 'lost' };

const deltas = fc.integer({ min: 0, max: 6 });
/** An announcement that gets lost. */
const isSilent = fc.boolean();

/** The acts of a run, in order. */
export const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('answer' as const),
        failedAttempts: fc.integer({ min: 0, max: 2 }),
        deltas,
        lost: fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 2 }),
        isInterrupted: fc.boolean(),
        isSilent,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ type: fc.constant('tool' as const), failedAttempts: fc.integer({ min: 0, max: 2 }), deltas, isSilent }),
    },
    { weight: 1, arbitrary: fc.constant<Act>({ type: 'pause' }) },
    { weight: 1, arbitrary: fc.constant<Act>({ type: 'continueAsNew' }) },
    { weight: 1, arbitrary: fc.constant<Act>({ type: 'lost' }) },
  ),
  { minLength: 1, maxLength: 12 },
);

/** Lets a run act, and pauses after each thing that readers can see. */
export async function act(run: FakeRun, all: readonly Act[], pause: () => Promise<void>): Promise<void> {
  for (const [number, one] of all.entries()) {
    await perform(run, one, number, pause);
    await pause();
  }
  run.end();
  run.announce();
}

async function perform(run: FakeRun, one: Act, number: number, pause: () => Promise<void>): Promise<void> {
  switch (one.type) {
    case 'answer':
      return answer(run, one, number, pause);
    case 'tool':
      return callTool(run, one, number, pause);
    case 'pause':
      run.status = run.status === 'paused' ? 'running' : 'paused';
      return run.announce();
    case 'continueAsNew':
      run.executions.push(`execution-${number + 2}`);
      return undefined;
    case 'lost':
      return run.lose();
  }
}

async function answer(run: FakeRun, one: Act & { type: 'answer' }, number: number, pause: () => Promise<void>): Promise<void> {
  const through = run.events.length;
  for (let attempt = 1; attempt <= one.failedAttempts + 1; attempt += 1) {
    const of: StreamedAttempt = {
      executionId: run.executionId,
      eventId: `answer-${number}-${attempt}`,
      through,
      activity: number,
      attempt,
    };
    run.publish({ type: 'attempt', of });
    for (let index = 0; index < one.deltas; index += 1) {
      if (!one.lost.includes(index))
        run.publish({ type: 'delta', of, index, delta: { type: 'text', text: `${number}.${attempt}.${index} ` } });
      await pause();
    }
    if (attempt <= one.failedAttempts) continue;
    const text = Array.from({ length: one.deltas }, (_, index) => `${number}.${attempt}.${index} `).join('');
    const interrupted = one.isInterrupted ? { interrupted: true as const } : {};
    run.record(of.eventId, [{ type: 'message', role: 'assistant', content: text }], { usage: null, ...interrupted });
    if (!one.isSilent) run.announce();
    // The worker that was killed continues for a while without knowing it.
    if (one.failedAttempts > 0) {
      const late = { ...of, eventId: `answer-${number}-1`, attempt: 1 };
      run.publish({ type: 'delta', of: late, index: one.deltas, delta: { type: 'text', text: 'late' } });
    }
  }
}

async function callTool(run: FakeRun, one: Act & { type: 'tool' }, number: number, pause: () => Promise<void>): Promise<void> {
  const callId = `call-${number}`;
  const through = run.events.length;
  for (let attempt = 1; attempt <= one.failedAttempts + 1; attempt += 1) {
    const of: StreamedAttempt = {
      executionId: run.executionId,
      eventId: `calls-${number}`,
      callId,
      through,
      activity: number,
      attempt,
    };
    for (let index = 0; index < one.deltas; index += 1) {
      run.publish({ type: 'delta', of, index, delta: { type: 'data', callId, name: 'progress', data: index } });
      await pause();
    }
  }
  run.record(`results-${number}`, [{ type: 'tool_result', toolCallId: callId, name: 'search', status: 'success', content: ['found'] }]);
  if (!one.isSilent) run.announce();
}
