import type { ModelCapabilities } from '../../../src/core/domain/model/model.ts';

/** What a server that speaks OpenAI's API can take. Whatever is false is left out of the requests. */
export interface OpenAICapabilities extends ModelCapabilities {
  /** Takes a JSON Schema for the answer. Without it, structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /** Enforces the schemas of tools and answers (`strict`). */
  strictSchema: boolean;
  /** Takes `parallel_tool_calls`. */
  parallelTools: boolean;
  /** Answers as a stream of server-sent events, so that a slow answer can be watched and aborted. */
  streaming: boolean;
  /** Reports the usage at the end of a Chat Completions stream (`stream_options`). */
  streamUsage: boolean;
  /** Instructions are sent in the role `developer`, not `system`. The default is false: `system` is understood everywhere. */
  developerRole: boolean;
  /** Takes a reasoning effort and, with Responses, hands out encrypted reasoning for the next request. */
  reasoning: boolean;
  /** Chat Completions: the output limit is `max_completion_tokens` (default for OpenAI), not the older `max_tokens` (default elsewhere). */
  maxCompletionTokens: boolean;
}

/** The capabilities of a server, with the defaults for what is not said. */
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

/** True where the reasoning of `model` can be asked for in encrypted form. */
export function givesEncryptedReasoning(capabilities: OpenAICapabilities, model: string): boolean {
  return capabilities.reasoning && !WITHOUT_REASONING.test(model);
}
