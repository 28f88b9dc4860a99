import type { Client } from '@temporalio/client';
import { errorCode } from '../../core/domain/errors.ts';
import { RequestError } from '../problems/request-error.ts';
import { soon } from '../requests/start-patience.ts';
import { readMemo } from './read-memo.ts';
import { REQUEST_MEMO } from './start-options.ts';

/** A start that may have been made before. */
export interface RepeatableStart {
  client: Client;
  runId: string | undefined;
  /** True: the id follows from the idempotency key, and is not the caller's own. */
  isOfKey: boolean;
  /** The digest of the request, if it has an idempotency key. */
  digest: string | undefined;
  /** Starts the run. Rejects with `run_exists` if its id is taken. */
  start: () => Promise<string>;
  /** Returns the run of that id instead. Rejects with `run_exists` if it is that of another principal. Absent: an id that is taken is refused. */
  existing?: (() => Promise<string>) | undefined;
  /** Acts on the run that exists, once it is known that the same request has started it. */
  again?: (() => Promise<unknown>) | undefined;
}

/** The outcome of such a start. */
export interface StartOutcome {
  runId: string;
  /** True: the run existed. */
  repeated: boolean;
}

/**
 * Starts a run, or finds the one that the same request has started. The run itself says what it was started with: a digest in its memo,
 * which the service has written. Throws `key_reused` if that was another request, `run_exists`, and `server_unreachable` within 5 seconds.
 */
export function startOnce(start: RepeatableStart): Promise<StartOutcome> {
  return soon(() => startOrFind(start));
}

async function startOrFind({ client, runId, isOfKey, digest, start, existing, again }: RepeatableStart): Promise<StartOutcome> {
  try {
    return { runId: await start(), repeated: false };
  } catch (error) {
    if (errorCode(error) !== 'run_exists' || existing === undefined || runId === undefined) throw error;
    const found = await existing();
    if (digest === undefined || (await readMemo(client, found, REQUEST_MEMO)) === digest) {
      await again?.();
      return { runId: found, repeated: true };
    }
    if (!isOfKey) throw error;
    throw new RequestError('key_reused', 'The idempotency key was used for another request: use a new key for each request', {
      errors: [{ parameter: 'Idempotency-Key', detail: 'used for another request' }],
      cause: error,
    });
  }
}
