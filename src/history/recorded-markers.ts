import { isJsonObject, type JsonObject } from '../core/domain/json/json.ts';
import type { HistoryEvent } from './run-history.ts';

/** What a marker event says. Core writes it below the data converter, so that no codec has touched it. */
export type Marker = NonNullable<HistoryEvent['markerRecordedEventAttributes']>;

/** A local activity as its marker names it. */
export interface LocalActivity {
  /** Of all activities of the execution, in the order in which the workflow asked for them. */
  seq: number;
  name: string;
  /** What the workflow's clock shows from then on, in milliseconds since the epoch. Undefined for one that was cancelled. */
  endedAt?: number;
}

/** The id of the patch that a marker says the workflow has taken. */
export function patchOf({ markerName, details }: Marker): string | undefined {
  const patch = markerName === 'core_patch' ? jsonOf(details?.['patch-data']) : undefined;
  return typeof patch?.['id'] === 'string' ? patch['id'] : undefined;
}

/** The local activity that a marker says has ended. Undefined for another marker, and for one that ends an attempt which is tried again later. */
export function localActivityOf({ markerName, details }: Marker): LocalActivity | undefined {
  const data = markerName === 'core_local_activity' ? jsonOf(details?.['data']) : undefined;
  if (data === undefined || isJsonObject(data['backoff'])) return undefined;
  const { seq, activity_type: name, complete_time: time } = data;
  return {
    seq: Number(seq),
    name: typeof name === 'string' ? name : '',
    ...(isJsonObject(time) ? { endedAt: Number(time['seconds']) * 1000 + Math.floor(Number(time['nanos']) / 1_000_000) } : {}),
  };
}

function jsonOf(payloads: { payloads?: { data?: Uint8Array | null }[] | null } | undefined): JsonObject | undefined {
  const data = payloads?.payloads?.[0]?.data;
  const value: unknown = data ? JSON.parse(Buffer.from(data).toString()) : undefined;
  return isJsonObject(value) ? value : undefined;
}
