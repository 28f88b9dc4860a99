// Programs: one attempt of an `agent` or `program` step, or of an `ask` with tools, which is a run of its own.

import type { StepDocument } from '../../../domain/program/document.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ChildStart } from '../program-ports.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';
import { childEnded, childFailed, childStopped, notStarted } from './child-end.ts';
import { childStart } from './child-start.ts';

/** Starts a child and waits for its end, or waits for one that an earlier execution has started. */
export async function runChildOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { state } = running;
  let start: ChildStart | undefined;
  if (state.progress?.child === undefined) {
    const made = childStart(run, running, step);
    if (!made.ok) return notStarted(run, running, made.problem);
    start = made.start;
    const startedAt = run.ports.now();
    const { runId, promptLength } = made;
    const child = { runId, startedAt, seenAt: startedAt, ...(promptLength === undefined ? {} : { promptLength }) };
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
  switch (outcome.type) {
    case 'failed':
      return childFailed(run, running, outcome, child);
    case 'cancelled':
      return childStopped(run, running, child, outcome.result);
    case 'ended':
      return childEnded(run, running, { step, child, result: outcome.result });
  }
}
