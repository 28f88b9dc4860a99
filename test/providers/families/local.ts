import { PLAIN_CHAT } from '../chat-stream.ts';
import { REASONING_CONTENT } from '../opaque-parts.ts';
import {
  argumentsAreObjects,
  everyCallIsAnswered,
  everyResultHasItsCall,
  namesLike,
  noEmptyAssistant,
  noIdTwice,
  noUserBehindTool,
  oneSystemMessageFirst,
  rolesAlternate,
  rootIsObject,
  wellFormedText,
} from '../rules.ts';
import { type Family, openaiError, row, type WordedFailure } from './family.ts';

/** An error as vLLM sends it. */
function vllmError(status: number, message: string, type = 'BadRequestError'): WordedFailure {
  return { status, body: { error: { message, type, param: null, code: status } }, says: message };
}

/** The same as older releases send it. */
function olderVllmError(status: number, message: string, type = 'BadRequestError'): WordedFailure {
  return { status, body: { object: 'error', message, type, param: null, code: status }, says: message };
}

const LOCAL_FAILURES = {
  'out of quota': { status: 402, body: { error: 'the quota of this key is used up' }, says: 'the quota of this key is used up' },
  filtered: openaiError(400, 'The prompt was blocked by the guard model', { code: 'content_filter' }),
} as const;

/** vLLM with the template of Qwen: one system message, at the beginning. */
export const VLLM_QWEN: Family = {
  name: 'vllm-qwen',
  baseURL: 'http://vllm.example:8000/v1',
  model: 'Qwen/Qwen3.6-27B',
  otherModel: 'Qwen/Qwen3.5-9B',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, ids: 'first piece', newId: (n) => `chatcmpl-tool-${String(n).padStart(32, '0')}` },
  opaque: REASONING_CONTENT,
  rules: [
    row(wellFormedText, () => vllmError(400, "'utf-8' codec can't encode character '\\ud83d' in position 8: surrogates not allowed")),
    row(oneSystemMessageFirst, () => vllmError(400, 'System message must be at the beginning.')),
    row(argumentsAreObjects, () => vllmError(400, 'Can only get item pairs from a mapping.')),
    row(everyResultHasItsCall, ({ what }) => vllmError(400, `No tool call found for tool message with id ${what}`)),
    row(everyCallIsAnswered, ({ what }) => vllmError(400, `Tool calls without results: ${what}`)),
    row(noIdTwice, ({ what }) => vllmError(400, `duplicate tool call id ${what}`)),
    row(rootIsObject, ({ what }) => vllmError(400, `Invalid schema of function ${what}: "type" must be "object"`)),
  ],
  failures: {
    ...LOCAL_FAILURES,
    'too long': vllmError(
      400,
      "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens (36000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    ),
    'rate limited': { ...vllmError(429, 'Too many requests', 'RateLimitError'), headers: { 'retry-after': '1' } },
    'rate limited in words': vllmError(429, 'The queue is full. Please retry later.', 'RateLimitError'),
    overloaded: vllmError(503, 'The engine is not ready', 'ServiceUnavailableError'),
    'server error': vllmError(500, 'EngineCore encountered an issue. See stack trace (above) for the root cause.', 'InternalServerError'),
    unauthorized: { status: 401, body: { error: 'Unauthorized' }, says: 'Unauthorized' },
  },
  learns: 1,
};

const ALTERNATE = 'Conversation roles must alternate user/assistant/user/assistant/...';

