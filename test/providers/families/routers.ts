import { PLAIN_CHAT } from '../chat-stream.ts';
import { partsPresent, partsUnchanged, REASONING_DETAILS, THINKING_BLOCKS } from '../opaque-parts.ts';
import {
  argumentsAreObjects,
  arraysHaveItems,
  callsNeedTools,
  endsWithUserOrTool,
  everyCallIsAnswered,
  everyResultHasItsCall,
  fieldsAre,
  freeToolChoice,
  idsLike,
  namesLike,
  noEmptyAssistant,
  noEmptyText,
  noIdTwice,
  noRootUnions,
  rootIsObject,
  temperatureIsOne,
  wellFormedText,
} from '../rules.ts';
import { type Family, openaiError, row, type WordedFailure } from './family.ts';

/** An error of a provider behind LiteLLM: its own body as a text in the message. */
function litellmError(status: number, provider: string, inner: object, kind = 'BadRequestError'): WordedFailure {
  const says = 'message' in inner && typeof inner.message === 'string' ? inner.message : JSON.stringify(inner);
  const message = `litellm.${kind}: ${provider}Exception - ${JSON.stringify(inner)}. Received Model Group=claude\nAvailable Model Group Fallbacks=None`;
  return { status, body: { error: { message, type: null, param: null, code: String(status) } }, says };
}

function anthropicError(status: number, message: string, type = 'invalid_request_error', kind = 'BadRequestError'): WordedFailure {
  return { ...litellmError(status, 'Anthropic', { type: 'error', error: { type, message } }, kind), says: message };
}

/** LiteLLM before Anthropic, with thinking: signed blocks come back, and every text says something. */
export const LITELLM_ANTHROPIC: Family = {
  name: 'litellm-anthropic',
  baseURL: 'http://litellm.example:4000/v1',
  model: 'claude-sonnet-5',
  otherModel: 'claude-opus-4-6',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, usage: 'own chunk', newId: (n) => `toolu_01${String(n).padStart(22, 'A')}` },
  opaque: THINKING_BLOCKS,
  rules: [
    row(wellFormedText, () =>
      anthropicError(400, 'The request body is not valid JSON: no low surrogate in string: line 1 column 212 (char 211)'),
    ),
    row(callsNeedTools, () => ({
      status: 400,
      body: {
        error: {
          message:
            'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in. Pass `tools=` param OR set `litellm.modify_params = True` // `litellm_settings::modify_params: True` to add dummy tool to the request.',
          type: 'None',
          param: null,
          code: '400',
        },
      },
    })),
    row(temperatureIsOne, () =>
      anthropicError(
        400,
        '`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
      ),
    ),
    row(freeToolChoice, () => anthropicError(400, 'Thinking may not be enabled when tool_choice forces tool use.')),
    row(partsPresent(THINKING_BLOCKS, 'current'), ({ at }) =>
      anthropicError(
        400,
        `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking`,
      ),
    ),
    row(partsUnchanged(THINKING_BLOCKS), ({ at }) =>
      anthropicError(400, `messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block`),
    ),
    row(noEmptyText, () => anthropicError(400, 'messages: text content blocks must be non-empty')),
    row(noEmptyAssistant, ({ at }) =>
      anthropicError(400, `messages.${at}: all messages must have non-empty content except for the optional final assistant message`),
    ),
    row(endsWithUserOrTool, () =>
      anthropicError(400, 'This model does not support assistant message prefill. The conversation must end with a user message.'),
    ),
    row(idsLike(/^[a-zA-Z0-9_-]+$/), ({ at }) =>
      anthropicError(400, `messages.${at}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`),
    ),
    row(noIdTwice, () => anthropicError(400, 'messages.1: `tool_use` ids must be unique')),
    row(everyCallIsAnswered, ({ at, what }) =>
      anthropicError(
        400,
        `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${what}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      ),
    ),
    row(everyResultHasItsCall, ({ at, what }) =>
      anthropicError(
        400,
        `messages.${at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${what}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      ),
    ),
    row(namesLike(/^[a-zA-Z0-9_-]{1,128}$/), ({ at }) =>
      anthropicError(400, `tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`),
    ),
    row(rootIsObject, ({ at }) => anthropicError(400, `tools.${at}.custom.input_schema.type: Input should be 'object'`)),
    row(noRootUnions, ({ at }) =>
      anthropicError(400, `tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`),
    ),
  ],
  failures: {
    'too long': anthropicError(400, 'prompt is too long: 210000 tokens > 200000 maximum'),
    'rate limited': {
      ...anthropicError(
        429,
        "This request would exceed your organization's rate limit of 50 requests per minute.",
        'rate_limit_error',
        'RateLimitError',
      ),
      headers: { 'retry-after': '2' },
    },
    'rate limited in words': {
      status: 429,
      body: {
        error: {
          message:
            'No deployments available for selected model, Try again in 5 seconds. Passed model=claude-sonnet-5. pre-call-checks=False',
          type: 'None',
          param: 'None',
          code: '429',
        },
      },
      says: 'Try again in 5 seconds',
    },
    'out of quota': {
      status: 400,
      body: {
        error: {
          message: 'Budget has been exceeded! Current cost: 10.2, Max budget: 10.0',
          type: 'budget_exceeded',
          param: null,
          code: '400',
        },
      },
      says: 'Budget has been exceeded! Current cost: 10.2, Max budget: 10.0',
    },
    overloaded: anthropicError(529, 'Overloaded', 'overloaded_error', 'InternalServerError'),
    'server error': anthropicError(500, 'Internal server error', 'api_error', 'InternalServerError'),
    filtered: anthropicError(400, 'Output blocked by content filtering policy', 'invalid_request_error', 'ContentPolicyViolationError'),
    unauthorized: {
      ...openaiError(401, 'Authentication Error, Invalid proxy server token passed. Received API Key = sk-...-two', {
        type: 'token_not_found_in_db',
        code: '401',
      }),
      // What looks like a key is not shown.
      says: 'Authentication Error, Invalid proxy server token passed. Received API Key =',
    },
  },
  learns: 2,
};

