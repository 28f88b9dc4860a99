import { type SearchAttributePair, TypedSearchAttributes } from '@temporalio/common';
import { LonghaulError } from '../../core/domain/errors.ts';
import { isJsonObject, isTooDeep, type JsonObject, MAX_CHECKED_DEPTH } from '../../core/domain/json.ts';
import { jsonBytes } from '../../core/domain/byte-budgets.ts';
import { priorityFrom, priorityProblem, type TaskPriority } from '../../core/domain/run-input.ts';
import { RESULT_MEMO, SEARCH_ATTRIBUTES, TITLE_MEMO } from '../../core/protocol.ts';

/** The options of a start that the server reads: they are not in the input of the run. */
export interface StartCircumstances {
  /** Search attributes of your own, which the namespace must have: `[{ key: defineSearchAttributeKey('Tenant', 'KEYWORD'), value: 'acme' }]`. */
  searchAttributes?: SearchAttributePair[] | TypedSearchAttributes;
  /** Data that is shown with the run when it is listed or described. At most 32,000 bytes of JSON. */
  memo?: JsonObject;
  /** The priority of the run's tasks if a task queue has a backlog: 1 and up, lower numbers first, default 3. Servers without priorities ignore it. */
  priority?: number;
  /** The key by which a task queue with a backlog is shared: each key gets an equal share, for example each tenant. At most 64 bytes. Servers without fairness ignore it. */
  fairnessKey?: string;
}

/** The largest memo in bytes of JSON: each execution of the run carries it on. */
const MEMO_BYTES = 32_000;

/** Returns the options of the workflow. Throws `invalid_input` and `payload_too_large` for values that it cannot have. */
export function serverOptionsOf({ searchAttributes, memo, priority, fairnessKey }: StartCircumstances): {
  typedSearchAttributes?: TypedSearchAttributes;
  memo?: JsonObject;
  priority?: TaskPriority;
} {
  const problem = priorityProblem(priority, fairnessKey);
  if (problem !== undefined) throw refused(problem);
  const taskPriority = priorityFrom(priority, fairnessKey);
  return {
    ...(searchAttributes === undefined ? {} : { typedSearchAttributes: ownAttributes(searchAttributes) }),
    ...(memo === undefined ? {} : { memo: ownMemo(memo) }),
    ...(taskPriority === undefined ? {} : { priority: taskPriority }),
  };
}

function ownAttributes(option: SearchAttributePair[] | TypedSearchAttributes): TypedSearchAttributes {
  if (!Array.isArray(option) && !(option instanceof TypedSearchAttributes)) {
    throw refused('"searchAttributes" is not a list: write [{ key: defineSearchAttributeKey("Name", "KEYWORD"), value }]');
  }
  const attributes = Array.isArray(option) ? new TypedSearchAttributes(option) : option;
  const reserved = attributes.getAll().find(({ key }) => Object.values<string>(SEARCH_ATTRIBUTES).includes(key.name));
  if (reserved === undefined) return attributes;
  throw refused(`the search attribute "${reserved.key.name}" is Longhaul's own: choose another one, or use "tags"`);
}

function ownMemo(memo: JsonObject): JsonObject {
  if (!isJsonObject(memo) || isTooDeep(memo, MAX_CHECKED_DEPTH)) throw refused('"memo" must be an object of JSON values');
  const reserved = [RESULT_MEMO, TITLE_MEMO].find((key) => Object.hasOwn(memo, key));
  if (reserved !== undefined) throw refused(`the memo "${reserved}" is Longhaul's own: choose another key`);
  const bytes = jsonBytes(memo);
  if (bytes <= MEMO_BYTES) return memo;
  throw new LonghaulError(
    'payload_too_large',
    `The run cannot start: "memo" has ${bytes} bytes of JSON, over ${MEMO_BYTES}: pass ids instead`,
  );
}

function refused(problem: string): LonghaulError {
  return new LonghaulError('invalid_input', `The run cannot start: ${problem}`);
}
