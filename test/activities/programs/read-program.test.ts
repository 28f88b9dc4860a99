import { expect, test } from 'vitest';
import { earlierRun } from '../../../activities/programs/resolve-program.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import type { ProgramState, StepState } from '../../../src/core/domain/program-run.ts';

const document = { version: 1 as const, name: 'p', units: [{ name: 'u', steps: [{ name: 'A', ask: { prompt: 'a' } }] }] };

function programOf(steps: Record<string, Partial<StepState>>): Pick<ProgramState, 'document' | 'input' | 'steps'> {
  const entries = Object.entries(steps).map(([at, step]): [string, StepState] => [
    at,
    { kind: 'ask', status: 'completed', startedAt: 1, attempts: 1, ...step },
  ]);
  return { document, input: {}, steps: new Map(entries) };
}

const stored = (bytes: number): Partial<StepState> => ({
  outputId: 'id-1',
  spilled: { store: 'files', claim: { key: 'k' }, bytes, sha256: 'ab' },
});

test('a run takes over the outputs of completed steps, with those in the payload store', async () => {
  const loaded: string[] = [];
  const program = programOf({ 'u.A': { output: 'a' }, 'u.B': stored(9), 'u.C': { status: 'failed' }, 'u.D': { outputForgotten: true } });
  const { outputs, dropped } = await earlierRun('r', program, ({ address, id }): Promise<JsonValue> => {
    loaded.push(`${address} ${id}`);
    return Promise.resolve('b');
  });
  expect(outputs).toEqual([
    ['u.A', 'a'],
    ['u.B', 'b'],
  ]);
  expect(loaded).toEqual(['u.B id-1']);
  // It has acted: a run must not do so again by accident.
  expect(dropped).toEqual(['u.D']);
});

test('a run takes over the ended items of a `forEach` that has not completed, and the rounds of a `repeat`', async () => {
  const { spilled } = stored(9);
  if (spilled === undefined) throw new TypeError('There is no location');
  const program = programOf({
    'u.Failed': { status: 'failed', items: { 2: 'c' }, spilledItems: [{ id: 'id-2', indexes: [0, 1], spilled }] },
    'u.Stopped': { status: 'running', items: { 0: null } },
    'u.Dropped': { status: 'failed', items: { 0: null }, outputForgotten: true },
    'u.Rounds': { status: 'failed', rounds: 3 },
    'u.Done': { output: ['a'], rounds: 2 },
  });
  const { items, rounds, dropped } = await earlierRun('r', program, ({ address, id }) =>
    Promise.resolve({ 0: `${address} ${id}`, 1: 'b' }),
  );
  expect(items).toEqual([
    ['u.Failed', { 0: 'u.Failed.items id-2', 1: 'b', 2: 'c' }],
    ['u.Stopped', { 0: null }],
    ['u.Dropped', { 0: null }],
  ]);
  expect(dropped).toEqual(['u.Dropped']);
  expect(rounds).toEqual([
    ['u.Done', 2],
    ['u.Rounds', 3],
  ]);
});

test('stored items count before any is loaded', async () => {
  const { spilled } = stored(1_200_000);
  if (spilled === undefined) throw new TypeError('There is no location');
  const program = programOf({ 'u.Each': { status: 'failed', spilledItems: [{ id: 'id-1', indexes: [0], spilled }] } });
  await expect(earlierRun('r', program, () => Promise.reject(new Error('loaded')))).rejects.toMatchObject({ code: 'payload_too_large' });
});

test('outputs over 1 MB together are refused before any is loaded', async () => {
  const program = programOf({ 'u.A': { output: 'a' }, 'u.B': stored(600_000), 'u.C': stored(600_000) });
  await expect(earlierRun('r', program, () => Promise.reject(new Error('loaded')))).rejects.toMatchObject({
    code: 'payload_too_large',
    message: expect.stringMatching(
      /^Run "r" cannot be resumed: its results, .*, are 12\d+ bytes of JSON, over 1000000; the largest is that of step "u\.[BC]", with 6\d+ bytes\. Start a new run without "resume", or a program of the remaining steps/,
    ) as string,
  });
});
