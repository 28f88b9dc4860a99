import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Event } from '../../src/core/domain/record/event.ts';
import type { StepResult } from '../../src/core/domain/record/step.ts';

const FOLDER = fileURLToPath(new URL('./histories/', import.meta.url));

/** One recorded execution. */
export interface RecordedHistory {
  /** Of its shape, and its workflow id. */
  name: string;
  /** As the file has it. */
  history: { events: object[] };
}

/** Every history that was recorded, by its name. */
export function recordedHistories(): RecordedHistory[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      history: JSON.parse(readFileSync(`${FOLDER}${file}`, 'utf8')) as RecordedHistory['history'],
    }));
}

/** What a run said of itself when its history was recorded: of all its executions. */
export interface RunRecordFile {
  events: Event[];
  steps: StepResult[];
}

/** The record of a run, where it was recorded. */
export function recordOf(runId: string): RunRecordFile | undefined {
  const file = fileURLToPath(new URL(`./records/${runId}.json`, import.meta.url));
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as RunRecordFile) : undefined;
}
