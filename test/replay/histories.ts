import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Event } from '../../src/core/domain/record/event.ts';
import type { StepResult } from '../../src/core/domain/record/step.ts';

const FOLDER = fileURLToPath(new URL('./histories/', import.meta.url));

/** One recorded execution. */
export interface RecordedHistory {
  /** The name of its scenario, and its workflow id. */
  name: string;
  /** The content of the file. */
  history: { events: object[] };
}

/** Every recorded history, by its name. */
export function recordedHistories(): RecordedHistory[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      history: JSON.parse(readFileSync(`${FOLDER}${file}`, 'utf8')) as RecordedHistory['history'],
    }));
}

/** The answers of a run when its history was recorded, for all its executions. */
export interface RunRecordFile {
  events: Event[];
  steps: StepResult[];
}

/** The record of a run, if it was recorded. */
export function recordOf(runId: string): RunRecordFile | undefined {
  const file = fileURLToPath(new URL(`./records/${runId}.json`, import.meta.url));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunRecordFile) : undefined;
}
