// Programs: the limits that a child has of its own.

import { plainLimits } from '../../../domain/agent/limit-options.ts';
import type { OwnLimits } from '../../../domain/agent/agent-snapshot.ts';
import { errorMessage } from '../../../domain/errors/error.ts';
import type { StepDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';

/** The limits of a child, or the reason why its step has none. */
export type FoundLimits = { ok: true; limits: OwnLimits } | { ok: false; problem: string };

/** Returns the limits of the agent or the program that a step runs, as far as they were known when the run began, with those of the step. */
export function ownLimits({ state }: ProgramRun, { at }: RunningStep, { agent, program }: StepDocument): FoundLimits {
  const { agents = {}, programs = {} } = state.snapshot.childLimits ?? {};
  const known = agent === undefined ? limitsIn(programs, program?.name) : limitsIn(agents, agent.name);
  try {
    return { ok: true, limits: { ...known, ...plainLimits(`step "${at}"`, agent?.limits ?? program?.limits ?? {}) } };
  } catch (error) {
    // A limit that a lenient document may have.
    return { ok: false, problem: errorMessage(error) };
  }
}

function limitsIn(all: Record<string, OwnLimits>, name: string | undefined): OwnLimits {
  return name !== undefined && Object.hasOwn(all, name) ? (all[name] ?? {}) : {};
}
