import type { JsonValue } from '../domain/json/json.ts';
import type { StepError } from '../domain/program/step-error.ts';
import type { StepKind } from './format/document.ts';
import type { ProgramState, StepState, UnitState } from './state/program-state.ts';

/** The result of a unit. */
export interface UnitResult {
  name: string;
  status: UnitState['status'] | 'not_started';
  error?: StepError;
  /** The reason why it was skipped. */
  reason?: string;
  durationMs?: number;
  /** The steps that have begun, in the order in which they began. Those of the items of a `forEach` that have ended are not among them. */
  steps: StepResult[];
}

/** The result of one execution of a step. */
export interface StepResult {
  /** The name of the step, with the indexes of its items and rounds: `Sum[3]`. */
  name: string;
  kind: StepKind;
  status: StepState['status'];
  output?: JsonValue;
  /** True: `output` was cut to fit into the result. */
  outputCut?: true;
  attempts: number;
  violations?: string[];
  error?: StepError;
  reason?: string;
  durationMs?: number;
}

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

function stepResult(name: string, state: StepState): StepResult {
  const { kind, status, output, attempts, violations = [], error, reason } = state;
  return {
    name,
    kind,
    status,
    ...(output === undefined ? {} : { output }),
    attempts,
    ...(violations.length === 0 ? {} : { violations }),
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined ? {} : { reason }),
    ...durationOf(state),
  };
}

function durationOf(state: { startedAt: number; endedAt?: number } | undefined): { durationMs?: number } {
  return state?.endedAt === undefined ? {} : { durationMs: state.endedAt - state.startedAt };
}
