import { PLAIN_CHAT } from '../chat-stream.ts';
import { encryptedContentIsOurs, reasoningHasItsItem } from '../opaque-parts.ts';
import {
  argumentsAreObjects,
  arraysHaveItems,
  everyCallIsAnswered,
  everyResultHasItsCall,
  fieldsAre,
  idsLike,
  mediaOfUsersOnly,
  namesLike,
  noEmptyAssistant,
  noIdTwice,
  noRootUnions,
  rootHasProperties,
  rootIsObject,
  strictObjectsAreClosed,
  temperatureIsOne,
  toolChoiceNeedsTools,
  wellFormedText,
  without,
} from '../rules.ts';
import { type Family, openaiError, row, type RuleRow } from './family.ts';

const SCHEMA_RULES: readonly RuleRow[] = [
  row(rootIsObject, ({ what, at }) =>
    openaiError(400, `Invalid schema for function '${what}': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'.`, {
      param: `tools[${at}].function.parameters`,
      code: 'invalid_function_parameters',
    }),
  ),
  row(rootHasProperties, ({ what, at }) =>
    openaiError(400, `Invalid schema for function '${what}': In context=(), object schema missing properties.`, {
      param: `tools[${at}].function.parameters`,
      code: 'invalid_function_parameters',
    }),
  ),
  row(noRootUnions, ({ what, at }) =>
    openaiError(
      400,
      `Invalid schema for function '${what}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
      { param: `tools[${at}].function.parameters`, code: 'invalid_function_parameters' },
    ),
  ),
  row(arraysHaveItems, ({ what, at }) =>
    openaiError(400, `Invalid schema for function '${what.split(':')[0]}': In context=(${what}), array schema missing items.`, {
      param: `tools[${at}].function.parameters`,
      code: 'invalid_function_parameters',
    }),
  ),
  row(strictObjectsAreClosed, ({ what, at }) =>
    openaiError(
      400,
      `Invalid schema for function '${what.split(':')[0]}': In context=(), 'additionalProperties' is required to be supplied and to be false.`,
      { param: `tools[${at}].function.parameters`, code: 'invalid_function_parameters' },
    ),
  ),
];

const BODY_RULES: readonly RuleRow[] = [
  row(wellFormedText, () =>
    openaiError(
      400,
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)",
    ),
  ),
  row(temperatureIsOne, ({ what }) =>
    openaiError(
      400,
      `Unsupported value: 'temperature' does not support ${what} with this model. Only the default (1) value is supported.`,
      {
        param: 'temperature',
        code: 'unsupported_value',
      },
    ),
  ),
  row(toolChoiceNeedsTools, () =>
    openaiError(400, "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", {
      param: 'tool_choice',
    }),
  ),
];

const FAILURES: Family['failures'] = {
  'too long': openaiError(
    400,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. Please reduce the length of the messages.",
    { param: 'messages', code: 'context_length_exceeded' },
  ),
  'rate limited': {
    ...openaiError(
      429,
      'Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s. Visit https://platform.openai.com/account/rate-limits to learn more.',
      { type: 'tokens', code: 'rate_limit_exceeded' },
    ),
    headers: { 'retry-after': '2', 'retry-after-ms': '2000', 'x-ratelimit-reset-tokens': '2s' },
  },
  'rate limited in words': openaiError(
    429,
    'Rate limit reached for gpt-5 in organization org-1 on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
    { type: 'requests', code: 'rate_limit_exceeded' },
  ),
  'out of quota': openaiError(429, 'You exceeded your current quota, please check your plan and billing details.', {
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  }),
  overloaded: openaiError(503, 'The server is currently overloaded with other requests. Sorry about that!', {
    type: 'service_unavailable',
  }),
  'server error': openaiError(500, 'The server had an error while processing your request. Sorry about that!', { type: 'server_error' }),
  filtered: openaiError(
    400,
    'Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.',
    { code: 'invalid_prompt' },
  ),
  unauthorized: openaiError(401, 'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.', {
    code: 'invalid_api_key',
  }),
};

const CHAT_RULES: readonly RuleRow[] = [
  row(without('max_tokens'), () =>
    openaiError(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", {
      param: 'max_tokens',
      code: 'unsupported_parameter',
    }),
  ),
  row(
    fieldsAre(
      'model messages tools tool_choice parallel_tool_calls response_format temperature stream stream_options ' +
        'max_completion_tokens reasoning_effort store prompt_cache_key safety_identifier',
    ),
    ({ what }) => openaiError(400, `Unrecognized request argument supplied: ${what}`),
  ),
  ...BODY_RULES,
  row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ at }) =>
    openaiError(
      400,
      `Invalid 'tools[${at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      { param: `tools[${at}].function.name`, code: 'invalid_value' },
    ),
  ),
  row(idsLike(/^.{1,40}$/), ({ at, what }) =>
    openaiError(
      400,
      `Invalid 'messages[${at}].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length ${what.length} instead.`,
      { param: `messages[${at}].tool_calls[0].id`, code: 'string_above_max_length' },
    ),
  ),
  row(everyResultHasItsCall, ({ at }) =>
    openaiError(400, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", {
      param: `messages.[${at}].role`,
    }),
  ),
  row(everyCallIsAnswered, ({ what, at }) =>
    openaiError(
      400,
      `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${what}`,
      { param: `messages.[${at}].role` },
    ),
  ),
  row(noIdTwice, ({ what }) => openaiError(400, `Duplicate value for 'tool_call_id' of '${what}' in message.`)),
  row(mediaOfUsersOnly, ({ role }) =>
    openaiError(
      400,
      `Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`,
    ),
  ),
  ...SCHEMA_RULES,
];

