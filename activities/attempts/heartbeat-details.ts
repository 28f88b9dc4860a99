import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/**
 * Returns the details of a heartbeat in a form that can be sent. Details that cannot be sent are replaced by a text
 * that says so: progress is not worth a failed call.
 */
export function heartbeatDetails(details: unknown): JsonValue | undefined {
  if (details === undefined) return undefined;
  const plain = cleanJson(details);
  if (plain === undefined) return '[The details of this heartbeat are not JSON]';
  const bytes = jsonBytes(plain);
  return bytes <= BYTE_BUDGETS.heartbeat
    ? plain
    : `[The details of this heartbeat are ${bytes} bytes of JSON, over ${BYTE_BUDGETS.heartbeat}]`;
}
