import type { Scratchpad } from '../../src/core/domain/code/scratchpad.ts';
import { approachFailed, EMPTY_SCRATCHPAD } from '../../src/core/domain/code/scratchpad.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { ExecutionResult } from '../../src/core/execution/execution-result.ts';
import { cleanJson } from '../../src/model/clean-json.ts';
import { dataFor } from '../run-queries/data.ts';
import type { SegmentWork } from './segment-work.ts';

/** The key of the run's state that holds the working memory of code. */
const SCRATCHPAD = 'scratchpad';

const EMPTY: JsonObject = { values: {}, observations: [], failed: [] };

/** Bytes of JSON of the text about an approach that failed. */
const FAILURE_BYTES = 500;

/** The working memory of a run after a cell. */
export interface WorkingMemory {
  scratchpad: Scratchpad;
  /** The change of the run's state, if the memory is another one than that of the state. */
  changed?: JsonObject;
}

/**
 * Returns the working memory of a run after a cell, without secrets. If the agent answers with code, an error becomes an approach that
 * failed. Undefined if the code has no working memory.
 */
export async function workingMemoryAfter(
  { runtime, input, snapshot }: SegmentWork,
  result: ExecutionResult,
  error: string | undefined,
): Promise<WorkingMemory | undefined> {
  const isReply = snapshot.replyFormat === 'code';
  if (result.scratchpad === undefined && !isReply) return undefined;
  const { state } = await dataFor(runtime, input);
  const known = state[SCRATCHPAD];
  const merged = mergedWith(scratchpadIn(known), result.scratchpad);
  const failure = error === undefined || !isReply ? undefined : `Step ${input.step}: ${cutText(error, FAILURE_BYTES)}`;
  const next = cleanJson(failure === undefined ? merged : approachFailed(merged, failure));
  const redacted = runtime.secrets.redactJson(next ?? null);
  const scratchpad = scratchpadIn(redacted);
  const isSame = canonicalJson(redacted) === canonicalJson(known ?? EMPTY);
  return { scratchpad, ...(isSame ? {} : { changed: { [SCRATCHPAD]: redacted } }) };
}

/** Returns the memory that the code has left. Approaches that failed because of errors are known to the run alone. */
function mergedWith(known: Scratchpad, left: Scratchpad | undefined): Scratchpad {
  if (left === undefined) return known;
  return { ...left, failed: [...known.failed, ...left.failed.filter((approach) => !known.failed.includes(approach))] };
}

/** Reads the state of a run, which tools can write, too. */
function scratchpadIn(value: JsonValue | undefined): Scratchpad {
  if (!isJsonObject(value)) return EMPTY_SCRATCHPAD;
  const { values = {}, observations, failed } = value;
  return { values: isJsonObject(values) ? values : {}, observations: textsIn(observations), failed: textsIn(failed) };
}

function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
