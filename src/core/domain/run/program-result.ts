import { counted } from '../content/text.ts';
import type { JsonValue } from '../json/json.ts';
import type { UnitResult } from '../program/unit-result.ts';
import { EndedRun, type RequestedParts, RunResult, type RunResultFields, type RunResultJson } from './result.ts';

/** A ProgramResult as JSON: its fields and the values derived from them. */
export interface ProgramResultJson<Output = JsonValue> extends RunResultJson<Output> {
  units: UnitResult[];
  unitsCut?: true;
}

/**
 * The result of a program, however it ended: that of every run, and the results of the units. If `status` is `completed`,
 * `output` is the output of the program; otherwise it is what the program's `output` gives so far, or null.
 *
 * `summary()` is one line: `[error] triage | units: 2 completed, 1 failed | steps: 4 completed, 1 reused, 1 failed | 7 attempts |
 * 6 model calls | 0 tool calls (none) | 150 tokens | 2.50s`. Steps of the items of a `forEach` that have ended are not among the steps
 * and the attempts; their calls and tokens are.
 */
export class ProgramResult<Output = JsonValue> extends EndedRun<Output | null> {
  readonly units: readonly UnitResult[];
  /** True: the last units are left out, because the result would be too large. The events of the run have them. */
  readonly unitsCut: true | undefined;

  constructor(fields: RunResultFields<Output | null>, parts?: RequestedParts) {
    super(fields, parts);
    this.units = fields.units ?? [];
    this.unitsCut = fields.unitsCut;
  }

  get programName(): string {
    return this.agentName;
  }

  protected override progress(): string[] {
    const { units, steps, attempts } = this.#counts();
    return [`units: ${units}`, `steps: ${steps}`, counted(attempts, 'attempt'), counted(this.usage.llmCalls, 'model call')];
  }

  protected override progressLines(): string[] {
    const { units, steps, attempts } = this.#counts();
    return [`Units:    ${units}`, `Steps:    ${steps} (${counted(attempts, 'attempt')})`, `Calls:    ${this.usage.llmCalls}`];
  }

  #counts(): { units: string; steps: string; attempts: number } {
    const steps = this.units.flatMap((unit) => unit.steps);
    const cut = this.unitsCut || this.units.some(({ stepsCut }) => stepsCut) ? ' and more' : '';
    return {
      units: inStates(this.units.map(({ status }) => status)),
      steps: `${inStates(steps.map(({ status, reused }) => (reused ? 'reused' : status)))}${cut}`,
      attempts: steps.reduce((sum, step) => sum + step.attempts, 0),
    };
  }

  override toJSON(): ProgramResultJson<Output | null> {
    return { ...super.toJSON(), units: [...this.units], ...(this.unitsCut === undefined ? {} : { unitsCut: true as const }) };
  }
}

const STATES = ['completed', 'reused', 'failed', 'skipped', 'running', 'not_started'] as const;

/** Counts units or steps by their state: `2 completed, 1 failed`. */
function inStates(all: readonly (typeof STATES)[number][]): string {
  const counts = STATES.map((state) => ({ state, count: all.filter((one) => one === state).length }));
  const present = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${count} ${state.replace('_', ' ')}`);
  return present.join(', ') || 'none';
}

/** Makes the result of a run from its fields: of a program if they have units. */
export function resultFrom(fields: RunResultFields<unknown>, parts?: RequestedParts): RunResult<unknown> | ProgramResult<unknown> {
  return fields.units === undefined ? new RunResult<unknown>(fields, parts) : new ProgramResult<unknown>(fields, parts);
}
