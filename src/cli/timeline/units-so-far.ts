import type { StepKind } from '../../core/domain/program/document.ts';
import type { ProgramStepResult, UnitResult } from '../../core/domain/program/unit-result.ts';
import type { RunRecord } from '../../core/domain/record/run-record.ts';
import { attemptProblems } from '../render/note-text.ts';
import { type EndOf, programTimelineOf, type StepItem } from './program-timeline.ts';

/** Returns the units of a program that have begun, in the form of its result, from the events of its run. Outputs are not among them. */
export function unitsSoFar(records: readonly RunRecord[]): UnitResult[] {
  return programTimelineOf(records).flatMap((item) =>
    item.type === 'unit' ? [{ name: item.name, ...endFields(item.end), steps: item.steps.map(stepResult) }] : [],
  );
}

function stepResult({ name, kind, attempts, parts, end }: StepItem): ProgramStepResult {
  const last = parts.findLast((part) => part.type === 'content' && part.note.type === 'attempt' && part.note.verdict !== undefined);
  const violations = last?.type === 'content' ? attemptProblems(last.note) : [];
  return {
    name,
    // The interpreter has recorded it.
    kind: kind as StepKind,
    ...endFields(end),
    attempts,
    ...(violations.length === 0 ? {} : { violations }),
  };
}

function endFields(end: EndOf | undefined): Pick<ProgramStepResult, 'status' | 'error' | 'reason' | 'durationMs'> {
  if (end === undefined) return { status: 'running' };
  const { status = 'completed', error, reason, seconds } = end;
  return {
    status,
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined ? {} : { reason }),
    durationMs: Math.round(seconds * 1000),
  };
}
