import { UsageError } from '../../core/domain/errors.ts';
import type { ModelName } from '../../core/domain/model.ts';
import { requireKnown, wholeNumber } from './option-checks.ts';

/** The size to which the conversation of a run may grow before its older part is compacted. */
export interface WindowOptions {
  /** Tokens of a request, instructions and tools included. Default: the model's context window, minus room for its answer. */
  maxTokens?: number;
  /** Bytes of JSON, at most 1,200,000: the conversation goes to the next execution in one payload. Default 1,000,000. */
  maxBytes?: number;
  /** The number of newest tool results that are removed only if nothing else can be. Default 4. */
  keepResults?: number;
  /** True to let a model call summarise the older part if removing tool results is not enough. If false, such a run ends with an error. Default true. */
  summarise?: boolean;
  /** The model that summarises, `provider/model`. Default: the agent's own. */
  summaryModel?: ModelName;
}

const OPTIONS = ['maxTokens', 'maxBytes', 'keepResults', 'summarise', 'summaryModel'];

/** The largest window: it goes to the next execution of a run together with snapshot, state and queue, in one payload. */
const MOST_BYTES = 1_200_000;

/** Returns the options if they are valid; otherwise throws a UsageError that names the agent and the option. */
export function checkWindow(owner: string, window: WindowOptions): WindowOptions {
  requireKnown(`${owner}: "window"`, window, OPTIONS);
  const { maxTokens, maxBytes, keepResults, summarise, summaryModel } = window;
  if (summarise !== undefined && typeof summarise !== 'boolean') {
    throw new UsageError(`${owner}: "window.summarise" is ${JSON.stringify(summarise)}: write true or false`);
  }
  if (maxTokens !== undefined) wholeNumber(`${owner}: "window.maxTokens"`, maxTokens, 100);
  if (maxBytes !== undefined) wholeNumber(`${owner}: "window.maxBytes"`, maxBytes, 1_000);
  if (maxBytes !== undefined && maxBytes > MOST_BYTES) {
    throw new UsageError(`${owner}: "window.maxBytes" is ${maxBytes}: a run can carry on at most ${MOST_BYTES}`);
  }
  if (keepResults !== undefined) wholeNumber(`${owner}: "window.keepResults"`, keepResults, 0);
  if (summaryModel !== undefined && !/^[^/]+\/./.test(summaryModel)) {
    throw new UsageError(`${owner}: "window.summaryModel" is "${summaryModel}": write "provider/model"`);
  }
  return window;
}
