import { createHash } from 'node:crypto';

/** A message of a request in either API: an object with documented fields. */
export type Item = Record<string, unknown>;

/** The author of a message. Other items (reasoning) belong to the assistant. */
type Side = 'system' | 'user' | 'assistant' | 'tool';

/** The operations that fix the order of messages in one API. */
export interface Dialect {
  sideOf(item: Item): Side;
  message(role: 'user' | 'assistant', text: string): Item;
  /** Returns the text of a message, including its parts. */
  textOf(item: Item): string;
  /** Returns the message with a text before its content. */
  withPrefix(item: Item, text: string): Item;
  /** Returns two messages of one role as one; undefined if that is not possible. */
  joined(one: Item, next: Item): Item | undefined;
}

/** The messages that are inserted where a server insists on one. They say as little as possible. */
const FILLERS = { afterTool: 'OK.', first: '(The conversation continues.)', last: 'Continue.' };

/** Merges all system messages into one at the beginning. */
export function systemFirst(items: readonly Item[], dialect: Dialect): Item[] {
  const system = items.filter((item) => dialect.sideOf(item) === 'system');
  const [first] = system;
  if (first === undefined || (system.length === 1 && items[0] === first)) return [...items];
  const text = system.map((item) => dialect.textOf(item)).join('\n\n');
  return [{ ...first, content: text }, ...items.filter((item) => dialect.sideOf(item) !== 'system')];
}

/** Puts the text of all system messages before the first user message. */
export function withoutSystem(items: readonly Item[], dialect: Dialect): Item[] {
  const [first, ...others] = systemFirst(items, dialect);
  if (first === undefined || dialect.sideOf(first) !== 'system') return [...items];
  const text = dialect.textOf(first);
  const at = others.findIndex((item) => dialect.sideOf(item) === 'user');
  if (at !== 0) return [dialect.message('user', text), ...others];
  return others.map((item, index) => (index === at ? dialect.withPrefix(item, text) : item));
}

/** Inserts an assistant message between a tool result and a user message. */
export function assistantAfterTool(items: readonly Item[], dialect: Dialect): Item[] {
  return items.flatMap((item, index) => {
    const before = items[index - 1];
    const follows = before !== undefined && dialect.sideOf(before) === 'tool' && dialect.sideOf(item) === 'user';
    return follows ? [dialect.message('assistant', FILLERS.afterTool), item] : [item];
  });
}

/** Puts a user message before a conversation that does not begin with one. */
export function userFirst(items: readonly Item[], dialect: Dialect): Item[] {
  const at = items.findIndex((item) => dialect.sideOf(item) !== 'system');
  const first = items[at];
  if (first !== undefined && dialect.sideOf(first) === 'user') return [...items];
  const index = at < 0 ? items.length : at;
  return [...items.slice(0, index), dialect.message('user', FILLERS.first), ...items.slice(index)];
}

/** Appends a user message if the conversation does not end with the user. */
export function userLast(items: readonly Item[], dialect: Dialect): Item[] {
  const last = items.at(-1);
  return last !== undefined && dialect.sideOf(last) === 'assistant' ? [...items, dialect.message('user', FILLERS.last)] : [...items];
}

/** Merges consecutive messages of the same role. */
export function neighboursJoined(items: readonly Item[], dialect: Dialect): Item[] {
  const joined: Item[] = [];
  for (const item of items) {
    const before = joined.at(-1);
    const same = before !== undefined && dialect.sideOf(before) === dialect.sideOf(item) && dialect.sideOf(item) !== 'tool';
    const one = same ? dialect.joined(before, item) : undefined;
    if (one === undefined) joined.push(item);
    else joined[joined.length - 1] = one;
  }
  return joined;
}

/** OpenAI accepts no longer ids in Chat Completions, and no provider accepts other characters. */
const SAFE_ID = /^[a-zA-Z0-9_-]{1,40}$/;
const NINE = /^[a-zA-Z0-9]{9}$/;

/**
 * Assigns ids that a server accepts to calls and their results: the same in each request, and different for different calls. A result
 * refers to the last call with its id.
 */
export class CallIds {
  readonly #form: 'safe' | 'nine';
  readonly #taken = new Set<string>();
  readonly #known = new Map<string, string>();

  constructor(form: 'safe' | 'nine') {
    this.#form = form;
  }

