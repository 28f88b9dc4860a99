import type { Client } from '@temporalio/client';
import { isJsonObject, type JsonObject } from '../../../../core/domain/json.ts';
import { readMemo } from '../../../starting/read-memo.ts';
import type { RepeatedParameters } from '../responses/response-body.ts';

/** The key in the memo of a run under which the service keeps what its responses repeat. */
const MEMO = 'longhaulOpenai';

/** The facts about a request that its run keeps. */
export interface KeptFacts {
  /** Seconds since the epoch. */
  createdAt: number;
  parameters: RepeatedParameters;
}

/** Returns the memo that keeps facts. */
export function memoOf({ createdAt, parameters }: KeptFacts): JsonObject {
  return { [MEMO]: { createdAt, parameters: { ...parameters } } };
}

/** Returns the facts that a run keeps; undefined if it was started in another way. */
export async function readFacts(client: Client, runId: string): Promise<KeptFacts | undefined> {
  const kept = await readMemo(client, runId, MEMO);
  if (!isJsonObject(kept) || typeof kept['createdAt'] !== 'number') return undefined;
  const { createdAt, parameters } = kept;
  return { createdAt, parameters: isJsonObject(parameters) ? parameters : {} };
}
