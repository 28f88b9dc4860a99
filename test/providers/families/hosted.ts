import { PLAIN_CHAT } from '../chat-stream.ts';
import { partsPresent, partsUnchanged, REASONING_CONTENT, THOUGHT_SIGNATURE } from '../opaque-parts.ts';
import {
  argumentsAreObjects,
  arraysHaveItems,
  beginsWithUser,
  endsWithSomethingToAnswer,
  endsWithUserOrTool,
  everyCallIsAnswered,
  everyResultHasItsCall,
  fieldsAre,
  freeToolChoice,
  idsLike,
  messageFieldsAre,
  namesLike,
  noDeveloperRole,
  noEmptyAssistant,
  noEmptyText,
  noIdTwice,
  noReferences,
  noToolBehindUser,
  noUserBehindTool,
  oneTypeEach,
  rootIsObject,
  systemMessagesFirst,
  temperatureIsOne,
  wellFormedText,
} from '../rules.ts';
import { type Family, openaiError, row, type WordedFailure } from './family.ts';

const CHAT_FIELDS = 'model messages tools tool_choice response_format temperature max_tokens stream stream_options';

/** DeepSeek with its thinking mode: reasoning comes back while the tools of a turn are called. */
export const DEEPSEEK: Family = {
  name: 'deepseek',
  baseURL: 'https://api.deepseek.com',
  options: { capabilities: { structuredOutput: false } },
  model: 'deepseek-reasoner',
  otherModel: 'deepseek-chat',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, comments: ['keep-alive'], newId: (n) => `call_00_${n}pQzX3vT8` },
  opaque: REASONING_CONTENT,
  rules: [
    row(wellFormedText, () => openaiError(400, 'Failed to parse the request body as JSON: messages: lone leading surrogate in hex escape')),
    row(partsPresent(REASONING_CONTENT, 'current'), ({ at }) =>
      openaiError(
        400,
        `Missing \`reasoning_content\` field in the assistant message at message index ${at}. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls`,
        { code: 'invalid_request_error' },
      ),
    ),
    row(partsUnchanged(REASONING_CONTENT), ({ at }) =>
      openaiError(
        400,
        `The \`reasoning_content\` in the assistant message at message index ${at} must be passed back to the API unchanged.`,
      ),
    ),
    row(freeToolChoice, () => openaiError(400, 'deepseek-reasoner does not support this tool_choice', { code: 'invalid_request_error' })),
    row(everyResultHasItsCall, () =>
      openaiError(400, "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", {
        code: 'invalid_request_error',
      }),
    ),
    row(everyCallIsAnswered, () =>
      openaiError(
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
        { code: 'invalid_request_error' },
      ),
    ),
    row(noIdTwice, ({ what }) => openaiError(400, `Duplicate value for 'tool_call_id' of '${what}' in message`)),
    row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ at }) =>
      openaiError(
        400,
        `Invalid 'tools[${at}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      ),
    ),
    row(noEmptyAssistant, ({ at }) =>
      openaiError(400, `Invalid assistant message: content or tool_calls must be set (message index ${at})`, {
        code: 'invalid_request_error',
      }),
    ),
    row(rootIsObject, ({ what }) =>
      openaiError(400, `Invalid schema for function '${what}': schema must be a JSON Schema of 'type: "object"', got 'type: null'.`, {
        code: 'invalid_request_error',
      }),
    ),
  ],
  failures: {
    'too long': openaiError(
      400,
      "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
      { code: 'invalid_request_error' },
    ),
    'rate limited': { ...openaiError(429, 'Rate limit reached', { type: 'rate_limit_error' }), headers: { 'retry-after': '1' } },
    'rate limited in words': openaiError(429, 'Rate limit reached. Please pace your requests reasonably.', { type: 'rate_limit_error' }),
    'out of quota': openaiError(402, 'Insufficient Balance', { type: 'unknown_error', code: 'invalid_request_error' }),
    overloaded: openaiError(503, 'Server overloaded, please retry your request after a brief wait.', { type: 'service_unavailable_error' }),
    'server error': openaiError(500, 'Internal Server Error', { type: 'internal_server_error' }),
    filtered: openaiError(400, 'Content Exists Risk'),
    unauthorized: openaiError(401, 'Authentication Fails, Your api key: ****-two is invalid', { type: 'authentication_error' }),
  },
  learns: 1,
};

/** Kimi with thinking: the reasoning of every call comes back, and the model chooses its tools itself. */
export const KIMI: Family = {
  name: 'kimi',
  baseURL: 'https://api.moonshot.ai/v1',
  options: { capabilities: { structuredOutput: false } },
  model: 'kimi-k2.6',
  otherModel: 'kimi-k2.5',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, usage: 'in the choice', newId: (n) => `functions.tool:${n}` },
  opaque: REASONING_CONTENT,
  rules: [
    row(wellFormedText, () => openaiError(400, 'Invalid request: the request body is not valid JSON')),
    row(temperatureIsOne, () => openaiError(400, 'invalid temperature: only 1 is allowed for this model')),
    row(partsPresent(REASONING_CONTENT, 'all'), ({ at }) =>
      openaiError(400, `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${at}`),
    ),
    row(partsUnchanged(REASONING_CONTENT), ({ at }) =>
      openaiError(400, `Invalid request: reasoning_content was changed in the message at index ${at}`),
    ),
    row(freeToolChoice, ({ what }) => openaiError(400, `tool_choice '${what}' is incompatible with thinking enabled`)),
    row(noEmptyAssistant, ({ at }) =>
      openaiError(400, `Invalid request: the message at position ${at} with role 'assistant' must not be empty`),
    ),
    row(noEmptyText, ({ at, role }) =>
      openaiError(400, `Invalid request: the message at position ${at} with role '${role}' must not be empty`),
    ),
    row(everyResultHasItsCall, ({ what }) => openaiError(400, `Invalid request: tool_call_id ${what} is not found`)),
    row(everyCallIsAnswered, ({ what }) =>
      openaiError(
        400,
        `Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${what}`,
      ),
    ),
    row(noIdTwice, ({ what }) => openaiError(400, `Invalid request: duplicate tool_call_id ${what}`)),
    row(namesLike(/^[a-zA-Z_][a-zA-Z0-9_-]{1,63}$/), () =>
      openaiError(
        400,
        'Invalid request: function name is invalid, must start with a letter and can contain letters, numbers, underscores, and dashes',
      ),
    ),
    row(rootIsObject, ({ what }) =>
      openaiError(400, `Invalid request: tool.function.parameters of ${what} is not a valid moonshot flavored json schema`),
    ),
  ],
  failures: {
    'too long': openaiError(400, 'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)'),
    'rate limited': {
      ...openaiError(429, 'Your account org-1<ak-1> request reached organization max RPM: 3, please try again after 1 seconds', {
        type: 'rate_limit_reached_error',
      }),
      headers: { 'retry-after': '1' },
    },
    'rate limited in words': openaiError(
      429,
      'Your account org-1<ak-1> request reached organization max RPM: 3, please try again after 20 seconds',
      { type: 'rate_limit_reached_error' },
    ),
    'out of quota': openaiError(
      429,
      'Your account org-1<ak-1> is not active, organization <org-1> exceeded current quota, please check your plan and billing details',
      { type: 'exceeded_current_quota_error' },
    ),
    overloaded: openaiError(429, 'The engine is currently overloaded, please try again later', { type: 'engine_overloaded_error' }),
    'server error': openaiError(500, 'Internal server error', { type: 'server_error' }),
    filtered: openaiError(400, 'The request was rejected because it was considered high risk', { type: 'content_filter' }),
    unauthorized: openaiError(401, 'Invalid Authentication', { type: 'invalid_authentication_error' }),
  },
  learns: 1,
};

/** An error as Google sends it through its compatible API: a list of one. */
function googleError(status: number, message: string, word: string, details: readonly object[] = []): WordedFailure {
  return {
    status,
    body: [{ error: { code: status, message, status: word, ...(details.length === 0 ? {} : { details }) } }],
    says: message,
  };
}

const invalid = (message: string): WordedFailure => googleError(400, message, 'INVALID_ARGUMENT');

/** Gemini through its API that is compatible with OpenAI's: signatures on calls, errors as lists, and an end that comes early. */
export const GEMINI: Family = {
  name: 'gemini',
  baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai/',
  model: 'gemini-3-pro-preview',
  otherModel: 'gemini-3-flash-preview',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    index: 'zero',
    arguments: 'whole',
    finish: 'every piece',
    words: { ...PLAIN_CHAT.words, calls: 'stop', filtered: 'content_filter: PROHIBITED_CONTENT' },
    usage: 'every chunk',
    newId: (n) => `function-call-${10_000_000_000 + n}`,
  },
  opaque: THOUGHT_SIGNATURE,
  rules: [
    row(wellFormedText, () => invalid('Invalid JSON payload received. Unexpected end of string: unpaired surrogate')),
    row(partsPresent(THOUGHT_SIGNATURE, 'current'), ({ at, what }) =>
      invalid(
        `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${what}\` , position ${at}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      ),
    ),
    row(partsUnchanged(THOUGHT_SIGNATURE), () => invalid('Corrupted thought signature.')),
    row(noEmptyText, () => invalid('* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.')),
    row(noEmptyAssistant, () => invalid('* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.')),
    row(everyCallIsAnswered, () =>
      invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      ),
    ),
    row(everyResultHasItsCall, () => invalid('Please ensure that function response turn comes immediately after a function call turn.')),
    row(beginsWithUser, () =>
      invalid('Please ensure that function call turn comes immediately after a user turn or after a function response turn.'),
    ),
    row(noIdTwice, () =>
      invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      ),
    ),
    row(namesLike(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/), ({ at }) =>
      invalid(
        `Invalid function name at tools[0].function_declarations[${at}]. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.`,
      ),
    ),
    row(noReferences, ({ at }) =>
      invalid(
        `Invalid JSON payload received. Unknown name "$ref" at 'tools[0].function_declarations[${at}].parameters': Cannot find field.`,
      ),
    ),
    row(oneTypeEach, ({ at }) =>
      invalid(
        `Invalid JSON payload received. Unknown name "type" at 'tools[0].function_declarations[${at}].parameters.properties[0].value': Proto field is not repeating, cannot start list.`,
      ),
    ),
    row(arraysHaveItems, ({ what, at }) =>
      invalid(`* GenerateContentRequest.tools[0].function_declarations[${at}].parameters.properties[${what}].items: missing field.`),
    ),
    row(rootIsObject, ({ at }) =>
      invalid(`* GenerateContentRequest.tools[0].function_declarations[${at}].parameters: schema should be of type OBJECT.`),
    ),
  ],
  failures: {
    'too long': invalid('The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'),
    'rate limited': googleError(
      429,
      'You exceeded your current quota, please check your plan and billing details. Please retry in 2.5s.',
      'RESOURCE_EXHAUSTED',
      [
        {
          '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
          violations: [{ quotaMetric: 'generate_content_requests', quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' }],
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2.5s' },
      ],
    ),
    'rate limited in words': googleError(429, 'Resource has been exhausted (e.g. check quota).', 'RESOURCE_EXHAUSTED'),
    'out of quota': googleError(403, 'Your project has been denied access. Please contact support.', 'PERMISSION_DENIED'),
    overloaded: googleError(503, 'The model is overloaded. Please try again later.', 'UNAVAILABLE'),
    'server error': googleError(
      500,
      'An internal error has occurred. Please retry or report in https://ai.google.dev/gemini-api/docs/troubleshooting',
      'INTERNAL',
    ),
    filtered: invalid('The request was blocked: PROHIBITED_CONTENT'),
    unauthorized: googleError(400, 'API key not valid. Please pass a valid API key.', 'INVALID_ARGUMENT', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' },
    ]),
  },
  learns: 2,
};

/** An error as Mistral sends it. */
function mistralError(status: number, message: string, type = 'invalid_request_error', code: string | null = null): WordedFailure {
  return { status, body: { object: 'error', message, type, param: null, code, raw_status_code: status }, says: message };
}

const wrongOrder = (message: string): WordedFailure => mistralError(400, message, 'invalid_request_message_order', '3230');

/** Mistral: a strict order of roles, ids of nine letters, and no field that it does not know. */
export const MISTRAL: Family = {
  name: 'mistral',
  baseURL: 'https://api.mistral.ai/v1',
  model: 'mistral-large-latest',
  otherModel: 'magistral-medium-latest',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    arguments: 'whole',
    finish: 'last piece',
    words: { ...PLAIN_CHAT.words, length: 'model_length' },
    usage: 'with the finish',
    newId: (n) => `tCall${String(n).padStart(4, '0')}`,
  },
  rules: [
    row(wellFormedText, () => mistralError(400, 'Invalid UTF-8 in the request body')),
    row(fieldsAre(`${CHAT_FIELDS} parallel_tool_calls reasoning_effort random_seed safe_prompt`), ({ what }) => ({
      status: 422,
      body: {
        object: 'error',
        message: { detail: [{ type: 'extra_forbidden', loc: ['body', what], msg: 'Extra inputs are not permitted', input: {} }] },
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    })),
    row(messageFieldsAre('role content tool_calls tool_call_id name prefix'), ({ what, at }) => ({
      status: 422,
      body: {
        detail: [{ type: 'extra_forbidden', loc: ['body', 'messages', at, 'assistant', what], msg: 'Extra inputs are not permitted' }],
      },
    })),
    row(noDeveloperRole, () => mistralError(422, 'Input should be system, user, assistant or tool')),
    row(systemMessagesFirst, ({ before }) => wrongOrder(`Unexpected role 'system' after role '${before}'`)),
    row(noUserBehindTool, () => wrongOrder("Unexpected role 'user' after role 'tool'")),
    row(noToolBehindUser, () => wrongOrder("Unexpected role 'tool' after role 'user'")),
    row(endsWithUserOrTool, ({ role }) =>
      wrongOrder(`Expected last role User or Tool (or Assistant with prefix True) for serving but got ${role}`),
    ),
    row(endsWithSomethingToAnswer, ({ role }) =>
      wrongOrder(`Expected last role User or Tool (or Assistant with prefix True) for serving but got ${role}`),
    ),
    row(noEmptyAssistant, () =>
      mistralError(
        400,
        'Assistant message must have either content or tool_calls, but not none.',
        'invalid_request_assistant_message',
        '3240',
      ),
    ),
    row(idsLike(/^[a-zA-Z0-9]{9}$/), ({ what }) =>
      mistralError(400, `Tool call id was ${what} but must be a-z, A-Z, 0-9, with a length of 9.`, 'invalid_function_call', '3280'),
    ),
    row(noIdTwice, () => mistralError(400, 'Duplicate tool call id in assistant message', 'invalid_function_call', '3280')),
    row(everyResultHasItsCall, () => wrongOrder('Unexpected tool call id in tool results')),
    row(everyCallIsAnswered, () => wrongOrder('Not the same number of function calls and responses')),
    row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ what }) =>
      mistralError(
        400,
        `Function name was ${what} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.`,
        'invalid_function_call',
        '3280',
      ),
    ),
  ],
  failures: {
    'too long': mistralError(
      400,
      'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
      'invalid_request_prompt',
      '3051',
    ),
    'rate limited': {
      status: 429,
      headers: { 'retry-after': '1', 'x-ratelimitbysize-remaining-minute': '0' },
      body: { object: 'error', message: 'Rate limit exceeded', type: 'rate_limited', param: null, code: '1300' },
      says: 'Rate limit exceeded',
    },
    'rate limited in words': { status: 429, body: { message: 'Requests rate limit exceeded' }, says: 'Requests rate limit exceeded' },
    'out of quota': { status: 402, body: { detail: 'You have reached your monthly spend limit.' }, says: 'monthly spend limit' },
    overloaded: mistralError(429, 'Service tier capacity exceeded for this model.', 'service_tier_capacity_exceeded', '3505'),
    'server error': mistralError(500, 'Internal Server Error', 'internal_server_error', '3000'),
    filtered: mistralError(403, 'Content moderation: the input was blocked', 'content_policy_violation', '1910'),
    unauthorized: { status: 401, body: { detail: 'Unauthorized' }, says: 'Unauthorized' },
  },
  learns: 2,
};

/** Groq: messages have no fields other than OpenAI's. */
export const GROQ: Family = {
  name: 'groq',
  baseURL: 'https://api.groq.com/openai/v1',
  model: 'openai/gpt-oss-120b',
  otherModel: 'llama-3.3-70b-versatile',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, arguments: 'whole', usage: 'x_groq', reasoning: 'reasoning', newId: (n) => `fc_${n}a1b2c3d4` },
  rules: [
    row(wellFormedText, () => openaiError(400, 'invalid character in string escape code: unpaired surrogate')),
    row(messageFieldsAre('role content tool_calls tool_call_id name'), ({ at, what, role }) =>
      openaiError(
        400,
        `'messages.${at}' : for 'role:${role}' the following must be satisfied[('messages.${at}' : property '${what}' is unsupported)]`,
      ),
    ),
    row(noEmptyAssistant, ({ at }) =>
      openaiError(
        400,
        `'messages.${at}' : for 'role:assistant' the following must be satisfied[('messages.${at}.content' : one of content or tool_calls is required)]`,
      ),
    ),
    row(argumentsAreObjects, () => openaiError(400, 'Failed to parse tool call arguments as JSON', { code: 'invalid_request_error' })),
    row(everyResultHasItsCall, ({ at }) => openaiError(400, `'messages.${at}' : tool_call_id does not match a preceding tool call`)),
    row(everyCallIsAnswered, ({ what }) => openaiError(400, `tool_call_ids did not have response messages: ${what}`)),
    row(noIdTwice, ({ what }) => openaiError(400, `duplicate tool_call_id ${what}`)),
    row(namesLike(/^[a-zA-Z0-9_-]{1,64}$/), ({ at }) =>
      openaiError(400, `'tools.${at}.function.name' : value must match the pattern ^[a-zA-Z0-9_-]{1,64}$`),
    ),
    row(rootIsObject, ({ what }) =>
      openaiError(400, `invalid JSON schema for tool ${what}, tools[0].function.parameters: \`type\` must be object`),
    ),
  ],
  failures: {
    'too long': openaiError(400, 'Please reduce the length of the messages or completion.', {
      code: 'context_length_exceeded',
      param: 'messages',
    }),
    'rate limited': {
      ...openaiError(
        429,
        'Rate limit reached for model `openai/gpt-oss-120b` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Used 7900, Requested 600. Please try again in 3.75s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing',
        { type: 'tokens', code: 'rate_limit_exceeded' },
      ),
      headers: { 'retry-after': '4', 'x-ratelimit-reset-tokens': '3.75s' },
    },
    'rate limited in words': openaiError(
      429,
      'Rate limit reached for model `openai/gpt-oss-120b` on requests per minute (RPM): Limit 30, Used 30, Requested 1. Please try again in 1m2.5s.',
      { type: 'requests', code: 'rate_limit_exceeded' },
    ),
    'out of quota': openaiError(
      400,
      'Your organization has been restricted. Please reach out to support if you believe this was in error.',
      {
        code: 'organization_restricted',
      },
    ),
    overloaded: openaiError(503, 'openai/gpt-oss-120b is currently over capacity. Please try again and back off exponentially.', {
      type: 'internal_server_error',
      code: 'over_capacity',
    }),
    'server error': openaiError(500, 'Internal Server Error', { type: 'internal_server_error' }),
    filtered: openaiError(400, 'The request was blocked: content policy', { code: 'content_policy_violation' }),
    unauthorized: openaiError(401, 'Invalid API Key', { code: 'invalid_api_key' }),
  },
  learns: 1,
};

