import type { ProgramState, StepState } from './program-state.ts';
import type { ProgramStepResult, UnitResult } from './unit-result.ts';

/** Returns the results of all units, in the order of the document. */
export function unitResults({ document, units, steps }: Pick<ProgramState, 'document' | 'units' | 'steps'>): UnitResult[] {
  return document.units.map(({ name }) => {
    const state = units.get(name);
    const own = [...steps].filter(([at]) => at.startsWith(`${name}.`));
    return {
      name,
      status: state?.status ?? 'not_started',
      ...(state?.error === undefined ? {} : { error: state.error }),
      ...(state?.reason === undefined ? {} : { reason: state.reason }),
      ...durationOf(state),
      steps: own.map(([at, one]) => stepResult(at.slice(name.length + 1), one)),
    };
  });
}

function stepResult(name: string, state: StepState): ProgramStepResult {
  const { kind, status, output, outputForgotten, spilled, text, usage, reused, attempts, attemptDetails, detailsForgotten } = state;
  const { error, reason } = state;
  return {
    name,
    kind,
    status,
    ...(output === undefined ? {} : { output }),
    ...(output === undefined && (outputForgotten === true || spilled !== undefined) ? { outputCut: true as const } : {}),
    ...(text === undefined ? {} : { text }),
    ...(usage === undefined ? {} : { usage }),
    attempts,
    ...(attemptDetails === undefined ? {} : { attemptDetails }),
    ...(detailsForgotten ? { detailsCut: true as const } : {}),
    ...(reused ? { reused } : {}),
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined ? {} : { reason }),
    ...durationOf(state),
  };
}

function durationOf(state: { startedAt: number; endedAt?: number } | undefined): { durationMs?: number } {
  return state?.endedAt === undefined ? {} : { durationMs: state.endedAt - state.startedAt };
}