/** Chat Completions at OpenAI, with a model that reasons. */
export const OPENAI_CHAT: Family = {
  name: 'openai-chat',
  baseURL: 'https://api.openai.com/v1',
  options: { api: 'chat' },
  model: 'gpt-5',
  otherModel: 'gpt-5-mini',
  api: 'chat',
  dialect: PLAIN_CHAT,
  rules: CHAT_RULES,
  failures: FAILURES,
  learns: 1,
};

/** The Responses API at OpenAI: what the model has thought comes back encrypted. */
export const OPENAI_RESPONSES: Family = {
  name: 'openai-responses',
  baseURL: 'https://api.openai.com/v1',
  model: 'gpt-5',
  otherModel: 'gpt-5-mini',
  api: 'responses',
  dialect: PLAIN_CHAT,
  rules: [
    row(
      fieldsAre(
        'model input instructions tools tool_choice parallel_tool_calls text temperature stream store ' +
          'max_output_tokens reasoning include prompt_cache_key safety_identifier truncation',
      ),
      ({ what }) => openaiError(400, `Unknown parameter: '${what}'.`, { param: what, code: 'unknown_parameter' }),
    ),
    ...BODY_RULES,
    row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ at }) =>
      openaiError(
        400,
        `Invalid 'input[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
        {
          param: `input[${at}].name`,
          code: 'invalid_value',
        },
      ),
    ),
    row(idsLike(/^.{1,64}$/), ({ at, what }) =>
      openaiError(
        400,
        `Invalid 'input[${at}].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${what.length} instead.`,
        { param: `input[${at}].call_id`, code: 'string_above_max_length' },
      ),
    ),
    row(encryptedContentIsOurs, () =>
      openaiError(
        400,
        'The encrypted content gAAA...DQ== could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
        {
          code: 'invalid_encrypted_content',
        },
      ),
    ),
    row(reasoningHasItsItem, ({ what }) =>
      openaiError(400, `Item '${what}' of type 'reasoning' was provided without its required following item.`, { param: 'input' }),
    ),
    row(everyResultHasItsCall, ({ what }) =>
      openaiError(400, `No tool call found for function call output with call_id ${what}.`, { param: 'input' }),
    ),
    row(everyCallIsAnswered, ({ what }) => openaiError(400, `No tool output found for function call ${what}.`, { param: 'input' })),
    row(noIdTwice, ({ what }) =>
      openaiError(400, `Duplicate item found with call_id ${what}. Remove duplicate items from your input and try again.`),
    ),
    ...SCHEMA_RULES,
  ],
  failures: {
    ...FAILURES,
    'too long': openaiError(400, 'Your input exceeds the context window of this model. Please adjust your input and try again.', {
      param: 'input',
      code: 'context_length_exceeded',
    }),
  },
  learns: 1,
};

/** Azure OpenAI: the filters of the deployment, whose words are deeper in the error, and chunks without a choice. */
export const AZURE: Family = {
  name: 'azure',
  baseURL: 'https://desk.openai.azure.com/openai/v1',
  options: { api: 'chat', capabilities: { maxCompletionTokens: true } },
  model: 'gpt-5',
  otherModel: 'gpt-5-mini',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    before: [
      {
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: 'safe' } } }],
      },
    ],
  },
  rules: [
    row(noEmptyAssistant, ({ at }) =>
      openaiError(400, "Invalid value for 'content': expected a string, got null.", { param: `messages.[${at}].content` }),
    ),
    row(argumentsAreObjects, ({ at }) =>
      openaiError(400, `Invalid 'messages[${at}].tool_calls[0].function.arguments': expected valid JSON.`, { param: `messages.[${at}]` }),
    ),
    ...CHAT_RULES,
  ],
  failures: {
    ...FAILURES,
    'rate limited': {
      status: 429,
      headers: { 'retry-after': '3' },
      body: {
        error: {
          code: '429',
          message:
            'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2025-04-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 3 seconds.',
        },
      },
      says: 'exceeded token rate limit',
    },
    filtered: {
      status: 400,
      body: {
        error: {
          message:
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: { violence: { filtered: true, severity: 'medium' } } },
        },
      },
      says: "triggering Azure OpenAI's content management policy",
    },
    unauthorized: {
      status: 401,
      body: {
        error: {
          code: '401',
          message:
            'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
        },
      },
      says: 'Access denied due to invalid subscription key',
    },
  },
  learns: 1,
};