/** vLLM with the template of Gemma: roles take turns, what tools say included. */
export const VLLM_GEMMA: Family = {
  name: 'vllm-gemma',
  baseURL: 'http://gemma.example:8000/v1',
  options: { capabilities: { strictSchema: false } },
  model: 'google/gemma-3-27b-it',
  otherModel: 'google/gemma-3-12b-it',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, arguments: 'whole', finish: 'last piece', newId: (n) => `chatcmpl-tool-${String(n).padStart(32, '7')}` },
  rules: [
    row(wellFormedText, () => olderVllmError(400, "'utf-8' codec can't encode character '\\ud83d' in position 8: surrogates not allowed")),
    row(oneSystemMessageFirst, () => olderVllmError(400, ALTERNATE)),
    row(rolesAlternate, () => olderVllmError(400, ALTERNATE)),
    row(noUserBehindTool, () => olderVllmError(400, ALTERNATE)),
    row(noEmptyAssistant, () => olderVllmError(400, ALTERNATE)),
    row(argumentsAreObjects, () => olderVllmError(400, 'Can only get item pairs from a mapping.')),
    row(everyResultHasItsCall, ({ what }) => olderVllmError(400, `No tool call found for tool message with id ${what}`)),
    row(everyCallIsAnswered, ({ what }) => olderVllmError(400, `Tool calls without results: ${what}`)),
    row(noIdTwice, ({ what }) => olderVllmError(400, `duplicate tool call id ${what}`)),
  ],
  failures: {
    ...LOCAL_FAILURES,
    'too long': olderVllmError(
      400,
      'The decoder prompt (length 40000) is longer than the maximum model length of 32768. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    ),
    'rate limited': { ...olderVllmError(429, 'Too many requests', 'RateLimitError'), headers: { 'retry-after': '1' } },
    'rate limited in words': {
      status: 429,
      body: '{"detail":"Rate limit exceeded: 3 per 1 second"}',
      says: 'Rate limit exceeded: 3 per 1 second',
    },
    overloaded: { status: 503, headers: { 'content-type': 'text/plain' }, body: 'no healthy upstream', says: 'no healthy upstream' },
    'server error': {
      status: 500,
      headers: { 'content-type': 'text/plain' },
      body: 'Internal Server Error',
      says: 'Internal Server Error',
    },
    unauthorized: { status: 401, body: { error: 'Unauthorized' }, says: 'Unauthorized' },
  },
  learns: 2,
};

/** An error as llama.cpp sends it. */
function llamaError(status: number, message: string, type: string, more: object = {}): WordedFailure {
  return { status, body: { error: { code: status, message, type, ...more } }, says: message };
}

const template = (text: string): WordedFailure =>
  llamaError(
    500,
    `\n------------\nWhile executing CallExpression at line 19, column 27 in source:\n...% 2 == 0) -%}\n        {{ raise_exception("${text.slice(0, 36)}...\n                                           ^\nError: Jinja Exception: ${text}`,
    'server_error',
  );

/** llama.cpp with the template of Gemma: what its template refuses is an error of the server. */
export const LLAMACPP_GEMMA: Family = {
  name: 'llamacpp-gemma',
  baseURL: 'http://llama.example:8080/v1',
  model: 'gemma-3-27b-it-Q4_K_M.gguf',
  otherModel: 'gemma-3-12b-it-Q4_K_M.gguf',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    arguments: 'pieces',
    usage: 'own chunk',
    reasoning: 'reasoning_content',
    newId: (n) => `kQ${String(n).padStart(30, 'w')}`,
  },
  rules: [
    row(wellFormedText, () =>
      llamaError(
        500,
        '[json.exception.parse_error.101] parse error at line 1, column 212: syntax error while parsing value - invalid string: surrogate U+D800..U+DBFF must be followed by U+DC00..U+DFFF',
        'server_error',
      ),
    ),
    row(oneSystemMessageFirst, () => template(ALTERNATE)),
    row(rolesAlternate, () => template(ALTERNATE)),
    row(noUserBehindTool, () => template(ALTERNATE)),
    row(noEmptyAssistant, () =>
      llamaError(400, "Assistant message must contain either 'content' or 'tool_calls'!", 'invalid_request_error'),
    ),
    row(argumentsAreObjects, () =>
      llamaError(500, '[json.exception.parse_error.101] parse error at line 1, column 1: syntax error while parsing value', 'server_error'),
    ),
    row(everyResultHasItsCall, ({ what }) => llamaError(400, `tool message without a call: ${what}`, 'invalid_request_error')),
    row(everyCallIsAnswered, ({ what }) => llamaError(400, `tool calls without results: ${what}`, 'invalid_request_error')),
    row(noIdTwice, ({ what }) => llamaError(400, `duplicate tool call id ${what}`, 'invalid_request_error')),
  ],
  failures: {
    ...LOCAL_FAILURES,
    'too long': llamaError(
      400,
      'request (9041 tokens) exceeds the available context size (8192 tokens), try increasing it',
      'exceed_context_size_error',
      {
        n_prompt_tokens: 9041,
        n_ctx: 8192,
      },
    ),
    'rate limited': { ...llamaError(429, 'Too many requests', 'unavailable_error'), headers: { 'retry-after': '1' } },
    'rate limited in words': llamaError(429, 'All slots are busy, try again in 5s', 'unavailable_error'),
    overloaded: llamaError(503, 'Loading model', 'unavailable_error'),
    'server error': llamaError(500, 'failed to decode the batch', 'server_error'),
    unauthorized: llamaError(401, 'Invalid API Key', 'authentication_error'),
  },
  learns: 2,
};

