import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { textIn } from '../../activities/models/openai/message-order.ts';
import { isJsonObject } from '../../src/core/domain/json.ts';

/*
 * The APIs that the provider packages speak, as far as the tests need them: what each refuses of a request, in the words of the real API,
 * and the chunks of its answers.
 */

/** A part of an answer. */
export type Said =
  | { thinking: string }
  | { redacted: string }
  | { text: string }
  /** Base64 of a PNG. Only of a family whose models make images. */
  | { image: string }
  /** A search that the provider makes by itself, with one page that it cites. Only of a family that has such a tool. */
  | { search: string }
  | { call: string; id: string; input: string };

/** A whole answer. `finish` is the provider's own word. Default: its word for a normal end. */
export interface Answer {
  parts: Said[];
  /** The tokens of the request that Anthropic reports: plain, read from its cache, and written to it. */
  input?: { plain: number; read: number; written: number };
  finish?: string;
  /** An error that the provider reports after the parts. */
  fails?: 'overloaded' | 'throttled';
}

/** A request as a fake has received it. */
export type Body = Record<string, unknown>;

export interface Failure {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** One API. */
export interface Family {
  path: string;
  /** The usage that each answer reports, as the run records it. */
  usage: { promptTokens: number; completionTokens: number; cachedTokens?: number; cacheWriteTokens?: number; reasoningTokens?: number };
  /** Why the API refuses a request; undefined for one that it accepts. */
  refusal(body: Body): string | undefined;
  failure(status: number, message: string, type?: string): Failure;
  contentType: string;
  chunks(answer: Answer, body: Body): (string | Buffer)[];
  /** The call ids of this API. */
  id(index: number): string;
  /** True if the answer may begin with reasoning. */
  thinks: boolean;
}

/** The signature of some reasoning: the API takes it back with the same text alone. */
export function signatureOf(text: string): string {
  return `sig_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
}

/** The page that each search of a provider finds. */
export const PAGE = { url: 'https://moon.test/', title: 'Moon' };

export const list = (value: unknown): Body[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const blank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';
const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;

/** Finds the first call without a result directly after it, and the first result without a call. */
function brokenPair(messages: readonly { calls: unknown[]; results: unknown[] }[]): string | undefined {
  for (const [index, { calls, results }] of messages.entries()) {
    const asked = messages[index - 1]?.calls ?? [];
    const answered = messages[index + 1]?.results ?? [];
    const open = calls.find((id) => !answered.includes(id));
    if (open !== undefined) return `the call ${JSON.stringify(open)} has no result right after it`;
    const stray = results.find((id) => !asked.includes(id));
    if (stray !== undefined) return `the result ${JSON.stringify(stray)} has no call right before it`;
  }
  return undefined;
}

/** Anthropic's Messages. With thinking, each call of the current turn begins with its reasoning. */
export const ANTHROPIC: Family = {
  path: '/anthropic/v1',
  usage: { promptTokens: 1_000, completionTokens: 50, cachedTokens: 800, cacheWriteTokens: 100 },
  thinks: true,
  contentType: 'text/event-stream',
  id: (index) => `toolu_${index}`,
  failure: (status, message, type = 'invalid_request_error') => ({ status, body: { type: 'error', error: { type, message } } }),
  refusal: ({ system, messages, thinking }) => {
    const marks = JSON.stringify([system, messages]).split('"cache_control"').length - 1;
    if (marks > 4) return `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`;
    const all = list(messages).map(({ role, content }) => ({
      role,
      blocks: typeof content === 'string' ? [{ type: 'text', text: content }] : list(content),
    }));
    if (all[0]?.role !== 'user') return 'messages: first message must use the "user" role';
    const blocks = all.flatMap((message) => message.blocks);
    if (blocks.some(({ type, text }: Body) => type === 'text' && blank(text)))
      return 'messages: text content blocks must contain non-whitespace text';
    const wrongId = blocks.find(({ type, id }: Body) => type === 'tool_use' && !/^[a-zA-Z0-9_-]+$/.test(String(id)));
    if (wrongId !== undefined) return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'";
    const forged = blocks.find(
      (block: Body) => block['type'] === 'thinking' && block['signature'] !== signatureOf(String(block['thinking'])),
    );
    if (forged !== undefined) return 'messages: Invalid `signature` in `thinking` block';
    if (isJsonObject(thinking) && thinking['type'] !== 'disabled') {
      const turn = all.findLastIndex(({ role, blocks: of }) => role === 'user' && of.some(({ type }: Body) => type !== 'tool_result'));
      const bare = all.slice(turn + 1).find(({ role, blocks: of }) => {
        return (
          role === 'assistant' &&
          of.some(({ type }: Body) => type === 'tool_use') &&
          !['thinking', 'redacted_thinking'].includes(String(of[0]?.['type']))
        );
      });
      if (bare !== undefined) return 'messages: Expected `thinking` or `redacted_thinking`, but found `tool_use`';
    }
    return brokenPair(
      all.map(({ blocks: of }) => ({
        calls: of.flatMap((block: Body) => (block['type'] === 'tool_use' ? [block['id']] : [])),
        results: of.flatMap((block: Body) => (block['type'] === 'tool_result' ? [block['tool_use_id']] : [])),
      })),
    );
  },
  chunks: ({ parts, finish, fails, input = { plain: 100, read: 800, written: 100 } }, { model }) => {
    const event = (one: { type: string; [name: string]: unknown }): string => `event: ${one.type}\n${data(one)}`;
    const { plain, read, written } = input;
    const usage = { input_tokens: plain, cache_read_input_tokens: read, cache_creation_input_tokens: written, output_tokens: 1 };
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage };
    const blocks = parts.flatMap((part, index) => {
      const start = (content_block: object): string => event({ type: 'content_block_start', index, content_block });
      const delta = (one: object): string => event({ type: 'content_block_delta', index, delta: one });
      const stop = event({ type: 'content_block_stop', index });
      if ('thinking' in part) {
        const pieces = halves(part.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking }));
        const signature = delta({ type: 'signature_delta', signature: signatureOf(part.thinking) });
        return [start({ type: 'thinking', thinking: '', signature: '' }), ...pieces, signature, stop];
      }
      if ('redacted' in part) return [start({ type: 'redacted_thinking', data: part.redacted }), stop];
      if ('image' in part) return [];
      if ('search' in part) return anthropicSearch(part.search, { index, event });
      if ('text' in part)
        return [start({ type: 'text', text: '' }), ...halves(part.text).map((text) => delta({ type: 'text_delta', text })), stop];
      const pieces = halves(part.input).map((partial_json) => delta({ type: 'input_json_delta', partial_json }));
      return [start({ type: 'tool_use', id: part.id, name: part.call, input: {} }), ...pieces, stop];
    });
    if (fails !== undefined) {
      const type = fails === 'overloaded' ? 'overloaded_error' : 'rate_limit_error';
      return [event({ type: 'message_start', message }), ...blocks, event({ type: 'error', error: { type, message: 'Try later' } })];
    }
    const stop_reason = finish ?? (parts.some((part) => 'call' in part) ? 'tool_use' : 'end_turn');
    return [
      event({ type: 'message_start', message }),
      ...blocks,
      event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 50 } }),
      event({ type: 'message_stop' }),
    ];
  },
};

/** A search of Anthropic: a call, and its result with a page that only Anthropic can read. */
function anthropicSearch(
  query: string,
  { index, event }: { index: number; event: (one: { type: string; [name: string]: unknown }) => string },
): string[] {
  const id = `srvtoolu_${index}`;
  const found = { type: 'web_search_result', ...PAGE, encrypted_content: 'ENC', page_age: null };
  const block = (at: number, content_block: object, ...deltas: string[]): string[] => [
    event({ type: 'content_block_start', index: at, content_block }),
    ...deltas.map((partial_json) => event({ type: 'content_block_delta', index: at, delta: { type: 'input_json_delta', partial_json } })),
    event({ type: 'content_block_stop', index: at }),
  ];
  return [
    ...block(index, { type: 'server_tool_use', id, name: 'web_search', input: {} }, ...halves(JSON.stringify({ query }))),
    ...block(index + 1_000, { type: 'web_search_tool_result', tool_use_id: id, content: [found] }),
  ];
}

/** Gemini's streamGenerateContent. The first call of each answer in the current turn has the signature that came with it. */
export const GOOGLE: Family = {
  path: '/google/v1beta',
  usage: { promptTokens: 1_000, completionTokens: 50, cachedTokens: 800, reasoningTokens: 30 },
  thinks: true,
  contentType: 'text/event-stream',
  id: (index) => `g${index}`,
  failure: (code, message, status = 'INVALID_ARGUMENT') => ({ status: code, body: { error: { code, message, status } } }),
  refusal: ({ contents }) => {
    const all = list(contents).map(({ role, parts }) => ({ role, parts: list(parts) }));
    if (all[0]?.role !== 'user') return 'Please ensure that the first content has the role user';
    const turn = all.findLastIndex(
      ({ role, parts }) => role === 'user' && parts.some(({ functionResponse }) => functionResponse === undefined),
    );
    for (const { role, parts } of all.slice(turn + 1)) {
      const first = parts.find(({ functionCall }) => functionCall !== undefined);
      const name = isJsonObject(first?.['functionCall']) ? textIn(first['functionCall']['name']) : '';
      const signatures = [signatureOf(name), 'skip_thought_signature_validator'];
      if (role === 'model' && first !== undefined && !signatures.includes(String(first['thoughtSignature'])))
        return 'Function call is missing a thought_signature in functionCall parts';
    }
    const counts = all.map(({ parts }) => ({
      calls: parts.filter(({ functionCall }) => functionCall !== undefined).length,
      results: parts.filter(({ functionResponse }) => functionResponse !== undefined).length,
    }));
    const broken = counts.some(({ calls }, index) => calls > 0 && counts[index + 1]?.results !== calls);
    return broken ? 'Please ensure that the number of function response parts is equal to the number of function call parts' : undefined;
  },
  chunks: ({ parts, finish, fails }) => {
    const chunk = (part: object, more: object = {}): string =>
      data({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0, ...more }] });
    const pieces = parts.flatMap((part): string[] => {
      if ('thinking' in part) return [chunk({ text: part.thinking, thought: true })];
      if ('redacted' in part) return [];
      if ('image' in part) return [chunk({ inlineData: { mimeType: 'image/png', data: part.image } })];
      if ('search' in part) return [chunk({ text: '' }, { groundingMetadata: groundingIn(part.search) })];
      if ('text' in part) return halves(part.text).map((text) => chunk({ text }));
      const args = JSON.parse(part.input) as object;
      return [chunk({ functionCall: { name: part.call, args }, thoughtSignature: signatureOf(part.call) })];
    });
    if (fails !== undefined) {
      const status = fails === 'overloaded' ? 'UNAVAILABLE' : 'RESOURCE_EXHAUSTED';
      return [...pieces, data({ error: { code: fails === 'overloaded' ? 503 : 429, message: 'Try later', status } })];
    }
    const usageMetadata = {
      promptTokenCount: 1_000,
      candidatesTokenCount: 20,
      thoughtsTokenCount: 30,
      cachedContentTokenCount: 800,
      totalTokenCount: 1_050,
    };
    const last = {
      candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, finishReason: finish ?? 'STOP', index: 0 }],
      usageMetadata,
    };
    return [...pieces, data(last)];
  },
};

/** Gemini's metadata of a search: its query, and the pages that ground the text. */
function groundingIn(query: string): object {
  return {
    webSearchQueries: [query],
    groundingChunks: [{ web: { uri: PAGE.url, title: PAGE.title } }],
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 3, text: 'Far' }, groundingChunkIndices: [0] }],
  };
}

/** Bedrock's ConverseStream, in the binary event stream of AWS. */
export const BEDROCK: Family = {
  path: '/bedrock',
  usage: { promptTokens: 1_000, completionTokens: 20, cachedTokens: 800, cacheWriteTokens: 100 },
  thinks: true,
  contentType: 'application/vnd.amazon.eventstream',
  id: (index) => `tooluse_${index}`,
  failure: (status, message, type = 'ValidationException') => ({ status, headers: { 'x-amzn-errortype': type }, body: { message } }),
  refusal: ({ messages }) => {
    const all = list(messages).map(({ role, content }) => ({ role, blocks: list(content) }));
    if (all[0]?.role !== 'user') return 'A conversation must start with a user message.';
    if (all.some(({ role }, index) => role === all[index + 1]?.role))
      return 'A conversation must alternate between user and assistant roles.';
    const blocks = all.flatMap((message) => message.blocks);
    if (blocks.some(({ text }) => blank(text))) return 'The text field in the ContentBlock object is blank.';
    const forged = blocks.some(({ reasoningContent: reasoning }) => {
      const said = isJsonObject(reasoning) ? reasoning['reasoningText'] : undefined;
      return isJsonObject(said) && said['signature'] !== signatureOf(textIn(said['text']));
    });
    if (forged) return 'Invalid `signature` in `thinking` block';
    return brokenPair(
      all.map(({ blocks: of }) => ({
        calls: of.flatMap(({ toolUse }) => (isJsonObject(toolUse) ? [toolUse['toolUseId']] : [])),
        results: of.flatMap(({ toolResult }) => (isJsonObject(toolResult) ? [toolResult['toolUseId']] : [])),
      })),
    );
  },
  chunks: ({ parts, finish, fails }) => {
    const blocks = parts.flatMap((part, contentBlockIndex): Buffer[] => {
      const delta = (one: object): Buffer => awsEvent('contentBlockDelta', { contentBlockIndex, delta: one });
      const stop = awsEvent('contentBlockStop', { contentBlockIndex });
      if ('thinking' in part) {
        const signature = delta({ reasoningContent: { signature: signatureOf(part.thinking) } });
        return [...halves(part.thinking).map((text) => delta({ reasoningContent: { text } })), signature, stop];
      }
      if ('redacted' in part) return [delta({ reasoningContent: { redactedContent: part.redacted } }), stop];
      if ('image' in part || 'search' in part) return [];
      if ('text' in part) return [...halves(part.text).map((text) => delta({ text })), stop];
      const start = awsEvent('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: part.id, name: part.call } } });
      return [start, ...halves(part.input).map((input) => delta({ toolUse: { input } })), stop];
    });
    const begins = awsEvent('messageStart', { role: 'assistant' });
    if (fails !== undefined) {
      const [type, message] =
        fails === 'overloaded'
          ? ['serviceUnavailableException', 'Bedrock is unable to process your request.']
          : ['throttlingException', 'Too many requests, please wait before trying again.'];
      return [begins, ...blocks, awsEvent(type, { message }, 'exception')];
    }
    const stopReason = finish ?? (parts.some((part) => 'call' in part) ? 'tool_use' : 'end_turn');
    const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 1_020, cacheReadInputTokens: 800, cacheWriteInputTokens: 100 };
    return [begins, ...blocks, awsEvent('messageStop', { stopReason }), awsEvent('metadata', { usage, metrics: { latencyMs: 5 } })];
  },
};

/** Chat Completions of a compatible server whose reasoning is a text that has to come back. */
export const COMPATIBLE: Family = {
  path: '/compatible/v1',
  usage: { promptTokens: 100, completionTokens: 20, cachedTokens: 64, reasoningTokens: 7 },
  thinks: true,
  contentType: 'text/event-stream',
  id: (index) => `call_${index}`,
  failure: (status, message, type = 'invalid_request_error') => ({ status, body: { error: { message, type, code: type } } }),
  refusal: chatRefusal,
  chunks: chatChunks,
};

/** The same of Mistral, which takes ids of nine characters, and no message of the user right after a result. */
export const MISTRAL: Family = {
  ...COMPATIBLE,
  path: '/mistral/v1',
  usage: { promptTokens: 100, completionTokens: 20, cachedTokens: 64 },
  thinks: false,
  id: (index) => `mistral0${index}`,
  failure: (status, message, type = 'invalid_request_error') => ({ status, body: { object: 'error', message, type, code: null } }),
  refusal: (body) => {
    const messages = list(body['messages']);
    const ids = messages.flatMap((one) => [
      ...list(one['tool_calls']).map(({ id }) => id),
      ...(one['role'] === 'tool' ? [one['tool_call_id']] : []),
    ]);
    if (ids.some((id) => !/^[a-zA-Z0-9]{9}$/.test(String(id)))) return 'Tool call id has to be a-z, A-Z, 0-9, with a length of 9';
    const follows = messages.some(({ role }, index) => role === 'tool' && messages[index + 1]?.['role'] === 'user');
    return follows ? "Unexpected role 'user' after role 'tool'" : chatRefusal(body);
  },
};

function chatRefusal({ messages }: Body): string | undefined {
  const all = list(messages);
  if (
    all.some(({ role, content, tool_calls: calls }) => role === 'assistant' && calls === undefined && (content === null || blank(content)))
  )
    return 'Assistant message must have either content or tool_calls';
  const groups: { calls: unknown[]; results: unknown[] }[] = [];
  for (const message of all) {
    const last = groups.at(-1);
    if (message['role'] === 'tool' && last !== undefined && last.results.length > 0) last.results.push(message['tool_call_id']);
    else
      groups.push({
        calls: list(message['tool_calls']).map(({ id }) => id),
        results: message['role'] === 'tool' ? [message['tool_call_id']] : [],
      });
  }
  return brokenPair(groups);
}

function chatChunks({ parts, finish, fails }: Answer, { model }: Body): string[] {
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
    data({ id: 'c1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }], ...more });
  let calls = 0;
  const pieces = parts.flatMap((part): string[] => {
    if ('thinking' in part) return halves(part.thinking).map((reasoning_content) => chunk({ reasoning_content }));
    if ('redacted' in part || 'image' in part || 'search' in part) return [];
    if ('text' in part) return halves(part.text).map((content) => chunk({ content }));
    const index = calls++;
    const [first = '', ...rest] = halves(part.input);
    return [
      chunk({ tool_calls: [{ index, id: part.id, type: 'function', function: { name: part.call, arguments: first } }] }),
      ...rest.map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ];
  });
  if (fails !== undefined) {
    const type = fails === 'overloaded' ? 'server_error' : 'rate_limit_exceeded';
    return [chunk({ role: 'assistant', content: '' }), ...pieces, data({ error: { message: 'Try later', type, code: type } })];
  }
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 20,
    total_tokens: 120,
    prompt_tokens_details: { cached_tokens: 64 },
    completion_tokens_details: { reasoning_tokens: 7 },
  };
  const word = finish ?? (calls > 0 ? 'tool_calls' : 'stop');
  return [chunk({ role: 'assistant', content: '' }), ...pieces, chunk({}, word, { usage }), 'data: [DONE]\n\n'];
}

/** Splits a text in two, so that each is at least two chunks. */
export function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((piece) => piece !== '');
}

/** Encodes an event of AWS: lengths, headers, body, and two checksums. */
function awsEvent(type: string, content: object, kind: 'event' | 'exception' = 'event'): Buffer {
  const headers = Buffer.concat(
    Object.entries({ [`:${kind}-type`]: type, ':content-type': 'application/json', ':message-type': kind }).map(([name, value]) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(Buffer.byteLength(value));
      return Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)]);
    }),
  );
  const body = Buffer.from(JSON.stringify(content));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(message));
  return Buffer.concat([message, checksum]);
}
