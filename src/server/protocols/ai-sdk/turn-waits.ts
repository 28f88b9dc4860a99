import type { RunHandle } from '../../../client/run-handle.ts';
import { isOwnActivity } from '../../../core/activity-requests/contracts.ts';
import { defined, type JsonObject } from '../../../core/domain/json.ts';
import type { RunningCall } from '../../../core/protocol.ts';
import type { UiChunk } from './ui-message.ts';

/** The type of the chunks that say what a turn waits for. */
const TYPE = 'data-longhaul-wait';

/** What a turn waits for, as the server knows it. */
type Progress = Awaited<ReturnType<RunHandle['progress']>>;

/** Says what a turn waits for, once for each change: another attempt of a call, a batch, or a worker. */
export class TurnWaits {
  readonly #id: string;
  #said = '';

  /** `id`: the id of the chunks, which is that of the turn. */
  constructor(id: string) {
    this.#id = id;
  }

  /** Returns the chunk about what the turn waits for now, if that is something else than before. */
  chunks(progress: Progress | undefined): UiChunk[] {
    const data = progress && waitOf(progress);
    const text = JSON.stringify(data ?? '');
    if (data === undefined || text === this.#said) return [];
    this.#said = text;
    return [{ type: TYPE, id: this.#id, data, transient: true }];
  }
}

/** Returns what a page may read of the wait: no message of an error, which may name servers and keys. */
function waitOf({ running, waitingTask }: Progress): JsonObject | undefined {
  const again = running.find(({ attempt, refused }) => attempt > 1 || refused !== undefined);
  const batched = running.find(({ waitsForBatch }) => waitsForBatch !== undefined);
  if (batched?.waitsForBatch !== undefined) return { waitsFor: 'batch', since: batched.waitsForBatch.since };
  if (waitingTask !== undefined) return { waitsFor: 'worker', since: waitingTask.since.toISOString() };
  return again && attemptOf(again);
}

function attemptOf({ name, attempt, refused }: RunningCall): JsonObject {
  const { code, nextAttemptAt, givesUpAt } = refused ?? {};
  const call = isOwnActivity(name) ? { waitsFor: 'model' } : { waitsFor: 'tool', toolName: name };
  return { ...call, attempt, ...defined({ code, nextAttemptAt, givesUpAt }) };
}