/** Ollama: every call has the number 0 and all of its arguments at once, and the reasoning is in a separate field. */
export const OLLAMA: Family = {
  name: 'ollama',
  baseURL: 'http://127.0.0.1:11434/v1',
  model: 'qwen3:8b',
  otherModel: 'llama3.2',
  api: 'chat',
  dialect: {
    ...PLAIN_CHAT,
    index: 'zero',
    arguments: 'whole',
    reasoning: 'reasoning',
    finish: 'last piece',
    newId: (n) => `call_${String(n).padStart(8, 'q')}`,
  },
  rules: [
    row(wellFormedText, () => openaiError(400, 'invalid character in string escape')),
    row(argumentsAreObjects, () => openaiError(400, 'invalid tool call arguments')),
    row(everyResultHasItsCall, ({ what }) => openaiError(400, `no tool call with id ${what}`)),
    row(everyCallIsAnswered, ({ what }) => openaiError(400, `no result of tool call ${what}`)),
    row(noIdTwice, ({ what }) => openaiError(400, `duplicate tool call id ${what}`)),
    row(namesLike(/^[^\s]{1,128}$/), ({ what }) => openaiError(400, `invalid tool name ${what}`)),
  ],
  failures: {
    ...LOCAL_FAILURES,
    'too long': openaiError(400, 'prompt too long; exceeded max context length by 1312 tokens', { type: 'api_error' }),
    'rate limited': { ...openaiError(429, 'too many concurrent requests', { type: 'api_error' }), headers: { 'retry-after': '1' } },
    'rate limited in words': {
      status: 429,
      body: { error: 'you have reached your usage limit, please try again in 2m' },
      says: 'you have reached your usage limit',
    },
    overloaded: openaiError(503, 'server busy, please try again.  maximum pending requests exceeded', { type: 'api_error' }),
    'server error': openaiError(500, 'llama runner process has terminated: signal: killed', { type: 'api_error' }),
    unauthorized: { status: 401, body: { error: 'unauthorized' }, says: 'unauthorized' },
  },
  learns: 1,
};

