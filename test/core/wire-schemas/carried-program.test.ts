import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import type { ProgramDocument } from '../../../src/core/domain/program/document.ts';
import { noUsage } from '../../../src/core/domain/model/usage.ts';
import { BEGINNING } from '../../../src/core/loop/run-loop.ts';
import { toContinueAsNewState } from '../../../src/core/loop/state/continue-as-new-state.ts';
import { beginProgram } from '../../../src/core/first-start.ts';
import { checkContinueAsNewState } from '../../../src/core/wire-schemas/carry/continue-as-new-state-schema.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';
import { changedAt, HOSTILE, type Path, placesIn } from './forged-carry.ts';

const NOW = 1_700_000_000_000;

const DOCUMENT: ProgramDocument = {
  version: 1,
  name: 'p',
  units: [
    { name: 'u', steps: [{ name: 'Each', forEach: { in: 'input.items', steps: [{ name: 'Sum', ask: { prompt: 'Sum {{item}}' } }] } }] },
  ],
};

/** The carried state of a program with nearly every field. */
function programCarry(): JsonObject {
  const childLimits = { agents: { a: { steps: 5, onLimit: 'ask' as const } }, programs: {} };
  const snapshot = { ...testSnapshot(), program: DOCUMENT, childLimits };
  const input = { items: [1, 2] };
  const state = beginProgram({ runId: 'run-1', snapshot, input, startedAt: NOW }, { now: () => NOW, uuid: () => 'event-1' });
  const error = { code: 'model_bad_request' as const, message: 'no', context: { step: 'Sum', unit: 'u', attempt: 1 } };
  const spilled = { store: 'files', claim: { key: 'k' }, bytes: 9, sha256: 'ab' };
  state.program?.units.set('u', { status: 'running', startedAt: NOW });
  state.program?.steps.set('u.Each', {
    kind: 'forEach',
    status: 'running',
    startedAt: NOW,
    attempts: 1,
    items: { 0: 'one' },
    spilledItems: [{ id: 'i1', indexes: [2, 3], spilled }],
  });
  state.program?.steps.set('u.Sum[0]', { kind: 'ask', status: 'completed', startedAt: NOW, attempts: 1, outputId: 'o1', spilled });
  state.program?.steps.set('u.Sum[1]', {
    kind: 'ask',
    status: 'running',
    startedAt: NOW,
    attempts: 2,
    text: 'beside',
    usage: { ...noUsage(), llmCalls: 1 },
    attemptDetails: [{ attempt: 1, success: false, code: 'model_bad_request', message: 'no' }],
    progress: {
      failure: { error, id: 'event-1' },
      wakeAt: NOW + 1_000,
      callEventId: 'event-3',
      call: { callId: 'c1', eventId: 'event-2', offset: 2 },
      child: { runId: 'run-1/u.Sum#1', startedAt: NOW, seenAt: NOW, promptLength: 12, given: { steps: 5, costUsd: 0.1 } },
    },
  });
  if (state.program !== undefined) state.program.unreported = { totalTokens: 100 };
  state.parent = { runId: 'above', firstRunId: 'first', depth: 1, checkMs: 1_000, left: { steps: 8, deadlineMs: 1_000 } };
  const pauses = { paused: false, pausedAbove: true as const, childrenPaused: true as const };
  const surroundings = { executions: 2, inbox: { messages: [], seen: [], ...pauses } };
  return JSON.parse(JSON.stringify(toContinueAsNewState(state, BEGINNING, surroundings))) as JsonObject;
}

function problemOf(carry: JsonValue): string {
  const checked = checkContinueAsNewState(carry);
  return checked.ok ? 'fits' : checked.problem;
}

function forged(path: string, value: JsonValue): string {
  return problemOf(
    changedAt(
      programCarry(),
      path.split('/').map((key) => (/^\d+$/.test(key) ? Number(key) : key)),
      value,
    ),
  );
}

describe('the carried state of a program', () => {
  it('fits as a run writes it', () => {
    expect(problemOf(programCarry())).toBe('fits');
  });

  it.each<[string, JsonValue]>([
    ['program/input', []],
    ['program/units/0/0', 'other'],
    ['program/units/0/1/status', 'lost'],
    ['program/units/0/1/startedAt', -1],
    ['program/steps/0/0', 'u.Other'],
    ['program/steps/2/0', 'u.Sum[x]'],
    ['program/steps/2/0', 'u.Each'],
    ['program/steps/2/1/kind', 'tool'],
    ['program/steps/2/1/attempts', 0.5],
    ['program/steps/2/1/text', 7],
    ['program/steps/2/1/usage/llmCalls', -1],
    ['program/steps/2/1/attemptDetails', 'many'],
    ['program/steps/2/1/attemptDetails/0/attempt', 0.5],
    ['program/steps/2/1/progress/wakeAt', 1e300],
    ['program/steps/2/1/progress/callEventId', 3],
    ['program/steps/2/1/progress/call/offset', -1],
    ['program/steps/2/1/progress/child/runId', ''],
    ['program/steps/2/1/progress/child/promptLength', -1],
    ['program/steps/2/1/progress/failure/error/code', 'whim'],
    ['program/steps/0/1/items', [1]],
    ['program/steps/0/1/spilledItems/0/indexes', [-1]],
    ['program/steps/0/1/spilledItems/0/spilled/claim', 'k'],
    ['program/steps/1/1/spilled/claim', { key: 7 }],
    ['program/steps/1/1/spilled/bytes', -1],
    ['program/steps/1/1/spilled', { store: 'files' }],
    ['program/steps/1/1/outputId', undefined as unknown as JsonValue],
    ['snapshot/program/units', []],
    ['snapshot/program/units/0/steps', {}],
    ['snapshot/timing/childCheckMs', 0],
    ['snapshot/childLimits/agents/a', { steps: 0 }],
    ['snapshot/childLimits/agents/a/onLimit', 'stop'],
    ['program/steps/2/1/progress/child/given/steps', 0],
    ['program/unreported', { totalTokens: -1 }],
    ['parent/left/steps', 0.5],
    ['parent/firstRunId', ''],
    ['inbox/pausedAbove', 'yes'],
    ['inbox/childrenPaused', false],
  ])('with a forged %s is refused', (path, value) => {
    expect(forged(path, value)).not.toBe('fits');
  });

  it('is refused without its document, and a document without its state', () => {
    const { program: _, ...stateless } = programCarry();
    expect(problemOf(stateless)).toBe('program: the state of the program is missing');
    expect(problemOf(changedAt(programCarry(), ['snapshot', 'program'], undefined))).toBe('program: the snapshot has no program');
  });

  it('is judged without a throw, whatever stands at any position', () => {
    const carry = programCarry();
    const isOfProgram = ([first, second]: Path) => first === 'program' || (first === 'snapshot' && second === 'program');
    const thrown = placesIn(carry)
      .filter(isOfProgram)
      .flatMap((path) => HOSTILE.filter((value) => !isJudged(changedAt(carry, path, value))).map((value) => [path.join('/'), value]));
    expect(thrown).toEqual([]);
  });
});

function isJudged(carry: JsonValue): boolean {
  try {
    return typeof problemOf(carry) === 'string';
  } catch {
    return false;
  }
}
