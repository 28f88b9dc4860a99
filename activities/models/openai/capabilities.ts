import type { ModelCapabilities } from '../../../src/core/domain/model.ts';

/**
 * What a server with OpenAI's API takes. A request is built within them. The table of rules (`request-rules.ts`) says what each of
 * them changes in a request, and by which refusals a client learns it.
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
  /** Instructions are sent in the role `developer`, not `system`. The default is false: `system` is understood everywhere. */
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
   * merged, or `none`: their text is put in front of the first message of the user.
   */
  systemMessages: 'several' | 'first' | 'none';
  /** A message of the user may follow the result of a tool. Without it, a short message of the assistant stands between them. */
  userAfterTool: boolean;
  /** Two messages of the same role may follow one another. Without it, they are merged. */
  repeatedRoles: boolean;
  /** The first message behind the system messages may be of the assistant. Without it, a short message of the user is in front. */
  assistantFirst: boolean;
  /** The last message may be of the assistant. Without it, a short message of the user follows. */
  assistantLast: boolean;
  /** The content of a message with tool calls may be null. Without it, it is an empty text. */
  nullContent: boolean;
  /** The content of a message may be a list of parts. Without it, it is text alone. */
  contentParts: boolean;
  /** A message may have several calls. Without it, each call and its result follow the one before. */
  severalCalls: boolean;
  /** Takes calls of which nothing says how the model came to them. Without it, such calls and their results are sent as text. */
  bareCalls: boolean;
  /** Takes a conversation with calls without tools to call. Without it, a tool is offered that must not be called. */
  callsWithoutTools: boolean;
  /** A schema may list several types (`type: ['string', 'null']`). Without it, `nullable` and `anyOf` say the same. */
  typeLists: boolean;
  /** Takes images, audio and files. Without it, a text names them. */
  media: boolean;
  /**
   * The ids of calls: `safe` (the default) has at most 40 letters, digits, `_` and `-`, `nine` exactly nine letters and digits (Mistral),
   * and `given` leaves each id as the model gave it.
   */
  callIds: 'safe' | 'nine' | 'given';
  /** Discards what it has sent beside the content of an answer: reasoning and signatures. */
  opaqueParts: boolean;
  /** Refuses a message with tool calls that has no `reasoning_content`. Answers without one get an empty text. Default false. */
  reasoningField: boolean;
  /** Takes a `prompt_cache_key`, by which calls of one run reach the machine that has cached the ones before. Default: with OpenAI alone. */
  promptCacheKey: boolean;
  /** Takes marks at the ends of parts to be cached, for models from GPT-5.6 on. Default: with OpenAI alone. */
  cacheBreakpoints: boolean;
  /** Refuses a tool call without a thought signature. Calls of other models get the value with which Google's API skips its check. Default false. */
  callSignature: boolean;
}

/** Returns the capabilities of a server, with defaults for those that are not declared. */
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

/** Models that never reason. OpenAI refuses a request for their encrypted reasoning, so it is not asked for. */
const WITHOUT_REASONING = /(?:^|[/:])(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)/;

/** True if the reasoning of `model` can be requested in encrypted form. */
export function givesEncryptedReasoning(model: string): boolean {
  return !WITHOUT_REASONING.test(model);
}
