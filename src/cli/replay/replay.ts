import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Replayer, ReplayerOptions } from '../../../worker/replayer.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import { chosenCodec } from '../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { untilInterrupted } from '../interruption.ts';
import { runsInFiles } from './replay-files.ts';
import { type ReplayReport, replayReport, reportLines } from './replay-report.ts';
import type { ServerRuns } from './replay-server.ts';
import type { ReplayedRun } from './replayed-run.ts';
import { installSilentRuntime } from './silent-runtime.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul replay`. */
export interface ReplayFlags extends ServerFlags {
  /** Files and folders of histories; empty for those of the server. */
  paths: string[];
  workflows?: string;
  agent?: string;
  query?: string;
  type?: string;
  limit: number;
  save?: string;
}

/** Replays histories with the current workflow code, and reports each run that this code would leave stuck. */
export async function replay(io: CommandIo, flags: ReplayFlags): Promise<number> {
  const options = { ...(await workflowsOf(flags)), codec: chosenCodec(flags, io.terminal.env) };
  if (flags.paths.length > 0) return await untilInterrupted(io.terminal.signal, replayRuns(io, runsInFiles(flags.paths), options));
  return await withClient(io, flags, async ({ client: { temporal } }) => {
    const { runsOnServer } = await import('./replay-server.ts');
    return await replayRuns(io, runsOnServer(temporal, serverRuns(flags)), options);
  });
}

async function replayRuns(io: CommandIo, runs: AsyncIterable<ReplayedRun>, options: ReplayerOptions): Promise<number> {
  const { output, terminal } = io;
  await installSilentRuntime();
  const { Replayer } = await import('../../../worker/replayer.ts');
  const replayer = new Replayer(options);
  const counts = { ok: 0, diverged: 0, failed: 0 };
  try {
    for await (const run of runs) {
      terminal.signal.throwIfAborted();
      const report = await replayRun(replayer, run);
      counts[report.verdict] += 1;
      if (output.json) output.printJson(report);
      else for (const line of reportLines(report, output)) output.print(line);
    }
  } finally {
    await replayer.close();
  }
  output.note(summary(counts));
  return counts.diverged + counts.failed === 0 ? EXIT_CODES.ok.code : EXIT_CODES.diverged.code;
}

/** Replays a run up to the first execution that does not replay: later ones depend on it. */
async function replayRun(replayer: Replayer, run: ReplayedRun): Promise<ReplayReport> {
  let replayed = 0;
  for (const execution of run.executions) {
    replayed += 1;
    const verdict = await replayer.replay(run.runId, await execution.load());
    if (verdict.type !== 'ok') return replayReport(run, replayed, verdict);
  }
  return replayReport(run, replayed, { type: 'ok' });
}

function summary({ ok, diverged, failed }: Record<ReplayReport['verdict'], number>): string {
  const runs = ok + diverged + failed;
  if (runs === 0) return 'No runs to replay: without --type, only runs of agents are replayed, not workflows of your own.';
  const bad = [diverged === 0 ? '' : `${diverged} diverged`, failed === 0 ? '' : `${failed} failed`].filter((text) => text !== '');
  return `${ok} of ${runs} ${runs === 1 ? 'run goes' : 'runs go'} on with this code${bad.length === 0 ? '.' : `; ${bad.join(', ')}.`}`;
}

async function workflowsOf({ workflows }: ReplayFlags): Promise<ReplayerOptions> {
  if (workflows === undefined) return {};
  const workflowsPath = resolve(workflows);
  const found = await stat(workflowsPath).catch(() => undefined);
  if (found?.isFile()) return { workflowsPath };
  throw new UsageError(
    `The workflows module "${workflows}" is not a file (looked for "${workflowsPath}"): name the file, such as workflows.ts`,
  );
}

function serverRuns({ agent, query, type, limit, save }: ReplayFlags): ServerRuns {
  return {
    limit,
    ...(agent === undefined ? {} : { agent }),
    ...(query === undefined ? {} : { query }),
    ...(type === undefined ? {} : { workflowType: type }),
    ...(save === undefined ? {} : { save }),
  };
}
