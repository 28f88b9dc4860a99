// Programs: the decision before a step is paid.

import { isJsonObject, type JsonObject } from '../../domain/json.ts';
import type { StepDocument } from '../../domain/program-document.ts';
import { resolveValue } from '../references/interpolate.ts';
import { decide } from './decide.ts';
import type { ProgramRun } from './program-run.ts';
import { recordCall, recordResult } from './record-call.ts';
import type { RunningStep } from './record.ts';
import type { AttemptEnd } from './ends.ts';
import { stepFailure } from './step-failure.ts';
import { lookupAt } from './values.ts';

/**
 * Waits for the decision of a person about a step other than a tool call, once for all its attempts. Undefined once it is
 * approved; an answer that is given instead is the output of the step.
 */
export async function approve(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd | undefined> {
  const { state, address } = running;
  if (step.approval === undefined || step.tool !== undefined || state.progress?.approved !== undefined) return undefined;
  const name = `${address.unit}.${address.step}`;
  const shown = resolveValue(shownOf(step), lookupAt(run.program, address), { lenient: run.program.document.lenient });
  const args = shown.ok && isJsonObject(shown.value) ? shown.value : {};
  // The question of the step itself is a call of its own.
  const suffix = step.human === undefined ? {} : { suffix: '.approval' };
  const call = state.progress?.call ?? recordCall(run, running, { name, arguments: args, ...suffix });
  const decision = await decide(run, { kind: 'tool', call, toolName: name, arguments: args, deadline: step.approval });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'reject') {
    const message = decision.reason === undefined ? 'The step was rejected' : `The step was rejected: ${decision.reason}`;
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId, isFinal: true };
  }
  const output = decision.type === 'respond' ? (decision.content ?? null) : 'approved';
  recordResult(run, running, call, { name, status: 'success', content: [output] });
  if (decision.type === 'respond') return { type: 'done', output, id: run.state.window.lastEventId };
  state.progress = { ...state.progress, approved: decision.arguments === undefined ? {} : { arguments: decision.arguments } };
  return undefined;
}

/** Returns what a person is shown of a step, with references: the part of it that may be edited. */
export function shownOf({ ask, agent, program, human, sleep, remember, recall }: StepDocument): JsonObject {
  if (ask !== undefined) return { prompt: ask.prompt };
  return { ...(agent ?? program ?? human ?? sleep ?? remember ?? recall) } as JsonObject;
}
