import type { ErrorCode } from '../../src/core/domain/errors/error.ts';
import { inboundProblem } from '../../src/core/domain/json/inbound-value.ts';
import { isJsonObject, type JsonObject } from '../../src/core/domain/json/json.ts';
import { fromContinueAsNewState } from '../../src/core/loop/state/continue-as-new-state.ts';
import { checkContinueAsNewState, type StateCheck } from '../../src/core/wire-schemas/carry/continue-as-new-state-schema.ts';
import { checkProgramInput } from '../../src/core/wire-schemas/program-input-schema.ts';
import { checkRunInput } from '../../src/core/wire-schemas/run-input-schema.ts';
import { type FirstStart, nameOfStart, noteKeeper, openingKind, queriedInput } from '../../src/core/first-start.ts';
import type { RunStart } from './execute-run.ts';
import { firstAgent } from '../../src/core/loop/handoffs/transfer-calls.ts';
import { Inbox } from '../../src/core/loop/state/inbox.ts';
import type { LiveRun } from './live-run.ts';

/** A run with the start of its execution, or the problem of its input. */
export type CheckedStart = { run: LiveRun } & ({ ok: true; start: RunStart } | { ok: false; code: ErrorCode; problem: string });

/** The identity of a run before its input is read. */
export interface RunIdentity extends Pick<LiveRun, 'runId' | 'startedAt' | 'key'> {
  /** True if the execution continues another one: only then may its input carry state. */
  isContinued: boolean;
}

const CLOCK_SKEW_MS = 3_600_000;

const CARRY_REFUSED =
  'only an execution that continues as new may pass "carry" to the next one, and this is a first execution: start it with {"agent", "input"}';

const INITIAL_COUNTS = { activitiesEnded: 0, recentUpdates: 0, ending: false, answering: 0, telling: 0 };

/**
 * The error for carried state of an unknown version. It fails the workflow task and not the run: the server offers the
 * task to one worker after another, until the release of one knows the version.
 */
class UnknownCarryVersion extends Error {
  override readonly name = 'UnknownCarryVersion';

  constructor(runId: string, problem: string) {
    super(`Run "${runId}" cannot continue on this worker: ${problem}`);
  }
}

/**
 * Checks the input of an execution: from any client for the first one, from the previous execution for later ones.
 * Throws if the carried state has a version that this release does not know.
 */
export function checkStart(raw: unknown, { isContinued, ...identity }: RunIdentity, readInput: ReadInput = readRunInput): CheckedStart {
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
  const problem = inboundProblem(raw);
  if (problem !== undefined)
    return { run: blank, ok: false, code: 'invalid_input', problem: `The input of the run is not valid: ${problem}` };
  if (isJsonObject(raw) && 'carry' in raw) {
    const checked: StateCheck = isContinued ? carryOf(raw['carry'], identity) : { ok: false, problem: CARRY_REFUSED };
    if (!checked.ok && checked.isUnknownVersion) throw new UnknownCarryVersion(identity.runId, checked.problem);
    if (!checked.ok) return { run: blank, ok: false, code: 'invalid_input', problem: `The run cannot continue: ${checked.problem}` };
    const { runId, deps, executions, inbox, snapshot, session } = checked.carry;
    // That of a session is the start of its present turn.
    const startedAt = session?.startedAt ?? checked.carry.startedAt;
    const { state, position } = fromContinueAsNewState(checked.carry);
    const known = { runId, deps, startedAt, agentName: firstAgent(state), executions: executions + 1, inbox: new Inbox(inbox) };
    // The state is complete before a handler exists: a message of the first task may be about a pending call.
    return { run: { ...blank, ...known, snapshot, state }, ok: true, start: { type: 'carry', carry: checked.carry, position } };
  }
  const read = readInput(raw);
  if (!read.ok) return { run: blank, ok: false, code: read.code, problem: `The input of the run is not valid: ${read.problem}` };
  const { start, deps } = read;
  noteKeeper(blank.inbox, start);
  const run = { ...blank, agentName: nameOfStart(start), deps, ...queriedInput(start), ...openingKind(start) };
  return { run, ok: true, start };
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

/** Checks the carried state. A run began before its later executions, except for clock skew between servers. */
function carryOf(value: unknown, { startedAt }: Pick<RunIdentity, 'startedAt'>): StateCheck {
  const checked = checkContinueAsNewState(value);
  if (!checked.ok || checked.carry.startedAt <= startedAt + CLOCK_SKEW_MS) return checked;
  return { ok: false, problem: `startedAt: ${checked.carry.startedAt} is after the start of this execution` };
}
