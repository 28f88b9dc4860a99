import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { ExportLine, ExportSummary, MissingRange } from '../../client/export-run.ts';
import { defined } from '../../core/domain/json.ts';
import { withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import type { OutputStream } from '../terminal.ts';
import { refuseFolder, unwritable } from '../input-files.ts';
import { storesIn } from './records.ts';
import type { EXPORT } from '../run-commands.ts';

/** Writes a run as JSON Lines. The exit code says whether parts are missing. */
export async function exportRun(io: CommandIo, { output: file, archive, ...flags }: FlagsOf<typeof EXPORT>): Promise<number> {
  const { terminal, output } = io;
  const stores = storesIn(defined({ archive }));
  if (file !== undefined) refuseFolder(file);
  const summary = await withRun(io, flags, async ({ client, runId }) => {
    const lines = client.handle(runId).export(stores);
    return file === undefined ? writeLines(lines, terminal.stdout) : writeExport(lines, file, terminal.signal);
  });
  reportExport(output, summary, file);
  return summary.gaps.length + summary.missingSteps.length === 0 ? EXIT_CODES.ok.code : EXIT_CODES.incomplete.code;
}

/** Writes to a file with another name first, so that an incomplete export is not mistaken for a complete one. */
async function writeExport(lines: AsyncIterable<ExportLine>, file: string, signal: AbortSignal): Promise<ExportSummary> {
  const draft = `${file}.part`;
  const stream = createWriteStream(draft);
  try {
    await once(stream, 'open').catch((error: unknown) => {
      throw unwritable(file, error);
    });
    const summary = await writeLines(lines, stream, signal);
    stream.end();
    await once(stream, 'close');
    await rename(draft, file).catch((error: unknown) => {
      throw unwritable(file, error);
    });
    return summary;
  } catch (error) {
    stream.destroy();
    await rm(draft, { force: true });
    throw error;
  }
}

/** Writes no faster than the stream accepts: a run may be larger than memory. */
async function writeLines(lines: AsyncIterable<ExportLine>, stream: OutputStream, signal?: AbortSignal): Promise<ExportSummary> {
  let summary: ExportSummary | undefined;
  for await (const line of lines) {
    signal?.throwIfAborted();
    const isTaken = stream.write(`${JSON.stringify(line)}\n`);
    if (isTaken === false && isEmitter(stream)) await once(stream, 'drain');
    if (line.type === 'summary') summary = line;
  }
  if (summary === undefined) throw new Error('The export has no summary');
  return summary;
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
