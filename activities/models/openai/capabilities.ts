import type { ModelCapabilities } from '../../../src/core/domain/model/model.ts';

/** The features that a server with OpenAI's API supports. A feature that is false is left out of the requests. */
export interface OpenAICapabilities extends ModelCapabilities {
  /** Accepts a JSON Schema for the answer. Without it, structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /** Enforces the schemas of tools and answers (`strict`). */
  strictSchema: boolean;
  /** Accepts `parallel_tool_calls`. */
  parallelTools: boolean;
  /** Streams answers as server-sent events, so that a slow answer can be observed and aborted. */
  streaming: boolean;
  /** Reports the usage at the end of a Chat Completions stream (`stream_options`). */
  streamUsage: boolean;
  /** Instructions are sent in the role `developer`, not `system`. The default is false: `system` is understood everywhere. */
  developerRole: boolean;
  /** Accepts a reasoning effort and, with Responses, returns encrypted reasoning for the next request. */
  reasoning: boolean;
  /** Chat Completions: the output limit is `max_completion_tokens` (default for OpenAI), not the older `max_tokens` (default elsewhere). */
  maxCompletionTokens: boolean;
}

/** Returns the capabilities of a server, with defaults for those that are not declared. */
export function openaiCapabilities(isOpenAI: boolean, declared: Partial<OpenAICapabilities> = {}): OpenAICapabilities {
  return {
    structuredOutput: true,
    strictSchema: true,
    parallelTools: true,
    streaming: true,
    streamUsage: true,
    developerRole: false,
    reasoning: true,
    maxCompletionTokens: isOpenAI,
    ...declared,
  };
}

/** Models that never reason. OpenAI refuses a request for their encrypted reasoning, so it is not asked for. */
const WITHOUT_REASONING = /(?:^|[/:])(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)/;

/** True if the reasoning of `model` can be requested in encrypted form. */
export function givesEncryptedReasoning(capabilities: OpenAICapabilities, model: string): boolean {
  return capabilities.reasoning && !WITHOUT_REASONING.test(model);
}
