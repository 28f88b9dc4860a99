import { type Check, unless } from '../processes/command.ts';
import type { Effect } from './processes/ledger.ts';
import type { Client } from '@temporalio/client';
import { executionHistory, type ExecutionHistory, historyJson } from '../../src/history/history-events.ts';
import proto from '@temporalio/proto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ACTIVITIES, type CallModelInput } from '../../src/core/protocol.ts';
import type { Replayer } from '../../worker/index.ts';

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

/** Reads the histories of all executions of a workflow, the oldest first. */
export async function readChain(client: Client, workflowId: string): Promise<ExecutionHistory[]> {
  const chain: ExecutionHistory[] = [];
  let { runId: executionId } = await client.workflow.getHandle(workflowId).describe();
  while (executionId !== '') {
    const history = await executionHistory(client, workflowId, executionId);
    chain.unshift(history);
    executionId = history.events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  }
  return chain;
}

const { WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND } =
  proto.temporal.api.enums.v1.WorkflowTaskFailedCause;

/**
 * Causes that are not a problem: new events came while the run was about to end its execution, so that the server had the task
 * repeated; or the storm has ended the run.
 */
const NO_FAULT: readonly unknown[] = [WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND];

/** The activities whose input names the last event: a burst begins with a model call. */
const MODEL_CALLS: readonly unknown[] = [ACTIVITIES.callModel, ACTIVITIES.runBurst];

/**
 * Replays the executions of a run, and collects failed tasks and accepted Updates from their histories. Keeps a history that
 * does not replay, and reports its path.
 */
export async function replayed(
  replayer: Replayer,
  runId: string,
  executions: readonly ExecutionHistory[],
  say: (line: string) => void = () => undefined,
): Promise<ReplayedExecution[]> {
  const all: ReplayedExecution[] = [];
  for (const history of executions) {
    const verdict = await replayer.replay(runId, history.events);
    if (verdict.type !== 'ok') say(await keptHistory(runId, history));
    all.push({ ...readEvents(history), ...(verdict.type === 'ok' ? {} : { divergence: verdict.message }) });
  }
  return all;
}

/** Keeps the history of a run, to find the cause of a problem. Returns the line that says where it is. */
export async function keptHistory(runId: string, history: ExecutionHistory): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'longhaul-storm-')), `${runId}.json`);
  await writeFile(path, historyJson(history));
  return `the history of "${runId}" is kept in ${path}`;
}

function readEvents({ events }: ExecutionHistory): Omit<ReplayedExecution, 'divergence'> {
  const failedTasks = events.flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    failed && !NO_FAULT.includes(failed.cause) ? [failed.failure?.message ?? String(failed.cause)] : [],
  );
  const accepted = events.flatMap(({ workflowExecutionUpdateAcceptedEventAttributes: update }) => {
    const { name, args } = update?.acceptedRequest?.input ?? {};
    const data = args?.payloads?.[0]?.data;
    return name && data ? [{ name, input: JSON.parse(Buffer.from(data).toString('utf8')) as { content?: string; callId?: string } }] : [];
  });
  const of = (kind: string): (typeof accepted)[number]['input'][] =>
    accepted.filter(({ name }) => name === kind || name.endsWith(`.${kind}`)).map(({ input }) => input);
  const modelCalls = events.flatMap(({ activityTaskScheduledEventAttributes: call }) => {
    const data = MODEL_CALLS.includes(call?.activityType?.name) ? call?.input?.payloads?.[0]?.data : undefined;
    return data ? [JSON.parse(Buffer.from(data).toString('utf8')) as CallModelInput] : [];
  });
  return {
    failedTasks,
    lastEvents: modelCalls.map(({ through, lastEventId }) => ({ offset: through - 1, id: lastEventId })),
    messages: of('send').map(({ content }) => content ?? ''),
    approvals: of('approve').map(({ callId }) => callId ?? ''),
  };
}
