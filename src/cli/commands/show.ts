import { setTimeout as delay } from 'node:timers/promises';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { type OwnWorkflow, readOwnWorkflow } from '../../client/own-workflow.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { traitsOf } from '../../core/activity-requests/contracts.ts';
import { outputText } from '../../core/domain/content.ts';
import { defined } from '../../core/domain/json.ts';
import { errorCode } from '../../core/domain/errors.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { RefusedCall, RunningCall, UnreadMessage, WaitingForBatch } from '../../core/protocol.ts';
import { findUi, runLink, serverOptions, withRun } from '../command.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { type Fact, factLines, type Output, tableLines } from '../output.ts';
import { approvalLines, rememberedLines } from '../render/approvals.ts';
import { eventLines } from '../render/event-lines.ts';
import { runFacts, runTimes, type RunView, runView } from '../render/run-view.ts';
import { hookLines, indented, programLines, programTimelineOf, timelineLines, timelineOf } from '../render/timeline-lines.ts';
import { treeLines } from '../render/tree-lines.ts';
import { waitForResult } from './start.ts';
import type { EVENTS, RESULT, SHOW, TREE } from '../run-commands.ts';

/**
 * Prints everything that is known about a run; for a workflow of the user, the runs that it has started. The exit code
 * only says that it could be read.
 */
export async function show(io: CommandIo, flags: FlagsOf<typeof SHOW>): Promise<number> {
  const { output, terminal } = io;
  const { view, link } = await withRun(io, flags, async ({ client, server, runId }) => {
    const [found, ui] = await Promise.all([runOrWorkflow(client, runId), findUi(server, terminal.env)]);
    return { view: found, link: ui === undefined ? undefined : runLink(ui, server.namespace, runId) };
  });
  const look = { output, link, flags, full: flags.full === true };
  const lines = 'workflowType' in view ? ownWorkflowLines(view, look) : runLines(view, look);
  return output.result({ ...withoutRecords(view), ...defined({ uiUrl: link }) }, lines);
}

async function runOrWorkflow(client: LonghaulClient, id: string): Promise<RunView | OwnWorkflow> {
  try {
    return await runView(client, id);
  } catch (error) {
    if (errorCode(error) !== 'not_a_run') throw error;
    return readOwnWorkflow(client.temporal, id);
  }
}

function withoutRecords(view: RunView | OwnWorkflow): object {
  if ('workflowType' in view) return { version: 1, ...view };
  const { records: _records, ...fields } = view;
  return fields;
}

export function runLines(run: RunView, { output, link, flags = {}, full = false }: RunLook): string[] {
  const { runId, pending, remembered } = run;
  const waiting = new Set(pending.map(({ callId }) => callId));
  return [
    ...runFacts(run, link, output),
    ...(run.units === null
      ? timelineLines(timelineOf(run.records), output, { waiting, full })
      : programLines(programTimelineOf(run.records), output, { waiting, isOver: isTerminal(run.status), full })),
    ...paragraphs('Running', run.running, runningLines, output),
    ...paragraphs('Waits for a decision', pending, (one) => approvalLines(one, { output, runId, flags, form: true }), output),
    ...paragraphs('Remembered decisions', remembered, (one) => rememberedLines(one, { output, runId, flags }), output),
    ...paragraphs('Hooks of the run', run.hooks ?? [], (one) => hookLines([one], output), output),
    ...paragraphs('Not read', run.unread, messageLines, output),
    ...section('Last error', run.lastError ?? '', output),
    ...section('Output', run.outputText, output),
    ...section(run.errorCode === null ? 'Error' : `Error (${run.errorCode})`, run.error ?? '', output),
    ...section('Cancelled', run.cancelReason ?? '', output),
  ];
}

/** Returns a message that no model has read, as lines. */
function messageLines({ content }: UnreadMessage): string[] {
  return printable(outputText(content)).split('\n');
}

/** The output of a run, and the details that only the command knows. */
interface RunLook {
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'program'>>;
  /** The address of the run in the Temporal UI. */
  link?: string | undefined;
  /** The options that select the server: the printed commands repeat them. */
  flags?: ServerFlags;
  /** True to show all of each text, not only its beginning. */
  full?: boolean;
}

function section(title: string, text: string, output: Pick<Output, 'look'>): string[] {
  return text === '' ? [] : ['', output.look('bold', title), ...indented(printable(text))];
}

function paragraphs<One>(title: string, all: readonly One[], lines: (one: One) => string[], output: Pick<Output, 'look'>): string[] {
  return all.flatMap((one, index) => ['', ...(index === 0 ? [output.look('bold', title)] : []), ...lines(one).map((line) => `  ${line}`)]);
}

/** The output for a workflow of the user. */
interface WorkflowLook {
  output: Pick<Output, 'look'>;
  /** The workflow in the Temporal UI. */
  link?: string | undefined;
  flags?: ServerFlags;
}