/** An error as xAI sends it. */
function xaiError(status: number, error: string, code = 'Client specified an invalid argument'): WordedFailure {
  return { status, body: { code, error }, says: error };
}

/** xAI: errors as texts, and no message without a text. */
export const XAI: Family = {
  name: 'xai',
  baseURL: 'https://api.x.ai/v1',
  model: 'grok-4',
  otherModel: 'grok-code-fast-1',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, arguments: 'whole', finish: 'last piece', usage: 'every chunk', newId: (n) => `call_${70_000_000 + n}` },
  rules: [
    row(wellFormedText, () =>
      xaiError(
        400,
        'Failed to parse the request body as JSON: messages[1].content: lone leading surrogate in hex escape at line 1 column 212',
      ),
    ),
    row(noEmptyText, () => xaiError(400, 'An empty message was provided. Every message needs at least one non-empty content element.')),
    row(noEmptyAssistant, () => xaiError(400, 'Invalid request content: Each message must have at least one content element.')),
    row(argumentsAreObjects, ({ what }) => xaiError(400, `The arguments to a tool_call with ID '${what}' are not a valid JSON string.`)),
    row(everyResultHasItsCall, () => xaiError(400, 'A tool message must follow an assistant message with tool calls.')),
    row(everyCallIsAnswered, () => xaiError(400, 'Every tool call must be followed by a tool result.')),
    row(noIdTwice, ({ what }) => xaiError(400, `Duplicate tool_call ID '${what}'.`)),
    row(rootIsObject, ({ what }) => xaiError(400, `Invalid schema of function ${what}: the root must be an object`)),
  ],
  failures: {
    'too long': xaiError(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    'rate limited': {
      ...xaiError(
        429,
        'Too many requests for team 1 and model grok-4. Your team is allowed 60 requests per minute.',
        'Some resource has been exhausted',
      ),
      headers: { 'retry-after': '1' },
    },
    'rate limited in words': xaiError(429, 'Too many requests. Please try again in 12.3s.', 'Some resource has been exhausted'),
    'out of quota': xaiError(
      403,
      "Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai.",
      'The caller does not have permission to execute the specified operation',
    ),
    overloaded: xaiError(503, 'The service is currently unavailable. Please try again later.', 'The service is currently unavailable'),
    'server error': xaiError(500, 'Internal error', 'Internal error'),
    filtered: xaiError(
      403,
      'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_CSAM',
      'The caller does not have permission to execute the specified operation',
    ),
    unauthorized: xaiError(400, 'Incorrect API key provided: ke***wo. You can obtain an API key from https://console.x.ai.'),
  },
  learns: 1,
};
