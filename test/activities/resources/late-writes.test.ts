import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { guardedWrite, type WritingRun } from '../../../activities/resources/guarded-stores.ts';
import type { RunState } from '../../../src/temporal/run-workflow.ts';

const TIMES = { everyMs: 1, untilMs: 2_000 };

/** A run with these states, one for each question; the last one stays. */
function runWith(states: (RunState | 'no answer')[], isGone = true): WritingRun {
  const left = [...states];
  return {
    runId: 'r',
    state: async () => {
      const state = (left.length > 1 ? left.shift() : left[0]) ?? 'open';
      if (state === 'no answer') throw new Error('no answer');
      return state;
    },
    isGone: async () => isGone,
  };
}

/** Writes, and returns the calls of the store once the run is no longer watched. */
async function callsOf(run: WritingRun, write: () => Promise<string> = async () => 'done'): Promise<string[]> {
  const calls: string[] = [];
  const logged = vi.fn<(line: string) => void>();
  const work = {
    write: async () => {
      calls.push('write');
      return write();
    },
    undo: async (isGone: boolean) => calls.push(`undo ${isGone}`),
  };
  await guardedWrite(run, work, { log: logged, times: TIMES }).catch((error: unknown) => calls.push(String(error)));
  await sleep(50);
  expect(logged).not.toHaveBeenCalled();
  return calls;
}

describe('a write for a run', () => {
  it('stays if the run continues', async () => {
    expect(await callsOf(runWith(['open', 'open', 'gone']))).toEqual(['write']);
  });

  it('is refused if the run has ended', async () => {
    for (const state of ['closed', 'gone'] as const) {
      expect(await callsOf(runWith([state]))).toEqual([expect.stringContaining('Run "r" has ended')]);
    }
  });

  it('stays if the run ends meanwhile and is not removed', async () => {
    expect(await callsOf(runWith(['open', 'closed']))).toEqual(['write']);
  });

  it('is undone if the run was removed meanwhile, or is removed soon after', async () => {
    expect(await callsOf(runWith(['open', 'gone']))).toEqual(['write', 'undo true']);
    expect(await callsOf(runWith(['open', 'closed', 'no answer', 'closed', 'gone'], false))).toEqual(['write', 'undo false']);
  });

  it('is undone in the same way if it failed, because a part of it may be stored', async () => {
    const failing = async (): Promise<string> => {
      throw new Error('disk full');
    };
    expect(await callsOf(runWith(['open', 'gone']), failing)).toEqual(['write', 'Error: disk full', 'undo true']);
  });

  it('is not refused by a server that does not answer', async () => {
    expect(await callsOf(runWith(['no answer', 'no answer', 'open']))).toEqual(['write']);
  });

  it('is not undone if the retention may have removed the run', async () => {
    const now = vi.spyOn(Date, 'now').mockReturnValueOnce(0);
    expect(await callsOf(runWith(['open', 'gone']))).toEqual(['write']);
    now.mockRestore();
  });

  it('that cannot be undone is logged', async () => {
    const logged = vi.fn<(line: string) => void>();
    const work = { write: async () => 1, undo: () => Promise.reject(new Error('disk full')) };
    expect(await guardedWrite(runWith(['open', 'gone']), work, { log: logged, times: TIMES })).toBe(1);
    await vi.waitFor(() => expect(logged).toHaveBeenCalledWith(expect.stringContaining('could not be undone: disk full')));
  });
});
