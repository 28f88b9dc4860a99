import type { ModelRequest } from '../../../src/core/domain/model.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { SEARCH } from './fake-provider.ts';

/** A message of the user. */
export const user = (content: string): ContentItem => ({ type: 'message', role: 'user', content });
/** A message of the assistant. */
export const said = (content: string): ContentItem => ({ type: 'message', role: 'assistant', content });
const call = (toolCallId: string): ContentItem => ({ type: 'tool_call', toolCallId, name: 'f', arguments: {} });
const result = (toolCallId: string, ...more: { type: string; data: string }[]): ContentItem => ({
  type: 'tool_result',
  toolCallId,
  name: 'f',
  status: 'success',
  content: ['12', ...more],
});
/** An image of three bytes. */
export const image = { type: 'image' as const, data: 'AAAA' };

/** A conversation that breaks every rule of order, with everything that a request may have. */
const HISTORY: ContentItem[] = [
  said('Hello.'),
  user('a'),
  user('b'),
  call('call_1'),
  call('call_2'),
  result('call_1', image),
  result('call_2'),
  { type: 'message', role: 'system', content: 'Be kind.' },
  { type: 'message', role: 'user', content: [{ type: 'text', text: 'c' }, image] },
  call('call_3'),
  result('call_3'),
  user('d'),
  said('Half of'),
];
/** A request with that conversation. */
export const FULL: Partial<ModelRequest> = {
  instructions: ['One.', 'Two.'],
  conversation: HISTORY.map((item) => ({ author: 'bot', content: [item] })),
  tools: [SEARCH],
  output: { name: 'answer', schema: { type: 'object' }, strict: true },
  settings: { temperature: 0.5, maxOutputTokens: 9, toolChoice: 'required', parallelToolCalls: true, reasoningEffort: 'low' },
};

/** A body as a server received it. */
export interface Sent {
  messages: { role: string; content: unknown; tool_calls?: { id: string }[] }[];
  [field: string]: unknown;
}
/** The first letter of each role, in order. */
export const rolesOf = ({ messages }: Sent): string => messages.map(({ role }) => role[0]).join('');
/** The messages as text. */
export const textOf = ({ messages }: Sent): string => JSON.stringify(messages);

/** What a server answers, and what the next request is like. */
export type Lesson = [server: string, status: number, error: unknown, learned: (second: Sent, first: Sent) => boolean];

/** An error in the form of OpenAI. */
export const error = (message: string, more: object = {}): unknown => ({ error: { message, type: 'invalid_request_error', ...more } });
/** True if there is one system message, at the beginning. */
export const oneSystem = ({ messages }: Sent): boolean =>
  messages.filter(({ role }) => role === 'system').length === 1 && messages[0]?.role === 'system';
const noSystem = ({ messages }: Sent): boolean => messages.every(({ role }) => role !== 'system');
const lacks =
  (name: string) =>
  (second: Sent, first: Sent): boolean =>
    name in first && !(name in second);

