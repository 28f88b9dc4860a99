import type { JsonValue } from '../json/json.ts';
import type { UnitResult } from '../program/unit-result.ts';
import { EndedRun, RunResult, type RunResultFields, type RunResultJson } from './result.ts';

/** A ProgramResult as JSON: its fields and the values derived from them. */
export interface ProgramResultJson<Output = JsonValue> extends RunResultJson<Output> {
  units: UnitResult[];
  unitsCut?: true;
}

/**
 * The result of a program, however it ended: that of every run, and the results of the units. If `status` is `completed`,
 * `output` is the output of the program; otherwise it is what the program's `output` gives so far, or null.
 */
export class ProgramResult<Output = JsonValue> extends EndedRun<Output | null> {
  readonly units: readonly UnitResult[];
  /** True: the last units are left out, because the result would be too large. The events of the run have them. */
  readonly unitsCut: true | undefined;

  constructor(fields: RunResultFields<Output | null>) {
    super(fields);
    this.units = fields.units ?? [];
    this.unitsCut = fields.unitsCut;
  }

  get programName(): string {
    return this.agentName;
  }

  /** Summarises the result in one line: `[completed] triage | 2/3 units | 4 model calls | 0 tool calls (none) | 150 tokens | 2.50s`. */
  override summary(): string {
    const completed = this.units.filter(({ status }) => status === 'completed').length;
    const [status, , ...rest] = super.summary().split(' | ');
    const calls = `${this.stepsUsed} model call${this.stepsUsed === 1 ? '' : 's'}`;
    return [status, `${completed}/${this.units.length} units`, calls, ...rest].join(' | ');
  }

  override toJSON(): ProgramResultJson<Output | null> {
    return { ...super.toJSON(), units: [...this.units], ...(this.unitsCut === undefined ? {} : { unitsCut: true as const }) };
  }
}

/** Makes the result of a run from its fields: of a program if they have units. */
export function resultFrom(fields: RunResultFields<unknown>): RunResult<unknown> | ProgramResult<unknown> {
  return fields.units === undefined ? new RunResult<unknown>(fields) : new ProgramResult<unknown>(fields);
}
