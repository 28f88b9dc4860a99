import { describe, expect, test } from 'vitest';
import { APIError } from 'openai';
import { openai } from '../../../activities/models/openai/openai.ts';
import { ReportedFault } from '../../../activities/models/errors/error-body.ts';
import { classifyError } from '../../../activities/models/errors/classify-error.ts';
import type { TooLongRule } from '../../../activities/models/errors/too-long.ts';
import { ERROR_CODES, type ErrorCode } from '../../../src/core/domain/errors.ts';

/** Returns the code of an error with that status; with 200, of one inside an answer. */
function codeOf(status: number, body: unknown, tooLong?: readonly TooLongRule[]): ErrorCode {
  const error = status === 200 ? new ReportedFault(body) : new APIError(status, body as object, undefined, new Headers());
  return classifyError(error, { model: 'm', host: 'h', secrets: [], tooLong }).code;
}

const said = (message: string, rest: Record<string, unknown> = {}): object => ({ error: { message, ...rest } });
const anthropic = (message: string, type = 'invalid_request_error'): object => ({ type: 'error', error: { type, message } });
const google = (code: number, status: string, message: string, details: object[] = []): object => ({
  error: { code, message, status, details },
});
const routed = (raw: string): object => said('Provider returned error', { code: 400, metadata: { raw, provider_name: 'Some' } });