/** What servers answer to a request that they do not take, in their own words. */
export const LESSONS: Lesson[] = [
  // One system message.
  [
    'vLLM, Qwen',
    400,
    { object: 'error', message: 'System message must be at the beginning.', type: 'BadRequestError', code: 400 },
    oneSystem,
  ],
  [
    'llama.cpp, Qwen',
    500,
    {
      error: {
        code: 500,
        message:
          '\n------------\nWhile executing CallExpression at line 85, column 32 in source:\n...first %}↵ {{- raise_exception("System message must be at the beginn...\nError: Jinja Exception: System message must be at the beginning.',
        type: 'server_error',
      },
    },
    oneSystem,
  ],
  ['LM Studio', 400, { error: 'Error rendering prompt with jinja template: "System message must be at the beginning.".' }, oneSystem],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: "Unexpected role 'system' after role 'user'",
      type: 'invalid_request_message_order',
      param: null,
      code: '3230',
    },
    oneSystem,
  ],
  [
    'llama.cpp, Ministral',
    500,
    { error: { code: 500, message: 'Only user, assistant and tool roles are supported, got system. at row 211' } },
    oneSystem,
  ],
  // No system message.
  ['Gemma on vLLM', 400, { object: 'error', message: 'System role not supported', code: 400 }, noSystem],
  [
    'OpenAI o1-mini',
    400,
    error("Unsupported value: 'messages[0].role' does not support 'system' with this model.", {
      param: 'messages[0].role',
      code: 'unsupported_value',
    }),
    noSystem,
  ],
  [
    'Gemini, Gemma',
    400,
    [{ error: { code: 400, message: 'Developer instruction is not enabled for models/gemma-3-27b-it', status: 'INVALID_ARGUMENT' } }],
    noSystem,
  ],
  // Order.
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: "Unexpected role 'user' after role 'tool'",
      type: 'invalid_request_message_order',
      param: null,
      code: '3230',
    },
    (second) => !/tu/.test(rolesOf(second)),
  ],
  [
    'OpenRouter, Mistral',
    400,
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"object":"error","message":"Unexpected role \'user\' after role \'tool\'","type":"invalid_request_message_order","param":null,"code":"3230"}',
          provider_name: 'Mistral',
        },
      },
    },
    (second) => !/tu/.test(rolesOf(second)),
  ],
  [
    'Anthropic',
    400,
    error('messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row'),
    (second) => !/tu/.test(rolesOf(second)),
  ],
  [
    'Mistral',
    400,
    { object: 'error', message: "Unexpected role 'assistant' after role 'assistant'", type: 'invalid_request_message_order' },
    (second) => !/uu|aa/.test(rolesOf(second)),
  ],
  [
    'Bedrock',
    400,
    { message: 'A conversation must start with a user message. Try again with a conversation that starts with a user message.' },
    (second) => /^s+u/.test(rolesOf(second)),
  ],
  [
    'Qwen template',
    400,
    { object: 'error', message: 'No user query found in messages.', code: 400 },
    (second) => /^s+u/.test(rolesOf(second)),
  ],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    (second) => /^s+u/.test(rolesOf(second)),
  ],
  [
    'Claude',
    400,
    error('This model does not support assistant message prefill. The conversation must end with a user message.'),
    (second) => rolesOf(second).endsWith('u'),
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
      type: 'invalid_request_message_order',
    },
    (second) => rolesOf(second).endsWith('u'),
  ],
  [
    'llama.cpp, thinking',
    400,
    { error: { code: 400, message: 'Assistant response prefill is incompatible with enable_thinking.', type: 'invalid_request_error' } },
    (second) => rolesOf(second).endsWith('u'),
  ],
  // Calls.
  [
    'Mistral',
    400,
    { object: 'error', message: 'Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.', type: 'invalid_request_error' },
    ({ messages }) => messages.every(({ tool_calls: calls = [] }) => calls.every(({ id }) => /^[a-zA-Z0-9]{9}$/.test(id))),
  ],
  [
    'vLLM, Mistral template',
    400,
    { object: 'error', message: 'Tool call IDs should be alphanumeric strings with length 9!', code: 400 },
    ({ messages }) => messages.every(({ tool_calls: calls = [] }) => calls.every(({ id }) => /^[a-zA-Z0-9]{9}$/.test(id))),
  ],
  [
    'Llama template',
    400,
    { object: 'error', message: 'This model only supports single tool-calls at once!', code: 400 },
    ({ messages }) => messages.every(({ tool_calls: calls = [] }) => calls.length <= 1),
  ],
  [
    'DeepSeek',
    400,
    error('Missing `reasoning_content` field in the assistant message at message index 3'),
    (second) => second.messages.every((message) => message.tool_calls === undefined || 'reasoning_content' in message),
  ],
  [
    'DeepSeek V4',
    400,
    error('The `reasoning_content` in the thinking mode must be passed back to the API.'),
    (second) => second.messages.every((message) => message.tool_calls === undefined || 'reasoning_content' in message),
  ],
  [
    'Kimi',
    400,
    error('thinking is enabled but reasoning_content is missing in assistant tool call message at index 4'),
    (second) => second.messages.every((message) => message.tool_calls === undefined || 'reasoning_content' in message),
  ],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message:
            'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:f`, position 2.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    (second) => textOf(second).includes('skip_thought_signature_validator'),
  ],
  [
    'LiteLLM, Claude',
    400,
    error(
      'litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block"}}',
      { param: null },
    ),
    (second) => !textOf(second).includes('tool_calls') && textOf(second).includes('[f returned: 12]'),
  ],
  // Contents.
  [
    'DeepSeek',
    400,
    {
      error: {
        message:
          'Failed to deserialize the JSON body into the target type: messages[9]: unknown variant `image_url`, expected `text` at line 1 column 900',
        type: 'invalid_request_error',
      },
    },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'vLLM',
    400,
    { object: 'error', message: 'At most 0 image(s) may be provided in one request.', code: 400 },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'vLLM',
    400,
    { object: 'error', message: 'Qwen/Qwen3-8B is not a multimodal model', code: 400 },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'llama.cpp',
    500,
    {
      error: {
        code: 500,
        message: 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        type: 'server_error',
      },
    },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'OpenRouter',
    404,
    { error: { message: 'No endpoints found that support image input', code: 404 } },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'Ollama',
    500,
    { error: { message: 'this model is missing data required for image input, which it does not support', type: 'api_error' } },
    (second) => !textOf(second).includes('image_url'),
  ],
  [
    'Groq',
    400,
    error(
      "'messages.9' : for 'role:user' the following must be satisfied[('messages.9.content' : value must be a string)]: messages[9].content must be a string",
    ),
    ({ messages }) => messages.every(({ content }) => !Array.isArray(content)),
  ],
  [
    'Rust servers',
    422,
    { detail: 'Failed to deserialize the JSON body into the target type: messages[9].content: invalid type: sequence, expected a string' },
    ({ messages }) => messages.every(({ content }) => !Array.isArray(content)),
  ],
  [
    'Jinja',
    500,
    { error: { code: 500, message: 'Jinja Exception: can only concatenate str (not "list") to str', type: 'server_error' } },
    ({ messages }) => messages.every(({ content }) => !Array.isArray(content)),
  ],
  [
    'Rust servers',
    422,
    { error: 'messages[4].content: invalid type: null, expected a string' },
    ({ messages }) => messages.every(({ content }) => content !== null),
  ],
  [
    'OpenAI',
    400,
    error("Invalid value for 'content': expected a string, got null.", { param: 'messages.[5].content' }),
    ({ messages }) => messages.every(({ content }) => content !== null),
  ],
  // Parameters.
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: 'Invalid JSON payload received. Unknown name "strict" at \'tools[0].function\': Cannot find field.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    (second) => !JSON.stringify(second['tools']).includes('strict'),
  ],
  [
    'Cerebras',
    400,
    {
      message: "Tools with mixed values for 'strict' are not allowed.",
      type: 'invalid_request_error',
      param: 'tools',
      code: 'wrong_api_format',
    },
    (second) => !JSON.stringify(second['tools']).includes('strict'),
  ],
  [
    'OpenAI',
    400,
    error("Unsupported parameter: 'parallel_tool_calls' is not supported with this model.", {
      param: 'parallel_tool_calls',
      code: 'unsupported_parameter',
    }),
    lacks('parallel_tool_calls'),
  ],
  ['Azure', 400, error('Unrecognized request argument supplied: parallel_tool_calls'), lacks('parallel_tool_calls')],
  [
    'Mistral',
    422,
    {
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'stream_options'],
            msg: 'Extra inputs are not permitted',
            input: { include_usage: true },
          },
        ],
      },
      type: 'invalid_request_error',
    },
    lacks('stream_options'),
  ],
  [
    'Databricks',
    400,
    { error_code: 'BAD_REQUEST', message: 'Validation error at #/stream_options: Extra inputs are not permitted' },
    lacks('stream_options'),
  ],
  [
    'DashScope',
    400,
    error(
      '<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode',
      { code: 'invalid_parameter_error', param: null },
    ),
    (second) => second['tool_choice'] === 'auto',
  ],
  ['DeepSeek', 400, error('Thinking mode does not support this tool_choice'), (second) => second['tool_choice'] === 'auto'],
  ['Claude', 400, error('Thinking may not be enabled when tool_choice forces tool use.'), (second) => second['tool_choice'] === 'auto'],
  ['Kimi', 400, error("tool_choice 'required' is incompatible with thinking enabled"), (second) => second['tool_choice'] === 'auto'],
  [
    'Azure',
    400,
    error("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", {
      param: 'max_tokens',
      code: 'unsupported_parameter',
    }),
    (second) => second['max_completion_tokens'] === 9 && !('max_tokens' in second),
  ],
  [
    'OpenAI',
    400,
    error("Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", {
      param: 'temperature',
      code: 'unsupported_value',
    }),
    lacks('temperature'),
  ],
  ['Kimi', 400, error('invalid temperature: only 1 is allowed for this model'), lacks('temperature')],
  ['Claude', 400, error('`temperature` is deprecated for this model.'), lacks('temperature')],
  [
    'DeepSeek',
    400,
    error('This response_format type is unavailable now'),
    (second, first) => lacks('response_format')(second, first) && textOf(second).includes('JSON Schema'),
  ],
  [
    'Groq',
    400,
    error('This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs', {
      param: 'response_format',
    }),
    lacks('response_format'),
  ],
  [
    'Gemini',
    400,
    [
      {
        error: {
          code: 400,
          message: "Function calling with a response mime type: 'application/json' is unsupported",
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    lacks('response_format'),
  ],
  ['OpenAI', 400, error('Unrecognized request argument supplied: reasoning_effort'), lacks('reasoning_effort')],
  ['Ollama', 400, { error: { message: '"gemma3" does not support thinking', type: 'invalid_request_error' } }, lacks('reasoning_effort')],
  [
    'OpenAI',
    400,
    error('Your organization must be verified to stream this model.', { param: 'stream', code: 'unsupported_value' }),
    lacks('stream'),
  ],
  [
    'a server that lists what it knows',
    400,
    { error: 'unknown field `stream_options`, expected one of `messages`, `temperature`, `strict`, `tool_choice`' },
    (second, first) => lacks('stream_options')(second, first) && 'temperature' in second && second['tool_choice'] === 'required',
  ],
];
