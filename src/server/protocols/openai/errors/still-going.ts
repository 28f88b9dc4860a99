import type { RunHandle } from '../../../../client/run-handle.ts';
import { RequestError } from '../../../problems/request-error.ts';
import type { ServerSettings } from '../../../server-settings.ts';
import { runHeaders } from '../answering/run-headers.ts';
import { NO_RETRY, OpenaiRefusal } from './openai-refusal.ts';

/** Returns the error of a request that could not wait for its run any longer. It names what the run waits for. */
export async function stillGoing(
  handle: Pick<RunHandle<unknown>, 'runId' | 'status'>,
  { settings, idempotencyKey }: { settings: Pick<ServerSettings, 'closing'>; idempotencyKey: string | undefined },
): Promise<Error> {
  const { runId } = handle;
  // Without a key, the same request would start another run.
  const retry = idempotencyKey === undefined ? NO_RETRY : {};
  const parts = { headers: { ...retry, ...runHeaders(runId) }, retryAfterSeconds: 1 };
  const again =
    idempotencyKey === undefined
      ? `read its result from "/v1/runs/${encodeURIComponent(runId)}/result", and send an "Idempotency-Key" with the next request`
      : 'send the request again with the same "Idempotency-Key"';
  if (settings.closing.aborted) {
    return new RequestError('shutting_down', `The process of the service is about to end, and run "${runId}" goes on: ${again}`, parts);
  }
  const { waitingFor } = await handle.status();
  const waits = waitingFor.length === 0 ? 'goes on' : `waits for a decision about ${waitingFor.map((name) => `"${name}"`).join(', ')}`;
  return new OpenaiRefusal('wait_timeout', `Run "${runId}" ${waits}: ${again}`, {}, parts);
}
