// Programs: the limits that a child has of its own.

import { plainLimits } from '../../../domain/agent/limit-options.ts';
import type { OwnLimits } from '../../../domain/agent/agent-snapshot.ts';
import { DEFAULT_STEPS } from '../../../domain/agent/limits.ts';
import { errorMessage } from '../../../domain/errors/error.ts';
import type { AskDocument, StepDocument } from '../../../domain/program/document.ts';
import type { ProgramRun } from '../program-run.ts';
import type { RunningStep } from '../record.ts';

/** The limits of a child, or the reason why its step has none. */
export type FoundLimits = { ok: true; limits: OwnLimits } | { ok: false; problem: string };

/** Returns the limits of the agent or the program that a step runs, as far as they were known when the run began, with those of the step. */
export function ownLimits({ state }: ProgramRun, { at }: RunningStep, { agent, program, ask }: StepDocument): FoundLimits {
  const { agents = {}, programs = {} } = state.snapshot.childLimits ?? {};
  const called = agent === undefined ? limitsIn(programs, program?.name) : limitsIn(agents, agent.name);
  const known = ask === undefined ? called : limitsOfAsk(state, ask);
  try {
    return { ok: true, limits: { ...known, ...plainLimits(`step "${at}"`, (agent ?? program ?? ask)?.limits ?? {}) } };
  } catch (error) {
    // A limit that a lenient document may have.
    return { ok: false, problem: errorMessage(error) };
  }
}

/** Returns the limits of an `ask` with tools. It needs no calls of the limited tools that it does not have. */
function limitsOfAsk({ limits }: ProgramRun['state'], { tools = [] }: AskDocument): OwnLimits {
  const lacking = Object.keys(limits.toolCallsByName ?? {}).filter((name) => !tools.includes(name));
  const byName = Object.fromEntries(lacking.map((name) => [name, 0]));
  return { steps: DEFAULT_STEPS, ...(lacking.length === 0 ? {} : { toolCallsByName: byName }) };
}

function limitsIn(all: Record<string, OwnLimits>, name: string | undefined): OwnLimits {
  return name !== undefined && Object.hasOwn(all, name) ? (all[name] ?? {}) : {};
}
