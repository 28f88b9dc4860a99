import { type Check, unless } from '../../processes/command.ts';
import type { Effect } from '../processes/ledger.ts';

/** One execution of a run, according to its history. */
export interface ReplayedExecution {
  /** The failures of workflow tasks, except those that the server asks for when new events came meanwhile. */
  failedTasks: string[];
  /** The reason why it does not replay; undefined if it does. */
  divergence?: string;
  /** The last event that each model call got, read from the run while it was open. */
  lastEvents: { offset: number; id: string }[];
  /** The texts of the messages that it has accepted, and the ids of the calls that were approved in it. */
  messages: string[];
  approvals: string[];
}

/** A run after the storm. */
export interface QueriedRun {
  runId: string;
  status: string;
  /** The requests that it has accepted according to its clients. */
  messages: string[];
  approvals: string[];
  executions: ReplayedExecution[];
  /** The ids of its events by their offset, according to a replay of its newest execution. */
  eventIds: ReadonlyMap<number, string>;
}

/** The checks. */
export function queriesChecks(runs: readonly QueriedRun[], effects: readonly Effect[]): Check[] {
  const all = runs.flatMap(({ runId, executions }) =>
    executions.map((execution, index) => ({ name: `run "${runId}", execution ${index + 1}`, ...execution })),
  );
  return [
    {
      name: 'no run is stuck: all complete',
      problems: runs.flatMap(({ runId, status }) => unless(status === 'COMPLETED', `run "${runId}": ${status}`)),
    },
    {
      name: 'no workflow task fails',
      problems: all.flatMap(({ name, failedTasks }) => failedTasks.map((failure) => `${name}: ${failure}`)),
    },
    {
      name: 'every history replays',
      problems: all.flatMap(({ name, divergence }) => (divergence === undefined ? [] : [`${name}: ${divergence}`])),
    },
    {
      name: 'a replay has the events that the run had',
      problems: runs.flatMap(({ runId, executions, eventIds }) =>
        (executions.at(-1)?.lastEvents ?? []).flatMap(({ offset, id }) =>
          unless(
            (eventIds.get(offset) ?? id) === id,
            `run "${runId}" had event ${offset} as "${id}", and a replay has "${eventIds.get(offset)}"`,
          ),
        ),
      ),
    },
    {
      name: 'every accepted request is in the history',
      problems: runs.flatMap((run) => [
        ...missing(
          run,
          'message',
          run.messages,
          run.executions.flatMap(({ messages }) => messages),
        ),
        ...missing(
          run,
          'approval of',
          run.approvals,
          run.executions.flatMap(({ approvals }) => approvals),
        ),
      ]),
    },
    { name: 'no payment is made by two calls', problems: paidTwice(effects) },
  ];
}

function missing({ runId }: QueriedRun, what: string, told: readonly string[], recorded: readonly string[]): string[] {
  return told.flatMap((one) => unless(recorded.includes(one), `run "${runId}" lacks the ${what} "${one}"`));
}

function paidTwice(effects: readonly Effect[]): string[] {
  const keys = new Map<string, Set<string>>();
  for (const { runId, number, key } of effects) {
    const payment = `payment ${number} of run "${runId}"`;
    keys.set(payment, (keys.get(payment) ?? new Set()).add(key));
  }
  return [...keys].flatMap(([payment, { size }]) => unless(size === 1, `${payment} was made by ${size} calls`));
}
