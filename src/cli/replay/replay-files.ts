import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UsageError, errorMessage } from '../../core/domain/errors/error.ts';
import { isJsonObject, type JsonValue } from '../../core/domain/json/json.ts';
import type { ReplayedRun } from './replayed-run.ts';

/**
 * Yields the histories in files and folders: one execution each, in the format of `temporal workflow show --output
 * json` and `--save`.
 */
export async function* runsInFiles(paths: readonly string[]): AsyncGenerator<ReplayedRun> {
  for (const path of paths) {
    for (const file of await filesAt(path)) {
      const history = await readJson(file);
      const runId = workflowIdIn(history) ?? basename(file, '.json');
      yield { runId, file, complete: true, executions: [{ load: () => Promise.resolve(history) }] };
    }
  }
}

async function filesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw new UsageError(
      `There is no file or folder "${path}" to replay: name one, or a run of the server with --query "WorkflowId = '…'"`,
    );
  if (!found.isDirectory()) return [path];
  const files = (await readdir(path)).filter((name) => name.endsWith('.json')).toSorted();
  if (files.length === 0) throw new UsageError(`The folder "${path}" holds no histories: files that end in ".json" are looked for`);
  return files.map((name) => join(path, name));
}

async function readJson(file: string): Promise<JsonValue> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as JsonValue;
  } catch (error) {
    throw new UsageError(`The history "${file}" cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}

/**
 * Returns the workflow id in a history. Only newer servers write it; for older histories the file name is used
 * instead.
 */
function workflowIdIn(history: JsonValue): string | undefined {
  const events = Array.isArray(history) ? history : isJsonObject(history) ? history['events'] : undefined;
  const first = Array.isArray(events) ? events[0] : undefined;
  const started = isJsonObject(first) ? first['workflowExecutionStartedEventAttributes'] : undefined;
  const id = isJsonObject(started) ? started['workflowId'] : undefined;
  return typeof id === 'string' && id !== '' ? id : undefined;
}
