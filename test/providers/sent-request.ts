import { isJsonObject } from '../../src/core/domain/json.ts';

/** The two APIs of `openai()`. */
export type Api = 'chat' | 'responses';

/** A tool call in a request. */
export interface SentCall {
  id: string;
  name: string;
  /** The text as it was sent, which should be JSON. */
  arguments: string;
  /** The object as it was sent, with whatever else belongs to the call. */
  raw: Record<string, unknown>;
}

/** A message of a request, in the same form for both APIs. */
export interface SentMessage {
  role: string;
  /** The text of all its parts. */
  text: string;
  /** The texts one by one: one for a plain text, one for each text part otherwise. */
  texts: readonly string[];
  /** True if it holds an image, a sound or a file. */
  media: boolean;
  calls: readonly SentCall[];
  /** The call that a result belongs to. */
  callId: string | undefined;
  /** The object as it was sent. */
  raw: Record<string, unknown>;
}

/** A tool that a request offers. */
export interface SentTool {
  name: string;
  parameters: unknown;
  strict: boolean;
}

/** A request as a provider reads it. */
export interface SentRequest {
  api: Api;
  /** The account: the key of the request. */
  key: string;
  model: string;
  /** The body as it was sent. */
  json: string;
  body: Record<string, unknown>;
  messages: readonly SentMessage[];
  tools: readonly SentTool[];
  /** The items of a Responses request; nothing for Chat Completions. */
  items: readonly Record<string, unknown>[];
}

/** Reads a request. Throws a SyntaxError for a body that is not JSON, which no provider would read either. */
export function readRequest(path: string, key: string, json: string): SentRequest {
  const parsed: unknown = JSON.parse(json);
  const body = isJsonObject(parsed) ? parsed : {};
  const api = path.includes('/responses') ? 'responses' : 'chat';
  const items = objects(body['input']);
  return {
    api,
    key,
    model: textOf(body['model']),
    json,
    body,
    items,
    messages: api === 'chat' ? objects(body['messages']).map(chatMessage) : messagesOfItems(items),
    tools: objects(body['tools']).map((tool) => sentTool(isJsonObject(tool['function']) ? tool['function'] : tool)),
  };
}

function sentTool(tool: Record<string, unknown>): SentTool {
  return { name: textOf(tool['name']), parameters: tool['parameters'], strict: tool['strict'] === true };
}

function chatMessage(raw: Record<string, unknown>): SentMessage {
  return {
    ...contentOf(raw['content']),
    role: textOf(raw['role']),
    calls: objects(raw['tool_calls']).map((call) => {
      const { name, arguments: text } = isJsonObject(call['function']) ? call['function'] : {};
      return { id: textOf(call['id']), name: textOf(name), arguments: textOf(text), raw: call };
    }),
    callId: typeof raw['tool_call_id'] === 'string' ? raw['tool_call_id'] : undefined,
    raw,
  };
}

/** Calls in a row belong to one message, as they do in Chat Completions. Reasoning is not a message. */
function messagesOfItems(items: readonly Record<string, unknown>[]): SentMessage[] {
  const messages: (SentMessage & { calls: SentCall[] })[] = [];
  for (const raw of items) {
    if (raw['type'] === 'reasoning') continue;
    if (raw['type'] === 'function_call') {
      const call = { id: textOf(raw['call_id']), name: textOf(raw['name']), arguments: textOf(raw['arguments']), raw };
      const last = messages.at(-1);
      if (last?.role === 'assistant') last.calls.push(call);
      else messages.push({ role: 'assistant', text: '', texts: [], media: false, calls: [call], callId: undefined, raw });
    } else if (raw['type'] === 'function_call_output') {
      messages.push({ ...contentOf(raw['output']), role: 'tool', calls: [], callId: textOf(raw['call_id']), raw });
    } else {
      messages.push({ ...contentOf(raw['content']), role: textOf(raw['role']), calls: [], callId: undefined, raw });
    }
  }
  return messages;
}

function contentOf(content: unknown): Pick<SentMessage, 'text' | 'texts' | 'media'> {
  if (typeof content === 'string') return { text: content, texts: [content], media: false };
  const parts = objects(content);
  const texts = parts.flatMap((part) => (typeof part['text'] === 'string' ? [part['text']] : []));
  return { text: texts.join(''), texts, media: parts.length > texts.length };
}

function objects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((one) => isJsonObject(one)) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
