import { outputText } from '../content/output-text.ts';
import type { JsonValue } from '../json/json.ts';
import type { Event } from '../record/event.ts';
import type { RunStatus } from '../run/status.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import { addRunUsage, noUsage } from '../model/usage.ts';

/** The run of one agent among those that run side by side. */
export interface Branch {
  /** The name of the agent. */
  name: string;
  /** Absent if the run could not be started or read. */
  runId?: string;
  status: RunStatus;
  output: JsonValue;
  error: string | null;
  usage: AggregatedUsage;
}

/** The outcome of agents that ran side by side. */
export interface MergedBranches {
  /** The output of each branch that has completed, under its name. */
  output: string;
  /** The branches that have not completed, in words: `b (error: down), c (pending_confirmation)`. Absent if all have. */
  problem?: string;
  usage: AggregatedUsage;
}

/** Merges the runs of agents side by side: the output of each under its name, in the order of the agents. */
export function mergeBranches(branches: readonly Branch[]): MergedBranches {
  const usage = branches.reduce((total, branch) => addRunUsage(total, branch.usage), noUsage());
  const open = branches.filter(({ status }) => status !== 'completed');
  const done = branches.filter(({ status }) => status === 'completed');
  const output = done.map((branch) => `[${branch.name}]\n${outputText(branch.output)}`).join('\n\n');
  return { output, ...(open.length === 0 ? {} : { problem: open.map(problemOf).join(', ') }), usage };
}

/** Merges the events of runs that began with the same input: the input once, and then what each run added, in the order of the agents. */
export function mergeEvents(records: readonly (readonly Event[])[]): Event[] {
  const [first = []] = records;
  const beginning = first.findIndex(({ author }) => author !== 'user');
  const length = beginning < 0 ? first.length : beginning;
  return [...first.slice(0, length), ...records.flatMap((events) => events.slice(length))];
}

function problemOf({ name, status, error }: Branch): string {
  return `${name} (${status}${error === null ? '' : `: ${error}`})`;
}
