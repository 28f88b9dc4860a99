import type { ModelCapabilities } from '../../../src/core/domain/model.ts';

/**
 * The capabilities of a server with OpenAI's API. Requests stay within them. The table of rules (`request-rules.ts`) says how each of them
 * changes a request, and which refusals teach it to a client.
 */
export interface OpenAICapabilities extends ModelCapabilities {
  /** Accepts a JSON Schema for the answer. Without it, structured answers come through a `final_answer` tool. */
  structuredOutput: boolean;
  /** Enforces the schemas of tools and answers (`strict`). */
  strictSchema: boolean;
  /** Accepts `parallel_tool_calls`. */
  parallelTools: boolean;
  /** Accepts `tool_choice` with `required` or the name of a tool. Without it, the choice is `auto`. */
  forcedTools: boolean;
  /** Streams answers as server-sent events, so that a slow answer can be observed and aborted. */
  streaming: boolean;
  /** Reports the usage at the end of a Chat Completions stream (`stream_options`). */
  streamUsage: boolean;
  /** Instructions have the role `developer`, not `system`. Default false: `system` is understood everywhere. */
  developerRole: boolean;
  /** Accepts a reasoning effort and, with Responses, returns encrypted reasoning for the next request. */
  reasoning: boolean;
  /** Responses: accepts the request for encrypted reasoning (`include`). */
  encryptedReasoning: boolean;
  /** Chat Completions: the output limit is `max_completion_tokens` (default for OpenAI), not the older `max_tokens` (default elsewhere). */
  maxCompletionTokens: boolean;
  /** Accepts `temperature`. */
  temperature: boolean;
  /**
   * The system messages that a conversation may have: `several` anywhere (the default), one as the `first` message, into which all are
   * merged, or `none`: their text precedes the first user message.
   */
  systemMessages: 'several' | 'first' | 'none';
  /** A user message may follow a tool result. Without it, a short assistant message is inserted. */
  userAfterTool: boolean;
  /** Two messages of the same role may follow one another. Without it, they are merged. */
  repeatedRoles: boolean;
  /** The first message after the system messages may be the assistant's. Without it, a short user message precedes it. */
  assistantFirst: boolean;
  /** The last message may be the assistant's. Without it, a short user message follows. */
  assistantLast: boolean;
  /** The content of a message with tool calls may be null. Without it, it is an empty text. */
  nullContent: boolean;
  /** The content of a message may be a list of parts. Without it, it is only text. */
  contentParts: boolean;
  /** A message may have several calls. Without it, each call is followed by its result. */
  severalCalls: boolean;
  /** Accepts calls without the reasoning that led to them. Without it, such calls and their results are sent as text. */
  bareCalls: boolean;
  /** Accepts a conversation with calls if the request has no tools. Without it, a tool that must not be called is offered. */
  callsWithoutTools: boolean;
  /** A schema may list several types (`type: ['string', 'null']`). Without it, `nullable` and `anyOf` express the same. */
  typeLists: boolean;
  /** Accepts images, audio and files. Without it, a text names them. */
  media: boolean;
  /**
   * The ids of calls: `safe` (the default) has at most 40 letters, digits, `_` and `-`, `nine` exactly nine letters and digits (Mistral),
   * and `given` keeps the model's id.
   */
  callIds: 'safe' | 'nine' | 'given';
  /** Accepts back the parts that it sent in addition to an answer's content: reasoning and signatures. */
  opaqueParts: boolean;
  /** Refuses a message with tool calls but without `reasoning_content`. Answers without one get an empty text. Default false. */
  reasoningField: boolean;
  /** Accepts a `prompt_cache_key`, which routes the calls of one run to the machine with their cache. Default: only with OpenAI. */
  promptCacheKey: boolean;
  /** Accepts marks at the ends of parts to cache, for models from GPT-5.6 on. Default: only with OpenAI. */
  cacheBreakpoints: boolean;
  /**
   * Refuses a tool call without a thought signature. Calls of other models get the value that makes Google's API skip its check. Default
   * false.
   */
  callSignature: boolean;
}

/** Returns the capabilities of a server, with defaults for undeclared ones. */
export function openaiCapabilities(isOpenAI: boolean, declared: Partial<OpenAICapabilities> = {}): OpenAICapabilities {
  return {
    structuredOutput: true,
    strictSchema: true,
    parallelTools: true,
    forcedTools: true,
    streaming: true,
    streamUsage: true,
    developerRole: false,
    reasoning: true,
    encryptedReasoning: true,
    maxCompletionTokens: isOpenAI,
    temperature: true,
    systemMessages: 'several',
    userAfterTool: true,
    repeatedRoles: true,
    assistantFirst: true,
    assistantLast: true,
    nullContent: true,
    contentParts: true,
    severalCalls: true,
    bareCalls: true,
    callsWithoutTools: true,
    typeLists: true,
    media: true,
    callIds: 'safe',
    opaqueParts: true,
    reasoningField: false,
    promptCacheKey: isOpenAI,
    cacheBreakpoints: isOpenAI,
    callSignature: false,
    ...declared,
  };
}

/** Models that never reason. OpenAI refuses a request for their encrypted reasoning, so it is not requested. */
const WITHOUT_REASONING = /(?:^|[/:])(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)/;

/** True if the reasoning of `model` can be requested in encrypted form. */
export function givesEncryptedReasoning(model: string): boolean {
  return !WITHOUT_REASONING.test(model);
}
