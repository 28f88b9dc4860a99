import type { RunStatus } from '../domain/run-status.ts';
import type { CommandIo, ServerFlags } from './command.ts';
import { type Look, type Output, printable } from './output.ts';
import { type RunView, runView } from './run-view.ts';
import { indented, stepLines } from './step-lines.ts';
import { findUi, runLink } from './ui-link.ts';
import { withClient } from './with-client.ts';

/** The options of `longhaul show`. */
export interface ShowFlags extends ServerFlags {
  runId: string;
}

/** Prints all that is known of a run. The exit code says only that the run could be read. */
export async function show(io: CommandIo, { runId, ...flags }: ShowFlags): Promise<number> {
  const { output, terminal } = io;
  const { view, link } = await withClient(io, flags, async ({ client, server }) => {
    const [run, ui] = await Promise.all([runView(client, runId), findUi(server, terminal.env)]);
    return { view: run, link: ui === undefined ? undefined : runLink(ui, server.namespace, runId) };
  });
  if (output.json) output.printJson({ ...view, ...(link === undefined ? {} : { uiUrl: link }) });
  else for (const line of runLines(view, link, output)) output.print(line);
  return 0;
}

/** A run for people. */
export function runLines(run: RunView, link: string | undefined, output: Pick<Output, 'look'>): string[] {
  return [
    ...headLines(run, link, output),
    ...run.steps.flatMap((step) => ['', ...stepLines(step, output)]),
    ...section('Output', run.outputText, output),
    ...section(run.errorCode === null ? 'Error' : `Error (${run.errorCode})`, run.error ?? '', output),
    ...section('Cancelled', run.cancelReason ?? '', output),
  ];
}

function headLines(run: RunView, link: string | undefined, output: Pick<Output, 'look'>): string[] {
  const { promptTokens, completionTokens, totalTokens, llmCalls } = run.usage;
  const status = output.look(LOOKS[run.status], run.status);
  const more = run.stopReason === null || ['final_answer', run.status].includes(run.stopReason) ? '' : ` (${run.stopReason})`;
  const facts: [string, string][] = [
    ['Run', printable(run.runId)],
    ['Agent', printable(run.agentName) || '?'],
    ['Status', `${status}${more}`],
    ['Steps', `${run.stepsUsed} of at most ${run.maxIterations}, with ${counted(run.toolCallsTotal, 'tool call')}`],
    ['Tokens', `${totalTokens} (prompt ${promptTokens}, completion ${completionTokens}) in ${counted(llmCalls, 'model call')}`],
    ['Started', run.startTime ?? '?'],
    ['Duration', run.durationSeconds === null ? 'still running' : `${run.durationSeconds.toFixed(2)}s`],
    ...(link === undefined ? [] : [['UI', link] satisfies [string, string]]),
  ];
  return facts.map(([name, value]) => `${output.look('dim', name.padEnd(9))} ${value}`);
}

const LOOKS: Record<RunStatus, Look> = {
  completed: 'green',
  running: 'cyan',
  pending_confirmation: 'yellow',
  paused: 'yellow',
  max_iterations_reached: 'yellow',
  cancelled: 'yellow',
  error: 'red',
};

function section(title: string, text: string, output: Pick<Output, 'look'>): string[] {
  return text === '' ? [] : ['', output.look('bold', title), ...indented(printable(text))];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
