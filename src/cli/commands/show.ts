import type { LonghaulClient } from '../../client/longhaul-client.ts';
import { type OwnWorkflow, readOwnWorkflow } from '../../client/own-workflow.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { errorCode } from '../../core/domain/errors.ts';
import { approvalLines, rememberedLines } from '../render/approval-lines.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { printable } from '../../core/domain/text.ts';
import type { Output } from '../output.ts';
import { ownWorkflowLines } from '../render/own-workflow-lines.ts';
import { runningLines } from '../render/progress-lines.ts';
import { runFacts } from '../render/facts.ts';
import { programLines } from '../timeline/program-lines.ts';
import { programTimelineOf } from '../timeline/program-timeline.ts';
import { timelineOf } from '../timeline/timeline.ts';
import { type RunView, runView } from '../timeline/view.ts';
import { hookLines } from '../timeline/hook-lines.ts';
import { indented } from '../timeline/step-lines.ts';
import { timelineLines } from '../timeline/timeline-lines.ts';
import { findUi, runLink } from '../render/ui-link.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul show`. */
export interface ShowFlags extends ServerFlags {
  runId: string;
  /** All of each text, instead of its beginning. */
  full?: boolean;
}

/**
 * Prints everything that is known of a run; for a workflow of the user's own, the runs that it has started. The exit code
 * only says that it could be read.
 */
export async function show(io: CommandIo, flags: ShowFlags): Promise<number> {
  const { output, terminal } = io;
  const { shown, link } = await withRun(io, flags, async ({ client, server, runId }) => {
    const [found, ui] = await Promise.all([runOrWorkflow(client, runId), findUi(server, terminal.env)]);
    return { shown: found, link: ui === undefined ? undefined : runLink(ui, server.namespace, runId) };
  });
  const look = { output, link, flags, full: flags.full === true };
  const lines = 'workflowType' in shown ? ownWorkflowLines(shown, look) : runLines(shown, look);
  if (output.json) output.printJson({ ...withoutRecords(shown), ...(link === undefined ? {} : { uiUrl: link }) });
  else for (const line of lines) output.print(line);
  return 0;
}

async function runOrWorkflow(client: LonghaulClient, id: string): Promise<RunView | OwnWorkflow> {
  try {
    return await runView(client, id);
  } catch (error) {
    if (errorCode(error) !== 'not_a_run') throw error;
    return readOwnWorkflow(client.temporal, id);
  }
}

function withoutRecords(shown: RunView | OwnWorkflow): object {
  if ('workflowType' in shown) return { version: 1, ...shown };
  const { records: _records, ...fields } = shown;
  return fields;
}

/** Returns a run as lines of text. */
export function runLines(run: RunView, { output, link, flags = {}, full = false }: RunLook): string[] {
  const { runId, pending, remembered } = run;
  const waiting = new Set(pending.map(({ callId }) => callId));
  return [
    ...runFacts(run, link, output),
    ...(run.units === null
      ? timelineLines(timelineOf(run.records), output, { waiting, full })
      : programLines(programTimelineOf(run.records), output, { waiting, isOver: isTerminal(run.status), full })),
    ...paragraphs('Goes on', run.running, runningLines, output),
    ...paragraphs('Waits for a decision', pending, (one) => approvalLines(one, { output, runId, flags, form: true }), output),
    ...paragraphs('Remembered decisions', remembered, (one) => rememberedLines(one, { output, runId, flags }), output),
    ...paragraphs('Hooks of the run', run.hooks ?? [], (one) => hookLines([one], output), output),
    ...section('Last error', run.lastError ?? '', output),
    ...section('Output', run.outputText, output),
    ...section(run.errorCode === null ? 'Error' : `Error (${run.errorCode})`, run.error ?? '', output),
    ...section('Cancelled', run.cancelReason ?? '', output),
  ];
}

/** The output of a run, and the details that only the command knows. */
interface RunLook {
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'program'>>;
  /** The address of the run in the Temporal UI. */
  link?: string | undefined;
  /** The options that select the server: the printed commands repeat them. */
  flags?: ServerFlags;
  /** All of each text, instead of its beginning. */
  full?: boolean;
}

function section(title: string, text: string, output: Pick<Output, 'look'>): string[] {
  return text === '' ? [] : ['', output.look('bold', title), ...indented(printable(text))];
}

function paragraphs<One>(title: string, all: readonly One[], lines: (one: One) => string[], output: Pick<Output, 'look'>): string[] {
  return all.flatMap((one, index) => ['', ...(index === 0 ? [output.look('bold', title)] : []), ...lines(one).map((line) => `  ${line}`)]);
}
