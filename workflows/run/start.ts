import { workflowInfo } from '@temporalio/workflow';
import type { ErrorCode } from '../../src/core/domain/errors.ts';
import { inboundProblem, isJsonObject, type JsonObject, whyUnreadable } from '../../src/core/domain/json.ts';
import {
  type ExecutionOrigin,
  fromContinueAsNewState,
  originProblem,
  readContinueAsNewState,
} from '../../src/core/loop/state/continue-as-new-state.ts';
import { checkProgramInput, checkRunInput } from '../../src/core/wire-schemas/run-input-schema.ts';
import { type FirstStart, nameOfStart, noteKeeper, openingKind, queriedInput } from '../../src/core/first-start.ts';
import type { RunStart } from './execute-run.ts';
import { firstAgent } from '../../src/core/loop/handoffs/transfer-calls.ts';
import { Inbox } from '../../src/core/loop/state/inbox.ts';
import type { LiveRun } from './live-run.ts';

/** A run with the start of its execution, or the problem of its input. */
export type CheckedStart = { run: LiveRun } & ({ ok: true; start: RunStart } | { ok: false; code: ErrorCode; problem: string });

/** The identity of a run before its input is read. */
export interface RunIdentity extends Pick<LiveRun, 'runId' | 'startedAt' | 'key'> {
  /** The beginning of the execution, which says whether its input may carry state. */
  origin: ExecutionOrigin;
}

const INITIAL_COUNTS = { activitiesEnded: 0, recentUpdates: 0, ending: false, answering: 0, telling: 0 };

/** Returns the beginning of the current execution. */
export function executionOrigin(): ExecutionOrigin {
  const { continuedFromExecutionRunId: continuedFrom, cronSchedule, attempt } = workflowInfo();
  return { continuedFrom, cronSchedule, attempt };
}

/**
 * The error for carried state that the worker cannot read. It fails the workflow task and not the run: the server offers the task to one
 * worker after another, until one can.
 */
class UnreadableCarry extends Error {
  override readonly name = 'UnreadableCarry';

  constructor(runId: string, problem: string) {
    super(`Run "${runId}" cannot continue on this worker: ${problem}`);
  }
}

/**
 * Checks the input of an execution: that of any caller strictly, and that of the execution before, which a run has written, by its
 * version. Throws if this worker cannot read the carried state.
 */
export function checkStart(raw: unknown, { origin, ...identity }: RunIdentity, readInput: ReadInput = readRunInput): CheckedStart {
  const blank = {
    ...identity,
    agentName: '',
    deps: {},
    executions: 1,
    inbox: new Inbox(),
    ...INITIAL_COUNTS,
    authorizing: new Map(),
    missing: [],
  };
  const isCarrying = isJsonObject(raw) && 'carry' in raw;
  const notCarried = originProblem(origin);
  if (notCarried === undefined && (isCarrying || whyUnreadable(raw) !== undefined)) return continuedStart(raw, blank);
  const problem = inboundProblem(raw);
  if (problem !== undefined)
    return { run: blank, ok: false, code: 'invalid_input', problem: `The input of the run is not valid: ${problem}` };
  if (isCarrying) {
    const refused = `only an execution that continues as new may pass "carry" to the next one, and ${notCarried}: start it with {"agent", "input"}`;
    return { run: blank, ok: false, code: 'invalid_input', problem: `The run cannot continue: ${refused}` };
  }
  const read = readInput(raw);
  if (!read.ok) return { run: blank, ok: false, code: read.code, problem: `The input of the run is not valid: ${read.problem}` };
  const { start, deps } = read;
  noteKeeper(blank.inbox, start);
  const run = { ...blank, agentName: nameOfStart(start), deps, ...queriedInput(start), ...openingKind(start) };
  return { run, ok: true, start };
}

/** Returns the start of an execution that continues the one before it. Throws if this worker cannot read its input. */
function continuedStart(raw: unknown, blank: LiveRun): CheckedStart {
  const problem = inboundProblem(raw);
  if (problem !== undefined) throw new UnreadableCarry(blank.runId, problem);
  const read = readContinueAsNewState(isJsonObject(raw) ? raw['carry'] : undefined);
  if (!read.ok) throw new UnreadableCarry(blank.runId, read.problem);
  const { carry } = read;
  const { runId, deps, executions, inbox, snapshot, session } = carry;
  // That of a session is the start of its present turn.
  const startedAt = session?.startedAt ?? carry.startedAt;
  const { state, position } = fromContinueAsNewState(carry);
  const known = { runId, deps, startedAt, agentName: firstAgent(state), executions: executions + 1, inbox: new Inbox(inbox) };
  // The state is complete before a handler exists: a message of the first task may be about a pending call.
  return { run: { ...blank, ...known, snapshot, state }, ok: true, start: { type: 'carry', carry, position } };
}

/** Checks the input of a first execution. */
export type ReadInput = (
  raw: unknown,
) => { ok: true; start: FirstStart; deps: JsonObject } | { ok: false; code: ErrorCode; problem: string };

/** Reads the input of a run of an agent. */
export const readRunInput: ReadInput = (raw) => {
  const checked = checkRunInput(raw);
  if (!checked.ok) return checked;
  return { ok: true, start: { type: 'input', input: checked.input }, deps: checked.input.deps ?? {} };
};

/** Reads the input of a run of a program. */
export const readProgramInput: ReadInput = (raw) => {
  const checked = checkProgramInput(raw);
  if (!checked.ok) return checked;
  return { ok: true, start: { type: 'program', input: checked.input }, deps: checked.input.deps ?? {} };
};
