// Programs: one attempt of an `agent` or `program` step, or of an `ask` with tools, which is a run of its own.

import type { StepDocument } from '../../../domain/program/document.ts';
import type { RunningChild } from '../../../domain/program/program-state.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ChildOutcome, ChildStart } from '../../../domain/children/child-call.ts';
import type { ProgramRun } from '../program-run.ts';
import { chargeStep } from '../charge-step.ts';
import { recordNote, type RunningStep } from '../record.ts';
import { childEnded, childFailed, childStopped, notStarted } from './child-end.ts';
import { childStart } from './child-start.ts';
import { ownLimits } from './own-limits.ts';

/** Starts a child and waits for its end, or waits for one that an earlier execution has started. */
export async function runChildOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { state } = running;
  let start: ChildStart | undefined;
  if (state.progress?.child === undefined) {
    const own = ownLimits(run, running, step);
    if (!own.ok) return notStarted(run, running, own.problem);
    const given = await run.giveChild(running.at, own.limits);
    if (given === undefined) return { type: 'stopped' };
    const made = childStart(run, running, step, given);
    if (!made.ok) {
      run.takeBack(running.at);
      return notStarted(run, running, made.problem);
    }
    start = made.start;
    const startedAt = run.ports.now();
    const { runId, promptLength } = made;
    const shared = Object.keys(given).length === 0 ? {} : { given };
    const child = { runId, startedAt, seenAt: startedAt, ...(promptLength === undefined ? {} : { promptLength }), ...shared };
    state.progress = { ...state.progress, child };
    recordNote(run, { at: running.at, kind: state.kind, type: 'start', attempt: state.attempts, child: runId });
  }
  const { child } = state.progress ?? {};
  if (child === undefined) throw new TypeError(`Step "${running.at}" has no child`);
  run.children += 1;
  const outcome = await run.ports.runChild({ ...child, ...(start === undefined ? {} : { start }), isLeft: () => run.isContinuing });
  run.children -= 1;
  if (outcome.type === 'left') {
    child.seenAt = outcome.seenAt;
    return { type: 'stopped' };
  }
  delete state.progress?.child;
  run.ports.inbox.forgetChild(child.runId);
  const end = chargeStep(run, running, () => childEnd(run, running, { step, child, outcome }));
  // After the use of the child was counted: no step starts in between.
  run.takeBack(running.at, { isUnreported: outcome.type === 'failed' && !outcome.unstarted });
  return end;
}

function childEnd(run: ProgramRun, running: RunningStep, { step, child, outcome }: EndedChild): AttemptEnd {
  switch (outcome.type) {
    case 'failed':
      return childFailed(run, running, outcome, child);
    case 'cancelled':
      return childStopped(run, running, child, outcome.result);
    case 'ended':
      return childEnded(run, running, { step, child, result: outcome.result });
  }
}

/** A child that has ended, or was cancelled with the run. */
interface EndedChild {
  step: StepDocument;
  child: RunningChild;
  outcome: Exclude<ChildOutcome, { type: 'left' }>;
}
