import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { WindowPolicy } from '../../src/core/domain/agent/compaction.ts';
import type { ModelCapabilities } from '../../src/core/domain/model/model.ts';
import { contextTokens } from '../../src/model/context-tokens.ts';

const DEFAULT_MAX_BYTES = 1_000_000;
const DEFAULT_KEEP_RESULTS = 4;

/** The part of a model's context that stays free for its answer, where the agent sets no limit to that. */
const ANSWER_SHARE = 0.125;

/** Tokens are estimated between two calls: this part of what is left is used. */
const USED_SHARE = 0.9;

/** How far the window of an agent may grow: what the agent says, else what its model takes. */
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
