import type { ExecutionOrigin } from '../../src/core/input-checks.ts';
import { describe, expect, test } from 'vitest';
import { toContinueAsNewState } from '../../src/core/kernel/continue-as-new.ts';
import { unreadable } from '../../src/core/domain/json.ts';
import { BEGINNING } from '../../src/core/kernel/run-loop.ts';
import { newRunState } from '../../src/core/kernel/run-state.ts';
import { type CheckedStart, checkStart } from '../../workflows/run/execute-run.ts';
import { testSnapshot } from '../core/loop/fakes/snapshot.ts';

const NOW = 1_700_000_000_000;
const CONTINUED: ExecutionOrigin = { continuedFrom: 'execution-1', attempt: 1 };

/** The state that a run carries, before its first model call. */
function continuedState(): object {
  const state = newRunState(
    { runId: 'run-1', snapshot: testSnapshot(), input: 'Q', startedAt: NOW },
    { now: () => NOW, uuid: () => 'event-1' },
  );
  const carried = toContinueAsNewState(state, BEGINNING, { executions: 1, inbox: { messages: [], seen: [], paused: false } });
  return JSON.parse(JSON.stringify(carried)) as object;
}

function started(input: unknown, origin: ExecutionOrigin): CheckedStart {
  return checkStart(input, { runId: 'run-1', startedAt: NOW, origin });
}

function nested(levels: number): unknown {
  return JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
}

describe('an execution that continues another one', () => {
  test('begins with the state that it was given', () => {
    expect(started({ continuedState: continuedState() }, CONTINUED)).toMatchObject({
      ok: true,
      start: { type: 'continued' },
      run: { runId: 'run-1', executions: 2 },
    });
  });

  test.each<[string, unknown, string]>([
    ['of an unknown version', { continuedState: { ...continuedState(), version: 99 } }, 'has version 99, and this code reads version 1'],
    ['without a version', { continuedState: { runId: 'run-1' } }, 'has no version'],
    ['that is none', { continuedState: 'state' }, 'has no version'],
    [
      'that is nested too deeply',
      { continuedState: { ...continuedState(), state: { deep: nested(10_000) } } },
      'nested deeper than 64 levels',
    ],
    ['that the worker cannot decode', unreadable('no key "2026-11"'), 'it cannot be read: no key "2026-11"'],
  ])('fails its task and not the run with a state %s, so that another worker may continue it', (_, input, problem) => {
    expect(() => started(input, CONTINUED)).toThrow(`Run "run-1" cannot continue on this worker: `);
    expect(() => started(input, CONTINUED)).toThrow(problem);
  });

  test('may begin with an input, which is checked like any other', () => {
    expect(started({ agent: 'a', input: 'Q' }, CONTINUED)).toMatchObject({ ok: true, start: { type: 'input' } });
    expect(started({ agent: 'a' }, CONTINUED)).toMatchObject({ ok: false, code: 'invalid_input' });
  });
});

describe('a state is refused as invalid input, whatever it holds,', () => {
  test.each<[string, ExecutionOrigin, string]>([
    ['in a first execution', { attempt: 1 }, 'this is a first execution'],
    ['in one by a cron schedule', { ...CONTINUED, cronSchedule: '@every 1s' }, 'this one was started by a cron schedule'],
    ['in a further attempt of a retry policy', { ...CONTINUED, attempt: 2 }, 'this one is attempt 2 of a retry policy'],
  ])('%s', (_, origin, reason) => {
    for (const state of [continuedState(), { ...continuedState(), version: 99 }, {}, null, 'state']) {
      expect(started({ continuedState: state }, origin)).toMatchObject({
        ok: false,
        code: 'invalid_input',
        problem: expect.stringContaining(`${reason}: start it with {"agent", "input"}`) as string,
      });
    }
    expect(started({ agent: 'a', input: 'Q', continuedState: continuedState() }, origin)).toMatchObject({
      ok: false,
      code: 'invalid_input',
    });
    expect(started(unreadable('no key'), origin)).toMatchObject({ ok: false, code: 'invalid_input' });
  });
});
