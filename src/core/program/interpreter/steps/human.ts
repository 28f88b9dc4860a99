// Programs: a question to a person.

import type { HumanDocument } from '../../../domain/program/document.ts';
import { resolveValue } from '../../references/interpolate.ts';
import { decide } from '../decide.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordCall, recordResult } from '../record-call.ts';
import { failedAtOnce, type RunningStep } from '../record.ts';
import type { AttemptEnd } from '../ends.ts';
import { stepFailure } from '../step-failure.ts';
import { lookupAt } from '../values.ts';

/** Asks a person, and waits for the answer. A rejected question is a failed attempt. */
export async function askHuman(run: ProgramRun, running: RunningStep, human: HumanDocument): Promise<AttemptEnd> {
  const { address, state } = running;
  const name = `${address.unit}.${address.step}`;
  const edited = state.progress?.approved?.arguments?.['question'];
  const options = { lenient: run.program.document.lenient };
  const question =
    edited === undefined ? resolveValue(human.question, lookupAt(run.program, address), options) : { ok: true as const, value: edited };
  if (!question.ok) return failedAtOnce(run, running, stepFailure(running, 'invalid_input', question.problem));
  const shown = { question: question.value };
  const call = state.progress?.call ?? recordCall(run, running, { name, arguments: shown });
  const decision = await decide(run, { kind: 'question', call, toolName: name, arguments: shown, deadline: human });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'reject') {
    const message = decision.reason === undefined ? 'The question was rejected' : `The question was rejected: ${decision.reason}`;
    const error = stepFailure(running, 'step_rejected', message);
    recordResult(run, running, call, { name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId };
  }
  const output = decision.content ?? null;
  recordResult(run, running, call, { name, status: 'success', content: [output] });
  return { type: 'done', output, id: run.state.window.lastEventId };
}
