import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Event } from '../../src/core/domain/record.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';

const HISTORIES = fileURLToPath(new URL('./histories/', import.meta.url));
const RECORDS = fileURLToPath(new URL('./records/', import.meta.url));

/** One recorded execution. */
export interface RecordedHistory {
  /** The name of the file: that of the run, with a number from its second execution on. */
  name: string;
  runId: string;
  /** The content of the file. */
  history: { events: object[] };
}

let historiesRead: readonly RecordedHistory[] | undefined;

/** Every recorded history, by its name. All tests of a process share them. */
export function recordedHistories(): readonly RecordedHistory[] {
  return (historiesRead ??= readHistories());
}

function readHistories(): RecordedHistory[] {
  return readdirSync(HISTORIES)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => {
      const name = file.replace(/\.json$/, '');
      const history = JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')) as RecordedHistory['history'];
      return { name, runId: runIdOf(history), history };
    });
}

/** Returns the path of the history of an execution of a run, the first or a later one. */
export function historyFile(runId: string, execution = 1): string {
  return join(HISTORIES, `${fileName(runId)}${execution === 1 ? '' : `-${execution}`}.json`);
}

/** Returns the path of the record of a run. */
export function recordFile(runId: string): string {
  return join(RECORDS, `${fileName(runId)}.json`);
}

/** Returns the name of the files of a run. The id of a child has slashes: `parent/unit.Step`. */
function fileName(runId: string): string {
  return runId.replaceAll('/', '~');
}

function runIdOf({ events }: RecordedHistory['history']): string {
  const [started] = events as { workflowExecutionStartedEventAttributes?: { workflowId?: string } }[];
  return started?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
}

/** The answers of a run when its history was recorded, for all its executions. */
export interface RunRecordFile {
  events: Event[];
  steps: StepResult[];
}

/** The record of a run, if it was recorded. */
export function recordOf(runId: string): RunRecordFile | undefined {
  const file = recordFile(runId);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunRecordFile) : undefined;
}