/** Returns the lines for a workflow of the user: its facts, and the agent runs that it started. */
function ownWorkflowLines(workflow: OwnWorkflow, { output, link, flags = {} }: WorkflowLook): string[] {
  const { workflowId, workflowType, status, startTime, endTime, childRuns } = workflow;
  const facts: Fact[] = [
    ['Workflow', printable(workflowId)],
    ['Type', `${printable(workflowType)}: a workflow of your own, not a run of an agent`],
    ['Status', status],
    ['Started', startTime],
    ['Ended', endTime ?? undefined],
    ['UI', link],
  ];
  const lines = factLines(facts, output);
  const [first] = childRuns;
  if (first === undefined) return [...lines, '', 'It has started no run of an agent as a child workflow.'];
  const hint = shellCommand('show', { operands: [first.runId], options: serverOptions(flags) });
  const rows = childRuns.map(({ runId, agentName, status: state }) => [printable(runId), printable(agentName ?? '?'), state]);
  return [...lines, '', ...tableLines(['CHILD RUN', 'AGENT', 'STATUS'], rows, output), '', output.look('cyan', printableLine(hint))];
}

/** Prints a run with its descendants, while they are running or after they have ended. */
export async function tree(io: CommandIo, flags: FlagsOf<typeof TREE>): Promise<number> {
  const found = await withRun(io, flags, ({ client, runId }) => client.handle(runId).tree());
  return io.output.result(found, treeLines(found, io.output));
}

/** Prints the events of a run from an offset on; with `--follow` until the run has ended, and the progress that its calls report. */
export async function events(io: CommandIo, { follow = false, from, ...flags }: FlagsOf<typeof EVENTS>): Promise<number> {
  const { output, terminal } = io;
  const { signal, stdout } = terminal;
  await withRun(io, flags, async ({ client, runId }) => {
    const { start } = await runTimes(client, runId);
    const width = stdout.isTTY === true ? stdout.columns : undefined;
    const look = { startedAt: start.toISOString(), look: output.look.bind(output), ...defined({ width }) };
    let offset = from;
    const handle = client.handle(runId);
    const ended = new AbortController();
    const progress = follow ? followProgress(handle, output, AbortSignal.any([signal, ended.signal])) : undefined;
    try {
      for await (const event of handle.events({ from, follow, signal })) {
        output.result({ offset, ...event }, eventLines(event, look));
        offset += 1;
      }
    } finally {
      ended.abort();
      await progress;
    }
  });
  return 0;
}

/** Waits for the end of a run and prints its answer. */
export async function result(io: CommandIo, { waitTimeout, withSteps = false, ...flags }: FlagsOf<typeof RESULT>): Promise<number> {
  return await withRun(io, flags, async ({ client, runId }) =>
    waitForResult(io, client, client.handle<unknown>(runId), {
      flags,
      steps: withSteps,
      ...defined({ timeout: waitTimeout }),
    }),
  );
}

/** The interval between queries for the progress of a run's calls, in milliseconds. */
const EVERY_MS = 1_000;

/**
 * Returns the progress of a call, such as `deploy … 3 of 5 hosts`, with the number of the attempt if it is not the
 * first.
 */
export function progressText({ name, attempt, progress }: RunningCall): string {
  const text =
    progress === undefined
      ? (traitsOf(name).progress ?? 'no progress reported')
      : typeof progress === 'string'
        ? progress
        : JSON.stringify(progress);
  return printable(`${name} … ${text}${attempt > 1 ? ` (attempt ${attempt})` : ''}`);
}

/** Returns the lines for a running call, with the failure of the previous attempt. */
export function runningLines(call: RunningCall): string[] {
  const { lastFailure, refused, waitsForBatch } = call;
  return [
    progressText(call),
    ...(waitsForBatch === undefined ? [] : [printable(batchText(waitsForBatch))]),
    ...(lastFailure === undefined || waitsForBatch !== undefined ? [] : [printable(`the attempt before failed: ${lastFailure}`)]),
    ...(refused === undefined ? [] : [printable(refusedCallText(refused))]),
  ];
}

function refusedCallText({ code, times, nextAttemptAt, givesUpAt }: RefusedCall): string {
  const next = nextAttemptAt === undefined ? '' : `tried again at ${nextAttemptAt}, `;
  return `refused by the provider ${times === 1 ? 'once' : `${times} times`} (${code}): ${next}given up at ${givesUpAt}`;
}

function batchText({ collector, since, batch, id }: WaitingForBatch): string {
  if (batch === undefined) return `waits since ${since} for a batch of "${collector}", which is not full yet`;
  return `waits since ${since} for batch ${batch} of "${collector}"${id === undefined ? '' : ` (${id})`}`;
}

/** The part of a run handle that reports progress. */
type Progressing = Pick<RunHandle<unknown>, 'status'>;

/** Prints the progress that calls of a run report, each time it changes, until the signal is aborted. Never rejects. */
export async function followProgress(run: Progressing, output: Output, signal: AbortSignal, everyMs = EVERY_MS): Promise<void> {
  let printed = '';
  while (!signal.aborted) {
    const running = await callsWithProgress(run);
    const now = JSON.stringify(running);
    if (now !== printed && !signal.aborted) {
      for (const call of running) output.result({ progress: call }, output.look('dim', `         ${progressText(call)}`));
    }
    printed = now;
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns the running calls with progress. A failed query is ignored: the events of the run will show the problem. */
async function callsWithProgress(run: Progressing): Promise<RunningCall[]> {
  try {
    const { running = [] } = await run.status();
    return running.filter(({ progress }) => progress !== undefined);
  } catch {
    return [];
  }
}
