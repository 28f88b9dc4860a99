import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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