const bedrock = (message: string): WordedFailure => litellmError(400, 'Bedrock', { message });

/** LiteLLM before Bedrock: no text is blank, and the tools of earlier calls stay declared. */
export const LITELLM_BEDROCK: Family = {
  name: 'litellm-bedrock',
  baseURL: 'http://gateway.internal.example/v1',
  options: { capabilities: { structuredOutput: false } },
  model: 'bedrock-nova-pro',
  otherModel: 'bedrock-claude-haiku',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, finish: 'last piece', usage: 'with the finish', newId: (n) => `tooluse_${String(n).padStart(22, 'k')}` },
  rules: [
    row(wellFormedText, () => bedrock('Unable to parse the request: unpaired surrogate')),
    row(fieldsAre('model messages tools tool_choice temperature max_tokens stream stream_options'), ({ what }) => ({
      status: 400,
      body: {
        error: {
          message: `litellm.UnsupportedParamsError: bedrock does not support parameters: ['${what}'], for model=bedrock-nova-pro. To drop these, set \`litellm.drop_params=True\` or for proxy: \`litellm_settings: drop_params: true\`.`,
          type: 'None',
          param: null,
          code: '400',
        },
      },
    })),
    row(callsNeedTools, () => ({
      status: 400,
      body: {
        error: {
          message:
            "litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified. Pass `tools=` param OR set `litellm.modify_params = True` // `litellm_settings::modify_params: True` to add dummy tool to the request.",
          type: 'None',
          param: null,
          code: '400',
        },
      },
    })),
    row(noEmptyText, ({ at }) =>
      bedrock(`The text field in the ContentBlock object at messages.${at}.content.0 is blank. Add text to the text field, and try again.`),
    ),
    row(noEmptyAssistant, ({ at }) =>
      bedrock(
        `The content field in the Message object at messages.${at} is empty. Add a ContentBlock object to the content field and try again.`,
      ),
    ),
    row(endsWithUserOrTool, () =>
      bedrock(
        'The model returned the following errors: A conversation must end with a user message. Try again with a conversation that ends with a user message.',
      ),
    ),
    row(idsLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ what }) =>
      bedrock(
        `1 validation error detected: Value '${what}' at 'messages.1.member.content.1.member.toolUse.toolUseId' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
      ),
    ),
    row(noIdTwice, ({ at, what }) => bedrock(`The toolUse blocks at messages.${at}.content contain duplicate Ids: ${what}`)),
    row(everyCallIsAnswered, ({ at, what }) =>
      bedrock(`Expected toolResult blocks at messages.${at + 1}.content for the following Ids: ${what}`),
    ),
    row(everyResultHasItsCall, ({ at }) =>
      bedrock(`The number of toolResult blocks at messages.${at}.content exceeds the number of toolUse blocks of previous turn.`),
    ),
    row(argumentsAreObjects, ({ at }) =>
      bedrock(
        `The format of the value at messages.${at}.content.0.toolUse.input is invalid. Provide a json object for the field and try again.`,
      ),
    ),
    row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ what }) =>
      bedrock(
        `Value '${what}' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+`,
      ),
    ),
    row(rootIsObject, ({ at }) =>
      bedrock(`The value at toolConfig.tools.${at}.toolSpec.inputSchema.json.type must be one of the following: object.`),
    ),
    row(noRootUnions, ({ at }) =>
      bedrock(
        `The value at toolConfig.tools.${at}.toolSpec.inputSchema.json is invalid: oneOf, anyOf and allOf are not supported at the top level.`,
      ),
    ),
  ],
  failures: {
    'too long': litellmError(400, 'Bedrock', { message: 'Input is too long for requested model.' }, 'ContextWindowExceededError'),
    'rate limited': {
      ...litellmError(429, 'Bedrock', { message: 'Too many requests, please wait before trying again.' }, 'RateLimitError'),
      headers: { 'retry-after': '1' },
    },
    'rate limited in words': litellmError(
      429,
      'Bedrock',
      { message: 'Too many tokens, please wait before trying again.' },
      'RateLimitError',
    ),
    'out of quota': {
      status: 429,
      body: {
        error: {
          message: 'ExceededBudget: User=desk over budget. Spend=10.2, Budget=10.0',
          type: 'budget_exceeded',
          param: null,
          code: '429',
        },
      },
      says: 'ExceededBudget: User=desk over budget. Spend=10.2, Budget=10.0',
    },
    overloaded: litellmError(503, 'Bedrock', { message: 'Bedrock is unable to process your request.' }, 'ServiceUnavailableError'),
    'server error': litellmError(
      500,
      'Bedrock',
      { message: 'The system encountered an unexpected error during processing. Try your request again.' },
      'InternalServerError',
    ),
    filtered: litellmError(400, 'Bedrock', { message: 'The content was blocked by your guardrail policy.' }, 'ContentPolicyViolationError'),
    unauthorized: openaiError(401, "Authentication Error, LiteLLM Virtual Key expected. Received=key-two, expected to start with 'sk-'.", {
      type: 'auth_error',
      code: '401',
    }),
  },
  learns: 2,
};

/** An error as OpenRouter sends it, with the provider's error behind it. */
function openrouterError(status: number, raw: string, message = 'Provider returned error'): WordedFailure {
  return {
    status,
    body: { error: { message, code: status, metadata: { raw, provider_name: 'Anthropic', is_byok: false } }, user_id: 'user_1' },
    says: message === 'Provider returned error' ? raw : message,
  };
}

const behindRouter = (message: string): WordedFailure => ({
  ...openrouterError(400, JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })),
  says: message,
});

/** OpenRouter: details of reasoning, errors inside streams, and comments between the events. */
export const OPENROUTER: Family = {
  name: 'openrouter',
  baseURL: 'https://openrouter.ai/api/v1',
  model: 'anthropic/claude-sonnet-5',
  otherModel: 'google/gemini-3-pro-preview',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    comments: ['OPENROUTER PROCESSING', 'OPENROUTER PROCESSING'],
    reasoning: 'reasoning',
    ids: 'every piece',
    newId: (n) => `toolu_vrtx_01${String(n).padStart(20, 'B')}`,
  },
  opaque: REASONING_DETAILS,
  rules: [
    row(wellFormedText, () => openrouterError(400, '', 'Invalid JSON in the request body: lone surrogate')),
    row(partsPresent(REASONING_DETAILS, 'current'), ({ at }) =>
      behindRouter(
        `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
      ),
    ),
    row(partsUnchanged(REASONING_DETAILS), ({ at }) =>
      behindRouter(`messages.${at}.content.0: Invalid \`signature\` in \`thinking\` block`),
    ),
    row(noEmptyText, () => behindRouter('messages: text content blocks must be non-empty')),
    row(noEmptyAssistant, () => behindRouter('messages: text content blocks must be non-empty')),
    row(endsWithUserOrTool, () =>
      behindRouter('This model does not support assistant message prefill. The conversation must end with a user message.'),
    ),
    row(idsLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ at }) =>
      behindRouter(`messages.${at}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`),
    ),
    row(noIdTwice, () => behindRouter('messages.1: `tool_use` ids must be unique')),
    row(everyCallIsAnswered, ({ at, what }) =>
      behindRouter(`messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${what}.`),
    ),
    row(everyResultHasItsCall, ({ at, what }) =>
      behindRouter(`messages.${at}.content.0: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${what}.`),
    ),
    row(rootIsObject, ({ at }) => behindRouter(`tools.${at}.custom.input_schema.type: Input should be 'object'`)),
    row(noRootUnions, ({ at }) =>
      behindRouter(`tools.${at}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`),
    ),
    row(arraysHaveItems, ({ at }) =>
      openrouterError(
        400,
        `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[${at}].parameters.properties[ids].items: missing field."}}]`,
      ),
    ),
  ],
  failures: {
    'too long': openrouterError(
      400,
      '',
      "This endpoint's maximum context length is 200000 tokens. However, you requested about 210000 tokens (206000 of text input, 4000 of tool input). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.",
    ),
    'rate limited': {
      ...openrouterError(429, 'claude-sonnet-5 is temporarily rate-limited upstream. Please retry shortly.'),
      headers: { 'retry-after': '1' },
    },
    'rate limited in words': openrouterError(429, '', 'Rate limit exceeded: free-models-per-min.'),
    'out of quota': openrouterError(
      402,
      '',
      'This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 1200.',
    ),
    overloaded: openrouterError(502, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    'server error': openrouterError(500, '', 'Internal Server Error'),
    filtered: {
      status: 403,
      body: {
        error: {
          code: 403,
          message: 'Input was flagged by moderation',
          metadata: { reasons: ['violence'], flagged_input: 'How do I', provider_name: 'OpenAI', model_slug: 'openai/gpt-5' },
        },
      },
      says: 'Input was flagged by moderation',
    },
    unauthorized: openrouterError(401, '', 'User not found.'),
  },
  learns: 1,
};
