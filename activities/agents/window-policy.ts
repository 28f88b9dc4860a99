import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { WindowPolicy } from '../../src/core/domain/agent/compaction.ts';
import type { ModelCapabilities } from '../../src/core/domain/model/model.ts';
import { contextTokens } from '../../src/model/context-tokens.ts';

const DEFAULT_MAX_BYTES = 1_000_000;
const DEFAULT_KEEP_RESULTS = 4;

/** The share of a model's context that stays free for its answer if the agent does not limit the answer. */
const ANSWER_SHARE = 0.125;

/** The share of the remaining tokens that may be used: tokens are estimated between two calls. */
const USED_SHARE = 0.9;

/** Returns how far the window of an agent may grow: the agent's own setting, otherwise what its model accepts. */
export function windowPolicy({ window, model, settings }: AnyAgent, capabilities: ModelCapabilities): WindowPolicy {
  const context = capabilities.contextTokens ?? contextTokens(model);
  const answer = Math.min(settings.maxOutputTokens ?? context * ANSWER_SHARE, context / 2);
  return {
    maxTokens: window.maxTokens ?? Math.floor((context - answer) * USED_SHARE),
    maxBytes: window.maxBytes ?? DEFAULT_MAX_BYTES,
    keepResults: window.keepResults ?? DEFAULT_KEEP_RESULTS,
    summarise: window.summarise ?? true,
    ...(window.summaryModel === undefined ? {} : { summaryModel: window.summaryModel }),
  };
}
