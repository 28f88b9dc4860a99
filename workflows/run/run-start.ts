import type { ErrorCode } from '../../src/core/domain/errors/error.ts';
import { inboundProblem } from '../../src/core/domain/json/inbound-value.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import { fromContinueAsNewState } from '../../src/core/loop/state/continue-as-new-state.ts';
import { checkContinueAsNewState, type StateCheck } from '../../src/core/wire-schemas/continue-as-new-state-schema.ts';
import { checkRunInput } from '../../src/core/wire-schemas/run-input-schema.ts';
import type { RunStart } from './execute-run.ts';
import { Inbox } from '../../src/core/loop/state/inbox.ts';
import type { LiveRun } from './live-run.ts';

/** A run with what its execution begins with, or what is wrong with that. */
export type CheckedStart = { run: LiveRun } & ({ ok: true; start: RunStart } | { ok: false; code: ErrorCode; problem: string });

/** What a run is known by before its input is read. */
export interface RunIdentity extends Pick<LiveRun, 'runId' | 'startedAt' | 'key'> {
  /** The execution goes on from another one: only then may its input carry a run. */
  isContinued: boolean;
}

const CLOCK_SKEW_MS = 3_600_000;

const FORGED =
  'only the execution before hands on a "carry", where it continues as new, and this is a first execution: start it with {"agent", "input"}';

const NOTHING_YET = { activitiesEnded: 0, recentUpdates: 0, ending: false, answering: 0 };

/**
 * Fails the workflow task and not the run: the server gives the task to one worker after the other, until one comes whose
 * release knows the version.
 */
class UnknownCarryVersion extends Error {
  override readonly name = 'UnknownCarryVersion';

  constructor(runId: string, problem: string) {
    super(`Run "${runId}" cannot go on here: ${problem}`);
  }
}

/**
 * Checks the input of an execution: of the first one from whatever client, of a later one from the execution before. Throws
 * where what that carried over is of a version that this release does not know.
 */
export function checkStart(raw: unknown, { isContinued, ...identity }: RunIdentity): CheckedStart {
  const blank = {
    ...identity,
    agentName: '',
    deps: {},
    executions: 1,
    inbox: new Inbox(),
    ...NOTHING_YET,
    authorizing: new Map(),
    missing: [],
  };
  const problem = inboundProblem(raw);
  if (problem !== undefined)
    return { run: blank, ok: false, code: 'invalid_input', problem: `The input of the run does not fit: ${problem}` };
  if (isJsonObject(raw) && 'carry' in raw) {
    const checked: StateCheck = isContinued ? carryOf(raw['carry'], identity) : { ok: false, problem: FORGED };
    if (!checked.ok && checked.isUnknownVersion) throw new UnknownCarryVersion(identity.runId, checked.problem);
    if (!checked.ok) return { run: blank, ok: false, code: 'invalid_input', problem: `The run cannot go on: ${checked.problem}` };
    const { runId, deps, startedAt, executions, inbox, snapshot } = checked.carry;
    const { state, position } = fromContinueAsNewState(checked.carry);
    const known = { runId, deps, startedAt, agentName: snapshot.name, executions: executions + 1, inbox: new Inbox(inbox) };
    // All of it is there before a handler is: what comes with the first task may be about a call that waits.
    return { run: { ...blank, ...known, snapshot, state }, ok: true, start: { type: 'carry', carry: checked.carry, position } };
  }
  const checked = checkRunInput(raw);
  if (!checked.ok) return { run: blank, ok: false, code: checked.code, problem: `The input of the run does not fit: ${checked.problem}` };
  const { agent, deps } = checked.input;
  return { run: { ...blank, agentName: agent, deps: deps ?? {} }, ok: true, start: { type: 'input', input: checked.input } };
}

/** A run began before its executions did, but for how far the clocks of two servers may differ. */
function carryOf(value: unknown, { startedAt }: Pick<RunIdentity, 'startedAt'>): StateCheck {
  const checked = checkContinueAsNewState(value);
  if (!checked.ok || checked.carry.startedAt <= startedAt + CLOCK_SKEW_MS) return checked;
  return { ok: false, problem: `startedAt: ${checked.carry.startedAt} is after the start of this execution` };
}