  ofCall(id: string): string {
    let unused = this.#mapped(id);
    for (let number = 2; this.#taken.has(unused); number += 1) unused = this.#mapped(`${id}\n${number}`);
    this.#taken.add(unused);
    this.#known.set(id, unused);
    return unused;
  }

  ofResult(id: string): string {
    return this.#known.get(id) ?? this.#mapped(id);
  }

  #mapped(id: string): string {
    if ((this.#form === 'nine' ? NINE : SAFE_ID).test(id)) return id;
    const digest = createHash('sha256').update(id).digest('hex');
    return this.#form === 'nine' ? digest.slice(0, 9) : `call_${digest.slice(0, 24)}`;
  }
}

/** Splits the calls of each message, so that each call is followed by its result. */
export function oneCallEach(items: readonly Item[]): Item[] {
  const result: Item[] = [];
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    const calls = listOf(item?.['tool_calls']);
    if (item === undefined || calls.length < 2) {
      if (item !== undefined) result.push(item);
      continue;
    }
    let end = at + 1;
    while (items[end]?.['role'] === 'tool') end += 1;
    const results = items.slice(at + 1, end);
    const ids = new Set(calls.map(({ id }) => id));
    calls.forEach((call, index) => {
      const shared = index === 0 ? item : { role: 'assistant', content: null };
      result.push({ ...shared, tool_calls: [call] }, ...results.filter((one) => one['tool_call_id'] === call['id']));
    });
    result.push(...results.filter((one) => !ids.has(one['tool_call_id'])));
    at = end - 1;
  }
  return result;
}

/** Assigns ids of a given form to calls and results, in either API. */
export function withCallIds(items: readonly Item[], form: 'safe' | 'nine'): Item[] {
  const ids = new CallIds(form);
  return items.map((item) => {
    const calls = item['tool_calls'];
    if (Array.isArray(calls))
      return { ...item, tool_calls: listOf(calls).map((call) => ({ ...call, id: ids.ofCall(textIn(call['id'])) })) };
    if (typeof item['tool_call_id'] === 'string') return { ...item, tool_call_id: ids.ofResult(item['tool_call_id']) };
    if (item['type'] === 'function_call') return { ...item, call_id: ids.ofCall(textIn(item['call_id'])) };
    return item['type'] === 'function_call_output' ? { ...item, call_id: ids.ofResult(textIn(item['call_id'])) } : item;
  });
}

const NO_OUTPUT = '(no output)';
const NO_TEXT = '(no text)';

/**
 * Removes texts without a visible character, which several providers refuse and none needs: assistant and system texts with their message;
 * user and tool texts are replaced by a placeholder.
 */
export function withoutEmptyTexts(items: readonly Item[]): Item[] {
  return items.flatMap((item): Item[] => {
    const { role, type, content, tool_calls: calls } = item;
    if (type === 'function_call_output') return [isBlank(item['output']) ? { ...item, output: NO_OUTPUT } : item];
    if (type !== undefined && type !== 'message') return [item];
    const filled = Array.isArray(content) ? listOf(content).filter((part) => !isText(part) || !isBlank(part['text'])) : content;
    const isEmpty = Array.isArray(filled) ? filled.length === 0 : filled === null || isBlank(filled);
    if (!isEmpty)
      return [Array.isArray(filled) && Array.isArray(content) && filled.length < content.length ? { ...item, content: filled } : item];
    if (role === 'tool') return [{ ...item, content: NO_OUTPUT }];
    if (role === 'user') return [{ ...item, content: NO_TEXT }];
    return role === 'assistant' && calls !== undefined ? [{ ...item, content: null }] : [];
  });
}

/** Chat Completions. */
export const CHAT: Dialect = {
  sideOf: ({ role }) => (role === 'developer' ? 'system' : role === 'user' || role === 'tool' || role === 'system' ? role : 'assistant'),
  message: (role, content) => ({ role, content }),
  textOf: itemText,
  withPrefix: (item, text) => ({ ...item, content: joinedContent(text, item['content'], 'text') }),
  joined: (one, next) => {
    if (one['role'] !== next['role'] || one['tool_calls'] !== undefined) return undefined;
    return { ...joinedFields(one, next), content: joinedContent(one['content'], next['content'], 'text') };
  },
};

export const RESPONSES: Dialect = {
  sideOf: ({ type, role }) => {
    if (type === 'function_call_output') return 'tool';
    return type === 'message' ? CHAT.sideOf({ role }) : 'assistant';
  },
  message: (role, content) => ({ type: 'message', role, content }),
  textOf: itemText,
  withPrefix: (item, text) => ({ ...item, content: joinedContent(text, item['content'], 'input_text') }),
  joined: (one, next) => {
    if (one['type'] !== 'message' || next['type'] !== 'message' || one['role'] !== next['role']) return undefined;
    return { ...one, content: joinedContent(one['content'], next['content'], 'input_text') };
  },
};

function itemText({ content }: Item): string {
  if (!Array.isArray(content)) return textIn(content);
  return listOf(content)
    .map((part) => textIn(part['text']))
    .filter((text) => text !== '')
    .join('\n');
}

function joinedContent(one: unknown, next: unknown, type: string): unknown {
  if (!Array.isArray(one) && !Array.isArray(next)) {
    const texts = [textIn(one), textIn(next)].filter((text) => text !== '');
    return texts.length === 0 ? null : texts.join('\n\n');
  }
  const parts = (content: unknown): unknown[] =>
    Array.isArray(content) ? content : textIn(content) === '' ? [] : [{ type, text: content }];
  return [...parts(one), ...parts(next)];
}

/** Returns the fields of both, keeping the opaque fields of each. */
function joinedFields(one: Item, next: Item): Item {
  const result: Item = { ...one };
  for (const [name, value] of Object.entries(next)) {
    const before = result[name];
    if (name === 'role' || name === 'content') continue;
    if (typeof before === 'string' && typeof value === 'string') result[name] = before + value;
    else result[name] = Array.isArray(before) && Array.isArray(value) ? [...(before as unknown[]), ...(value as unknown[])] : value;
  }
  return result;
}

/** Returns the objects of a list. */
export function listOf(value: unknown): Item[] {
  return Array.isArray(value) ? value.filter((one): one is Item => typeof one === 'object' && one !== null) : [];
}

function isText({ type }: Item): boolean {
  return type === 'text' || type === 'input_text';
}

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}

/** Returns a value if it is text, otherwise an empty text. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
