import { isJsonObject, type JsonObject } from '../core/domain/json.ts';
import type { HistoryEvent } from './history-events.ts';

/**
 * The attributes of a marker event. The SDK's core writes them below the data converter, so no codec has changed
 * them.
 */
export type Marker = NonNullable<HistoryEvent['markerRecordedEventAttributes']>;

/** The description of a local activity in its marker. */
export interface LocalActivity {
  /** The position among all activities of the execution, in the order in which the workflow requested them. */
  seq: number;
  name: string;
  /**
   * The time of the workflow's clock from then on, in milliseconds since the epoch. Undefined for a cancelled
   * activity.
   */
  endedAt?: number;
}

/** Returns the id of the patch that a marker records, if it records one. */
export function patchOf({ markerName, details }: Marker): string | undefined {
  const patch = markerName === 'core_patch' ? jsonOf(details?.['patch-data']) : undefined;
  return typeof patch?.['id'] === 'string' ? patch['id'] : undefined;
}

/**
 * Returns the local activity whose end a marker records. Undefined for another marker, and for an attempt that is
 * retried later.
 */
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
