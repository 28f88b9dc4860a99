// Programs: the answer of an `ask` with tools.

import type { RunningChild } from '../../../domain/program/program-state.ts';
import type { StepNote } from '../../../domain/program/step-note.ts';
import type { AnswerVerdict } from '../../../domain/program/verdict.ts';
import type { RunResultFields } from '../../../domain/run/result.ts';
import { spendChild } from '../../../loop/state/child-spending.ts';
import { insertedText } from '../../references/interpolate.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';
import { recordAnswer } from './record-answer.ts';

/** The result of a run that has answered. */
export type AnsweredChild = RunResultFields & { verdict: AnswerVerdict };

/** Records the answer of a run, as that of an `ask` without tools: its verdict decides if the attempt has failed. */
export function askAnswered(
  run: ProgramRun,
  running: RunningStep,
  { child, note, result }: { child: RunningChild; note: StepNote; result: AnsweredChild },
): AttemptEnd {
  const { output, verdict } = result;
  const spent = spendChild(run.state, result);
  const text = insertedText(output);
  const structured = typeof output === 'string' ? undefined : output;
  const content = [{ type: 'message' as const, role: 'assistant' as const, content: text }];
  const error = recordAnswer(
    run,
    running,
    { note, verdict, promptLength: child.promptLength ?? 0, text, structured },
    { ...spent, content },
  );
  const id = run.state.window.lastEventId;
  return error === undefined ? { type: 'done', output, id } : { type: 'failed', error, id };
}
