import { once } from 'node:events';
import type { ExportLine, ExportSummary, MissingRange } from '../../client/export-run.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { withRun } from '../command.ts';
import { type CommandIo, dashed, type FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import type { OutputStream } from '../terminal.ts';
import { refuseFolder } from '../input-files.ts';
import { LineFile } from '../line-file.ts';
import { exportUser } from './export-user.ts';
import { storesIn } from './records.ts';
import type { EXPORT } from '../run-commands.ts';

/** Writes a run as JSON Lines, or, without a run, everything of a user. The exit code says whether parts are missing. */
export async function exportRun(io: CommandIo, { runId, ...flags }: FlagsOf<typeof EXPORT>): Promise<number> {
  if (runId === undefined) return exportUser(io, flags);
  const given = USER_OPTIONS.find((name) => flags[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${dashed(given)} is for the export of a user: leave it out, or leave out the run`);
  return exportOne(io, { ...flags, runId });
}

/** The options that only the export of a user has. */
const USER_OPTIONS = ['payloadStore', 'memory', 'without'] as const;

async function exportOne(io: CommandIo, { output: file, archive, ...flags }: FlagsOf<typeof EXPORT> & { runId: string }): Promise<number> {
  const { terminal, output } = io;
  const stores = storesIn(defined({ archive }));
  if (file !== undefined) refuseFolder(file);
  const summary = await withRun(io, flags, async ({ client, runId }) => {
    const lines = client.handle(runId).export(stores);
    return file === undefined ? writeLines(lines, writerTo(terminal.stdout)) : writeExport(lines, file, terminal.signal);
  });
  reportExport(output, summary, file);
  return summary.gaps.length + summary.missingSteps.length === 0 ? EXIT_CODES.ok.code : EXIT_CODES.incomplete.code;
}

/** Writes to a file that appears when it is complete. */
async function writeExport(lines: AsyncIterable<ExportLine>, path: string, signal: AbortSignal): Promise<ExportSummary> {
  const file = await LineFile.open(path);
  try {
    const summary = await writeLines(lines, (line) => file.write(line), signal);
    await file.complete();
    return summary;
  } catch (error) {
    await file.discard();
    throw error;
  }
}

/** Writes lines one after the other. Returns the last one. */
async function writeLines(
  lines: AsyncIterable<ExportLine>,
  write: (line: ExportLine) => Promise<void>,
  signal?: AbortSignal,
): Promise<ExportSummary> {
  let summary: ExportSummary | undefined;
  for await (const line of lines) {
    signal?.throwIfAborted();
    await write(line);
    if (line.type === 'summary') summary = line;
  }
  if (summary === undefined) throw new Error('The export has no summary');
  return summary;
}

/** Writes a line no faster than the stream accepts: a run may be larger than memory. */
function writerTo(stream: OutputStream): (line: ExportLine) => Promise<void> {
  return async (line) => {
    const isTaken = stream.write(`${JSON.stringify(line)}\n`);
    if (isTaken === false && isEmitter(stream)) await once(stream, 'drain');
  };
}

function isEmitter(stream: OutputStream): stream is OutputStream & NodeJS.EventEmitter {
  return 'once' in stream;
}

function reportExport(
  output: Output,
  { runId, events, steps, executions, live, gaps, missingSteps, notArchived = [] }: ExportSummary,
  file: string | undefined,
): void {
  const counted = `${events} events and ${steps} steps of ${executions} ${executions === 1 ? 'execution' : 'executions'}`;
  output.note(`Run "${runId}": ${counted}${file === undefined ? '' : ` in ${file}`}${live ? '; it continues' : ''}`);
  if (gaps.length > 0) output.note(`Missing events: offsets ${gaps.map(rangeText(0)).join(', ')}`);
  if (missingSteps.length > 0) output.note(`Missing steps: ${missingSteps.map(rangeText(1)).join(', ')}`);
  if (notArchived.length > 0) output.note(`Not in the archive of the run: offsets ${notArchived.map(rangeText(0)).join(', ')}`);
}

/** Formats a range for people, with its last number included; `first` is the number of the first item. */
function rangeText(first: number): (missing: MissingRange) => string {
  return ({ from, through }) => (through - from === 1 ? String(from + first) : `${from + first} to ${through - 1 + first}`);
}
