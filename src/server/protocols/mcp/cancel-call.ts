import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../../core/domain/errors/error.ts';
import { recordedName } from '../../auth/caller.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../core/domain/json/json.ts';
import type { McpRequest } from './call-agent.ts';
import { META, nameOfCall, runIdOfCall, SESSION_HEADER } from './call-names.ts';

/** The longest reason that is kept in a run. */
const LONGEST_REASON = 500;

/** The pauses after which a run is looked for again: its call may have been sent just before, and be on its way to another instance. */
const PAUSES_MS = [100, 400];

/** The most messages of one request that are looked at. */
const MOST_MESSAGES = 16;

/** Words of clients in the reason of a cancellation that their own time limit has caused. */
const TIME_OUT = /time(?:d)?[\s-]?out|deadline exceeded/i;

/**
 * Cancels the runs that the messages of a request cancel. A client whose time limit has passed sends the same notification as one whose
 * user has cancelled, and only its reason tells: such a run goes on. A run that is unknown or has ended is no error.
 */
export async function cancelCalls(body: unknown, request: McpRequest): Promise<void> {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  // A client cancels its own few calls: the request counts as one.
  if (messages.length > MOST_MESSAGES) return;
  await Promise.all(messages.map((message) => cancelCall(message as JsonValue, request)));
}

async function cancelCall(message: JsonValue, request: McpRequest): Promise<void> {
  if (!isJsonObject(message) || message['method'] !== 'notifications/cancelled') return;
  const params = isJsonObject(message['params']) ? message['params'] : {};
  const reason = typeof params['reason'] === 'string' ? params['reason'].toWellFormed().slice(0, LONGEST_REASON) : '';
  const runId = runOf(params, request);
  if (runId === undefined || TIME_OUT.test(reason)) return;
  const why = reason === '' ? 'cancelled over MCP' : `cancelled over MCP: ${reason}`;
  if (await isCancelled(runId, why, request)) return;
  for (const pause of PAUSES_MS) {
    await sleep(pause);
    if (await isCancelled(runId, why, request)) return;
  }
}

/** Cancels a run. False if there is none. */
async function isCancelled(runId: string, why: string, { client, caller }: McpRequest): Promise<boolean> {
  try {
    await client.handle(runId).cancel(why, { by: recordedName(caller) });
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'not_a_run') return true;
    if (code === 'run_not_found') return false;
    throw error;
  }
}

/** Returns the run that a cancellation names: by itself, by the key of its call, or by the request in its session. */
function runOf({ requestId, _meta }: JsonObject, { caller, raw }: McpRequest): string | undefined {
  const meta = isJsonObject(_meta) ? _meta : undefined;
  const given = meta?.[META.runId];
  if (typeof given === 'string' && given !== '') return given;
  const name = nameOfCall({ meta, session: raw.headers.get(SESSION_HEADER), requestId });
  return name === undefined ? undefined : runIdOfCall(caller.principal, name);
}
