// Programs: one attempt of an `ask`.

import { incrementStep } from '../../../domain/record/execution-context.ts';
import type { StepError } from '../../../domain/program/step-error.ts';
import type { StepNote } from '../../../domain/program/step-note.ts';
import { milliseconds } from '../../../domain/run/duration.ts';
import { recordFailedCall, recordInterrupted, spend } from '../../../loop/state/spending.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import { thoughtOf } from '../../../loop/state/thought.ts';
import { modelCallFailure, timeoutFailure } from '../../errors/step-failures.ts';
import type { AskDocument, StepDocument } from '../../../domain/program/document.ts';
import { answerOf } from '../../../loop/state/answer-of.ts';
import { askTexts } from '../../prompt/ask-prompt.ts';
import type { AskOutcome } from '../program-ports.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';
import { chargeStep } from '../charge-step.ts';
import type { AttemptEnd } from '../ends.ts';
import { stepFailure } from '../step-failure.ts';
import { outputIds } from '../values.ts';
import { recordAnswer } from './record-answer.ts';
import { indexOf } from '../../state/program-index.ts';
import { isoTime } from '../../../domain/record/time.ts';

/** Makes one model call, which `mayStart` has counted as one in flight. The activity has checked the answer; its verdict decides if the attempt has failed. */
export async function askOnce(run: ProgramRun, running: RunningStep, step: StepDocument & { ask: AskDocument }): Promise<AttemptEnd> {
  const { program, ports } = run;
  const { state, address, at } = running;
  const startedAt = isoTime(ports.now());
  const { failure, approved } = state.progress ?? {};
  const model = step.ask.model ?? program.document.model ?? '';
  const outcome = await ports.ask({
    address: at,
    attempt: state.attempts,
    outputs: outputIds(program, address, textsOf(program, address, step.ask)),
    ...(failure === undefined || step.refine?.passFailureContext === false ? {} : { failureId: failure.id }),
    ...(approved?.arguments === undefined ? {} : { edited: true as const }),
    ...(step.timeout === undefined ? {} : { timeoutMs: milliseconds(step.timeout, `step "${at}": "timeout"`) }),
    model,
  });
  run.endModelCall();
  const note: StepNote = { at, kind: 'ask', type: 'attempt', attempt: state.attempts, startedAt };
  return chargeStep(run, running, () => settle(run, running, step, { note, outcome, model }));
}

/** Records the outcome of a model call. */
function settle(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument & { ask: AskDocument },
  { note, outcome, model }: Asked<AskOutcome>,
): AttemptEnd {
  const { ports } = run;
  switch (outcome.type) {
    case 'cancelled':
      if (outcome.partial !== undefined) recordInterrupted(run.state, ports, model, outcome.partial);
      return { type: 'stopped' };
    case 'failed': {
      recordFailedCall(run.state, ports, model, outcome);
      const error = callFailure(running, step, outcome);
      noteError(run.state, error.message);
      recordNote(run, { ...note, error });
      return { type: 'failed', error, id: run.state.window.lastEventId };
    }
    case 'answered':
      return answered(run, running, step.ask, { note, outcome, model });
  }
}

/** Returns all texts of the call that may contain references. */
function textsOf(program: ProgramRun['program'], { unit, step }: RunningStep['address'], ask: AskDocument): string[] {
  const { system, prompt } = askTexts(indexOf(program.document).get(unit, step).unit, ask);
  return [...system, prompt];
}

/** A model call that has ended. */
interface Asked<Outcome extends AskOutcome> {
  note: StepNote;
  outcome: Outcome;
  model: string;
}

function answered(
  run: ProgramRun,
  running: RunningStep,
  ask: AskDocument,
  { note, outcome, model }: Asked<AskOutcome & { type: 'answered' }>,
): AttemptEnd {
  const { state: runState } = run;
  const { response, verdict, promptLength } = outcome;
  const { id, content, providerItems, notices } = response;
  const spending = spend(runState, { model, usage: response.usage, answer: content, failedAttempts: response.failedAttempts });
  incrementStep(runState.context);
  const text = thoughtOf(content) ?? '';
  const event = {
    id,
    content,
    ...spending,
    ...(providerItems === undefined ? {} : { providerItems }),
    ...(notices === undefined ? {} : { notices }),
  };
  const structured = response.output === undefined || response.output.type === 'problem' ? undefined : answerOf(response, ask);
  const error = recordAnswer(run, running, { note, verdict, promptLength, text, structured }, event);
  if (error !== undefined) return { type: 'failed', error, id };
  return { type: 'done', output: answerOf(response, ask) ?? text, id };
}

/** Returns the failure of an attempt whose model call failed, or took longer than the step allows. */
function callFailure(running: RunningStep, { timeout }: StepDocument, { code, message }: AskOutcome & { type: 'failed' }): StepError {
  const { address } = running;
  // The prompt quotes an output that is not in the payload store any more.
  if (code === 'spilled_unavailable' || code === 'payload_store_failed') return stepFailure(running, code, message);
  if (code !== 'model_timeout' || timeout === undefined) return modelCallFailure(message, address);
  return timeoutFailure(timeout, address);
}
