import { type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { isTooDeep, MAX_CHECKED_DEPTH } from '../../core/domain/json/json-depth.ts';
import { isJsonObject, type JsonObject } from '../../core/domain/json/json.ts';
import { jsonBytes } from '../../core/domain/json/payload-limit.ts';
import { priorityFrom, priorityProblem, type TaskPriority } from '../../core/domain/agent/task-priority.ts';
import { RESULT_MEMO, SEARCH_ATTRIBUTES } from '../../core/protocol.ts';

/** What the server is told of a run beside its input. */
export interface StartCircumstances {
  /** Search attributes of your own, which the namespace must have: `[{ key: defineSearchAttributeKey('Tenant', 'KEYWORD'), value: 'acme' }]`. */
  searchAttributes?: SearchAttributePair[] | TypedSearchAttributes;
  /** Data for whoever lists or describes the run. At most 32,000 bytes of JSON. */
  memo?: JsonObject;
  /** Tasks of a run with a lower number go first where a task queue has a backlog: 1 and up, 3 where nothing is said. Servers without priorities ignore it. */
  priority?: number;
  /** Where a task queue has a backlog, runs of each key get an equal share: a tenant, for example. At most 64 bytes. Servers without fairness ignore it. */
  fairnessKey?: string;
}

/** Bytes of JSON of a memo: each execution of the run carries it on. */
const MEMO_BYTES = 32_000;

/** The options of the workflow, for what was said. Throws `invalid_input` and `payload_too_large` for what cannot be. */
export function circumstances({ searchAttributes, memo, priority, fairnessKey }: StartCircumstances): {
  typedSearchAttributes?: TypedSearchAttributes;
  memo?: JsonObject;
  priority?: TaskPriority;
} {
  const problem = priorityProblem(priority, fairnessKey);
  if (problem !== undefined) throw refused(problem);
  const given = priorityFrom(priority, fairnessKey);
  return {
    ...(searchAttributes === undefined ? {} : { typedSearchAttributes: ownAttributes(searchAttributes) }),
    ...(memo === undefined ? {} : { memo: ownMemo(memo) }),
    ...(given === undefined ? {} : { priority: given }),
  };
}

function ownAttributes(given: SearchAttributePair[] | TypedSearchAttributes): TypedSearchAttributes {
  if (!Array.isArray(given) && !(given instanceof TypedSearchAttributes)) {
    throw refused('"searchAttributes" is no list: write [{ key: defineSearchAttributeKey("Name", "KEYWORD"), value }]');
  }
  const attributes = Array.isArray(given) ? new TypedSearchAttributes(given) : given;
  const taken = attributes.getAll().find(({ key }) => Object.values<string>(SEARCH_ATTRIBUTES).includes(key.name));
  if (taken === undefined) return attributes;
  throw refused(`the search attribute "${taken.key.name}" is Longhaul's own: choose another one, or use "tags"`);
}

function ownMemo(memo: JsonObject): JsonObject {
  if (!isJsonObject(memo) || isTooDeep(memo, MAX_CHECKED_DEPTH)) throw refused('"memo" must be an object of JSON values');
  if (Object.hasOwn(memo, RESULT_MEMO)) throw refused(`the memo "${RESULT_MEMO}" is Longhaul's own: choose another key`);
  const bytes = jsonBytes(memo);
  if (bytes <= MEMO_BYTES) return memo;
  throw new LonghaulError('payload_too_large', `The run cannot start: "memo" has ${bytes} bytes of JSON, over ${MEMO_BYTES}: give ids`);
}

function refused(problem: string): LonghaulError {
  return new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
}