describe('a conversation that is too long is recognized', () => {
  test.each<[provider: string, status: number, body: unknown]>([
    ['OpenAI, by its code', 400, said('too long', { code: 'context_length_exceeded' })],
    [
      'OpenAI, Chat Completions',
      400,
      said("This model's maximum context length is 4097 tokens. However, your messages resulted in 4159 tokens. Please reduce the length."),
    ],
    ['OpenAI, Responses', 400, said('Your input exceeds the context window of this model. Please adjust your input and try again.')],
    [
      'OpenAI, with a limit of the input',
      400,
      said('Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.'),
    ],
    [
      'OpenAI, above the limit of a minute',
      429,
      said(
        'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.',
        { type: 'tokens', code: 'rate_limit_exceeded' },
      ),
    ],
    [
      'Azure, of an older API',
      400,
      said(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens (129000 in the messages, 1001 in the functions).",
      ),
    ],
    ['Azure, in a list', 400, [said('no', { code: 'context_length_exceeded' })]],
    ['Anthropic', 400, anthropic('prompt is too long: 213462 tokens > 200000 maximum')],
    [
      'Anthropic, with the answer',
      400,
      anthropic(
        'input length and `max_tokens` exceed context limit: 170636 + 34048 > 200000, decrease input length or `max_tokens` and try again',
      ),
    ],
    ['Anthropic, by bytes', 413, anthropic('Request exceeds the maximum size', 'request_too_large')],
    [
      'Gemini',
      400,
      google(400, 'INVALID_ARGUMENT', 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'),
    ],
    [
      'Gemini over the API of OpenAI, a list',
      400,
      [google(400, 'INVALID_ARGUMENT', 'The input token count exceeds the maximum number of tokens allowed 1048576.')],
    ],
    [
      'Vertex',
      400,
      google(
        400,
        'INVALID_ARGUMENT',
        'Unable to submit request because the input token count is 1100000 but model only supports up to 1048576.',
      ),
    ],
    ['Vertex with Claude', 400, anthropic('Prompt is too long')],
    ['Bedrock', 400, { message: 'Input is too long for requested model.', __type: 'ValidationException' }],
    [
      'Bedrock with Nova',
      400,
      { message: 'Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.' },
    ],
    ['Bedrock, with numbers', 400, { Message: 'Too many input tokens. Max input tokens: 300000, request input token count: 500000' }],
    ['Bedrock with Llama', 400, { message: "This model's maximum context length is 8192 tokens. Please reduce the length of the prompt" }],
    [
      'xAI',
      400,
      { code: 'invalid-argument', error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
    ],
    [
      'Mistral',
      400,
      {
        object: 'error',
        message: 'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        code: '3051',
      },
    ],
    ['Cohere', 400, { message: 'too many tokens: size limit exceeded by 1167 tokens. Try using shorter or fewer inputs' }],
    ['Cohere, older', 400, { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4300.' }],
    ['Groq', 400, said('Please reduce the length of the messages or completion.', { code: 'context_length_exceeded' })],
    [
      'Groq, above the limit of a minute',
      413,
      said(
        'Request too large for model `llama-3` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 12345, please reduce your message size and try again.',
        { type: 'tokens', code: 'rate_limit_exceeded' },
      ),
    ],
    [
      'Groq, above the limit of a day',
      429,
      said('Request too large on tokens per day (TPD): Limit 100,000, Used 0, Requested 120,000. Please try again in 2h0m0s.'),
    ],
    ['Together', 422, said("The input (85050 tokens) is longer than the model's context length (32768 tokens).")],
    [
      'Together, of TGI',
      422,
      said(
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 10000 `inputs` tokens and 512 `max_new_tokens`',
      ),
    ],
    ['Fireworks', 400, said('The prompt is too long: 134072, model maximum context length: 131071')],
    [
      'LiteLLM, around OpenAI',
      400,
      said(
        "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
      ),
    ],
    [
      'LiteLLM, around Anthropic',
      400,
      said(
        'litellm.BadRequestError: AnthropicError - b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205668 tokens > 200000 maximum"}}\'',
      ),
    ],
    ['a proxy that answers 500', 500, said('litellm.APIError: VertexAIException - prompt is too long: 201 tokens > 200 maximum')],
    [
      'OpenRouter',
      400,
      said(
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (130000 of text input, 10000 in the output).",
        { code: 400 },
      ),
    ],
    [
      'OpenRouter, nested',
      400,
      routed('{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}'),
    ],
    ['OpenRouter with Poolside', 400, routed('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.')],
    [
      'vLLM, first',
      400,
      {
        object: 'error',
        message:
          'The prompt (total length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller',
        code: 400,
      },
    ],
    [
      'vLLM, of the decoder',
      400,
      { object: 'error', message: 'The decoder prompt (length 41393) is longer than the maximum model length of 32768.' },
    ],
    [
      'vLLM, with numbers',
      400,
      said(
        "This model's maximum context length is 32768 tokens. However, you requested 33000 tokens (32000 in the messages, 1000 in the completion).",
      ),
    ],
    [
      'vLLM, newest',
      400,
      said(
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens.",
      ),
    ],
    [
      'vLLM, where the answer has no room left',
      400,
      said(
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 32768 tokens and your request has 29000 input tokens (4096 > 32768 - 29000).",
      ),
    ],
    ['vLLM, where less than nothing is left', 400, said('max_tokens must be at least 1, got -123.')],
    [
      'SGLang',
      400,
      { object: 'error', message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).", code: 400 },
    ],
    [
      'SGLang, with the answer',
      400,
      {
        message:
          "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 132000 tokens: 130000 tokens from the input messages and 2000 tokens for the completion.",
      },
    ],
    [
      'SGLang, newer',
      400,
      { message: 'Input length (265330 tokens) exceeds the maximum allowed length (262144 tokens). Use a shorter input.' },
    ],
    ['TGI', 422, { error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1500', error_type: 'validation' }],
    ['TensorRT-LLM', 500, { message: 'The sum of prompt length (5000.0), query length (0) should not exceed max_num_tokens (4096)' }],
    ['TensorRT-LLM, at its input', 400, { detail: 'Prompt length (9000) exceeds maximum input length (8192). Set log level to info' }],
    [
      'llama.cpp',
      400,
      said('request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it', {
        type: 'exceed_context_size_error',
        n_ctx: 4096,
      }),
    ],
    ['llama.cpp, older', 500, said('the request exceeds the available context size. try increasing it')],
    [
      'LM Studio',
      400,
      {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length',
      },
    ],
    [
      'LM Studio, with numbers',
      400,
      {
        error:
          'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.',
      },
    ],
    ['LM Studio, of its engine', 400, { error: 'Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)' }],
    ['Ollama', 400, { error: 'the input length exceeds the context length' }],
    ['Ollama, of its runner', 500, { error: 'prompt too long; exceeded max context length by 500 tokens' }],
    [
      'Kimi',
      400,
      said('Invalid request: Your request exceeded model token limit: 262144 (requested: 270000)', { type: 'invalid_request_error' }),
    ],
    ['MiniMax', 400, said('invalid params, context window exceeds limit (2013)', { type: 'bad_request_error' })],
    ['MiniMax, in an answer', 200, { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit' } }],
    ['Z.ai', 400, said('Prompt exceeds max length', { code: '1261' })],
    ['Z.ai, at another host', 400, said('tokens in request more than max tokens allowed')],
    [
      'DashScope',
      400,
      said('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]', { code: 'invalid_parameter_error' }),
    ],
    ['DashScope, of its own API', 400, { code: 'InvalidParameter', message: 'Range of input length should be [1, 30720]' }],
    [
      'DeepSeek',
      400,
      said(
        "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion).",
      ),
    ],
    ['GitHub Models', 413, said('Request body too large for gpt-4o model. Max size: 8000 tokens.', { code: 'tokens_limit_reached' })],
    ['Copilot', 400, said('prompt token count of 150000 exceeds the limit of 128000', { code: 'model_max_prompt_tokens_exceeded' })],
    [
      'Cloudflare',
      413,
      {
        errors: [
          {
            code: 5021,
            message: 'The estimated number of input and maximum output tokens (9000) exceeded this model context window limit (8192).',
          },
        ],
      },
    ],
    ['SiliconFlow', 400, { code: 20_015, message: 'length of prompt_tokens (135000) must be less than max_seq_len (131072).', data: null }],
    ['Volcengine', 400, said('Total tokens of image and text exceed max message tokens.', { code: 'InvalidParameter' })],
    ["a server of DeepSeek's weights", 400, said('Prompt has 256468 tokens, but the configured context size is 256000 tokens')],
  ])('%s', (_, status, body) => {
    expect(codeOf(status, body)).toBe('context_length_exceeded');
  });
});

describe('an error that only looks alike is not', () => {
  test.each<[what: string, status: number, body: unknown, code: ErrorCode]>([
    [
      'an answer that is too large, at OpenAI',
      400,
      said('max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.'),
      'model_bad_request',
    ],
    [
      'an answer that is too large, at Anthropic',
      400,
      anthropic('max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5'),
      'model_bad_request',
    ],
    [
      'an answer that is too large, at Bedrock',
      400,
      {
        message:
          'The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.',
      },
      'model_bad_request',
    ],
    ['an answer that is too large, at DashScope', 400, said('Range of max_tokens should be [1, 8192]'), 'model_bad_request'],
    [
      'an answer that is too large, at DeepSeek',
      400,
      said('Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'),
      'model_bad_request',
    ],
    [
      'an answer that is too large, at Vertex',
      400,
      google(
        400,
        'INVALID_ARGUMENT',
        'Unable to submit request because it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive).',
      ),
      'model_bad_request',
    ],
    [
      'an answer that is too large, in other words',
      400,
      said(
        'The parameter `max_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 32768, but got 65536',
      ),
      'model_bad_request',
    ],
    [
      'an answer that fills the context, at vLLM',
      400,
      said(
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 1500 input tokens (32000 > 32768 - 1500).",
      ),
      'model_bad_request',
    ],
    [
      'an answer that fills the context, at OpenAI',
      400,
      said(
        "This model's maximum context length is 4097 tokens. However, you requested 4126 tokens (126 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
      ),
      'model_bad_request',
    ],
    [
      'an answer that fills the context, newest vLLM',
      400,
      said(
        "This model's maximum context length is 131072 tokens. However, you requested 128000 output tokens and your prompt contains 3073 input tokens",
      ),
      'model_bad_request',
    ],
    [
      'an answer that fills the context, at TGI',
      422,
      { error: '`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 12 `inputs` tokens and 2047 `max_new_tokens`' },
      'model_unprocessable',
    ],
    [
      'thinking without room for an answer',
      400,
      anthropic('`max_tokens` must be greater than `thinking.budget_tokens`.'),
      'model_bad_request',
    ],
    [
      'a rate, at OpenAI',
      429,
      said(
        'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29937, Requested 385. Please try again in 644ms.',
      ),
      'model_rate_limited',
    ],
    [
      'a rate that the request alone does not exceed',
      429,
      said('Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 29000.'),
      'model_rate_limited',
    ],
    [
      'a rate, at Groq',
      429,
      said(
        'Rate limit reached for model `llama` on tokens per minute (TPM): Limit 6000, Used 4568, Requested 1708. Please try again in 2.765s.',
      ),
      'model_rate_limited',
    ],
    [
      'a rate of a day, at Groq',
      429,
      said('Rate limit reached on tokens per day (TPD): Limit 100000, Used 99336, Requested 1708. Please try again in 15m2.196s.'),
      'model_rate_limited',
    ],
    [
      'a rate, at Anthropic',
      429,
      anthropic("This request would exceed your organization's rate limit of 40,000 input tokens per minute.", 'rate_limit_error'),
      'model_rate_limited',
    ],
    [
      'a rate, at Bedrock',
      429,
      { message: 'Too many tokens, please wait before trying again.', __type: 'ThrottlingException' },
      'model_rate_limited',
    ],
    [
      'a rate, at Azure',
      429,
      said(
        'Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 59 seconds.',
      ),
      'model_rate_limited',
    ],
    [
      'a rate, at Gemini',
      429,
      google(
        429,
        'RESOURCE_EXHAUSTED',
        'You exceeded your current quota. Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000\nPlease retry in 31.4s.',
      ),
      'model_rate_limited',
    ],
    [
      'a rate of context tokens',
      429,
      said('Too many requests: the context length of your organisation exceeds the maximum context length per minute'),
      'model_rate_limited',
    ],
    [
      'a limit of nothing',
      429,
      google(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for metric: generate_requests_per_day, limit: 0'),
      'model_quota_exceeded',
    ],
    ['no credit', 402, said('Your prompt is too long for the credit that is left'), 'model_quota_exceeded'],
    [
      'an image that is too large, at Anthropic',
      400,
      anthropic('messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes'),
      'model_bad_request',
    ],
    [
      'an image with too many pixels',
      400,
      anthropic('At least one of the image dimensions exceed max allowed size: 8000 pixels'),
      'model_bad_request',
    ],
    ['too many pages', 400, anthropic('A maximum of 100 PDF pages may be provided.'), 'model_bad_request'],
    [
      'a prompt that was flagged',
      400,
      said('Invalid prompt: your prompt was flagged as potentially violating our usage policy.'),
      'content_filter',
    ],
    [
      'a text that is too long for its field',
      400,
      said(
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.",
        { code: 'string_above_max_length' },
      ),
      'model_bad_request',
    ],
    [
      'an id that is too long',
      400,
      said(
        "Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.",
      ),
      'model_bad_request',
    ],
    [
      'a list of tools that is too long',
      400,
      said("Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.", {
        code: 'array_above_max_length',
      }),
      'model_bad_request',
    ],
    [
      'a description that is too long',
      400,
      said("Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024"),
      'model_bad_request',
    ],
    ['a name that is too long', 400, said('tools.0.custom.name: String should have at most 128 characters'), 'model_bad_request'],
    [
      'a deadline of a gateway',
      504,
      said('context deadline exceeded (Client.Timeout exceeded while awaiting headers)'),
      'model_server_error',
    ],
    ['a cancelled request', 500, said('rpc error: code = Canceled desc = context canceled'), 'model_server_error'],
    ['a key', 401, said('The maximum context length is available with another key'), 'model_unauthorized'],
    ['a path', 404, said('The model with a maximum context length of 128k does not exist'), 'model_not_found'],
    [
      'a body that a gateway refuses',
      413,
      '<html><head><title>413 Request Entity Too Large</title></head></html>',
      'model_request_too_large',
    ],
    ['a full disk', 507, said('the log exceeds the available space'), 'model_server_error'],
  ])('%s', (_, status, body, code) => {
    expect(codeOf(status, body)).toBe(code);
  });

  test('a request that is too long is not retried', () => {
    expect(ERROR_CODES.context_length_exceeded.retryable).toBe(false);
  });
});

describe('rows of the user', () => {
  const rules: TooLongRule[] = [{ status: 400, text: 'Input Too Big' }, { text: /^ERR-7\d:/ }];

  test.each<[body: unknown, status: number, code: ErrorCode]>([
    [said('sorry, input too big for us'), 400, 'context_length_exceeded'],
    [said('sorry, input too big for us'), 422, 'model_unprocessable'],
    [said('ERR-71: no'), 500, 'context_length_exceeded'],
    [said('ERR-61: no'), 500, 'model_server_error'],
    [said(`${'x'.repeat(9_000)} input too big`), 400, 'model_bad_request'],
  ])('%o with status %i is "%s"', (body, status, code) => {
    expect(codeOf(status, body, rules)).toBe(code);
  });

  test.each<[what: string, rules: unknown, message: string]>([
    ['no list', { text: 'a' }, 'openai: "tooLong" is not a list'],
    ['no text', [{ status: 400 }], 'row 1: "text" must be a text or an expression'],
    ['an empty text', [{ text: ' ' }], 'row 1: "text" must be a text or an expression'],
    ['a text that is too long', [{ text: 'a' }, { text: 'a'.repeat(501) }], 'row 2: "text" must be'],
    ['a status of no error', [{ status: 200, text: 'a' }], 'row 1: "status" is 200'],
    ['an unknown field', [{ text: 'a', code: 1 }], 'unknown option "code"'],
    ['too many', Array.from({ length: 51 }, () => ({ text: 'a' })), 'has 51 rows, over 50'],
  ])('are refused: %s', (_, tooLong, message) => {
    expect(() => openai({ tooLong: tooLong as TooLongRule[] })).toThrow(message);
  });
});
