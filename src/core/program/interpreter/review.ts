// Programs: the decision about the output of a step.

import type { JsonValue } from '../../domain/json.ts';
import type { StepDocument } from '../../domain/program-document.ts';
import { decide } from './decide.ts';
import type { ProgramRun } from './program-run.ts';
import { recordCall, recordResult } from './record-call.ts';
import type { RunningStep } from './record.ts';
import type { AttemptEnd } from './ends.ts';
import { stepFailure } from './step-failure.ts';

/** The end of the name under which a person decides about the output of a step. */
export const REVIEW = '.review';

/** Holds the output until a person accepts it, edits it, or rejects it. A rejection is a failed attempt, with its reason. */
export async function review(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument,
  done: AttemptEnd & { type: 'done' },
): Promise<AttemptEnd> {
  if (step.review === undefined) return done;
  const { state, address } = running;
  const held = { output: done.output, id: done.id };
  state.progress = { ...state.progress, held };
  const name = `${address.unit}.${address.step}${REVIEW}`;
  const shown = { output: held.output };
  const call = state.progress.call ?? recordCall(run, running, { name, arguments: shown, suffix: REVIEW });
  const decision = await decide(run, { kind: 'tool', call, toolName: name, arguments: shown, deadline: step.review });
  if (decision === undefined) return { type: 'stopped' };
  delete state.progress.held;
  if (decision.type === 'reject') {
    const message = decision.reason ?? 'The output was rejected';
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId };
  }
  const edited: JsonValue | undefined = decision.type === 'respond' ? (decision.content ?? null) : decision.arguments?.['output'];
  recordResult(run, running, call, { name, status: 'success', content: edited === undefined ? ['accepted'] : [edited] });
  return edited === undefined ? done : { type: 'done', output: edited, id: run.state.window.lastEventId };
}