/** SGLang with the tool parser of an older model: no ids, and the reasoning as tags in the text. */
export const SGLANG: Family = {
  name: 'sglang',
  baseURL: 'http://sglang.example:30000/v1',
  model: 'deepseek-ai/DeepSeek-R1-0528',
  otherModel: 'Qwen/Qwen3-32B',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, ids: 'absent', reasoning: 'think', usage: 'every chunk', words: { ...PLAIN_CHAT.words, calls: 'stop' } },
  rules: [
    row(wellFormedText, () =>
      olderVllmError(400, "'utf-8' codec can't encode characters in position 8-9: surrogates not allowed", 'BadRequest'),
    ),
    row(argumentsAreObjects, () => olderVllmError(400, 'Expecting value: line 1 column 1 (char 0)', 'BadRequest')),
    row(everyResultHasItsCall, ({ what }) => olderVllmError(400, `tool message ${what} has no call`, 'BadRequest')),
    row(everyCallIsAnswered, ({ what }) => olderVllmError(400, `tool call ${what} has no result`, 'BadRequest')),
    row(noIdTwice, ({ what }) => olderVllmError(400, `duplicate tool call id ${what}`, 'BadRequest')),
  ],
  failures: {
    ...LOCAL_FAILURES,
    'too long': olderVllmError(400, "The input (40000 tokens) is longer than the model's context length (32768 tokens).", 'BadRequest'),
    'rate limited': { ...olderVllmError(429, 'Too many requests', 'TooManyRequests'), headers: { 'retry-after': '1' } },
    'rate limited in words': olderVllmError(429, 'The request queue is full.', 'TooManyRequests'),
    overloaded: olderVllmError(503, 'The request queue is full.', 'ServiceUnavailable'),
    'server error': olderVllmError(500, 'Internal server error: CUDA out of memory', 'InternalServerError'),
    unauthorized: { status: 401, body: { error: 'Unauthorized' }, says: 'Unauthorized' },
  },
  learns: 1,
};

/** MiniMax: errors with their status in the body of a 200, and results directly after their calls. */
export const MINIMAX: Family = {
  name: 'minimax',
  baseURL: 'https://api.minimax.io/v1',
  model: 'MiniMax-M2.5',
  otherModel: 'MiniMax-M2',
  api: 'chat',
  dialect: { ...PLAIN_CHAT, reasoning: 'think', arguments: 'whole', usage: 'with the finish', newId: (n) => `call_function_${n}htkglv_1` },
  rules: [
    row(wellFormedText, () => minimaxError(400, 'invalid params, request body is not valid JSON (2013)')),
    row(oneSystemMessageFirst, () => minimaxError(400, 'invalid params, invalid chat setting (2013)')),
    row(noEmptyAssistant, () => minimaxError(400, 'invalid params, chat content is empty (2013)')),
    row(argumentsAreObjects, ({ what }) =>
      minimaxError(400, `invalid params, invalid function arguments json string, tool_call_id: ${what} (2013)`),
    ),
    row(everyResultHasItsCall, ({ what }) => minimaxError(400, `invalid params, tool result's tool id(${what}) not found (2013)`)),
    row(everyCallIsAnswered, () => minimaxError(400, 'invalid params, tool call and result not match (2013)')),
    row(noIdTwice, () => minimaxError(400, 'invalid params, duplicate tool_call id (2013)')),
    row(rootIsObject, () => minimaxError(400, 'invalid params, function parameters is not an object (2013)')),
  ],
  failures: {
    'too long': minimaxError(400, 'invalid params, context window exceeds limit (2013)'),
    'rate limited': { ...minimaxError(429, 'rate limit exceeded(RPM) (1002)', 'rate_limit_error'), headers: { 'retry-after': '1' } },
    'rate limited in words': minimaxError(429, 'rate limit exceeded(TPM), please try again in 8s (1002)', 'rate_limit_error'),
    'out of quota': minimaxError(402, 'insufficient balance (1008)', 'insufficient_balance_error'),
    overloaded: minimaxError(529, '当前服务集群负载较高，请稍后重试 (2064)', 'overloaded_error'),
    'server error': minimaxError(500, 'unknown error, 794 (1000)', 'api_error'),
    filtered: minimaxError(400, 'input new_sensitive (1026)', 'content_filter'),
    unauthorized: minimaxError(
      401,
      "login fail: Please carry the API secret key in the 'Authorization' field of the request header (1004)",
      'authorized_error',
    ),
  },
  learns: 1,
};

function minimaxError(status: number, message: string, type = 'bad_request_error'): WordedFailure {
  return { status, body: { type: 'error', error: { type, message, http_code: String(status) }, request_id: '05db5d' }, says: message };
}
