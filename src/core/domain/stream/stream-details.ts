import { isJsonObject } from '../json/json.ts';

/** The key, in the details of a heartbeat, of the details about the stream of the call. */
const STREAM = 'longhaul:stream';

/** Adds details about the stream of a call to those of its heartbeat. Without any, returns the details unchanged. */
export function withStreamDetails(stream: unknown, details: unknown): unknown {
  return stream === undefined ? details : { [STREAM]: stream, ...(details === undefined || details === null ? {} : { details }) };
}

/** Reads the details about the stream of a call from the details that its activity passed to a heartbeat; undefined if they have none. */
export function streamDetailsIn(details: unknown): unknown {
  return isJsonObject(details) ? details[STREAM] : undefined;
}

/** Returns the details of a heartbeat without those about the stream. */
export function withoutStreamDetails(details: unknown): unknown {
  return isJsonObject(details) && Object.hasOwn(details, STREAM) ? details['details'] : details;
}
